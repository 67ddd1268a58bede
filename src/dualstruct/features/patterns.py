"""Template files of CRF++ and Wapiti.

A line is a pattern: text in which every ``%x[row,column]`` is replaced by what stands in that
column, ``row`` tokens away. The text that comes out is the feature's name::

    # comments and empty lines are skipped
    U00:%x[-1,0]
    U01:%x[0,0]/%x[0,1]
    B

Lines with a ``U`` make features of a token and its label. Lines with a ``B`` make features of a
token, its label and the label before it; a ``B`` line without any ``%`` is the transition that a
chain has anyway. ``*`` (Wapiti) stands for both. Patterns that differ only in their rows and
columns share their features, as they do in both programs: that is what ``00``, ``01`` are for.

Wapiti has more:

=======================  ==================================================================
``%m[r,c,"regex"]``      the first part of the value that matches, nothing if none does
``%t[r,c,"regex"]``      ``true`` or ``false``: whether it matches
``%X``, ``%M``, ``%T``   the same in lower case
``%x[@1,c]``             the first token of the sentence; ``@-1`` is the last one
=======================  ==================================================================

Its regular expressions know ``.``, ``^``, ``$``, ``x*`` (as few x as possible), ``x?`` and the
classes ``\\d`` digit, ``\\a`` letter, ``\\w`` letter or digit, ``\\l`` lower case, ``\\u`` upper
case, ``\\p`` punctuation, ``\\s`` blank; a class in upper case is everything else.

Outside the sentence the value is ``_B-1``, ``_B-2`` ... and ``_B+1`` ... in CRF++, ``_x-1`` to
``_x-4`` and then ``_x-#`` in Wapiti. In Wapiti ``#`` starts a comment anywhere in a line, in CRF++
only at its beginning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from dualstruct.data.opening import lines_of
from dualstruct.errors import InputError
from dualstruct.features.templates import FARTHEST, Templates, Term

__all__ = ["DIALECTS", "Pattern", "are_patterns", "parse_patterns"]

DIALECTS = ("crf++", "wapiti")
MOST_COLUMN = 9999

_INTEGER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class Pattern:
    """One line of such a file: text around terms."""

    text: str
    literals: tuple[str, ...]  # [terms + 1]
    terms: tuple[Term, ...]

    @property
    def identity(self) -> str:
        """Patterns that share it share their features."""
        return "%".join(self.literals)

    def __str__(self) -> str:
        return self.text


def are_patterns(text: str) -> bool:
    """Whether this is a template file of CRF++ or Wapiti: our own language has no ``%``."""
    return any("%" in line.split("#", 1)[0] for line in lines_of(text))


def detect_dialect(text: str) -> str:
    """Which of the two: Wapiti if the file has something that only Wapiti knows."""
    for line in lines_of(text):
        line = line.split("#", 1)[0].strip()
        if line[:1] in ("u", "b", "*") or re.search(r"%[mtXMT]\[|%x\[\s*@", line):
            return "wapiti"
    return "crf++"


def parse_patterns(text: str, name: str = "templates", dialect: str | None = None) -> Templates:
    """Parse a template file of CRF++ or Wapiti; `name` is what errors call it.

    Parameters
    ----------
    dialect : {"crf++", "wapiti"}, optional
        Recognised by the text if it is not given.

    Examples
    --------
    >>> templates = parse_patterns("U00:%x[-1,0]\\nU01:%x[0,0]\\nB01:%x[0,1]\\nB")
    >>> templates.dialect, len(templates.templates), len(templates.pairs)
    ('crf++', 2, 1)
    >>> parse_patterns('U:%m[0,0,"^.?.?$]')
    Traceback (most recent call last):
    ...
    dualstruct.errors.InputError: templates, line 1, column 11: the regular expression does not end
    """
    if dialect is None:
        dialect = detect_dialect(text)
    if dialect not in DIALECTS:
        raise InputError(f"dialect is {dialect!r}, not one of {', '.join(DIALECTS)}")
    features: dict[Pattern, None] = {}  # in order, each once
    pairs: dict[Pattern, None] = {}
    lines = 0
    for number, line in enumerate(lines_of(text), 1):
        line = (line.split("#", 1)[0] if dialect == "wapiti" else line).rstrip()
        if not line or line.startswith("#"):
            continue
        lines += 1
        where = f"{name}, line {number}"
        kind = line[0].upper() if dialect == "wapiti" else line[0]
        if kind not in ("U", "B") and not (kind == "*" and dialect == "wapiti"):
            known = '"U", "B" or "*"' if dialect == "wapiti" else '"U" or "B"'
            raise InputError(f"{where}, column 1: a line begins with {known}, not {line[0]!r}")
        literals, terms = _LineParser(line, where, dialect).parse()
        for letter, found in (("U", features), ("B", pairs)):
            if kind in (letter, "*") and (terms or letter == "U"):
                # Wapiti writes its features with a small letter.
                first = letter.lower() if dialect == "wapiti" else letter
                pattern = Pattern(first + line[1:], (first + literals[0][1:], *literals[1:]), terms)
                found[pattern] = None
    if not lines:
        raise InputError(f"{name}: it has no templates")
    if not features:
        raise InputError(f'{name}: at least one "U" line is expected')
    return Templates(tuple(features), (), dialect=dialect, pairs=tuple(pairs))


class _LineParser:
    """Goes over one line; every complaint names the column it is about."""

    def __init__(self, line: str, where: str, dialect: str) -> None:
        self.line = line
        self.where = where
        self.commands = "xXmMtT" if dialect == "wapiti" else "x"
        self.dialect = dialect
        self.at = 0

    def parse(self) -> tuple[tuple[str, ...], tuple[Term, ...]]:
        literals: list[str] = []
        terms: list[Term] = []
        while True:
            begin = self.at
            end = self.line.find("%", begin)
            literals.append(self.line[begin : end if end >= 0 else None])
            if end < 0:
                return tuple(literals), tuple(terms)
            self.at = end
            terms.append(self.command())

    def command(self) -> Term:
        letter = self.line[self.at + 1 : self.at + 2]
        if not letter or letter not in self.commands:
            known = ", ".join(f"%{c}" for c in self.commands)
            shown = f'"%{letter}"' if letter else 'a single "%"'
            self.fail(f"{shown} has no meaning here; there is {known}")
        self.at += 2
        self.expect("[")
        absolute = False
        if self.dialect == "wapiti" and self.peek() == "@":
            absolute = True
            self.at += 1
        row = self.integer("a row", -FARTHEST, FARTHEST)
        self.expect(",")
        column = self.integer("a column", 0, MOST_COLUMN)
        functions: list[tuple[str, int | str]] = []
        if letter in "mMtT":
            self.expect(",")
            functions.append(("match" if letter in "mM" else "test", self.regex()))
        if letter.isupper():
            functions.append(("lower", 0))
        self.expect("]")
        return Term(column, f"%x[…,{column}]", row, tuple(functions), absolute=absolute)

    def regex(self) -> str:
        self.expect('"')
        begin = self.at
        if self.peek() == "^":
            self.at += 1
        can_repeat = False
        while self.at < len(self.line) and self.line[self.at] != '"':
            if self.line[self.at] in "*?":
                if not can_repeat:
                    self.fail(f'"{self.line[self.at]}" has nothing to repeat')
                can_repeat = False
            else:
                can_repeat = True
                if self.line[self.at] == "\\" and self.at + 1 < len(self.line):
                    self.at += 1
            self.at += 1
        if self.at >= len(self.line):
            self.fail("the regular expression does not end", begin)
        self.at += 1
        return self.line[begin : self.at - 1]

    def integer(self, what: str, least: int, most: int) -> int:
        self.skip_blanks()
        found = _INTEGER.match(self.line, self.at)
        if found is None:
            self.fail(f"{what} is expected, not {self.shown()}")
        if len(found.group()) > 10 or not least <= int(found.group()) <= most:
            self.fail(f"{what} has to lie between {least} and {most}")
        self.at = found.end()
        return int(found.group())

    def expect(self, symbol: str) -> None:
        self.skip_blanks()
        if self.peek() != symbol:
            shown = "'\"'" if symbol == '"' else f'"{symbol}"'
            self.fail(f"{shown} is expected, not {self.shown()}")
        self.at += 1

    def skip_blanks(self) -> None:
        while self.peek() in (" ", "\t"):
            self.at += 1

    def peek(self) -> str:
        return self.line[self.at : self.at + 1]

    def shown(self) -> str:
        return f'"{self.peek()}"' if self.peek() else "the end of the line"

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        raise InputError(f"{self.where}, column {(self.at if at is None else at) + 1}: {reason}")
