"""Functions of words: what templates ask of them (core/text/attributes.cpp, regex.cpp)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby


def to_lower(c: str) -> str:
    """One character in lower case, as one character."""
    return c.lower()[0]


def lower(word: str, _: object = 0) -> str:
    """A word in lower case, character by character."""
    return word.lower() if word.isascii() else "".join(map(to_lower, word))


def digits(word: str, _: object = 0) -> str:
    """A word with a 0 for every digit."""
    return "".join(["0" if c.isdecimal() else c for c in word])


def _shape_of(c: str) -> str:
    return "X" if c.istitle() else "x" if c.islower() else "d" if c.isdecimal() else c


def shape(word: str, _: object = 0) -> str:
    """X for upper case, x for lower case, d for digits."""
    return "".join(map(_shape_of, word))


def short_shape(word: str, _: object = 0) -> str:
    """The shape with every run written once."""
    return "".join([c for c, _ in groupby(map(_shape_of, word))])


def kind(word: str, _: object = 0) -> str:
    """The case of a word with letters, else number or symbol; and digits and hyphens in it."""
    cases = [c.istitle() for c in word if c.istitle() or c.islower()]
    letter, digit = any(map(str.isalpha, word)), any(map(str.isdecimal, word))
    upper = sum(cases)
    if cases:
        if upper == len(cases):
            found = "upper"
        elif not upper:
            found = "lower"
        else:
            found = "title" if upper == 1 and cases[0] else "mixed"
    else:
        found = "letter" if letter else "number" if digit else "symbol"
    if digit and (letter or cases):
        found += ",digit"
    return found + ",hyphen" if "-" in word else found


def prefix(word: str, n: int) -> str | None:
    """The first n characters of a longer word."""
    return word[:n] if len(word) > n else None


def suffix(word: str, n: int) -> str | None:
    """The last n characters of a longer word."""
    return word[-n:] if len(word) > n else None


_BLANKS = frozenset(
    " \t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    + "".join(map(chr, range(0x2000, 0x200B)))
)
_CLASSES: dict[str, Callable[[str], bool]] = {
    "a": str.isalpha,
    "d": str.isdecimal,
    "l": str.islower,
    "u": str.istitle,
    "w": lambda c: c.isalpha() or c.isdecimal(),
    "s": lambda c: c in _BLANKS,
    "p": lambda c: (
        not (c.isalpha() or c.isdecimal() or c in _BLANKS or c < " " or "\x7f" <= c < "\xa0")
    ),
}


class Regex:
    """A regular expression of Wapiti's: characters, classes such as ``\\d``, ``?`` and ``*``."""

    def __init__(self, text: str) -> None:
        self.at_start = text.startswith("^")
        self.at_end = False
        self.items: list[tuple[Callable[[str], bool], str]] = []
        at = int(self.at_start)
        while at < len(text):
            if text[at] == "$" and at + 1 == len(text):
                self.at_end = True
                break
            escaped = text[at] == "\\" and at + 1 < len(text)
            at += escaped
            matches = _matcher(text[at], escaped)
            times = text[at + 1 : at + 2]
            times = times if times in ("*", "?") else ""
            self.items.append((matches, times))
            at += 1 + len(times)

    def search(self, word: str) -> str | None:
        """The first piece of the word that matches."""
        n, count = len(word), len(self.items)
        tried: set[tuple[int, int]] = set()
        for start in range(1 if self.at_start else n + 1):
            todo = [(0, start)]
            while todo:
                k, at = place = todo.pop()
                if place in tried:
                    continue
                tried.add(place)
                if k == count:
                    if self.at_end and at != n:
                        continue
                    return word[start:at]
                matches, times = self.items[k]
                fits = at < n and matches(word[at])
                if times == "*":
                    if fits:
                        todo.append((k, at + 1))
                    todo.append((k + 1, at))
                else:
                    if times == "?":
                        todo.append((k + 1, at))
                    if fits:
                        todo.append((k + 1, at + 1))
        return None


def _matcher(c: str, escaped: bool) -> Callable[[str], bool]:
    if escaped and c in "adluwspADLUWSP":
        inside = _CLASSES[c.lower()]
        return inside if c.islower() else lambda other: not inside(other)
    if c == "." and not escaped:
        return lambda _: True
    return lambda other: other == c


def match(word: str, regex: Regex) -> str:
    """What a regular expression finds in a word."""
    return regex.search(word) or ""


def test(word: str, regex: Regex) -> str:
    """Whether a regular expression finds something in a word."""
    return "false" if regex.search(word) is None else "true"


FUNCTIONS: dict[str, Callable[..., str | None]] = {
    "lower": lower,
    "digits": digits,
    "shape": shape,
    "shortshape": short_shape,
    "kind": kind,
    "prefix": prefix,
    "suffix": suffix,
    "match": match,
    "test": test,
}
