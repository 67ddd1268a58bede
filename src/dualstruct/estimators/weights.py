"""The weights of a model as a table that people can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct.errors import InputError
from dualstruct.features import FeatureExtractor


class Weight(NamedTuple):
    """How much a feature speaks for a label."""

    feature: str
    label: str
    weight: float


class WeightTable:
    """Emission weights by (feature, label), transitions by (label, next label).

    Iterating gives all non-zero emission weights, the strongest first.
    """

    def __init__(
        self,
        emission: NDArray[np.float32],
        transition: NDArray[np.float32],
        labels: Sequence[str],
        extractor: FeatureExtractor,
    ) -> None:
        self.emission = emission  # [features, labels]
        self.transition = transition  # [labels + 1, labels + 1]
        self.labels = list(labels)
        self._extractor = extractor

    def __len__(self) -> int:
        return int(np.count_nonzero(self.emission))

    def __iter__(self) -> Iterator[Weight]:
        return iter(self.strongest(len(self)))

    def strongest(
        self, n: int = 20, label: str | None = None, sign: int | None = None
    ) -> list[Weight]:
        """The n emission weights of largest size, of one label and sign if wanted."""
        if n < 1:
            return []
        values = self.emission if label is None else self.emission[:, [self._number(label)]]
        flat = values.ravel()
        size = np.abs(flat) if sign is None else np.sign(sign) * flat
        top = np.flatnonzero(size > 0)
        if n < len(top):  # sorting all of millions of weights would take seconds
            smallest = -np.partition(-size[top], n - 1)[n - 1]
            top = top[size[top] >= smallest]
        top = top[np.argsort(-size[top], kind="stable")][:n]
        features, columns = np.unravel_index(top, values.shape)
        names = self._extractor.names(features.astype(np.int32))
        return [
            Weight(name, self.labels[k] if label is None else label, float(flat[at]))
            for name, k, at in zip(names, columns, top, strict=True)
        ]

    def transitions(self, n: int | None = None) -> list[tuple[str, str, float]]:
        """(from, to, weight), the strongest first; the outside of a sentence is <s> and </s>."""
        before, after = [*self.labels, "<s>"], [*self.labels, "</s>"]
        rows, columns = np.nonzero(self.transition)
        found = [
            (before[a], after[b], float(self.transition[a, b]))
            for a, b in zip(rows, columns, strict=True)
        ]
        return sorted(found, key=lambda row: -abs(row[2]))[:n]

    def weight(self, feature: str, label: str) -> float:
        """The weight of a feature, by its name, for a label; 0 for an unknown feature."""
        at = self._extractor.find(feature)
        return 0.0 if at is None else float(self.emission[at, self._number(label)])

    def _number(self, label: str) -> int:
        if label not in self.labels:
            raise InputError(f"there is no label {label!r}")
        return self.labels.index(label)

    def __repr__(self) -> str:
        rows = self.strongest(10)
        width = max((len(row.feature) for row in rows), default=0)
        lines = [f"{row.weight:+8.3f}  {row.feature:<{width}}  {row.label}" for row in rows]
        return "\n".join(
            [f"{len(self)} weights, {len(self.labels)} labels; the strongest:", *lines]
        )
