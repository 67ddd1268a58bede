"""Labels of all sequences in one list."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TypeVar

__all__ = ["flatten"]

T = TypeVar("T")


def flatten(y: Iterable[Iterable[T]]) -> list[T]:
    """The entries of the sequences, one after the other.

    >>> flatten([[1, 2], [3]])
    [1, 2, 3]
    """
    return list(chain.from_iterable(y))
