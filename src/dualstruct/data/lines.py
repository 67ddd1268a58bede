"""The lines of a text file, some at a time: memory does not grow with the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dualstruct.data.columns import ColumnSentences
from dualstruct.data.layout import ColumnLayout
from dualstruct.data.opening import PathOrFile, name_of, read_pieces, refuse_json
from dualstruct.data.tokenizing import Tokenizer, TokenPlaces
from dualstruct.errors import InputError

__all__ = ["LineBlock", "line_blocks", "sentence_blocks"]


class LineBlock(NamedTuple):
    """Some lines of a file."""

    lines: list[str]  #: without their ends; blank ones too
    first: int  #: the number of the first, counted from 1


def line_blocks(source: PathOrFile, size: int = 1 << 20) -> Iterator[LineBlock]:
    """The lines of a file in UTF-8; what a pipe holds comes as soon as it is there.

    Examples
    --------
    >>> import io
    >>> list(line_blocks(io.StringIO("Ada\\r\\n\\nBo"), size=4))
    [LineBlock(lines=['Ada', ''], first=1), LineBlock(lines=['Bo'], first=3)]
    """
    name, held, number = name_of(source), b"", 1
    for piece in read_pieces(source, size):
        held += piece
        if len(held) < size and not piece.endswith(b"\n"):
            continue
        whole, end, held = held.rpartition(b"\n")
        if end:
            yield LineBlock(_lines(whole, name, number), number)
            number += whole.count(b"\n") + 1
    if held:
        yield LineBlock(_lines(held, name, number), number)


def _lines(data: bytes, name: str, number: int) -> list[str]:
    if number == 1:
        data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as problem:
        line = number + data.count(b"\n", 0, problem.start)
        raise InputError(f"{name}, line {line}: this is not UTF-8 text") from None
    return [line.removesuffix("\r") for line in text.split("\n")]


def split_texts(texts: list[str], tokenizer: Tokenizer, name: str, lines: list[int]) -> TokenPlaces:
    """Texts as tokens; what cannot be split is reported with its line."""
    try:
        return tokenizer.split(texts)
    except InputError as problem:
        message = re.sub(
            r"^text (\d+)", lambda k: f"{name}, line {lines[int(k[1]) - 1]}", str(problem)
        )
        raise InputError(message) from None


def sentence_blocks(source: PathOrFile, tokenizer: Tokenizer) -> Iterator[ColumnSentences]:
    """The sentences of a text file, each line of which is a text; JSON is refused."""
    name, begins = name_of(source), True
    layout = ColumnLayout((0,), None, 1, tokenizer=tokenizer)
    for lines, first in line_blocks(source):
        if begins:
            refuse_json(name, "\n".join(lines).encode())
            begins = not "".join(lines).strip()
        found = split_texts(lines, tokenizer, name, list(range(first, first + len(lines))))
        if len(found.table):
            yield ColumnSentences(found.table, [0], layout=layout)
