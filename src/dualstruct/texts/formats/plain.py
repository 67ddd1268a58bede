"""Plain text: each line is a document, without spans."""

from __future__ import annotations

from collections.abc import Iterator

from dualstruct.data.lines import line_blocks
from dualstruct.data.opening import PathOrFile, name_of, refuse_json
from dualstruct.texts.documents import Document
from dualstruct.texts.formats.base import Format

__all__ = ["PLAIN"]


def read(source: PathOrFile, label: str | None = None) -> Iterator[Document]:
    name, begins = name_of(source), True
    for lines, first in line_blocks(source):
        if begins:
            refuse_json(name, "\n".join(lines).encode())
            begins = not "".join(lines).strip()
        for number, line in enumerate(lines, first):
            if line.strip():
                yield Document(line, where=f"{name}, line {number}")


PLAIN = Format("text", "plain text, a document on each line", (), read)
