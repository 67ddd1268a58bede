"""The weights of a model as a readable table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct.features import FeatureExtractor
from dualstruct.labels.names import Labels
from dualstruct.printable import plural


class Weight(NamedTuple):
    """The weight of a feature for a label."""

    feature: str
    label: str
    weight: float


class PairWeight(NamedTuple):
    """The weight of a feature for a pair of neighbouring labels."""

    feature: str
    before: str
    label: str
    weight: float


class WeightTable:
    """Emission weights by (feature, label), transitions by (label, next label), and weights of pair
    features by (feature, label before, label).

    Iterating gives all non-zero emission weights, the strongest first.
    """

    def __init__(
        self,
        emission: NDArray[np.float32],
        transition: NDArray[np.float32],
        labels: Sequence[str],
        extractor: FeatureExtractor,
        pairs: NDArray[np.float32],
    ) -> None:
        self.emission = emission  # [features, labels]
        self.transition = transition  # [labels + 1, labels + 1]
        self.pairs = pairs  # [pair features, labels, labels]
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
        top = largest(size, n)
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

    def strongest_pairs(self, n: int = 20) -> list[PairWeight]:
        """The n weights of pair features of largest size."""
        extractor = self._extractor.pairs
        if extractor is None or n < 1:
            return []
        top = largest(np.abs(self.pairs).ravel(), n)
        features, before, after = np.unravel_index(top, self.pairs.shape)
        names = extractor.names(features.astype(np.int32))
        return [
            PairWeight(name, self.labels[j], self.labels[k], float(self.pairs[f, j, k]))
            for name, f, j, k in zip(names, features, before, after, strict=True)
        ]

    def weight(self, feature: str, label: str) -> float:
        """The weight of a feature, by its name, for a label; 0 for an unknown feature."""
        at = self._extractor.find(feature)
        return 0.0 if at is None else float(self.emission[at, self._number(label)])

    def pair_weight(self, feature: str, before: str, label: str) -> float:
        """The weight of a pair feature, by its name, for a step; 0 for an unknown feature."""
        at = None if self._extractor.pairs is None else self._extractor.pairs.find(feature)
        return (
            0.0 if at is None else float(self.pairs[at, self._number(before), self._number(label)])
        )

    def _number(self, label: str) -> int:
        return Labels(self.labels).number(label)

    def __repr__(self) -> str:
        rows = self.strongest(10)
        width = max((len(row.feature) for row in rows), default=0)
        lines = [f"{row.weight:+8.3f}  {row.feature:<{width}}  {row.label}" for row in rows]
        return "\n".join(
            [
                f"{plural(len(self), 'weight')}, {plural(len(self.labels), 'label')}; the "
                "strongest:",
                *lines,
            ]
        )


def largest(sizes: NDArray[np.float32], n: int) -> NDArray[np.intp]:
    """Where the n largest of the sizes above 0 are, the largest first."""
    top = np.flatnonzero(sizes > 0)
    if n < len(top):  # sorting all of millions of weights would take seconds
        smallest = -np.partition(-sizes[top], n - 1)[n - 1]
        top = top[sizes[top] >= smallest]
    return top[np.argsort(-sizes[top], kind="stable")][:n]
