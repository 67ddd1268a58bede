"""The tables of a project, and how files of earlier versions become files of this one.

Answers are only ever added. A file is migrated in one transaction, after a copy of it was made.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from dualstruct.data.leftovers import own_path
from dualstruct.data.writing import OutputError, followed
from dualstruct.errors import InputError
from dualstruct.texts.formats.project import APPLICATION, VERSION, in_project, parsed

__all__ = ["MIGRATIONS", "connect", "read_facts", "write_fact"]

_TABLES = """
CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE documents (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE sentences (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents (id),
    text TEXT NOT NULL,
    tokens TEXT NOT NULL,
    tags TEXT
);
CREATE TABLE drafts (
    sentence INTEGER PRIMARY KEY REFERENCES sentences (id),
    labels TEXT NOT NULL,
    weights TEXT
);
CREATE TABLE answers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sentence INTEGER NOT NULL REFERENCES sentences (id),
    seen INTEGER NOT NULL,
    annotator TEXT NOT NULL,
    labels TEXT,
    withdraws INTEGER REFERENCES answers (id),
    key TEXT UNIQUE,
    said REAL NOT NULL,
    checked TEXT
);
CREATE INDEX answers_of_a_sentence ON answers (sentence);
CREATE TABLE curve (
    id INTEGER PRIMARY KEY,
    point TEXT NOT NULL
);
"""
#: What turns a file of each version into one of the next.
MIGRATIONS: dict[int, str] = {
    1: "ALTER TABLE sentences ADD COLUMN tags TEXT;",
    2: "ALTER TABLE answers ADD COLUMN checked TEXT;",
}


def connect(path: Path, version: int = VERSION) -> sqlite3.Connection:
    """The file, new or not, with the tables of this version; what is committed is on the disk."""
    name = path.name
    target = followed(path)
    new = not target.exists() or not target.stat().st_size
    with in_project(name):
        base = sqlite3.connect(target, isolation_level=None, check_same_thread=False, timeout=10)
        try:
            base.execute("PRAGMA trusted_schema = OFF")
            if new:
                base.execute("PRAGMA journal_mode = WAL")
                base.executescript(
                    f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; "
                    f"PRAGMA user_version = {version}; {_TABLES} COMMIT;"
                )
            found = base.execute("PRAGMA application_id").fetchone()[0]
            if found != APPLICATION:
                raise InputError(f"{name}: this SQLite file is not a project of dualstruct label")
            _migrate(base, target, version)
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("PRAGMA synchronous = FULL")
            base.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            base.close()
            raise
    return base


def _migrate(base: sqlite3.Connection, path: Path, version: int) -> None:
    found = base.execute("PRAGMA user_version").fetchone()[0]
    if found == version:
        return
    if found > version or not all(step in MIGRATIONS for step in range(found, version)):
        raise InputError(f"{path.name}: it is of version {found}; this program knows {version}")
    _copy(base, path, path.with_name(f"{path.name}.version{found}"))
    steps = " ".join(MIGRATIONS[step] for step in range(found, version))
    try:
        base.executescript(f"BEGIN IMMEDIATE; {steps} PRAGMA user_version = {version}; COMMIT;")
    except sqlite3.Error:
        if base.in_transaction:
            base.execute("ROLLBACK")
        raise


def _copy(base: sqlite3.Connection, path: Path, target: Path) -> None:
    """A copy of the file, all or nothing; one that is there already is the older one, and stays."""
    if target.exists():
        return
    try:
        with own_path(path.parent, target.name) as beside:
            with closing(sqlite3.connect(beside)) as copy:
                base.backup(copy)
            os.replace(beside, target)
    except (OSError, sqlite3.Error) as problem:
        raise OutputError(f"{target} could not be written: {problem}") from None


def read_facts(base: sqlite3.Connection, name: str) -> dict[str, Any]:
    """What the project says of itself."""
    rows = base.execute("SELECT key, value FROM facts").fetchall()
    return {str(key): parsed(value, f"{name}: {key}") for key, value in rows}


def write_fact(base: sqlite3.Connection, key: str, value: Any) -> None:
    base.execute(
        "INSERT INTO facts VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, json.dumps(value)),
    )
