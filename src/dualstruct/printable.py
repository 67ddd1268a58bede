"""Text for a terminal: what would command it, or hide something, is shown instead."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

__all__ = ["json_text", "plural", "printable"]

#: Control characters, halves of surrogate pairs, line and paragraph separators, and characters of
#: format, which turn the direction of writing around or are not seen at all.
_ESCAPED = frozenset({"Cc", "Cs", "Zl", "Zp", "Cf"})
#: Those that some scripts, and emoji, are written with.
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"


def printable(text: str, keep: str = "") -> str:
    r"""The text with escape sequences, control characters and the like written out.

    Parameters
    ----------
    text : str
    keep : str
        Characters to leave as they are, such as the ends of lines.

    Examples
    --------
    >>> printable("B-\x1b[31mLOC")
    'B-\\x1b[31mLOC'
    >>> printable("one\ntwo\r", keep="\n")
    'one\ntwo\\r'
    """
    if text.isprintable():
        return text
    return "".join(c if c in keep or _is_harmless(c) else _written_out(c) for c in text)


def json_text(value: Any, encoding: str = "utf-8", **options: Any) -> str:
    r"""JSON on one line; where the encoding lacks a character, all others are escaped, too.

    Half of a surrogate pair is such a character, and a model's labels may hold one.

    Examples
    --------
    >>> json_text(["é"]), json_text(["é"], "ascii"), json_text(["é\ud800"])
    ('["é"]', '["\\u00e9"]', '["\\u00e9\\ud800"]')
    """
    text = json.dumps(value, ensure_ascii=False, **options)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(value, **options)
    return text


def plural(count: int, what: str) -> str:
    """A number of things.

    >>> plural(1, "mistake"), plural(2, "mistake"), plural(2, "entry"), plural(2, "pass")
    ('1 mistake', '2 mistakes', '2 entries', '2 passes')
    """
    if count == 1:
        return f"1 {what}"
    many = f"{what[:-1]}ie" if what.endswith("y") else f"{what}e" if what.endswith("s") else what
    return f"{count:,} {many}s"


def _is_harmless(character: str) -> bool:
    return unicodedata.category(character) not in _ESCAPED or character in _JOINERS


def _written_out(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
