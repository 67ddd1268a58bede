"""Gazetteers: lists of phrases (cities, first names, genes) to be found in sentences."""

from __future__ import annotations

from collections.abc import Iterable

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.files.opening import PathOrFile, name_of, read_bytes

__all__ = ["make_gazetteer", "read_gazetteer"]


def make_gazetteer(phrases: Iterable[str]) -> _core.Gazetteer:
    """Make a gazetteer of phrases whose words are separated by blanks; case does not matter."""
    gazetteer = _core.Gazetteer()
    for phrase in phrases:
        gazetteer.add(phrase.split())
    return gazetteer


def read_gazetteer(path: PathOrFile) -> _core.Gazetteer:
    """Read a file with one phrase a line."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        raise InputError(f"{name_of(path)}, line {line}: this is not UTF-8 text") from None
    return make_gazetteer(text.split("\n"))
