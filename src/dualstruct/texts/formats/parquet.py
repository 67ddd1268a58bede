"""Parquet and Arrow, as the library datasets has them: a text or words in each row.

A file, a folder that ``save_to_disk`` wrote, or the dataset itself. Rows are spelled as those of
JSON (rows.py); numbers of labels get the names that the file has for them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from dualstruct.data.examples import class_names, is_dataset
from dualstruct.data.opening import PathOrFile, name_of
from dualstruct.errors import InputError
from dualstruct.libraries import library
from dualstruct.texts.documents import Document
from dualstruct.texts.formats.base import Format
from dualstruct.texts.formats.columns import with_spans
from dualstruct.texts.formats.jsonl import as_row
from dualstruct.texts.formats.rows import document_of

__all__ = ["ARROW", "PARQUET"]

#: Rows that are read or written at a time.
_ROWS = 1000
_PARQUET = b"PAR1"
#: How a file of Arrow begins, and a stream of it.
_ARROW = (b"ARROW1", b"\xff\xff\xff\xff")
#: What datasets writes beside the data of one dataset, and above several.
_STATE, _SEVERAL = "state.json", "dataset_dict.json"


def _arrow(name: str) -> Any:
    return library(name, "parquet", "a file of Parquet or Arrow")


def read(source: PathOrFile, label: str | None = None) -> Iterator[Document]:
    if is_dataset(source):
        yield from _documents(_rows_of_dataset(source), name_of(source), label)
        return
    for file in _files(source):
        yield from _documents(_rows(file), name_of(file), label)


def _documents(
    rows: Iterator[tuple[dict[str, Any], dict[str, list[str]]]], name: str, label: str | None
) -> Iterator[Document]:
    number = 0
    try:
        for row, names in rows:
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


def _files(source: PathOrFile) -> list[PathOrFile]:
    """A file; or those of a folder, without what datasets keeps there for itself."""
    if not isinstance(source, str | os.PathLike) or not Path(source).is_dir():
        return [source]
    folder = Path(source)
    name = name_of(source)
    if (folder / _SEVERAL).is_file():
        parts = sorted(each.parent.name for each in folder.glob(f"*/{_STATE}"))
        raise InputError(
            f"{name}: it holds several datasets, {', '.join(parts)}; name the folder of one"
        )
    found = sorted(each for each in folder.iterdir() if each.suffix in (".arrow", ".parquet"))
    try:
        state = json.loads((folder / _STATE).read_bytes())
        found = [folder / Path(each["filename"]).name for each in state["_data_files"]]
    except FileNotFoundError:
        pass
    except (ValueError, TypeError, KeyError, OSError) as problem:
        raise InputError(f"{name}, {_STATE}: it cannot be read ({problem})") from None
    if not found:
        raise InputError(f"{name}: there is no .arrow or .parquet in it")
    return list(found)


def _rows_of_dataset(dataset: Any) -> Iterator[tuple[dict[str, Any], dict[str, list[str]]]]:
    """The rows of a dataset in memory or of a stream, and the names of labels by column."""
    known = {name: class_names(feature) for name, feature in dataset.features.items()}
    names = {name: each for name, each in known.items() if each is not None}
    # Lists and numbers of Python, whatever the user looks at it as.
    plain = dataset.with_format(None) if hasattr(dataset, "with_format") else dataset
    for row in plain:
        yield dict(row), names


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


def write_parquet(documents: Iterable[Document], out: IO[bytes]) -> None:
    schema = _schema()
    with _arrow("pyarrow.parquet").ParquetWriter(out, schema) as writer:
        _write(documents, writer, schema)


def write_arrow(documents: Iterable[Document], out: IO[bytes]) -> None:
    """A stream, as datasets writes it."""
    schema = _schema()
    with _arrow("pyarrow").ipc.new_stream(out, schema) as writer:
        _write(documents, writer, schema)


def _schema() -> Any:
    arrow = _arrow("pyarrow")
    place = [("text", arrow.string()), ("start", arrow.int64()), ("end", arrow.int64())]
    token = arrow.struct([*place, ("label", arrow.string()), ("sent_start", arrow.bool_())])
    span = arrow.struct([*place, ("label", arrow.string()), ("probability", arrow.float64())])
    return arrow.schema(
        [("text", arrow.string()), ("tokens", arrow.list_(token)), ("spans", arrow.list_(span))]
    )


def _write(documents: Iterable[Document], writer: Any, schema: Any) -> None:
    """A row with the text, its tokens and its spans for each document."""
    table = _arrow("pyarrow").Table
    waiting = iter(documents)
    while block := [as_row(each) for each in islice(waiting, _ROWS)]:
        writer.write_table(table.from_pylist(block, schema=schema))


def _is_folder(folder: Path) -> bool:
    names = {each.name for each in folder.iterdir()}
    return bool(names & {_STATE, _SEVERAL}) or any(
        name.endswith((".arrow", ".parquet")) for name in names
    )


PARQUET = Format(
    "parquet",
    "Parquet files of datasets",
    (".parquet",),
    read,
    lambda data: data.startswith(_PARQUET),
    write_parquet,
    needs_library="pyarrow",
    is_text=False,
)
ARROW = Format(
    "arrow",
    "Arrow files of datasets, or a folder of them",
    (".arrow",),
    read,
    lambda data: data.startswith(_ARROW),
    write_arrow,
    fits_folder=_is_folder,
    needs_library="pyarrow",
    is_text=False,
)
