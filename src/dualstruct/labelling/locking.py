"""One server for each project: a lock that ends with the process that holds it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from dualstruct.errors import InputError

__all__ = ["Lock"]


class Lock:
    """An empty file beside the project. SQLite's own locks must not be held: others may read."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f"{path.name}-lock")
        while True:
            try:
                self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o600)
            except OSError as problem:
                raise InputError(f"{self._path} cannot be made: {problem.strerror}") from None
            if not _locked(self._handle):
                os.close(self._handle)
                raise InputError(
                    f"{path} is open in another dualstruct label: end that one first, or use its "
                    "page"
                )
            if self._is_there():
                return
            os.close(self._handle)  # who held it before has removed it meanwhile

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._handle), os.stat(self._path))
        except OSError:
            return False

    def release(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()  # before another one may lock it
        with contextlib.suppress(OSError):
            os.close(self._handle)


_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


def _locked(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            getattr(msvcrt, "locking")(handle, getattr(msvcrt, "LK_NBLCK"), 1)  # noqa: B009
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
