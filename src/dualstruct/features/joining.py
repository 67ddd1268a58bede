"""Several ways to get features, side by side: each token has the features of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct.data.schema import Range, fit_type, inner_arrays, stored_array
from dualstruct.errors import InputError
from dualstruct.features.base import (
    FeatureExtractor,
    FeatureRows,
    State,
    TruthOf,
    as_ids,
    keep_flags,
)
from dualstruct.features.functions import Function

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["JoinedExtractor"]

#: Parts that a model file may have.
MOST_PARTS = 100


class JoinedExtractor(FeatureExtractor):
    """The features of several extractors, with ids of their own.

    Ids are given in the order in which features come: those of an earlier ``fit`` stay when a later
    one finds more. With ``hash_bits`` all parts hash into the same numbers.
    """

    #: What model files call it, and what its parts cannot be.
    kind: ClassVar[str] = "joined"
    no_parts: ClassVar[tuple[str, ...]] = ("joined", "vectors", "document")

    def __init__(
        self, parts: Sequence[FeatureExtractor], ids: Sequence[NDArray[np.int32]] | None = None
    ) -> None:
        self.parts = list(parts)
        bits = {getattr(part, "hash_bits", None) for part in parts}
        if len(bits) != 1:
            raise InputError("vectors of words cannot be combined with hash_bits")
        [self.hash_bits] = bits
        #: For each part the ids that its features have here.
        self._ids = list(ids) if ids is not None else [np.zeros(0, np.int32) for _ in parts]
        if not self.hash_bits:
            lengths = [len(each) for each in self._ids]
            if lengths != [part.dimension for part in parts] and ids is not None:
                raise InputError("features: the parts do not have as many ids as features")
            numbers = np.sort(np.concatenate(self._ids))
            if not np.array_equal(numbers, np.arange(len(numbers))):
                raise InputError("features: the ids of the parts do not number all features once")

    def coverage(self, X: Any) -> dict[str, float]:
        return {name: share for part in self.parts for name, share in part.coverage(X).items()}

    def share_files(self, other: FeatureExtractor) -> None:
        assert isinstance(other, JoinedExtractor)
        for part, its in zip(self.parts, other.parts, strict=True):
            part.share_files(its)

    def look_in(self, folder: Path) -> None:
        for part in self.parts:
            part.look_in(folder)

    @property
    def column_names(self) -> tuple[str, ...]:
        return next((part.column_names for part in self.parts if part.column_names), ())

    def groups(self) -> list[str]:
        return list(dict.fromkeys(group for part in self.parts for group in part.groups()))

    @property
    def pairs(self) -> FeatureExtractor | None:
        return next((part.pairs for part in self.parts if part.pairs is not None), None)

    @property
    def learns_from_labels(self) -> bool:
        return any(part.learns_from_labels for part in self.parts)

    def learn(self, X: Any, truth: TruthOf, names: Sequence[str]) -> None:
        if self.learns_from_labels:
            for part, view in zip(self.parts, self.views(X), strict=True):
                part.learn(view, truth, names)

    def transform_training(self, X: Any, truth: TruthOf) -> FeatureRows:
        parts = zip(self.parts, self.views(X), strict=True)
        return self._joined([part.transform_training(view, truth) for part, view in parts])

    def views(self, X: Any) -> Sequence[Any]:
        """The sentences as each part takes them."""
        return [X] * len(self.parts)

    def fit(self, X: Any, *, threads: int = 1) -> FeatureRows:
        parts = zip(self.parts, self.views(X), strict=True)
        rows = [part.fit(view, threads=threads) for part, view in parts]
        for k, part in enumerate(self.parts if not self.hash_bits else ()):
            new = part.dimension - len(self._ids[k])
            first = self.dimension
            added = np.arange(first, first + new, dtype=np.int32)
            self._ids[k] = np.concatenate([self._ids[k], added])
        return self._joined(rows)

    def transform(self, X: Any, *, threads: int = 1) -> FeatureRows:
        parts = zip(self.parts, self.views(X), strict=True)
        return self._joined([part.transform(view, threads=threads) for part, view in parts])

    def _joined(self, rows: list[FeatureRows]) -> FeatureRows:
        first = rows[0]
        for each in rows[1:]:
            if not np.array_equal(each.sentences, first.sentences):
                raise InputError("the features of a list do not agree on where sentences end")
        offsets = np.sum([each.offsets for each in rows], axis=0)
        ids = np.empty(offsets[-1], np.int32)
        values: NDArray[np.float32] | None = None
        if any(each.values is not None for each in rows):
            values = np.empty(offsets[-1], np.float32)
        for k, (each, places) in enumerate(zip(rows, _places(rows, offsets), strict=True)):
            ids[places] = each.ids if self.hash_bits else self._ids[k][each.ids]
            if values is not None:
                values[places] = 1 if each.values is None else each.values
        pairs = next((each.pairs for each in rows if each.pairs is not None), None)
        return FeatureRows(offsets, ids, values, first.sentences, self.dimension, pairs)

    @property
    def dimension(self) -> int:
        if self.hash_bits:
            return self.parts[0].dimension
        return sum(map(len, self._ids))

    def names(self, ids: ArrayLike) -> list[str]:
        numbers = as_ids(ids, self.dimension)
        if self.hash_bits:
            answers = [part.names(numbers) for part in self.parts]
            return [
                " | ".join(dict.fromkeys(each for each in names if each[:1] != "#")) or names[0]
                for names in zip(*answers, strict=True)
            ]
        part_of = np.empty(self.dimension, np.int32)
        local = np.empty(self.dimension, np.int32)
        for k, known in enumerate(self._ids):
            part_of[known] = k
            local[known] = np.arange(len(known))
        found = np.empty(len(numbers), dtype=object)
        for k, part in enumerate(self.parts):
            mine = part_of[numbers] == k
            found[mine] = part.names(local[numbers[mine]])
        return list(found)

    def names_in(self, X: Any) -> list[str]:
        views = self.views(X)
        rows = [part.transform(view) for part, view in zip(self.parts, views, strict=True)]
        offsets = np.sum([each.offsets for each in rows], axis=0)
        found = np.empty(offsets[-1], dtype=object)
        all_places = _places(rows, offsets)
        for part, view, places in zip(self.parts, views, all_places, strict=True):
            found[places] = part.names_in(view)
        return list(found)

    def find(self, name: str) -> int | None:
        for part, known in zip(self.parts, self._ids, strict=True):
            id = part.find(name)
            if id is not None:
                return id if self.hash_bits else int(known[id])
        return None

    def select(self, keep: ArrayLike) -> None:
        if self.hash_bits:
            raise InputError("hashed features cannot be dropped: their ids are fixed")
        flags = keep_flags(keep, self.dimension).view(np.bool_)
        renumbered = (np.cumsum(flags) - 1).astype(np.int32)
        for k, part in enumerate(self.parts):
            mine = flags[self._ids[k]]
            part.select(mine)
            self._ids[k] = renumbered[self._ids[k][mine]]

    def functions(self) -> dict[str, Function | None]:
        return {name: f for part in self.parts for name, f in part.functions().items()}

    def give_functions(self, functions: Mapping[str, Function]) -> None:
        for part in self.parts:
            part.give_functions(functions)

    def state(self) -> State:
        states = [part.state() for part in self.parts]
        arrays: dict[str, NDArray[Any]] = {}
        for k, (_, own) in enumerate(states):
            arrays |= {f"part_{k}.{name}": array for name, array in own.items()}
            if not self.hash_bits:
                arrays[f"part_ids_{k}"] = self._ids[k]
        return {"kind": self.kind, "parts": [settings for settings, _ in states]}, arrays

    @classmethod
    def from_state(cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        from dualstruct.features.restoring import from_state

        stored = fit_type(_Settings, dict(settings), "features")
        if any(part.get("kind") in cls.no_parts for part in stored.parts):
            raise InputError("features.parts: parts have no parts of their own")
        parts = [
            from_state(part, inner_arrays(arrays, f"part_{k}"))
            for k, part in enumerate(stored.parts)
        ]
        if getattr(parts[0], "hash_bits", None):
            return cls(parts)
        ids = [stored_array(arrays, f"part_ids_{k}", np.int32) for k in range(len(parts))]
        return cls(parts, ids)


@dataclass(frozen=True)
class _Settings:
    """What a file says of features side by side, besides arrays."""

    parts: Annotated[list[dict[str, Any]], Range(1, MOST_PARTS)]


def _places(rows: list[FeatureRows], offsets: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Where the cells of each part are in rows that have those of all, part after part."""
    found = []
    begins = offsets[:-1].copy()
    for each in rows:
        lengths = np.diff(each.offsets)
        found.append(np.repeat(begins - each.offsets[:-1], lengths) + np.arange(len(each.ids)))
        begins += lengths
    return found
