"""The command ``dualstruct``, one file for each group of commands."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; whatever goes wrong is one sentence, never a traceback."""
    from dualstruct.cli.boundary import run
    from dualstruct.cli.dispatching import dispatch
    from dualstruct.data.leftovers import tidy_on_sigterm

    tidy_on_sigterm()
    run(lambda: dispatch(sys.argv[1:]))
