"""Values of JSON from a file, one by one: a line each, one after the other, or in one long list."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from dualstruct.data.opening import PathOrFile, name_of, read_pieces
from dualstruct.errors import InputError

__all__ = ["json_values"]

#: No value is longer, in characters: a file that never closes a bracket is not read to its end.
MOST = 1 << 28
_STRUCTURE = re.compile(r'["\[\]{}\\]')
_BETWEEN = re.compile(r"[\s,]*")


def json_values(source: PathOrFile) -> Iterator[tuple[Any, int]]:
    """The values of a file with the lines on which they begin, counted from 1.

    A list around all values is opened: each of its entries is a value.

    Examples
    --------
    >>> import io
    >>> list(json_values(io.StringIO('{"a": 1}\\n{"a":\\n2}')))
    [({'a': 1}, 1), ({'a': 2}, 2)]
    >>> list(json_values(io.StringIO('[{"a": 1},\\n {"a": 2}]')))
    [({'a': 1}, 1), ({'a': 2}, 2)]
    """
    name = name_of(source)
    for text, line in _texts(source, name):
        try:
            yield json.loads(text), line
        except json.JSONDecodeError as problem:
            at = f"line {line + problem.lineno - 1}, character {problem.colno}"
            raise InputError(f"{name}, {at}: this is not JSON ({problem.msg})") from None
        except (ValueError, RecursionError) as problem:
            why = "it is nested too deeply" if isinstance(problem, RecursionError) else problem
            raise InputError(f"{name}, line {line}: this is not JSON ({why})") from None


def _texts(source: PathOrFile, name: str) -> Iterator[tuple[str, int]]:
    """The texts of the values."""
    scanner = _Scanner(name)
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    lines = 1
    for piece in read_pieces(source):
        try:
            text = decode(piece)
        except UnicodeDecodeError as problem:
            line = lines + piece.count(b"\n", 0, problem.start)
            raise InputError(f"{name}, line {line}: this is not UTF-8 text") from None
        lines += piece.count(b"\n")
        yield from scanner.feed(text)
    yield from scanner.end()


class _Scanner:
    """Cuts a text between values by counting brackets outside of strings."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._held, self._line = "", 1
        self._begin = 0  # of the value that comes next, in the text held
        self._at = 0  # what was looked at of it
        self._listed: bool | None = None  # whether there is a list around the values
        self._depth, self._quoted = 0, False

    def feed(self, text: str) -> Iterator[tuple[str, int]]:
        self._held = self._held[self._begin :] + text
        self._at -= self._begin
        self._begin = 0
        if self._listed is None and not self._sees_list():
            return
        while True:
            if self._at == self._begin:
                self._go_to_value()
            end = self._find_end()
            if end is None:
                if len(self._held) - self._begin > MOST:
                    raise InputError(f"{self._name}, line {self._line}: this value never ends")
                return
            value, line = self._held[self._begin : end], self._line
            self._skip(end)
            yield value, line

    def end(self) -> Iterator[tuple[str, int]]:
        rest = self._held[self._begin :]
        if rest.strip():
            yield rest, self._line  # which says itself what it lacks
        elif self._listed:
            raise InputError(f"{self._name}, line {self._line}: the list is not closed")

    def _sees_list(self) -> bool:
        """Whether it is known by now if there is a list around the values; it is opened."""
        self._skip(_blanks(self._held, 0))
        if not self._held[self._begin :].lstrip("[").strip():
            return False
        # A list of a text and its spans is a value by itself.
        self._listed = re.match(r"\[\s*[{\[\]]", self._held[self._begin :]) is not None
        if self._listed:
            self._skip(self._begin + 1)
        return True

    def _go_to_value(self) -> None:
        """Go on to the next value; anything else is refused."""
        self._skip(_blanks(self._held, self._begin))
        if self._listed and self._held.startswith("]", self._begin):
            self._listed = False
            self._skip(_blanks(self._held, self._begin + 1))
        if self._begin < len(self._held) and self._held[self._begin] not in "{[":
            raise InputError(
                f"{self._name}, line {self._line}: an object of JSON is expected here, not "
                f"{self._held[self._begin : self._begin + 20]!a}"
            )

    def _find_end(self) -> int | None:
        """Behind the value that comes next; None if the text held ends before it."""
        place = self._at
        while found := _STRUCTURE.search(self._held, place):
            sign, place = found[0], found.end()
            if sign == "\\":
                if place >= len(self._held):  # what it escapes comes with the next piece
                    self._at = place - 1
                    return None
                place += 1
            elif sign == '"':
                self._quoted = not self._quoted
            elif not self._quoted:
                self._depth += 1 if sign in "[{" else -1
                if self._depth <= 0:
                    self._depth = 0
                    return place
        self._at = max(len(self._held), self._begin)
        return None

    def _skip(self, place: int) -> None:
        self._line += self._held.count("\n", self._begin, place)
        self._begin = self._at = place


def _blanks(text: str, place: int) -> int:
    found = _BETWEEN.match(text, place)
    return place if found is None else found.end()
