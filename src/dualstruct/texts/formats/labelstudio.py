"""Label Studio's exports: a list of tasks, each with the text among its data and results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import IO, Any

from dualstruct.data.opening import PathOrFile, name_of
from dualstruct.errors import InputError
from dualstruct.texts.documents import Document, TextSpan
from dualstruct.texts.formats.base import Format, refuse_labels
from dualstruct.texts.formats.json_values import json_values
from dualstruct.texts.formats.rows import span_list

__all__ = ["LABEL_STUDIO"]

_TASK = re.compile(
    rb'^\s*\[?\s*\{.{0,20000}?"(annotations|completions|predictions)"\s*:\s*\[', re.DOTALL
)
_DATA = re.compile(rb'"data"\s*:\s*\{')
#: A task that nobody has looked at.
_NEW_TASK = re.compile(rb'^\s*\[?\s*\{\s*("id"\s*:\s*\d+\s*,\s*)?"data"\s*:\s*\{')


def read(source: PathOrFile, label: str | None = None) -> Iterator[Document]:
    """Tasks with the first annotation that was not cancelled; ``label`` is its ``from_name``."""
    name = name_of(source)
    for value, line in json_values(source):
        where = f"{name}, line {line}"
        data = value.get("data") if isinstance(value, dict) else None
        if not isinstance(data, dict):
            raise InputError(f"{where}: a task of Label Studio has data, an object")
        texts = {key: one for key, one in data.items() if isinstance(one, str)}
        results = _results(value)
        named = {each["to_name"] for each in results or () if isinstance(each.get("to_name"), str)}
        known = [k for k in texts if k in named or (k == "text" and not named & set(texts))]
        key = max(known or texts, key=lambda k: len(texts[k]), default=None)
        if key is None:
            raise InputError(f"{where}: there is no text among the data")
        spans = None
        if results is not None:
            chosen = [each for each in results if label in (None, each.get("from_name"))]
            spans = _spans(chosen, texts[key], f"{where}: result")
        kept = {k: value[k] for k in ("id", "meta") if k in value}
        document = Document(texts[key], spans, metadata=kept, where=where)
        document.check()
        yield document


def _results(task: dict[str, Any]) -> list[dict[str, Any]] | None:
    for kind in ("annotations", "completions", "predictions"):
        given = task.get(kind)
        for one in given if isinstance(given, list) else ():
            result = one.get("result") if isinstance(one, dict) else None
            if isinstance(result, list) and not one.get("was_cancelled"):
                return [each for each in result if isinstance(each, dict)]
    return None


def _spans(results: list[dict[str, Any]], text: str, where: str) -> list[TextSpan]:
    found = []
    for k, each in enumerate(results):
        value = each.get("value")
        if isinstance(value, dict) and "labels" in value:  # no choice, rating or relation
            found += span_list([value], text, f"{where}[{k}]")
    return found


def write(documents: Iterable[Document], out: IO[bytes]) -> None:
    """A list with a task on each line; spans with a probability are predictions."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    begin = "[\n"
    for document in documents:
        out.write(f"{begin}{encode(_task(document))}".encode("utf-8", "backslashreplace"))
        begin = ",\n"
    out.write(b"\n]\n" if begin == ",\n" else b"[]\n")


def _task(document: Document) -> dict[str, Any]:
    refuse_labels(document, "labelstudio")
    text = document.text
    task: dict[str, Any] = {}
    if isinstance(document.metadata.get("id"), int):
        task["id"] = document.metadata["id"]
    task["data"] = {"text": text}
    if document.spans is None:
        return task
    result = [
        {
            "id": str(number),
            "type": "labels",
            "from_name": "label",
            "to_name": "text",
            "value": {"start": a, "end": b, "text": text[a:b], "labels": [label]},
            **({} if p is None else {"score": p}),
        }
        for number, (a, b, label, p) in enumerate(document.spans, 1)
    ]
    sure = any(span.probability is not None for span in document.spans)
    return task | {"predictions" if sure else "annotations": [{"result": result}]}


def _fits(data: bytes) -> bool:
    known = _TASK.match(data) is not None and _DATA.search(data) is not None
    return known or _NEW_TASK.match(data) is not None


LABEL_STUDIO = Format(
    "labelstudio",
    "an export of Label Studio",
    (".labelstudio.json",),
    read,
    _fits,
    write,
)
