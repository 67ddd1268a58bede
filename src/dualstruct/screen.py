"""Text in styles, and tables, on a terminal or anywhere else.

A terminal gets colours unless ``NO_COLOR`` is set; files and pipes get the same lines without them.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TextIO, Union

from dualstruct.widths import cell_len, cut_to

__all__ = ["Column", "Screen", "Shown", "Table", "Text", "lines_of", "plain"]

#: What a style's words are to a terminal.
CODES = {"bold": "1", "dim": "2"} | {
    colour: str(31 + k)
    for k, colour in enumerate(("red", "green", "yellow", "blue", "magenta", "cyan"))
}
#: Columns of a table that is too wide are folded to this width, if need be.
NARROW = 8


class Text:
    """Pieces of text, each in a style such as ``"bold red"``.

    >>> text = Text("a ").append("tree", "green")
    >>> str(text), len(text)
    ('a tree', 6)
    """

    def __init__(self, text: str = "", style: str = "") -> None:
        self.pieces = [(text, style)] if text else []

    def append(self, more: str | Text, style: str = "") -> Text:
        self.pieces += more.pieces if isinstance(more, Text) else [(more, style)] if more else []
        return self

    def __str__(self) -> str:
        return "".join(text for text, _ in self.pieces)

    def __len__(self) -> int:
        return sum(len(text) for text, _ in self.pieces)

    def __getitem__(self, part: slice) -> Text:
        begin, end, _ = part.indices(len(self))
        found, place = Text(), 0
        for text, style in self.pieces:
            found.append(text[max(begin - place, 0) : max(end - place, 0)], style)
            place += len(text)
        return found

    def styled(self, pattern: str, style: str) -> Text:
        """The same, with what matches a pattern in another style."""
        found, place = Text(), 0
        for match in re.finditer(pattern, str(self)):
            found.append(self[place : match.start()]).append(match[0], style)
            place = match.end()
        return found.append(self[place:])

    def folded(self, columns: int) -> list[Text]:
        """Lines of at most so many columns, broken between words where that is possible."""
        rest, lines = self, []
        while cell_len(str(rest)) > columns:
            fits = len(cut_to(str(rest), columns)) or 1
            space = str(rest).rfind(" ", 1, fits + 1)
            end = space if space > 0 else fits
            lines.append(rest[:end])
            rest = rest[end + (space > 0) :]
        return [*lines, rest]

    def lines(self) -> Iterator[Text]:
        place = 0
        for line in str(self).split("\n"):
            yield self[place : place + len(line)]
            place += len(line) + 1

    def coloured(self) -> str:
        """With the codes that terminals know."""
        return "".join(
            f"\x1b[{';'.join(CODES[word] for word in style.split())}m{text}\x1b[0m"
            if style
            else text
            for text, style in self.pieces
        )


@dataclass
class Column:
    """A column of a table. ``folds``: its cells may take several lines."""

    header: Text = field(default_factory=Text)
    right: bool = False
    folds: bool = True
    least: int = 0  #: its smallest width
    style: str = ""  #: of cells that have none


class Table:
    """Rows of cells; columns are as wide as their widest cell.

    >>> table = Table(Column(Text("word")), Column(Text("count"), right=True), left=0)
    >>> table.add("cat", "2")
    >>> print(*plain(table), sep="\\n")
    word  count
    cat       2
    """

    def __init__(self, *columns: Column, left: int = 1, between: int = 2) -> None:
        self.columns = list(columns)
        self.rows: list[list[Text]] = []
        self.left, self.between = left, between

    def add(self, *cells: str | Text) -> None:
        row = [cell if isinstance(cell, Text) else Text(cell) for cell in cells]
        self.rows.append(row)

    def widths(self) -> list[int]:
        rows = [[column.header for column in self.columns], *self.rows]
        return [
            max(column.least, *(cell_len(str(row[k])) for row in rows))
            for k, column in enumerate(self.columns)
        ]

    def width(self) -> int:
        return self.left + sum(self.widths()) + self.between * (len(self.columns) - 1)

    def lines(self, columns: int) -> Iterator[Text]:
        widths = self.widths()
        wide = [k for k, column in enumerate(self.columns) if column.folds]
        over = self.width() - columns
        while over > 0 and wide and max(widths[k] for k in wide) > NARROW:
            widths[max(wide, key=widths.__getitem__)] -= 1
            over -= 1
        headers = [[column.header for column in self.columns]]
        for row in [*(headers if any(map(len, headers[0])) else []), *self.rows]:
            cells = [
                cell.folded(width) if column.folds else [cell]
                for cell, width, column in zip(row, widths, self.columns, strict=True)
            ]
            for k in range(max(map(len, cells))):
                yield self._line([cell[k] if k < len(cell) else Text() for cell in cells], widths)

    def _line(self, cells: Sequence[Text], widths: Sequence[int]) -> Text:
        line, gap = Text(), self.left
        for cell, width, column in zip(cells, widths, self.columns, strict=True):
            missing = width - cell_len(str(cell))
            if len(cell):
                line.append(" " * (gap + missing * column.right))
                for text, style in cell.pieces:
                    line.append(text, style or column.style)
                gap = self.between + missing * (not column.right)
            else:
                gap += width + self.between
        return line


#: What can be shown: text, a table, or several of them one below the other.
Shown = Union[str, Text, Table, "Sequence[Shown]"]


def lines_of(shown: Shown, columns: int) -> Iterator[Text]:
    """The lines of what is shown where there are so many columns."""
    if isinstance(shown, str):
        yield from Text(shown).lines()
    elif isinstance(shown, Text):
        yield from shown.lines()
    elif isinstance(shown, Table):
        yield from shown.lines(columns)
    else:
        for part in shown:
            yield from lines_of(part, columns)


def plain(shown: Shown, columns: int = 100) -> list[str]:
    """The lines without colours."""
    return [str(line).rstrip() for line in lines_of(shown, columns)]


class Screen:
    """Standard output, or standard error for messages."""

    def __init__(self, quiet: bool = False, messages: bool = False) -> None:
        self.quiet, self.messages = quiet, messages

    @property
    def width(self) -> int:
        return shutil.get_terminal_size().columns

    def print(self, shown: Shown = "", style: str = "") -> None:
        if self.quiet:
            return
        if style:
            shown = Text(str(shown), style)
        stream = sys.stderr if self.messages else sys.stdout
        colours = _takes_colours(stream)
        for line in lines_of(shown, self.width):
            print(line.coloured() if colours else str(line).rstrip(), file=stream)


def _takes_colours(stream: TextIO) -> bool:
    if "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb":
        return False
    old_windows = os.name == "nt" and "WT_SESSION" not in os.environ
    return stream.isatty() and not old_windows
