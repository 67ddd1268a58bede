"""BRAT's standoff: a folder with a text (.txt) and its annotations (.ann) for each document."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from dualstruct.data.opening import PathOrFile, name_of, read_text
from dualstruct.data.writing import OutputError, replace_file
from dualstruct.errors import InputError
from dualstruct.texts.documents import Document, TextSpan
from dualstruct.texts.formats.base import Format, refuse_labels
from dualstruct.texts.formats.rows import checked_span

__all__ = ["BRAT"]

_PLACES = re.compile(r"(\d{1,12}) (\d{1,12})(;\d{1,12} \d{1,12})*")
_NAME = re.compile(r"[^\w.-]+")


def read(source: PathOrFile, label: str | None = None) -> Iterator[Document]:
    if not isinstance(source, str | os.PathLike) or not Path(source).is_dir():
        raise InputError(f"{name_of(source)}: BRAT's files are a folder with .txt and .ann")
    folder = Path(source)
    texts = sorted(folder.rglob("*.txt"))
    if not texts:
        raise InputError(f"{folder.name}: there is no .txt in it")
    for path in texts:
        text = _text(path)
        notes = path.with_suffix(".ann")
        spans = list(_spans(notes, text)) if notes.is_file() else None
        metadata = {"id": path.relative_to(folder).with_suffix("").as_posix()}
        document = Document(text, spans, metadata=metadata, where=path.name)
        document.check()
        yield document


def _text(path: Path) -> str:
    """As it is, with its line ends and a mark of UTF-8: places count them."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return read_text(path)  # which says where
    except OSError as problem:
        raise InputError(f"{path.name}: {problem.strerror or problem}") from None


def _spans(path: Path, text: str) -> Iterator[TextSpan]:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.startswith("T"):  # relations, events, attributes, notes
            continue
        where = f"{path.name}, line {number}"
        cells = line.rstrip("\r").split("\t")
        label, _, places = (cells[1] if len(cells) > 1 else "").partition(" ")
        if not label or _PLACES.fullmatch(places) is None:
            raise InputError(f"{where}: T1, a type with places (PER 0 3) and the text are expected")
        pieces = [tuple(map(int, each.split(" "))) for each in places.split(";")]
        for (_, end), (start, _) in pairwise(pieces):
            if text[end:start].strip():
                raise InputError(
                    f"{where}: the span is in pieces, {places}, which labels of tokens cannot mark"
                )
        span = TextSpan(pieces[0][0], pieces[-1][1], label)
        yield checked_span(span, text, cells[2] if len(cells) > 2 else None, where)


def write_folder(documents: Iterable[Document], target: str) -> None:
    """A pair of files for each document, named by its id or its number."""
    folder = Path(target)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise OutputError(f"{folder} could not be written: the folder is not empty")
    except OSError as problem:
        if isinstance(problem, OutputError):
            raise
        raise OutputError(f"{folder} could not be written: {problem.strerror}") from None
    names: set[str] = set()
    for number, document in enumerate(documents, 1):
        refuse_labels(document, "brat")
        known = document.metadata.get("id")
        name = _NAME.sub("_", str(known)).strip("._")[:100] if known is not None else ""
        if not name or name.lower() in names:
            name = f"{name or 'text'}-{number:06}"
        names.add(name.lower())
        replace_file(folder / f"{name}.txt", document.text.encode())
        if document.spans is not None:
            lines = [_line(k, span, document) for k, span in enumerate(document.spans, 1)]
            replace_file(folder / f"{name}.ann", "".join(lines).encode())


def _line(number: int, span: TextSpan, document: Document) -> str:
    text = document.text[span.start : span.end]
    if re.search(r"\s", span.label):
        raise InputError(f"{document.where}: BRAT has no types with spaces, such as {span.label!r}")
    pieces, begin = [], span.start  # no piece goes over the end of a line
    for piece in re.split(r"([\r\n]+)", text):
        if piece.strip("\r\n") and piece.strip():
            pieces.append(f"{begin} {begin + len(piece)}")
        begin += len(piece)
    said = re.sub(r"[\r\n\t]+", " ", text)
    return f"T{number}\t{span.label} {';'.join(pieces)}\t{said}\n"


BRAT = Format(
    "brat", "a folder of BRAT's .txt and .ann", (".brat",), read, write_folder=write_folder
)
