"""The server's log: sentences on standard error, and never more than a few a minute.

Whatever clients do, the log stays small: messages beyond :data:`MOST` a minute are counted, and the
next minute's first message says how many there were.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from dualstruct.printable import printable

__all__ = ["BoundedLog", "logged"]

MOST = 20  #: messages a minute
LONGEST = 4000  #: characters of a message, with its traceback
MINUTE = 60.0


class BoundedLog(logging.Handler):
    """Writes messages to a stream while there are not too many of them.

    Parameters
    ----------
    stream : text file, optional
        Standard error unless given.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(logging.WARNING)
        self.stream = stream
        self._until = 0.0
        self._left = MOST
        self._left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        if now >= self._until:
            self._until, self._left = now + MINUTE, MOST
            left_out, self._left_out = self._left_out, 0
            if left_out:
                self._write(f"{left_out:,} more messages in a minute were left out")
        if not self._left:
            self._left_out += 1
            return
        self._left -= 1
        text = self.format(record)
        self._write(text if len(text) <= LONGEST else f"{text[:LONGEST]} …")

    def _write(self, text: str) -> None:
        stream = self.stream or sys.stderr
        try:
            stream.write(f"dualstruct: {printable(text.strip(), keep=chr(10))}\n")
            stream.flush()
        except (OSError, ValueError):
            pass  # nobody reads it


@contextmanager
def logged(handler: BoundedLog | None = None) -> Iterator[None]:
    """What uvicorn and asyncio have to say goes to the bounded log, and nowhere else."""
    handler = handler or BoundedLog()
    loggers = [logging.getLogger(name) for name in ("uvicorn", "asyncio")]
    before = [(each.propagate, each.level) for each in loggers]
    for each in loggers:
        each.addHandler(handler)
        each.propagate = False
        each.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for each, (propagate, level) in zip(loggers, before, strict=True):
            each.removeHandler(handler)
            each.propagate = propagate
            each.setLevel(level)
