"""Writing whole files, all or nothing: the one way to do it.

A file is written beside its place under a name that nobody can guess, brought to the disk and then
renamed. So a crash or a full disk leaves the old file, readers never see half a file, whoever else
writes it, and a link planted under the temporary name is not followed. The new file has the mode of
the old one.

A link in the place of the file itself is followed if it is the user's own or root's, and refused
otherwise. Devices and pipes are written to as they are.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dualstruct.data.leftovers import own_path
from dualstruct.errors import DualstructError

__all__ = ["OutputError", "followed", "replace_file", "replacing"]

_MOST_LINKS = 40


class OutputError(DualstructError, OSError):
    """A file could not be written; what stood there before is untouched."""


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file, all or nothing."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to. It takes its place when the block ends, and vanishes if that raises.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as file:
    ...         _ = file.write(b"one\\n")
    ...     (Path(folder) / "a.txt").read_text()
    'one\\n'
    """
    try:
        target = followed(Path(path))
        mode = _mode(target)
        if mode is not None and not stat.S_ISREG(mode):
            with open(target, "wb") as file:
                yield file
            return
        with own_path(target.parent, target.name) as beside:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            handle = os.open(beside, flags, 0o666 if mode is None else 0o600)
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(handle)
            if mode is not None:
                os.chmod(beside, stat.S_IMODE(mode))
            os.replace(beside, target)
        _sync(target.parent)
    except OSError as problem:
        if isinstance(problem, OutputError):
            raise
        reason = problem.strerror or str(problem)
        raise OutputError(f"{path} could not be written: {reason}") from None


def followed(path: Path) -> Path:
    """The file that a path stands for, through links that are the user's own or root's."""
    for _ in range(_MOST_LINKS):
        if not path.is_symlink():
            return path
        if hasattr(os, "geteuid") and path.lstat().st_uid not in (os.geteuid(), 0):
            raise OutputError(
                f"{path} could not be written: it is a link that another user made; "
                "remove it, or name the file that it stands for"
            )
        path = path.parent / os.readlink(path)
    raise OutputError(f"{path} could not be written: it is a link to itself")


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _sync(folder: Path) -> None:
    """Renamed files are on the disk only when their folder is; not every system lets us wait."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
