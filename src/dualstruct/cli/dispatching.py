"""From the words of the command line to the command that they name."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dualstruct.cli.command import HELP, Command, meant
from dualstruct.cli.commands import COMMANDS, COMPLETING, overview
from dualstruct.cli.output import say
from dualstruct.cli.parameters import UsageError, shown


def dispatch(words: Sequence[str]) -> None:
    """Do what the words say."""
    if COMPLETING in os.environ:
        from dualstruct.cli.completing import candidates

        for each in candidates(words):
            say(each)
        return
    first, *others = words or HELP
    if first in COMMANDS:
        Command.named(first).run(others)
    elif first in HELP:
        say(overview())
    elif first == "--version":
        from dualstruct import __version__

        say(f"dualstruct {__version__}")
    elif first in ("--install-completion", "--show-completion"):
        from dualstruct.cli.completing import install, script

        shell = others[0] if others else None
        say(install(shell) if first == "--install-completion" else script(shell)[1])
    else:
        what = "option" if first.startswith("-") else "command"
        raise UsageError(
            f"there is no {what} {shown(first)}{meant(first, [*COMMANDS])} "
            "(dualstruct --help shows all commands)"
        )
