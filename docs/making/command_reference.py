"""The command reference: a page made from the program."""

from __future__ import annotations

import inspect
import re
from html import escape
from typing import Any

from core_stub import import_source

HEAD = """\
# Commands

`dualstruct COMMAND --help` shows the same in a terminal. With `--json` every command prints one
JSON object and nothing else. `dualstruct --install-completion` lets the shell complete commands
and options. Results go to standard output, everything else to standard error. The exit code is 0
on success, 1 after an error, 2 for a wrong command line, 70 for an internal error, and 130 after
Ctrl-C.

| command | what it does |
| --- | --- |
"""


def command_page() -> str:
    """Every command with its arguments, its options and examples, as Markdown."""
    import_source()
    from dualstruct.cli.command import Command
    from dualstruct.cli.commands import GROUPS

    lines = HEAD.splitlines()
    for group in GROUPS.values():
        lines += [f"| [{name}](#{name}) | {known.does} |" for name, known in group.items()]
    for title, group in GROUPS.items():
        lines += ["", f"## {title}"]
        for name, known in group.items():
            lines += ["", f"### {name} {{ #{name} }}", "", *_command(Command.named(name))]
            lines += ["", "```console", *(f"$ dualstruct {each}" for each in known.examples), "```"]
    return "\n".join(lines) + "\n"


def _command(command: Any) -> list[str]:
    lines = [_prose(inspect.cleandoc(command.function.__doc__ or ""))]
    for title, records in command.panels().items():
        rows = [f"| {_code(name)} | {_prose(_cell(help))} |" for name, help in records]
        lines += ["", f"| {title} | |", "| --- | --- |", *rows]
    return lines


def _code(name: str) -> str:
    """As code: within backticks a table of Markdown would show the escape of ``|``."""
    return f"<code>{escape(name).replace('|', '&#124;')}</code>"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _prose(text: str) -> str:
    """Options and braces are code; everything else is as it stands."""
    text = re.sub(r"(\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}(?:\])?\}?)", r"`\1`", text)
    text = re.sub(r"(?<![`\w-])(--?[a-zA-Z][\w-]*)", r"`\1`", text)
    return text.replace("<", "&lt;")
