"""Sums of sparse vectors: what they cost is in proportion to what is not 0.

The places are cut into as many ranges as there are workers. Each worker sends every other one its
numbers of that one's range, adds up its own range in rank order, and gives the sum to all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core


class SparseVector(NamedTuple):
    """Places in increasing order, and the number at each."""

    places: NDArray[np.uint32]
    values: NDArray[np.float32]

    @property
    def nbytes(self) -> int:
        return self.places.nbytes + self.values.nbytes


def pack(vector: SparseVector) -> NDArray[np.uint32]:
    """One array of a vector's places and the bits of its values.

    >>> vector = SparseVector(np.array([3], np.uint32), np.array([0.5], np.float32))
    >>> unpack(pack(vector)) == vector
    True
    """
    return np.concatenate([vector.places, vector.values.view(np.uint32)])


def unpack(packed: NDArray[np.uint32]) -> SparseVector:
    half = len(packed) // 2
    return SparseVector(packed[:half], packed[half:].view(np.float32))


def ranges(dimension: int, size: int) -> NDArray[np.int64]:
    """Where each worker's range of places begins, and where the last one ends."""
    return np.linspace(0, dimension, size + 1).astype(np.int64)


def own_range(dimension: int, rank: int, size: int) -> tuple[int, int]:
    """Where one worker's range of places begins, and where it ends."""
    first, last = ranges(dimension, size)[rank : rank + 2].tolist()
    return first, last


def in_range(vector: SparseVector, first: int, last: int) -> SparseVector:
    """The part of a vector with places from ``first`` to before ``last``."""
    begin, end = _first_of(vector.places, np.array([first, last]))
    return SparseVector(vector.places[begin:end], vector.values[begin:end])


def _first_of(places: NDArray[np.uint32], bounds: NDArray[np.int64]) -> list[int]:
    """Where in a vector the places from each bound on begin."""
    # Of the places' own type: numpy would convert all of them, not the few bounds.
    found: list[int] = np.searchsorted(places, bounds.astype(places.dtype)).tolist()
    return found


def by_range(vector: SparseVector, dimension: int, size: int) -> list[NDArray[np.uint32]]:
    """What each worker is to add up, packed."""
    ends = _first_of(vector.places, ranges(dimension, size))
    return [
        pack(SparseVector(vector.places[begin:end], vector.values[begin:end]))
        for begin, end in pairwise(ends)
    ]


def joined(parts: Sequence[NDArray[np.uint32]]) -> SparseVector:
    """The packed sums of all ranges, one after the other."""
    vectors = [unpack(part) for part in parts]
    return SparseVector(
        np.concatenate([vector.places for vector in vectors]),
        np.concatenate([vector.values for vector in vectors]),
    )


class RangeAdder:
    """Adds up one range of places; the memory for it is kept from one sum to the next."""

    def __init__(self) -> None:
        self._adder = _core.SparseAdder(0, 0)

    def sum(self, vectors: Sequence[SparseVector], first: int, last: int) -> SparseVector:
        """((v₀ + v₁) + v₂) + …, without places at which that is 0."""
        if (self._adder.first, self._adder.last) != (first, last):
            self._adder = _core.SparseAdder(first, last)
        for vector in vectors:
            self._adder.add(np.ascontiguousarray(vector.places), vector.values)
        return SparseVector(*self._adder.take())
