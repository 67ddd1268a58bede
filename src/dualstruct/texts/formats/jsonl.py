"""Lines of JSON, each with a text and its spans (rows.py has the spellings)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import IO, Any

from dualstruct.data.opening import PathOrFile, name_of
from dualstruct.texts.documents import Document
from dualstruct.texts.formats.base import Format
from dualstruct.texts.formats.json_values import json_values
from dualstruct.texts.formats.rows import document_of

__all__ = ["JSONL", "as_row"]


def read(source: PathOrFile, label: str | None = None) -> Iterator[Document]:
    name = name_of(source)
    for value, line in json_values(source):
        # LightTag's: all examples in one object.
        inner = value.get("examples") if isinstance(value, dict) else None
        for one in inner if isinstance(inner, list) else [value]:
            document = document_of(one, f"{name}, line {line}", label)
            if document is not None:
                yield document


def as_row(document: Document) -> dict[str, Any]:
    """A document as an object: its text, tokens and spans, and what stood beside them."""
    text = document.text
    row: dict[str, Any] = {"text": text}
    if document.tokens is not None:
        row["tokens"] = [{"text": text[a:b], "start": a, "end": b} for a, b in document.tokens]
        if document.labels is not None:
            for token, label in zip(row["tokens"], document.labels, strict=True):
                token["label"] = label
            for first in (document.sentences or [])[1:-1]:
                row["tokens"][first]["sent_start"] = True
    if document.spans is not None:
        row["spans"] = [
            {"start": a, "end": b, "label": label, "text": text[a:b]}
            | ({} if p is None else {"probability": p})
            for a, b, label, p in document.spans
        ]
    return row | {key: value for key, value in document.metadata.items() if key not in row}


def write(documents: Iterable[Document], out: IO[bytes]) -> None:
    encode = json.JSONEncoder(ensure_ascii=False).encode
    for document in documents:
        # Half of a surrogate pair becomes the escape that JSON has for it.
        out.write(f"{encode(as_row(document))}\n".encode("utf-8", "backslashreplace"))


JSONL = Format(
    "jsonl",
    "lines of JSON with a text and its spans",
    (".jsonl", ".ndjson", ".json"),
    read,
    lambda data: data.lstrip()[:1] in (b"{", b"["),
    write,
)
