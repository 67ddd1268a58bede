"""The command ``dualstruct``, one file for each group of commands."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; whatever goes wrong is one sentence, never a traceback."""
    # OpenBLAS starts a thread for each core when numpy is imported, which takes as long as numpy
    # itself on two cores. Only k-means of vectors multiplies matrices that are large.
    if "clusters" not in sys.argv[1:2]:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from dualstruct.cli.boundary import run
    from dualstruct.cli.dispatching import dispatch
    from dualstruct.data.leftovers import tidy_on_sigterm

    tidy_on_sigterm()
    run(lambda: dispatch(sys.argv[1:]))
