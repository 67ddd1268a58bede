"""The lines of a text file, some at a time: memory does not grow with the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from dualstruct.data.columns import ColumnSentences
from dualstruct.data.layout import ColumnLayout
from dualstruct.data.opening import PathOrFile, name_of, read_pieces, refuse_json
from dualstruct.data.tokenizing import Splitter
from dualstruct.errors import InputError

__all__ = [
    "LineBlock",
    "TextBlock",
    "line_blocks",
    "located_texts",
    "sentence_blocks",
    "text_blocks",
]


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


class TextBlock(NamedTuple):
    """Some lines of a file that are not blank."""

    texts: list[str]
    numbers: list[int]  #: of the lines, counted from 1


@contextmanager
def located_texts(name: str, lines: Sequence[int]) -> Iterator[None]:
    """What cannot be split is reported with its line."""
    try:
        yield
    except InputError as problem:
        message = re.sub(
            r"^text (\d+)", lambda k: f"{name}, line {lines[int(k[1]) - 1]}", str(problem)
        )
        raise InputError(message) from None


def text_blocks(source: PathOrFile) -> Iterator[TextBlock]:
    """The lines of a text file that are not blank, each a text; JSON is refused."""
    name, begins = name_of(source), True
    for lines, first in line_blocks(source):
        if begins:
            refuse_json(name, "\n".join(lines).encode())
            begins = not "".join(lines).strip()
        kept = [(line, k) for k, line in enumerate(lines, first) if line.strip()]
        if kept:
            yield TextBlock([line for line, _ in kept], [k for _, k in kept])


def sentence_blocks(source: PathOrFile, tokenizer: Splitter) -> Iterator[ColumnSentences]:
    """The sentences of a text file, each line of which is a text; JSON is refused."""
    name = name_of(source)
    layout = ColumnLayout((0,), None, 1, tokenizer=tokenizer.rules)
    for texts, numbers in text_blocks(source):
        with located_texts(name, numbers):
            found = tokenizer.split(texts)
        if len(found.table):
            yield ColumnSentences(found.table, [0], layout=layout)
