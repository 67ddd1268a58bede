"""Where everything that goes wrong in a command becomes one sentence and an exit code.

====  ========================================================================
0     done; also when the reader of the output, ``head`` for instance, has seen enough
1     something that was given is wrong, or a file or stream cannot be used
2     the command line is wrong
70    a mistake of dualstruct's own; ``DUALSTRUCT_DEBUG=1`` shows where
130   Ctrl-C
====  ========================================================================
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from dualstruct.cli.output import tell, use_streams, warnings_printed
from dualstruct.cli.parameters import UsageError
from dualstruct.errors import DualstructError

__all__ = ["run"]

FAILED, WRONG_USAGE, MISTAKE_OF_OURS, INTERRUPTED = 1, 2, 70, 130
PACKAGE = Path(__file__).parents[1]


def run(work: Callable[[], object]) -> NoReturn:
    """Run the command line and leave the program."""
    code: Any = 0
    with use_streams():
        try:
            try:
                with warnings_printed():
                    work()
            except SystemExit as done:
                code = done.code
            sys.stdout.flush()
        except BaseException as problem:
            code = _tell(problem)
    sys.exit(code)


def _tell(problem: BaseException) -> int:
    """Say what happened; the exit code."""
    if os.environ.get("DUALSTRUCT_DEBUG"):
        raise problem
    code, sentence = explain(problem)
    if sentence:
        tell(sentence)
    return code


def explain(problem: BaseException) -> tuple[int, str]:
    """The exit code for an exception, and what to say about it."""
    if isinstance(problem, UsageError):
        return WRONG_USAGE, str(problem)
    if isinstance(problem, DualstructError):
        return FAILED, str(problem)
    if isinstance(problem, KeyboardInterrupt):
        return INTERRUPTED, "interrupted"
    if isinstance(problem, BrokenPipeError):
        return 0, ""
    if isinstance(problem, MemoryError):
        return FAILED, "there is not enough memory for this"
    if isinstance(problem, RecursionError):
        return FAILED, "something in the input is nested too deeply"
    if isinstance(problem, UnicodeError):
        return FAILED, f"this text cannot be read or written: {problem}"
    if isinstance(problem, OSError):
        place = problem.filename
        where = "reading or writing failed" if place is None else os.fsdecode(place)
        return FAILED, f"{where}: {problem.strerror or problem}"
    what = ": ".join(filter(None, (type(problem).__name__, str(problem))))
    return MISTAKE_OF_OURS, (
        f"a mistake of dualstruct's own, {what} ({_place(problem)}); DUALSTRUCT_DEBUG=1 shows how "
        "it came about: please report it"
    )


def _place(problem: BaseException) -> str:
    """The innermost line of the package that an exception came through."""
    place, call = "outside of the package", problem.__traceback__
    while call is not None:
        file = Path(call.tb_frame.f_code.co_filename)
        if file.is_relative_to(PACKAGE):
            place = f"{file.relative_to(PACKAGE).as_posix()}, line {call.tb_lineno}"
        call = call.tb_next
    return place
