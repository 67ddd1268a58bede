"""Writing whole files, all or nothing."""

from __future__ import annotations

import os
from pathlib import Path

from dualstruct.errors import DualstructError

__all__ = ["OutputError", "replace_file"]


class OutputError(DualstructError, OSError):
    """A file could not be written; what stood there before is untouched."""


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file beside its place and then rename it: a half-written one is never seen."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise OutputError(f"{target} could not be written: {reason}") from None
    finally:
        beside.unlink(missing_ok=True)
