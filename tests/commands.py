"""Commands as real processes, quickly: a server that has imported everything forks one for each.

A fork ends as a program does: threads are waited for, what is left in a buffer is flushed, and
there is an exit code. Then it leaves: to take all modules apart costs more than most commands. What
a program does before it runs a command (start, look at how Python was called) is not in it.

    done = run_command("predict", model, input="Ada\n\n")
    done.returncode, done.stdout, done.stderr

Standard streams may misbehave: ``stdin``, ``stdout`` or ``stderr`` in ``streams`` may be "closed",
"broken" (a pipe that nobody reads) or the name of a file; ``encoding`` is that of all three,
``unbuffered`` makes them as PYTHONUNBUFFERED does, and ``unprivileged`` takes the rights of root.
``short_demo`` lets the demo train on a part of its corpus.
"""

from __future__ import annotations

import atexit
import importlib
import io
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from subprocess import CompletedProcess
from typing import Any

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


def run_command(*arguments: Any, input: str | bytes = "", **streams: Any) -> CompletedProcess[str]:
    """The outcome of a command, in the folder and with the environment of the caller."""
    given = input.encode() if isinstance(input, str) else input
    streams["input"] = given.decode("latin-1")
    case = [[str(each) for each in arguments], streams, os.getcwd(), dict(os.environ)]
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(case) + "\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    assert answer, "the server of commands has ended"
    return CompletedProcess(case[0], *json.loads(answer))


def dualstruct(*arguments: Any, stdin: str | bytes | None = None) -> CompletedProcess[str]:
    done = run_command(*arguments, input=stdin or "")
    assert "Traceback" not in done.stderr
    return done


def run(*arguments: Any, stdin: str | bytes | None = None) -> str:
    done = dualstruct(*arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(*arguments: Any, stdin: str | bytes | None = None) -> str:
    """The one line that a failing command says."""
    done = dualstruct(*arguments, stdin=stdin)
    assert done.returncode not in (0, None)
    assert done.stdout == ""
    [line] = done.stderr.strip().splitlines()
    assert line.startswith("dualstruct: ")
    return line.removeprefix("dualstruct: ")


@cache
def _server() -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(_end, started)
    return started


def _end(server: subprocess.Popen[str]) -> None:
    for stream in (server.stdin, server.stdout):
        if stream is not None:
            stream.close()
    server.wait()


def _connect(number: int, kind: str, kept: int) -> None:
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


def _stream(
    number: int, kind: str, encoding: str | None, unbuffered: bool
) -> io.TextIOWrapper | None:
    """Python's own, as it makes them when it starts."""
    if kind == "closed":
        return None
    encoding, errors = encoding or "utf-8", "backslashreplace" if number == 2 else "strict"
    if unbuffered and number > 0:
        raw = io.FileIO(number, "w", closefd=False)
        return io.TextIOWrapper(raw, encoding=encoding, errors=errors, write_through=True)
    mode = "r" if number == 0 else "w"
    return open(number, mode, encoding=encoding, errors=errors, closefd=False)


def _give_up_privileges() -> None:
    """What lets root open every file and search every folder (on Linux)."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0
    sets[0] &= ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, of the effective ones
    assert libc.capset(header, sets) == 0


def _shorten_demo() -> None:
    """Training takes a second, and many tests ask only what becomes of its output."""
    from dualstruct import demo

    whole = demo.load_english
    demo.load_english = lambda part: whole(part)[::12]


def _run(
    arguments: list[str], streams: dict[str, Any], folder: str, environment: dict[str, str]
) -> list[object]:
    files = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115
    files[0].write(streams["input"].encode("latin-1"))
    files[0].seek(0)
    child = os.fork()
    if child == 0:
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        kinds = [streams.get(name, "kept") for name in ("stdin", "stdout", "stderr")]
        for number, kind in enumerate(kinds):
            _connect(number, kind, files[number].fileno())
        encoding, unbuffered = streams.get("encoding"), streams.get("unbuffered", False)
        sys.stdin, sys.stdout, sys.stderr = (
            _stream(number, kind, encoding, unbuffered) for number, kind in enumerate(kinds)
        )
        if streams.get("unprivileged"):
            _give_up_privileges()
        if streams.get("short_demo"):
            _shorten_demo()
        sys.argv = ["dualstruct", *arguments]
        from dualstruct.cli import main

        global _exit_code
        _exit_code = 1  # of what is raised
        try:
            main()
        except SystemExit as ended:
            if ended.code is None or isinstance(ended.code, int):
                _exit_code = ended.code or 0
            raise
        _exit_code = 0
        sys.exit()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    texts = []
    for file in files:
        file.seek(0)
        texts.append(file.read().decode("utf-8", "surrogateescape"))
        file.close()
    return [status, *texts[1:]]


#: Of a fork that is about to end.
_exit_code: int | None = None


def _leave() -> None:
    """The last that a fork does: Python would now flush the streams, then take itself apart."""
    if _exit_code is None:
        return  # the server itself
    code = _exit_code
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except Exception as error:
            code = 120
            if stream is sys.stdout and sys.stderr is not None:
                print(f"Exception ignored in: {stream!r}\n{error!r}", file=sys.stderr, flush=True)
    os._exit(code)


def _serve() -> None:
    atexit.register(_leave)  # the first to be registered is the last to be called
    for name in MODULES:
        importlib.import_module(name)
    # Commands must not see what the server talks by.
    cases, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    silent = os.open(os.devnull, os.O_RDWR)
    os.dup2(silent, 0)
    os.dup2(silent, 1)
    for case in cases:
        print(json.dumps(_run(*json.loads(case))), file=answers, flush=True)


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of the tests, which no command knows
    _serve()
