"""Runs commands in this process as a program would run them, on streams that a test can read."""

from __future__ import annotations

import inspect
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, get_args, get_type_hints

from dualstruct.cli import app as cli
from dualstruct.cli.boundary import run


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
            run(cli.app)
        except SystemExit as done:
            return done.code, output.text(), messages.text()
    raise AssertionError("the command line ended without an exit code")


def numeric_options() -> list[tuple[str, str, type]]:
    """Every option of every command that takes a number: command, option, int or float."""
    found = []
    for command in cli.app.registered_commands:
        callback = command.callback
        assert callback is not None
        hints = get_type_hints(callback, include_extras=True)
        for name in inspect.signature(callback).parameters:
            kind, info = get_args(hints[name])[:2]
            for number in {int, float} & ({kind} | set(get_args(kind))):
                # typer takes the first of the names for a default.
                named = [each for each in (info.default, *(info.param_decls or ())) if each]
                option = next((each for each in named if str(each)[0] == "-"), None)
                option = option or "--" + name.replace("_", "-")
                found.append((command.name or callback.__name__, option, number))
    return found
