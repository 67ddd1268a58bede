"""What the command writes: results for people, results for programs, and messages.

Results go to standard output, messages to standard error. What people read, and whatever goes to
a terminal, has no control characters of the data; what programs read is as it is. An encoding that
lacks a character gets an escape instead, and a message says so.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from dualstruct.printable import json_text, printable

__all__ = [
    "print_json",
    "say",
    "tell",
    "use_streams",
    "warnings_printed",
    "watching",
    "write",
    "write_bytes",
]

_ESCAPE = "dualstruct-escape"


def say(text: object = "") -> None:
    """A result for people."""
    print(printable(str(text), keep="\n\t"))


def tell(message: object) -> None:
    """A sentence on standard error, if that can still be written to."""
    with suppress(OSError, ValueError):
        print(f"dualstruct: {printable(str(message))}", file=sys.stderr, flush=True)


def write(lines: list[str]) -> None:
    """Lines for programs; a terminal gets them as people do."""
    text = "\n".join(lines) + "\n" if lines else ""
    sys.stdout.write(printable(text, keep="\n\t") if sys.stdout.isatty() else text)
    sys.stdout.flush()


def write_bytes(data: bytes) -> None:
    """The same for a text in UTF-8, whatever the encoding of standard output."""
    if sys.stdout.isatty():
        sys.stdout.write(printable(data.decode(errors="replace"), keep="\n\t"))
    else:
        sys.stdout.buffer.write(data)
    sys.stdout.flush()


def print_json(value: Any) -> None:
    """A JSON object on one line; for a terminal, characters that it would obey are escaped."""
    text = json_text(value, sys.stdout.encoding or "ascii")
    if sys.stdout.isatty() and not text.isprintable():
        text = json_text(value, "ascii").replace("\x7f", "\\u007f")
    write([text])


@contextmanager
def watching(what: str) -> Iterator[Callable[[str], object] | None]:
    """On a terminal, a line that can be told how far the work is; nothing elsewhere."""
    from dualstruct.training.progress import StatusLine

    line = StatusLine()
    if not line.seen:
        yield None
        return
    line.write(f"{what} …")
    try:
        yield lambda text: line.write(f"{what}: {text}")
    finally:
        line.write("")


@contextmanager
def warnings_printed(described: Callable[[Warning], str] = str) -> Iterator[None]:
    """Warnings as sentences on standard error, each once and as soon as it comes."""
    seen: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = message if isinstance(message, str) else described(message)
        if text not in seen:
            seen.add(text)
            tell(text)

    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


class _Output(io.FileIO):
    """Standard output; errors say so. After one, what is still to be written goes nowhere."""

    failed = False

    def write(self, data: Any, /) -> int:
        if self.failed:
            return len(data)
        try:
            return super().write(data)
        except OSError as problem:
            self.failed = True
            raise OSError(problem.errno, problem.strerror, "standard output") from None


class _Messages(io.FileIO):
    """Standard error; a message that cannot be written is lost, and nothing else."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


class _Closed(io.TextIOBase):
    """Stands for standard output that was closed before the program began."""

    encoding = "utf-8"

    def write(self, text: str) -> NoReturn:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")

    @property
    def buffer(self) -> NoReturn:
        self.write("")


@contextmanager
def use_streams() -> Iterator[None]:
    """Standard streams on which writing fails for one reason alone: that the system refuses it."""
    before = sys.stdout, sys.stderr
    if None in (sys.stdin, *before):
        _occupy()
    escaped: list[str] = []

    def escape(problem: UnicodeError) -> tuple[str | bytes, int]:
        if isinstance(problem, UnicodeEncodeError):
            escaped.append(problem.encoding)
        return codecs.backslashreplace_errors(problem)

    codecs.register_error(_ESCAPE, escape)
    sys.stdout = _Closed() if before[0] is None else _over(before[0], _Output, _ESCAPE)
    sys.stderr = io.StringIO() if before[1] is None else _over(before[1], _Messages)
    try:
        yield
    finally:
        if escaped:
            tell(
                f"standard output takes {escaped[0]} only, so other characters were written as "
                "escapes; PYTHONIOENCODING=utf-8 writes them as they are"
            )
        sys.stdout, sys.stderr = before


def _over(stream: Any, kind: type[io.FileIO], errors: str = "backslashreplace") -> Any:
    """The same stream, written to in another way; every character is taken."""
    buffer = getattr(stream, "buffer", None)
    if not isinstance(getattr(buffer, "raw", buffer), io.FileIO):  # PYTHONUNBUFFERED has no raw
        return stream  # a terminal of Windows, or what a test puts there
    with suppress(OSError):
        stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(kind(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=errors if stream.errors in ("strict", "surrogateescape") else stream.errors,
        line_buffering=stream.line_buffering or stream.write_through,
    )


def _occupy() -> None:
    """Take the numbers of closed streams, or the next file that is opened becomes one of them."""
    while (taken := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(taken, True)
    os.close(taken)
