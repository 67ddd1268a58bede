"""CSV with a header: a token in each row, with its label and the sentence that it is in.

The columns are found by their usual names; a column of sentences may name each in its first row
only. Without one, an empty row, or one without a word, ends a sentence.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import IO

from dualstruct.data.lines import line_blocks
from dualstruct.data.opening import PathOrFile, name_of
from dualstruct.errors import InputError
from dualstruct.texts.documents import Document, joined
from dualstruct.texts.formats.base import Format
from dualstruct.texts.formats.columns import labels_of, with_spans

__all__ = ["CSV"]

WORDS = ("word", "token", "form", "words", "tokens", "text")
LABELS = ("tag", "label", "ner", "ner_tag", "entity", "iob", "bio", "labels", "tags", "pos", "upos")
SENTENCES = ("sentence #", "sentence", "sentence_id", "sentence_idx", "sent_id", "sentence id")
#: A cell is not longer.
_MOST = 1 << 20


def _fits(beginning: bytes) -> bool:
    header = beginning.split(b"\n", 1)[0].decode("utf-8", "replace").strip().lower()
    for sign in ",;":  # tabs are those of column files
        cells = {cell.strip(' "') for cell in header.split(sign)}
        if len(cells) > 1 and cells & set(WORDS) and cells & set(LABELS):
            return True
    return False


def read(source: PathOrFile, label: str | None = None) -> Iterator[Document]:
    name = name_of(source)
    lines = (f"{line}\n" for block in line_blocks(source) for line in block.lines)
    header = next(lines, "")
    sign = max(",;\t", key=header.count)
    try:
        names = [cell.strip().lower() for cell in next(csv.reader([header], delimiter=sign), [])]
    except csv.Error as problem:
        raise InputError(f"{name}, line 1: {problem}") from None
    word = _column(names, WORDS, name, "words")
    tag = _column(names, LABELS if label is None else (label.lower(),), name, "labels")
    group = next((names.index(each) for each in SENTENCES if each in names), None)
    before = csv.field_size_limit(_MOST)
    rows = csv.reader(lines, delimiter=sign)
    words: list[str] = []
    labels: list[str] = []
    current, number = None, 1
    try:
        for row in rows:
            ends = not row or not row[word : word + 1] or not row[word].strip()
            mark = row[group].strip() if group is not None and group < len(row) else ""
            if words and (ends or (mark and mark != current)):
                yield _sentence(words, labels, name, number)
                words, labels, number = [], [], number + 1
            current = mark or current
            if ends:
                continue
            if tag >= len(row):
                raise InputError(f"{name}, line {rows.line_num + 1}: the label is missing")
            words.append(row[word].strip())
            labels.append(row[tag].strip() or "O")
    except csv.Error as problem:
        raise InputError(f"{name}, line {rows.line_num + 1}: {problem}") from None
    finally:
        csv.field_size_limit(before)
    if words:
        yield _sentence(words, labels, name, number)


def _sentence(words: list[str], labels: list[str], name: str, number: int) -> Document:
    where = f"{name}, sentence {number}"
    document = joined([words], [labels], where=where)
    document.check()
    return with_spans(document)


def _column(names: list[str], wanted: tuple[str, ...], file: str, what: str) -> int:
    for each in wanted:
        if each in names:
            return names.index(each)
    raise InputError(
        f"{file}, line 1: no column of {what} ({', '.join(wanted)}) among {', '.join(names)}"
    )


def write(documents: Iterable[Document], out: IO[bytes]) -> None:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["sentence", "word", "label"])
    number = 0
    for document in documents:
        labels = labels_of(document) or ["O"] * len(document.places)
        for words, row in zip(document.words(), document.by_sentence(labels), strict=True):
            number += 1
            rows.writerows([number, *pair] for pair in zip(words, row, strict=True))
        out.write(text.getvalue().encode())
        text.seek(0)
        text.truncate()
    out.write(text.getvalue().encode())


CSV = Format(
    "csv", "CSV with columns of words and labels", (".csv",), read, _fits, write, of_tokens=True
)
