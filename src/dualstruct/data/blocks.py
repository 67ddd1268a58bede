"""Column files block by block: as much as fits in memory, cut between sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dualstruct.data.columns import ColumnFile, column_format, parse_column_file
from dualstruct.data.opening import PathOrFile, name_of, read_pieces
from dualstruct.errors import InputError

#: Bytes of text a block: about a million tokens.
BLOCK_BYTES = 1 << 24
#: A blank line, with the ends of lines of any system.
_BLANK = re.compile(rb"\n[ \t\r]*\n")


def read_blocks(
    source: PathOrFile,
    *,
    label_column: int | None = -1,
    columns: Sequence[int] | None = None,
    separator: str | None = None,
    comments: bool | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[ColumnFile]:
    """A column file as several, each of whole sentences; the parameters are those of read_columns.

    Examples
    --------
    >>> import io
    >>> text = io.StringIO("Ada B\\nsings O\\n\\nHello O\\n\\nBo B\\n")
    >>> [len(block) for block in read_blocks(text, block_bytes=8)]
    [1, 1, 1]
    """
    name, lines, held = name_of(source), 0, b""
    format = None  # of the first block, which says how all are to be read
    for text in _cut(source, block_bytes):
        held += text
        if format is None or not format.n_columns:
            format = column_format(name, held, separator, comments)
        if not len(format.token_lines(held)):  # comments belong to the sentence after them
            continue
        try:
            block = parse_column_file(name, held, format, columns, label_column)
        except InputError as problem:
            raise InputError(_moved(str(problem), lines)) from None
        yield block
        lines += held.count(b"\n")
        held = b""


def _cut(source: PathOrFile, block_bytes: int) -> Iterator[bytes]:
    held = bytearray()
    searched = 0  # where the next blank line may begin
    for piece in read_pieces(source, block_bytes):
        held += piece
        if len(held) < block_bytes:
            continue
        ends = [found.end() for found in _BLANK.finditer(held, max(searched - 2, 0))]
        searched = len(held)
        if ends:
            yield bytes(held[: ends[-1]])
            del held[: ends[-1]]
            searched = len(held)
    if held:
        yield bytes(held)


def _moved(message: str, lines: int) -> str:
    """A block's message with line numbers of the file."""
    return re.sub(r"\bline (\d+)", lambda found: f"line {int(found[1]) + lines}", message)
