"""Column files: one token per line, a blank line between sentences, -DOCSTART- between documents.

They have no text: it is made of the words, with spaces between them and a line for each sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from dualstruct.data.blocks import BLOCK_BYTES, read_blocks
from dualstruct.data.opening import PathOrFile, name_of
from dualstruct.errors import InputError
from dualstruct.texts.alignment import Alignment, label_spans, marks_spans
from dualstruct.texts.documents import Document, joined
from dualstruct.texts.formats.base import Format

__all__ = ["COLUMNS", "labels_of", "with_spans"]

_MARK = "-DOCSTART-"


def read(source: PathOrFile, label: str | None = None) -> Iterator[Document]:
    """A document for each -DOCSTART-, or for each sentence where there is none."""
    place = -1
    if label is not None:
        try:
            place = int(label)
        except ValueError:
            raise InputError(f"the label column is {label!r}; columns have numbers") from None
    held: list[tuple[Sequence[Any], Sequence[str]]] = []
    marked, sentence = False, 0
    for block in read_blocks(source, label_column=place, block_bytes=BLOCK_BYTES):
        for i, (words, labels) in enumerate(zip(block.forms, block.labels, strict=True)):
            lines = block.other_lines.get((i, 0), [])
            if any(line.startswith(_MARK) for line in lines):
                if held:
                    yield _document(held, source, sentence)
                marked, held = True, []
            held.append((words, labels))
            sentence += 1
            if not marked:
                yield _document(held, source, sentence)
                held = []
    if held:
        yield _document(held, source, sentence)


def _document(
    held: list[tuple[Sequence[Any], Sequence[str]]], source: PathOrFile, last: int
) -> Document:
    where = f"{name_of(source)}, sentence {last - len(held) + 1}"
    document = joined([words for words, _ in held], [labels for _, labels in held], where=where)
    return with_spans(document)


def with_spans(document: Document) -> Document:
    """Labels such as B-PER become spans; others stay labels of tokens."""
    if document.labels is not None and marks_spans(document.labels):
        document.spans = label_spans(document, document.by_sentence(document.labels))
        document.labels = None
    return document


def labels_of(document: Document) -> list[str] | None:
    """A label for each token: its own, or B-, I- and O for spans; None if there are none."""
    if document.labels is not None or document.spans is None:
        return document.labels
    return Alignment("move", "longest").labels(document)


def write(documents: Iterable[Document], out: IO[bytes]) -> None:
    for document in documents:
        out.write(f"{_MARK}\tO\n\n".encode())
        labels = labels_of(document) or ["O"] * len(document.places)
        rows = zip(document.words(), document.by_sentence(labels), strict=True)
        for words, row in rows:
            for word, label in zip(words, row, strict=True):
                if not label or any(c in "\t\r\n" for c in word + label):
                    raise InputError(
                        f"{document.where}: {word!r} with the label {label!r} cannot be a row of "
                        "columns, because of its tabs or line ends"
                    )
            lines = (f"{word}\t{label}\n" for word, label in zip(words, row, strict=True))
            out.write(f"{''.join(lines)}\n".encode())


COLUMNS = Format(
    "conll",
    "one token per line with its label",
    (".conll", ".txt", ".tsv", ".bio", ".iob"),
    read,
    write=write,
    of_tokens=True,
)
