"""Plain text: each line is a document, without spans."""

from __future__ import annotations

from collections.abc import Iterator

from dualstruct.data.lines import line_blocks
from dualstruct.data.opening import PathOrFile, name_of, refuse_json
from dualstruct.texts.documents import Document
from dualstruct.texts.formats.base import Format

__all__ = ["PLAIN", "document_lines"]


def read(source: PathOrFile, label: str | None = None) -> Iterator[Document]:
    for block in document_lines(source):
        yield from block


def document_lines(source: PathOrFile) -> Iterator[list[Document]]:
    """The documents some at a time: those of a pipe as soon as they are there."""
    name, begins = name_of(source), True
    for lines, first in line_blocks(source):
        if begins:
            refuse_json(name, "\n".join(lines).encode())
            begins = not "".join(lines).strip()
        yield [
            Document(line, where=f"{name}, line {number}")
            for number, line in enumerate(lines, first)
            if line.strip()
        ]


PLAIN = Format("text", "plain text, a document on each line", (), read)
