"""Reading whole files, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from dualstruct.errors import InputError

__all__ = ["PathOrFile", "in_file", "name_of", "read_bytes", "read_text"]

_DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".bz2": bz2.decompress,
}

PathOrFile = str | os.PathLike[str] | IO[Any]


def name_of(source: PathOrFile) -> str:
    """What to call a file in messages: its name, without the folders."""
    if isinstance(source, str | os.PathLike):
        return "standard input" if source == "-" else Path(source).name
    return Path(str(getattr(source, "name", "file"))).name


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
    if not isinstance(source, str | os.PathLike):
        content = source.read()
        return content.encode() if isinstance(content, str) else bytes(content)
    if source == "-":
        return sys.stdin.buffer.read()
    path = Path(source)
    try:
        content = path.read_bytes()
        unpack = _DECOMPRESS.get(path.suffix)
        return unpack(content) if unpack else content
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}") from None
    except (EOFError, lzma.LZMAError, zlib.error) as problem:
        raise InputError(f"{path}: it cannot be unpacked ({problem})") from None


def read_text(source: PathOrFile) -> str:
    """Everything in a file, as text; it has to be UTF-8."""
    data = read_bytes(source)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise InputError(f"{name_of(source)}, line {line}: this is not UTF-8 text") from None
