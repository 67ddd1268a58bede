"""Files that hold parts of one data set: found by name, folder or pattern, here or elsewhere, and
dealt out to workers.

A shard is named by its path or its address (``s3://bucket/part-0.txt``); fsspec opens addresses.
What was found is kept with its size and version, so that a file that changes meanwhile is noticed.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dualstruct.errors import InputError
from dualstruct.libraries import library

__all__ = ["Shard", "deal", "find_shards", "is_remote", "open_remote"]

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_PATTERN = re.compile(r"[*?\[]")
#: By which stores tell versions of an object apart.
_VERSIONS = ("ETag", "etag", "md5Hash", "LastModified", "mtime", "updated", "modificationTime")


def is_remote(name: object) -> bool:
    """Whether this is an address, and not a path.

    >>> is_remote("s3://bucket/a.txt"), is_remote("C:/a.txt"), is_remote("a.txt")
    (True, False, False)
    """
    return isinstance(name, str) and _ADDRESS.match(name) is not None


@dataclass(frozen=True)
class Shard:
    """A file as it was when it was found."""

    name: str  #: path or address
    size: int  #: bytes; 0 where its store does not say
    version: str  #: changes when the file does

    def check(self) -> None:
        """Refuse a file that is gone, or is no longer the one that was found."""
        if _found(self.name) != self:
            raise InputError(f"{self.name}: the file changed while it was read")


def find_shards(sources: Iterable[str | os.PathLike[str]]) -> tuple[Shard, ...]:
    """The files that names, folders and patterns stand for, each once, in order.

    Parameters
    ----------
    sources : paths and addresses
        A folder stands for the files in it, ``*``, ``?`` and ``**`` for what fits; both in
        alphabetical order, without names that begin with a dot.

    Examples
    --------
    >>> find_shards(["no/such/*.txt"])
    Traceback (most recent call last):
    ...
    dualstruct.errors.InputError: no/such/*.txt: no file has such a name
    """
    names: dict[str, None] = {}
    for source in sources:
        name = os.fspath(source)
        found = _remote_names(name) if is_remote(name) else _local_names(name)
        if not found:
            folder = not _PATTERN.search(name)
            raise InputError(
                f"{name}: there are no files in it"
                if folder
                else f"{name}: no file has such a name"
            )
        names |= dict.fromkeys(found)
    return tuple(map(_found, names))


def deal(shards: Sequence[Shard], hands: int) -> list[list[Shard]]:
    """Whole files for each of several workers, about as many bytes for all.

    >>> shards = [Shard(name, size, "") for name, size in [("a", 5), ("b", 9), ("c", 3)]]
    >>> [[shard.name for shard in hand] for hand in deal(shards, 2)]
    [['b'], ['a', 'c']]
    """
    dealt: list[list[int]] = [[] for _ in range(hands)]
    held = [0] * hands
    for k in sorted(range(len(shards)), key=lambda k: (-shards[k].size, k)):
        least = min(range(hands), key=lambda hand: (held[hand], len(dealt[hand]), hand))
        dealt[least].append(k)
        held[least] += shards[k].size
    return [[shards[k] for k in sorted(hand)] for hand in dealt]


def open_remote(address: str) -> Any:
    """A file elsewhere, for reading bytes."""
    filesystem, path = _filesystem(address)
    try:
        return filesystem.open(path, "rb")
    except FileNotFoundError:
        raise InputError(f"{address}: there is no such file") from None
    except Exception as problem:  # every store has errors of its own
        raise InputError(f"{address}: it cannot be opened ({_said(problem)})") from None


def _found(name: str) -> Shard:
    if not is_remote(name):
        try:
            known = os.stat(name)
        except OSError as problem:
            raise InputError(f"{name}: {problem.strerror or problem}") from None
        return Shard(name, known.st_size, str(known.st_mtime_ns))
    filesystem, path = _filesystem(name)
    try:
        filesystem.invalidate_cache()
        facts = filesystem.info(path)
    except FileNotFoundError:
        raise InputError(f"{name}: there is no such file") from None
    except Exception as problem:
        raise InputError(f"{name}: it cannot be looked at ({_said(problem)})") from None
    version = next((str(facts[key]) for key in _VERSIONS if key in facts), "")
    return Shard(name, int(facts.get("size") or 0), version)


def _local_names(name: str) -> list[str]:
    if os.path.isfile(name):
        return [name]
    if os.path.isdir(name):
        found: Iterable[str] = (str(path) for path in Path(name).iterdir())
    else:
        found = glob.glob(name, recursive=True)
        if not found and not _PATTERN.search(name):
            raise InputError(f"{name}: there is no such file")
    return sorted(each for each in found if _is_visible(each) and os.path.isfile(each))


def _remote_names(address: str) -> list[str]:
    filesystem, path = _filesystem(address)
    try:
        if _PATTERN.search(path):
            found = filesystem.glob(path)
        elif filesystem.isdir(path):
            found = [each for each in filesystem.ls(path, detail=False) if filesystem.isfile(each)]
        else:
            return [address]
    except Exception as problem:
        raise InputError(f"{address}: it cannot be listed ({_said(problem)})") from None
    return sorted(filesystem.unstrip_protocol(each) for each in found if _is_visible(each))


def _filesystem(address: str) -> tuple[Any, str]:
    core = library("fsspec.core", "remote", f"{address.partition('://')[0]}://")
    try:
        filesystem, path = core.url_to_fs(address)
    except ImportError as problem:  # of the store's own library
        raise InputError(f"{address}: {problem}") from None
    except ValueError as problem:  # a protocol that fsspec does not know
        raise InputError(f"{address}: {problem}") from None
    return filesystem, str(path)


def _is_visible(name: str) -> bool:
    return not name.rstrip("/").rpartition("/")[2].startswith(".")


def _said(problem: Exception) -> str:
    return (str(problem) or type(problem).__name__).split("\n")[0]
