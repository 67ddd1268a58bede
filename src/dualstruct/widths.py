"""How many columns of a terminal a text takes."""

from __future__ import annotations

import unicodedata

__all__ = ["cell_len", "cut_to", "folded"]

#: Marks, and what is not seen at all.
_NO_WIDTH = frozenset({"Mn", "Me", "Mc", "Cf"})
#: Vowels and final consonants of Hangul: they are drawn into the syllable before them.
_JAMO = range(0x1160, 0x1200)
_SOFT_HYPHEN = "\N{SOFT HYPHEN}"


def cell_len(text: str) -> int:
    """How many columns a text takes: two for a character of Chinese, none for an accent.

    >>> cell_len("cat"), cell_len("猫"), cell_len("e\N{COMBINING ACUTE ACCENT}")
    (3, 2, 1)
    """
    return len(text) if text.isascii() else sum(map(_width, text))


def cut_to(text: str, columns: int) -> str:
    """As much of a text as fits into so many columns.

    >>> cut_to("好きな猫", 5)
    '好き'
    """
    taken = 0
    for place, character in enumerate(text):
        taken += _width(character)
        if taken > columns:
            return text[:place]
    return text


def folded(text: str, columns: int) -> list[str]:
    """A text in lines of at most so many columns, and of at least a character.

    >>> folded("word[0]=cats", 8), folded("", 8)
    (['word[0]=', 'cats'], [''])
    """
    lines = []
    while cell_len(text) > columns:
        line = cut_to(text, columns) or text[0]
        lines.append(line)
        text = text[len(line) :]
    return [*lines, text]


def _width(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    nothing = unicodedata.category(character) in _NO_WIDTH and character != _SOFT_HYPHEN
    return 0 if nothing or ord(character) in _JAMO else 1
