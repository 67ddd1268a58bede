"""Runs commands on standard streams that misbehave, each in a child of its own.

Reads ``[[arguments, {"stdin": …, "stdout": …, "stderr": …, "encoding": …, "unprivileged": …}], …]``
as JSON from the file that is named, and prints ``[[exit code, output, messages], …]``. Everything
is imported once; a fork a command is then quick, and ends as a program does: what is left in a
buffer is flushed.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
import tempfile

#: What commands import when they run.
MODULES = (
    "rich.live",
    "rich.table",
    "dualstruct.cli.trees",
    "dualstruct.confidence",
    "dualstruct.demo",
    "dualstruct.experiments",
    "dualstruct.explaining.terminal",
    "dualstruct.serving.app",
    "dualstruct.suspecting",
)


def connect(number: int, kind: str, kept: int) -> None:
    """Make a descriptor what the case asks for."""
    os.close(number)
    if kind == "closed":
        return
    if kind == "kept":
        os.dup2(kept, number)
    elif kind == "broken":
        reading, writing = os.pipe()
        os.close(reading)
        if writing != number:
            os.dup2(writing, number)
            os.close(writing)
    else:
        opened = os.open(kind, os.O_RDONLY if number == 0 else os.O_WRONLY)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)


def stream(number: int, kind: str, encoding: str | None) -> io.TextIOWrapper | None:
    """Python's own, as it makes them when it starts."""
    if kind == "closed":
        return None
    mode, errors = ("r", "strict") if number == 0 else ("w", "strict")
    if number == 2:
        errors = "backslashreplace"
    return open(number, mode, encoding=encoding or "utf-8", errors=errors, closefd=False)


def give_up_privileges() -> None:
    """What lets root open every file and search every folder (on Linux)."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0
    sets[0] &= ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, of the effective ones
    assert libc.capset(header, sets) == 0


def run(arguments: list[str], streams: dict[str, str]) -> list[object]:
    kept = [os.open(os.devnull, os.O_RDONLY)]
    files = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]  # noqa: SIM115
    kept += [file.fileno() for file in files]
    child = os.fork()
    if child == 0:
        kinds = [streams.get(name, "kept") for name in ("stdin", "stdout", "stderr")]
        for number, kind in enumerate(kinds):
            connect(number, kind, kept[number])
        encoding = streams.get("encoding")
        sys.stdin, sys.stdout, sys.stderr = (
            stream(number, kind, encoding) for number, kind in enumerate(kinds)
        )
        if streams.get("unprivileged"):
            give_up_privileges()
        sys.argv = ["dualstruct", *arguments]
        os.environ.update(streams.get("environment", {}))
        from dualstruct.cli.app import main

        main()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(kept[0])
    texts = []
    for file in files:
        file.seek(0)
        texts.append(file.read().decode("utf-8", "surrogateescape"))
        file.close()
    return [status, *texts]


if __name__ == "__main__":
    for name in MODULES:
        importlib.import_module(name)
    with open(sys.argv[1], encoding="utf-8") as cases:
        found = [run(*case) for case in json.load(cases)]
    print(json.dumps(found))
