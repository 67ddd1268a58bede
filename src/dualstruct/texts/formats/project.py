"""Projects of ``dualstruct label``: SQLite files of sentences, and every answer ever given.

An answer says which answers its annotator had seen: all up to the number ``seen``. Those are
replaced by it, and others stay beside it. What counts of a sentence are the answers that nobody
has replaced or withdrawn; where they differ there is a conflict, and nothing is read.
:mod:`dualstruct.labelling.store` writes such files.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dualstruct.data.opening import PathOrFile, name_of
from dualstruct.data.schema import fit_type
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.texts.alignment import label_spans
from dualstruct.texts.documents import Document
from dualstruct.texts.formats.base import Format

__all__ = ["APPLICATION", "MAGIC", "PROJECT", "VALID", "VERSION", "in_project", "kind_of", "parsed"]

#: What distinguishes such a file from other SQLite files, and which tables it has.
APPLICATION = 0x64756C62
VERSION = 3
MAGIC = b"SQLite format 3\0"
#: Answers that were not withdrawn, and those among them that no later one replaced.
VALID = (
    "SELECT * FROM answers WHERE labels IS NOT NULL AND id NOT IN "
    "(SELECT withdraws FROM answers WHERE withdraws IS NOT NULL)"
)
_HEADS = f"""
WITH valid AS ({VALID}),
     last AS (SELECT sentence, max(seen) AS seen FROM valid GROUP BY sentence)
SELECT sentences.id, sentences.text, sentences.tokens, documents.name, valid.labels,
       valid.annotator, {{tags}}
FROM valid JOIN last ON last.sentence = valid.sentence AND valid.id > last.seen
JOIN sentences ON sentences.id = valid.sentence
JOIN documents ON documents.id = sentences.document
ORDER BY sentences.id, valid.id
"""


def read(source: PathOrFile, label: str | None = None) -> Iterator[Document]:
    """A document for each sentence that was answered, without those in conflict."""
    if label is not None:
        raise InputError(f"{name_of(source)}: a project has one kind of labels; leave out {label}")
    if not isinstance(source, str | os.PathLike) or source == "-":
        raise InputError("a project is read from its file, by its name")
    name = name_of(source)
    with in_project(name), closing(_opened(source)) as base:
        about = project_facts(base, name)
        kind = about.get("kind")
        tokenizer = fit_type(Tokenizer, about.get("tokenizer") or {}, "tokenizer")
        own = bool(about.get("own_tokens"))
        version = base.execute("PRAGMA user_version").fetchone()[0]
        heads = _HEADS.format(tags="sentences.tags" if version > 1 else "NULL")
        for number, rows in groupby(base.execute(heads), key=lambda row: row[0]):
            several = list(rows)
            where = f"{name}, sentence {number}"
            _, text, tokens, document, labels, annotator, tags = several[0]
            if any(row[4] != labels for row in several[1:]):
                continue
            made = Document(
                _text(text, where),
                tokens=_places(tokens, text, where),
                metadata={"id": document, "annotator": annotator},
                where=where,
                split_by=None if own else tokenizer,
            )
            made.check()
            made.sentences = [0, len(made.places)]
            found = _labels(labels, len(made.places), where)
            if kind == "spans":
                made.spans = label_spans(made, [found])
            elif kind == "trees":
                made.arcs = found
                made.tags = None if tags is None else _labels(tags, len(made.places), where)
            else:
                made.labels = found
            yield made


def kind_of(source: str | os.PathLike[str]) -> str | None:
    """What the answers of a project are, if anything was said; None for other SQLite files."""
    name = name_of(source)
    with in_project(name), closing(_opened(source)) as base:
        if base.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
            return None
        return fit_type(str | None, project_facts(base, name).get("kind"), "kind")  # type: ignore[arg-type]


def _opened(source: str | os.PathLike[str]) -> sqlite3.Connection:
    path = Path(source)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    base = sqlite3.connect(address, uri=True)
    try:
        base.execute("PRAGMA trusted_schema = OFF")
        base.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:  # a folder in which SQLite cannot put its own files
        base.close()
        base = sqlite3.connect(f"{address}&immutable=1", uri=True)
        base.execute("PRAGMA trusted_schema = OFF")
    return base


def project_facts(base: sqlite3.Connection, name: str) -> dict[str, Any]:
    """What a project says of itself; refused if it is none, or of a later version."""
    if base.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise InputError(f"{name}: this SQLite file is not a project of dualstruct label")
    version = base.execute("PRAGMA user_version").fetchone()[0]
    if not 1 <= version <= VERSION:
        raise InputError(f"{name}: it is of version {version}; this program knows {VERSION}")
    return {
        str(key): parsed(value, f"{name}: {key}")
        for key, value in base.execute("SELECT key, value FROM facts")
    }


class in_project:  # noqa: N801
    """Tells SQLite's complaints as ours, with the file."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if isinstance(problem, sqlite3.Error | UnicodeError | OverflowError):
            raise InputError(f"{self.name}: SQLite says: {problem}") from None


def parsed(value: Any, where: str) -> Any:
    """A value of JSON in a cell."""
    if not isinstance(value, str):
        raise InputError(f"{where} is no text")
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise InputError(f"{where} is not JSON") from None


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where}: its text is not a string")
    return value


def _places(value: Any, text: str, where: str) -> list[tuple[int, int]]:
    given = parsed(value, f"{where}: tokens")
    found, last = [], 0
    for each in given if isinstance(given, list) else [None]:
        match each:
            case [int(start), int(end)] if last <= start < end <= len(text):
                found.append((start, end))
                last = end
            case _:
                raise InputError(f"{where}: its tokens are not places in its text")
    return found


def _labels(value: Any, tokens: int, where: str) -> list[str]:
    found = parsed(value, f"{where}: labels")
    if (
        not isinstance(found, list)
        or len(found) != tokens
        or not all(isinstance(label, str) and label for label in found)
    ):
        raise InputError(f"{where}: its labels are not one for each of {plural(tokens, 'token')}")
    return found


PROJECT = Format(
    "project",
    "a project of dualstruct label",
    (".db",),
    read,
    lambda data: data.startswith(MAGIC) and data[68:72] == APPLICATION.to_bytes(4, "big"),
    is_text=False,
)
