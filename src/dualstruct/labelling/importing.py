"""What a project is made of: files in any format of texts, plain text, and folders of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dualstruct.errors import InputError
from dualstruct.texts import Document, iter_documents
from dualstruct.texts.formats import FORMATS, beginning_of, find_format

__all__ = ["documents_in"]

#: As many lines say whether a file has columns.
_LINES = 200


def documents_in(
    path: str | Path, format: str | None = None, column: str | None = None
) -> Iterator[Document]:
    """The documents of a file or a folder.

    A folder of BRAT is one; another one has files of texts, each of which is read. ``column`` says
    what is read from CoNLL-U, if not the usual labels.
    """
    place = Path(path)
    if not place.is_dir():
        yield from _read(str(path), format, column)
        return
    if format == "brat" or (format is None and any(place.glob("*.ann"))):
        yield from iter_documents(place, "brat")
        return
    files = sorted(each for each in place.rglob("*") if each.is_file() and each.name[0] != ".")
    if not files:
        raise InputError(f"{place}: there are no files in it")
    for file in files:
        name = str(file.relative_to(place))
        for document in _read(str(file), format, column):
            document.metadata.setdefault("id", name)
            yield document


def _read(path: str, format: str | None, column: str | None) -> Iterator[Document]:
    found = format or _format_of(path)
    return iter_documents(path, found, column if found == "conllu" else None)


def _format_of(path: str) -> str:
    """As found, but columns are as many on each line, with tabs or a label at the end.

    One line alone, or lines that end as sentences do, are text.
    """
    found = find_format(path)
    if found is not FORMATS["conll"]:
        return found.name
    text = beginning_of(path).decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines()[:_LINES]]
    rows = [line.split() for line in lines if line and not line.startswith("-DOCSTART-")]
    if len({len(row) for row in rows}) != 1 or len(rows[0]) == 1:
        return "text"
    tabs = all("\t" in line for line in lines if line)
    labelled = tabs or (len(rows) > 1 and all(_is_like_a_label(row[-1]) for row in rows))
    return "conll" if labelled else "text"


def _is_like_a_label(word: str) -> bool:
    ends = len(word) > 1 and word[-1] in ".!?"
    return not ends and (word[0].isupper() or not any(c.isalpha() for c in word))
