"""Column files block by block: as much as fits in memory, cut between sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from dualstruct.data.columns import ColumnFile, column_format, parse_column_file
from dualstruct.data.cutting import whole_sentences
from dualstruct.data.opening import PathOrFile, name_of, read_pieces
from dualstruct.errors import InputError

#: Bytes of text a block: about a million tokens.
BLOCK_BYTES = 1 << 24


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
    return blocks_of(
        read_pieces(source, block_bytes),
        name_of(source),
        label_column=label_column,
        columns=columns,
        separator=separator,
        comments=comments,
        block_bytes=block_bytes,
    )


def blocks_of(
    pieces: Iterable[bytes],
    name: str,
    *,
    label_column: int | None = -1,
    columns: Sequence[int] | None = None,
    separator: str | None = None,
    comments: bool | None = None,
    block_bytes: int = 0,
) -> Iterator[ColumnFile]:
    """The same of a file that comes piece by piece."""
    lines, held = 0, b""
    format = None  # of the first block, which says how all are to be read
    for text, _ in whole_sentences(pieces, block_bytes):
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


def _moved(message: str, lines: int) -> str:
    """A block's message with line numbers of the file."""
    return re.sub(r"\bline (\d+)", lambda found: f"line {int(found[1]) + lines}", message)
