"""Runs commands in this process as a program would run them, on streams that a test can read."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dualstruct.cli.boundary import run
from dualstruct.cli.command import Command
from dualstruct.cli.commands import COMMANDS
from dualstruct.cli.dispatching import dispatch


class Stream(io.TextIOWrapper):
    """Keeps what it is told; it may say that it is a terminal."""

    def __init__(self, terminal: bool = False) -> None:
        self.kept, self.terminal = io.BytesIO(), terminal
        super().__init__(self.kept, encoding="utf-8", write_through=True)

    def isatty(self) -> bool:
        return self.terminal

    def text(self) -> str:
        self.flush()
        return self.kept.getvalue().decode()


@contextmanager
def _put(**values: Any) -> Iterator[None]:
    before = {name: getattr(sys, name) for name in values}
    try:
        for name, value in values.items():
            setattr(sys, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(sys, name, value)


def run_command(arguments: Sequence[str], terminal: bool = False) -> tuple[Any, str, str]:
    """Exit code, output and messages."""
    output, messages = Stream(terminal), Stream(terminal)
    streams = {"stdin": Stream(), "stdout": output, "stderr": messages}
    with _put(argv=["dualstruct", *arguments], **streams):
        try:
            run(lambda: dispatch(arguments))
        except SystemExit as done:
            return done.code, output.text(), messages.text()
    raise AssertionError("the command line ended without an exit code")


def called(*arguments: object, stdin: str = "") -> str:
    """What a command prints; an error is raised here, where a program would say it."""
    output, given = Stream(), Stream()
    given.write(stdin)
    given.seek(0)
    with _put(stdin=given, stdout=output, stderr=Stream()):
        dispatch([str(each) for each in arguments])
    return output.text()


def numeric_options() -> list[tuple[str, str, type]]:
    """Every option of every command that takes a number: command, option, int or float."""
    return [
        (name, option.title, option.type)
        for name in COMMANDS
        for option in Command.named(name).parameters
        if option.names and option.type in (int, float)
    ]
