"""Gazetteers: lists of phrases (cities, first names, genes) to be found in sentences."""

from __future__ import annotations

from collections.abc import Iterable

from dualstruct import _core
from dualstruct.data.opening import PathOrFile, lines_of, read_text

__all__ = ["make_gazetteer", "read_gazetteer"]


def make_gazetteer(phrases: Iterable[str]) -> _core.Gazetteer:
    """Make a gazetteer of phrases whose words are separated by blanks; case does not matter."""
    gazetteer = _core.Gazetteer()
    for phrase in phrases:
        gazetteer.add(phrase.split())
    return gazetteer


def read_gazetteer(path: PathOrFile) -> _core.Gazetteer:
    """Read a file with one phrase per line."""
    return make_gazetteer(lines_of(read_text(path)))
