"""Temporary files and folders whose names say whose they are.

A process that is killed leaves them behind; the next one that writes to the same folder removes
them. A name holds the machine, the process and when that process started, so that nothing of a live
process is removed, and nothing of another machine that shares the folder. The command removes its
own on SIGTERM (:func:`tidy_on_sigterm`); a library does not meddle with signals.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType

__all__ = ["own_folder", "own_path", "tidy_on_sigterm"]

_OWNED = re.compile(r"\..*\.ds-([0-9a-f]{8})-(\d{1,10})-(\d{1,20})-[0-9a-f]{16}\.part", re.DOTALL)
#: Of the name that a temporary file is for, so that the whole is no longer than systems allow.
_LONGEST = 150
#: Folders that this process has looked through.
_swept: set[str] = set()
#: What there is of this process; a fork of it has nothing.
_own: set[tuple[int, Path]] = set()


@contextmanager
def own_path(folder: Path, name: str) -> Iterator[Path]:
    """A path that nobody can guess, for a temporary file or folder; what is there is removed."""
    _remove_leftovers(folder)
    pid = os.getpid()
    short = os.fsdecode(os.fsencode(name)[:_LONGEST])
    owner = f"{_machine()}-{pid}-{_started(pid) or 0}"
    path = folder / f".{short}.ds-{owner}-{os.urandom(8).hex()}.part"
    _own.add((pid, path))
    try:
        yield path
    finally:
        _remove(path)
        _own.discard((pid, path))


@contextmanager
def own_folder(parent: str | Path) -> Iterator[Path]:
    """A folder for temporary files."""
    with own_path(Path(parent), "dualstruct") as folder:
        folder.mkdir(mode=0o700)
        yield folder


def tidy_on_sigterm() -> None:
    """Let SIGTERM end this process as ever, but remove its temporary files first."""
    import signal

    def tidy(number: int, frame: FrameType | None) -> None:
        for pid, path in list(_own):
            if pid == os.getpid():
                _remove(path)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, tidy)


def _remove_leftovers(folder: Path) -> None:
    """Remove what processes that are no more left in a folder; each process looks once."""
    place = os.path.realpath(folder)
    if place in _swept:
        return
    _swept.add(place)
    # What cannot be looked at or removed is left alone: nobody waits for it.
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            owner = _OWNED.fullmatch(entry.name)
            if owner and owner[1] == _machine() and not _lives(int(owner[2]), int(owner[3])):
                _remove(Path(entry.path))


def _remove(path: Path) -> None:
    """Remove a file or a folder of the user's own; nobody needs to know if that fails."""
    with contextlib.suppress(OSError):
        found = path.lstat()
        if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
            return
        if stat.S_ISDIR(found.st_mode):
            from shutil import rmtree

            rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _lives(pid: int, started: int) -> bool:
    """Whether the process that started then is still there; where that cannot be known, it is."""
    if _knows_processes():
        return pid == os.getpid() or _started(pid) == started
    if os.name == "nt":  # signal 0 would end it there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


@cache
def _knows_processes() -> bool:
    return _started(os.getpid()) is not None


def _started(pid: int) -> int | None:
    """When a process started, in ticks since the system did; None if it is no more."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
        state, *fields = text.rpartition(b")")[2].split()
        return None if state in (b"Z", b"X") else int(fields[18])
    except (OSError, ValueError, IndexError):
        return None


@cache
def _machine() -> str:
    """What distinguishes machines, and containers with processes of their own, from each other."""
    import hashlib
    import platform

    space = ""
    with contextlib.suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return hashlib.blake2b(f"{platform.node()} {space}".encode(), digest_size=4).hexdigest()
