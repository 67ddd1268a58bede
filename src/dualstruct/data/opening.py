"""Reading files, compressed or not, as a whole or piece by piece."""

from __future__ import annotations

import codecs
import json
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

from dualstruct.errors import InputError

__all__ = [
    "PathOrFile",
    "in_file",
    "is_text",
    "lines_of",
    "name_of",
    "read_bytes",
    "read_pieces",
    "read_text",
    "refuse_json",
]

#: Modules that unpack files by the ends of their names; models are opened without them.
_UNPACK = {".gz": "gzip", ".xz": "lzma", ".bz2": "bz2"}

#: As much of a file is looked at to see whether it is JSON, and what its name then ends in.
_JSON_BEGINNING = 1 << 20
_JSON_NAMES = {".json", ".jsonl", ".ndjson"}

PathOrFile = str | os.PathLike[str] | IO[Any]


def name_of(source: PathOrFile) -> str:
    """What to call a file in messages: its name, without the folders."""
    if isinstance(source, str | os.PathLike):
        return "standard input" if source == "-" else Path(source).name or str(source)
    usual = "file" if hasattr(source, "read") else "dataset"
    return Path(str(getattr(source, "name", usual))).name


def in_file(name: str, problem: Exception) -> str:
    """The message of a problem, with the file's name before it."""
    joint = ", " if str(problem).startswith("line ") else ": "
    return f"{name}{joint}{problem}"


def read_bytes(source: PathOrFile) -> bytes:
    """Everything in a file; ``"-"`` is standard input, ``.gz``, ``.xz`` and ``.bz2`` are unpacked.

    Parameters
    ----------
    source : path or file object
        A file object may give text or bytes.
    """
    with _opened(source) as file:
        return _as_bytes(file.read())


def read_pieces(source: PathOrFile, size: int = 1 << 20) -> Iterator[bytes]:
    """The same, piece by piece: what a pipe holds comes as soon as it is there."""
    with _opened(source) as file:
        # read would wait until the piece is full.
        read = getattr(file, "read1", file.read)
        while piece := _as_bytes(read(size)):
            yield piece


def _as_bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else bytes(content)


@contextmanager
def _opened(source: PathOrFile) -> Iterator[IO[Any]]:
    if not isinstance(source, str | os.PathLike):
        yield source
        return
    name = "standard input" if source == "-" else os.fspath(source)
    try:
        with ExitStack() as held:
            yield held.enter_context(_standard_input()) if source == "-" else _open(name, held)
    except FileNotFoundError:
        raise InputError(f"{name}: there is no such file") from None
    except _damage() as problem:
        raise InputError(f"{name}: it cannot be unpacked ({problem})") from None
    except OSError as problem:
        raise InputError(f"{name}: {problem.strerror or problem}") from None


def _damage() -> tuple[type[Exception], ...]:
    """What a packed file that is damaged raises."""
    from gzip import BadGzipFile
    from lzma import LZMAError

    return EOFError, zlib.error, BadGzipFile, LZMAError


def _standard_input() -> AbstractContextManager[IO[bytes]]:
    if sys.stdin is None:
        raise InputError("standard input is closed; name a file instead")
    return nullcontext(sys.stdin.buffer)


def _open(name: str, held: ExitStack) -> IO[Any]:
    """A file here or elsewhere, unpacked if its name says so; ``held`` closes it."""
    try:
        raw = _from_elsewhere(name) if "://" in name else open(name, "rb")  # noqa: SIM115
    except ValueError as problem:  # a name that no file can have
        raise InputError(f"{name!r}: {problem}") from None
    held.enter_context(raw)
    unpacks = _UNPACK.get(Path(name).suffix)
    if unpacks is None:
        return cast(IO[Any], raw)
    return cast(IO[Any], held.enter_context(import_module(unpacks).open(raw)))


def _from_elsewhere(name: str) -> IO[bytes]:
    from dualstruct.data.shards import is_remote, open_remote  # models are opened without them

    return open_remote(name) if is_remote(name) else open(name, "rb")


def begins_with(path: str | os.PathLike[str], beginning: bytes) -> bool:
    """Whether there is such a file, and these are its first bytes."""
    try:
        with open(path, "rb") as file:
            return file.read(len(beginning)) == beginning
    except OSError:
        return False


def is_text(path: str | os.PathLike[str]) -> bool:
    """Whether a file, compressed or not, begins like UTF-8 text."""
    if not Path(path).is_file():
        return False
    beginning = next(read_pieces(path, 1 << 12), b"")
    if not beginning or b"\0" in beginning:
        return False
    try:
        # The last character may be cut.
        codecs.getincrementaldecoder("utf-8")().decode(beginning)
    except UnicodeDecodeError:
        return False
    return True


def read_text(source: PathOrFile) -> str:
    """Everything in a file, as text; it has to be UTF-8."""
    data = read_bytes(source)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise InputError(f"{name_of(source)}, line {line}: this is not UTF-8 text") from None


def lines_of(text: str) -> list[str]:
    """The lines of a text without their ends, and without the mark of UTF-8 before the first.

    Only \\n and \\r\\n end a line: the other line ends of Unicode may stand within a word.

    >>> lines_of("\\ufeffa\\r\\nb\\u2028c\\n")
    ['a', 'b\\u2028c', '']
    """
    return [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]


def refuse_json(name: str, beginning: bytes) -> None:
    """Refuse a file that begins like JSON, or lines of JSON, where columns or words are needed."""
    text = beginning[:_JSON_BEGINNING].removeprefix(b"\xef\xbb\xbf")
    first = text.strip().split(b"\n", 1)[0].strip()
    if not first.startswith((b"{", b"[")):
        return
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):  # over several lines, or a token that is a bracket
        value = None
    rows = value if isinstance(value, list) else [value]
    if (rows and isinstance(rows[0], dict | list) and rows[0]) or _JSON_NAMES & set(
        Path(name).suffixes
    ):
        line = text[: text.index(first)].count(b"\n") + 1
        raise InputError(
            f"{name}, line {line}: this is JSON; expected is one token per line with its "
            "label after a tab, and a blank line after each sentence, or plain text. Texts with "
            "marked spans are read by train, evaluate and predict without --text "
            "(dualstruct.read_texts)"
        )
