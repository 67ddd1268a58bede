"""A problem divided among threads of this process, which train as workers elsewhere would."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dualstruct.problem import Problem
from dualstruct.solvers.solver import Solver
from dualstruct.structures.subset import Subset
from dualstruct.training.loop import fit
from dualstruct.training.results import FitResult
from dualstruct.training.stopping import Stopping
from dualstruct.workers.communicator import Communicator, check_workers, partition
from dualstruct.workers.local import run_local


def fit_local(
    problem: Problem,
    solver: Solver,
    stopping: Stopping,
    *,
    workers: int,
    seed: int = 0,
    **options: Any,
) -> FitResult:
    """:func:`dualstruct.training.loop.fit` on several workers, each with a share of the examples.

    Parameters
    ----------
    problem, solver, stopping, options
        As in :func:`dualstruct.training.loop`; the solver is one of ``dualstruct.distributed``.
    workers : int
        How many shares.
    seed : int
        The seed of the partition and everything else that is random.

    Examples
    --------
    >>> from dualstruct import Problem, Stopping
    >>> from dualstruct.datasets import make_chains
    >>> from dualstruct.distributed import BQO
    >>> problem = Problem(make_chains(sentences=20).structure(), C=0.1)
    >>> fit_local(problem, BQO(), Stopping(gap=0.01), workers=4).stopped_by
    'gap'
    """
    check_workers(workers)
    shares = partition(len(problem.structure), workers, seed)

    def work(communicator: Communicator) -> FitResult:
        own = Problem(
            Subset(problem.structure, shares[communicator.rank]),
            problem.loss,
            problem.C,
            center=problem.center,
            threads=problem.threads,
            communicator=communicator,
        )
        return fit(own, solver, stopping, seed=seed, **options)

    results = run_local(workers, work)
    # The workers share one counter of unproven answers, and one structure that skips.
    return replace(results[0], skipped=sum(problem.structure.skipped.values()))
