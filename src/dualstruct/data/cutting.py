"""Where a text that comes piece by piece may be cut: behind the blank lines between sentences.

A blank line is what the core takes for one: spaces and tabs before its end, \\n or \\r\\n.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

#: The end of a sentence: its last line end, and the blank lines behind it.
BLANK_LINES = re.compile(rb"\n(?:[ \t]*\r?\n)+")
_NOTHING = re.compile(rb"[ \t]*\r?(?:\n[ \t]*\r?)*")


def is_blank(text: bytes | bytearray) -> bool:
    """Whether there are only blank lines.

    >>> is_blank(b" \\n\\t\\r\\n"), is_blank(b"\\r\\r\\n")
    (True, False)
    """
    return _NOTHING.fullmatch(text) is not None


def whole_sentences(pieces: Iterable[bytes], size: int = 0) -> Iterator[tuple[bytes, int]]:
    """The same bytes cut after blank lines, and how many lines come before each block.

    Parameters
    ----------
    pieces : bytes
    size : int
        As many bytes are collected before they are cut.

    Examples
    --------
    >>> list(whole_sentences([b"a\\nb\\n \\t", b"\\nc\\n\\n", b"d"]))
    [(b'a\\nb\\n \\t\\nc\\n\\n', 0), (b'd', 5)]
    """
    held, before = bytearray(), 0
    searched = 0  # where the line begins that came last
    for piece in pieces:
        held += piece
        if len(held) < size:
            continue
        cut = _behind_blank_line(held, searched)
        if cut:
            block = bytes(held[:cut])
            yield block, before
            before += block.count(b"\n")
            del held[:cut]
        searched = max(held.rfind(b"\n"), 0)
    if held:
        yield bytes(held), before


def _behind_blank_line(text: bytearray, begin: int) -> int:
    """The end of the last blank line that has a line before it, or 0."""
    end = text.rfind(b"\n", begin)
    while end > begin:
        before = text.rfind(b"\n", begin, end)
        if before < 0:
            return 0
        if is_blank(text[before + 1 : end]):
            return end + 1
        end = before
    return 0
