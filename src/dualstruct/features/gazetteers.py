"""Gazetteers: lists of phrases (cities, first names, genes) to be found in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from dualstruct import _core
from dualstruct.data.opening import PathOrFile, lines_of, name_of, read_text
from dualstruct.errors import InputError
from dualstruct.printable import plural

__all__ = ["GazetteerFile", "make_gazetteer", "read_gazetteer", "read_phrases"]

_OPTION = re.compile(r'\s+(column|case)=("[^"]*"|\S+)$')


@dataclass(frozen=True)
class GazetteerFile:
    """Where a list is, and how it is to be read.

    Examples
    --------
    >>> GazetteerFile.parse('cities of the world.csv column="City name" case=exact', "line 1")
    GazetteerFile(file='cities of the world.csv', column='City name', exact=True)
    """

    file: str
    column: str | None = None  # of a CSV file, by its name or number (from 1)
    exact: bool = False  # whether case matters

    @classmethod
    def parse(cls, text: str, where: str) -> GazetteerFile:
        """From a line of a template file: a file name, then ``column=`` and ``case=``."""
        found: dict[str, str] = {}
        while (match := _OPTION.search(text)) is not None:
            if match[1] in found:
                raise InputError(f"{where}: {match[1]}= is there twice")
            found[match[1]] = match[2].strip('"')
            text = text[: match.start()]
        case = found.get("case", "folded")
        if case not in ("folded", "exact"):
            raise InputError(f"{where}: case={case} is neither case=folded nor case=exact")
        return cls(text, found.get("column"), case == "exact")

    def inside(self, folder: Path) -> GazetteerFile:
        """The same of a file in another folder."""
        return replace(self, file=str(folder / self.file))

    def __str__(self) -> str:
        column = "" if self.column is None else f' column="{self.column}"'
        return self.file + column + (" case=exact" if self.exact else "")


def make_gazetteer(
    phrases: Iterable[str], *, exact: bool = False, part: bool = False
) -> _core.Gazetteer:
    """Make a gazetteer of phrases whose words are separated by spaces.

    Parameters
    ----------
    phrases : strings
    exact : bool
        Whether case matters.
    part : bool
        Take every word of a phrase for a phrase of its own.
    """
    gazetteer = _core.Gazetteer(not exact)
    for phrase in phrases:
        words = phrase.split()
        for each in ([word] for word in words) if part else [words]:
            gazetteer.add(each)
    return gazetteer


def read_gazetteer(path: PathOrFile) -> _core.Gazetteer:
    """Read a file with one phrase per line."""
    return make_gazetteer(read_phrases(path))


def read_phrases(path: PathOrFile, column: str | None = None) -> list[str]:
    """The phrases of a list: a line each, or a column of a CSV file.

    The first row of a CSV file has the names of its columns; a column is known by its name, or by
    its number, counted from 1. Commas, semicolons or tabs separate, whichever the first row has
    most of.

    Examples
    --------
    >>> import io
    >>> read_phrases(io.StringIO('id;city\\n1;"New York"\\n2;Turin\\n'), "city")
    ['New York', 'Turin']
    """
    import csv

    text = read_text(path)
    if column is None:
        return lines_of(text)
    name = name_of(path)
    lines = text.splitlines(keepends=True)
    if not lines:
        raise InputError(f"{name} is empty; it should have a column {column!r}")
    separator = max(",;\t", key=lines[0].count)
    rows = csv.reader(lines, delimiter=separator)
    phrases = []
    try:
        names = next(rows)
        place = _column_place(names, column, name)
        for row in rows:
            if row and place >= len(row):
                raise InputError(
                    f"{name}, line {rows.line_num} has {plural(len(row), 'column')}, and "
                    f"{column!r} is number {place + 1}"
                )
            phrases += [row[place]] if row else []
    except csv.Error as problem:
        raise InputError(f"{name}, line {rows.line_num}: {problem}") from None
    return phrases


def _column_place(names: list[str], column: str, file: str) -> int:
    if column in names:
        return names.index(column)
    if column.isdecimal() and 1 <= int(column) <= len(names):
        return int(column) - 1
    raise InputError(f"{file}, line 1: there is no column {column!r}; there are {', '.join(names)}")
