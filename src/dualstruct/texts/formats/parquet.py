"""Parquet and Arrow files, as the library datasets keeps them: a text or words in each row.

Rows are spelled as those of JSON (rows.py); numbers of labels get the names that the file has for
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, Any

from dualstruct.data.opening import PathOrFile, name_of
from dualstruct.errors import InputError
from dualstruct.libraries import library
from dualstruct.texts.documents import Document
from dualstruct.texts.formats.base import Format
from dualstruct.texts.formats.columns import with_spans
from dualstruct.texts.formats.jsonl import as_row
from dualstruct.texts.formats.rows import document_of

__all__ = ["PARQUET"]

#: Rows that are read or written at a time.
_ROWS = 1000
_PARQUET = b"PAR1"


def _arrow(name: str) -> Any:
    return library(name, "parquet", "the format parquet")


def read(source: PathOrFile, label: str | None = None) -> Iterator[Document]:
    name = name_of(source)
    number = 0
    try:
        for row, names in _rows(source):
            number += 1
            where = f"{name}, row {number}"
            known = {key: _named(value, names.get(key), where) for key, value in row.items()}
            given = {key: value for key, value in known.items() if value is not None}
            document = document_of(given, where, label)
            if document is not None:
                yield with_spans(document)
    except _arrow("pyarrow").ArrowException as problem:
        raise InputError(f"{name}: it cannot be read ({problem})") from None
    except OSError as problem:
        raise InputError(f"{name}: {problem.strerror or problem}") from None


def _rows(source: PathOrFile) -> Iterator[tuple[dict[str, Any], dict[str, list[str]]]]:
    """The rows of a file, and the names of labels by column."""
    arrow = _arrow("pyarrow")
    path = source if hasattr(source, "read") else str(source)
    with arrow.OSFile(path) if isinstance(path, str) else arrow.PythonFile(path) as file:
        if file.read(len(_PARQUET)) == _PARQUET:
            file.seek(0)
            table = _arrow("pyarrow.parquet").ParquetFile(file)
            schema, batches = table.schema_arrow, table.iter_batches(_ROWS)
        else:
            file.seek(0)
            opened = _opened(arrow, file)
            schema, batches = opened.schema, opened
        names = _label_names(schema)
        for batch in batches:
            for row in batch.to_pylist():
                yield row, names


def _opened(arrow: Any, file: Any) -> Any:
    """A stream of Arrow, as datasets writes it, or a file of it."""
    try:
        return arrow.ipc.open_stream(file)
    except arrow.ArrowInvalid:
        file.seek(0)
        opened = arrow.ipc.open_file(file)
        return arrow.RecordBatchReader.from_batches(
            opened.schema, (opened.get_batch(k) for k in range(opened.num_record_batches))
        )


def _label_names(schema: Any) -> dict[str, list[str]]:
    """What datasets notes beside the columns."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        found = {}
        for name, each in features.items():
            inner = each[0] if isinstance(each, list) else each.get("feature", each)
            if isinstance(inner, dict) and isinstance(inner.get("names"), list):
                found[name] = [str(one) for one in inner["names"]]
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}
    return found


def _named(value: Any, names: list[str] | None, where: str) -> Any:
    if names is None or not isinstance(value, list):
        return value
    for one in value:
        if type(one) is int and not 0 <= one < len(names):
            raise InputError(f"{where}: there is no label {one}; there are {len(names)}")
    return [names[one] if type(one) is int else one for one in value]


def write(documents: Iterable[Document], out: IO[bytes]) -> None:
    """A row with the text, its tokens and its spans for each document."""
    arrow, parquet = _arrow("pyarrow"), _arrow("pyarrow.parquet")
    place = [("text", arrow.string()), ("start", arrow.int64()), ("end", arrow.int64())]
    token = arrow.struct([*place, ("label", arrow.string())])
    span = arrow.struct([*place, ("label", arrow.string()), ("probability", arrow.float64())])
    schema = arrow.schema(
        [("text", arrow.string()), ("tokens", arrow.list_(token)), ("spans", arrow.list_(span))]
    )
    waiting = iter(documents)
    with parquet.ParquetWriter(out, schema) as writer:
        while block := [as_row(each) for each in islice(waiting, _ROWS)]:
            writer.write_table(arrow.Table.from_pylist(block, schema=schema))


PARQUET = Format(
    "parquet",
    "Parquet or Arrow files of datasets",
    (".parquet", ".arrow"),
    read,
    lambda data: data.startswith(_PARQUET),
    write,
    needs_library="pyarrow",
    is_text=False,
)
