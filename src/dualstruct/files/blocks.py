"""Column files block by block: as much as fits in memory, cut between sentences."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence

from dualstruct.errors import InputError
from dualstruct.files.columns import ColumnFile, read_columns
from dualstruct.files.opening import PathOrFile, name_of, read_pieces

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
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[ColumnFile]:
    """A column file as several, each of whole sentences; the parameters are those of read_columns.

    Examples
    --------
    >>> text = io.StringIO("Ada B\\nsings O\\n\\nHello O\\n\\nBo B\\n")
    >>> [len(block) for block in read_blocks(text, block_bytes=8)]
    [1, 1, 1]
    """
    name, lines, count = name_of(source), 0, None
    for text in _cut(source, block_bytes):
        if text.strip():
            if separator is None:  # what the first line has, all have
                separator = "\t" if b"\t" in text.strip().split(b"\n", 1)[0] else " "
            try:
                block = read_columns(
                    io.BytesIO(text),
                    label_column=label_column,
                    columns=columns,
                    separator=separator,
                )
            except InputError as problem:
                raise InputError(_moved(str(problem), name, lines)) from None
            if count not in (None, block.tokens.n_columns):
                raise InputError(
                    f"{name}, line {lines + 1}: from here on tokens have "
                    f"{block.tokens.n_columns} columns, before they had {count}"
                )
            count = block.tokens.n_columns
            yield block
        lines += text.count(b"\n")


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


def _moved(message: str, name: str, lines: int) -> str:
    """A block's message with the file's name and line numbers."""
    message = re.sub(r"\bline (\d+)", lambda found: f"line {int(found[1]) + lines}", message)
    return re.sub(r"^[^,:]*(?=[,:])", name, message, count=1)
