"""The command ``dualstruct``, one file for each group of commands."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; whatever goes wrong is one sentence, never a traceback."""
    if sys.argv[1:] == ["--version"]:  # at once: everything else takes longer to import than to do
        from dualstruct import __version__

        print(f"dualstruct {__version__}")
        return
    if sys.argv[1:] == ["--help"]:
        from dualstruct.cli.boundary import run
        from dualstruct.cli.commands import overview
        from dualstruct.cli.output import say

        run(lambda: say(overview()))
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        from dualstruct.cli.boundary import run

        run(_say_what_is_missing)
    from dualstruct.cli.building import run_alone

    run_alone(sys.argv[1:2])


def _say_what_is_missing() -> None:
    from dualstruct.libraries import library

    for name in ("typer", "rich"):
        library(name, "cli", "the command dualstruct")
