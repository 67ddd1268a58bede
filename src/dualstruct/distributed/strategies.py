"""Which strategy trains on several workers: by its name, by the solver inside it, by the loss."""

from __future__ import annotations

from dualstruct.distributed.admm import ADMM
from dualstruct.distributed.base import Strategy
from dualstruct.distributed.bqo import BQO
from dualstruct.distributed.lbfgs import DistributedLBFGS
from dualstruct.distributed.mixing import IterativeMixing, SimpleAverage
from dualstruct.distributed.ramp import RampBQO
from dualstruct.errors import InputError
from dualstruct.solvers import (
    LBFGS,
    MIRA,
    Averaged,
    DualSolver,
    Perceptron,
    RampSDM,
    Solver,
    auto_solver,
    find_solver,
)

#: Every strategy by its name.
STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy
    for strategy in (BQO, ADMM, IterativeMixing, SimpleAverage, DistributedLBFGS, RampBQO)
}
#: What people call them.
SHORT_NAMES = {"mixing": "iterative-mixing", "average": "simple-average"}
#: What "auto" takes.
AUTO = {
    "squared_hinge": "bqo",
    "hinge": "bqo",
    "perceptron": "iterative-mixing",
    "crf": "distributed-lbfgs",
    "softmax_margin": "distributed-lbfgs",
    "ramp": "ramp-bqo",
    "ramp_uncosted": "ramp-bqo",
}


def find_strategy(
    name: str | Solver, loss: str, slow_revisits: bool = False, averaged: bool = False
) -> Strategy:
    """The strategy of this name, or the one to take for the loss ("auto").

    Parameters
    ----------
    name : str or Solver
        ``auto``, ``bqo``, ``admm``, ``mixing``, ``average``; or a solver of one worker, around
        which the strategy is put that can use it.
    loss : str
    slow_revisits : bool
        As :func:`~dualstruct.solvers.auto_solver` takes it.
    averaged : bool
        Whether the models of a simple average are averages of their own steps. Mixing averages
        as the perceptron and MIRA do, BQO over its last rounds, ADMM not at all.

    Examples
    --------
    >>> find_strategy("auto", "squared_hinge").name, find_strategy("mixing", "hinge").solver.name
    ('bqo', 'mira')
    """
    if isinstance(name, Strategy):
        strategy = name
    elif isinstance(name, Solver):
        strategy = _around(name)
    else:
        strategy = _named(name.replace("_", "-"), loss, slow_revisits, averaged)
    if loss not in strategy.losses:
        raise InputError(
            f"{strategy.name} does not take the loss {loss} on several workers, but "
            f"{' or '.join(strategy.losses)}"
        )
    return strategy


def is_strategy(name: str | Solver) -> bool:
    """Whether a solver is one for several workers."""
    if isinstance(name, Solver):
        return isinstance(name, Strategy)
    name = name.replace("_", "-")
    return SHORT_NAMES.get(name, name) in STRATEGIES


def _named(name: str, loss: str, slow_revisits: bool, averaged: bool) -> Strategy:
    if name == "auto":
        if loss not in AUTO:
            raise InputError(
                f"the loss {loss} is not solved on several workers; {', '.join(AUTO)} are, and "
                "solver='average' takes the mean of models trained apart"
            )
        name = AUTO[loss]
    name = SHORT_NAMES.get(name, name)
    if name not in STRATEGIES:
        return _around(find_solver(name, loss))
    if name == IterativeMixing.name:
        return IterativeMixing(MIRA() if loss == "hinge" else Perceptron())
    if name == SimpleAverage.name:
        alone = auto_solver(loss, slow_revisits=slow_revisits)
        return SimpleAverage(Averaged(alone) if averaged else alone)
    if name in (DistributedLBFGS.name, RampBQO.name):
        return STRATEGIES[name]()
    inner = auto_solver(loss, slow_revisits=slow_revisits, inside_strategy=True)
    default = auto_solver(loss, inside_strategy=True)
    # What a strategy takes by itself is not named in reports and checkpoints.
    special = isinstance(inner, DualSolver) and repr(inner) != repr(default)
    with_cuts = inner if special else None
    return BQO(with_cuts) if name == BQO.name else ADMM(with_cuts)


def _around(solver: Solver) -> Strategy:
    if isinstance(solver, Perceptron | MIRA):
        return IterativeMixing(solver)
    if isinstance(solver, LBFGS):
        return DistributedLBFGS(solver)
    if isinstance(solver, RampSDM):
        return RampBQO(solver.passes_per_round, BQO(solver.sdm))
    if isinstance(solver, DualSolver):
        return BQO(solver)
    raise InputError(
        f"solver {solver.name} works on one machine; for several workers there are "
        f"{', '.join(STRATEGIES)}"
    )


def described(strategy: Strategy) -> str:
    """The strategy and the solver inside it.

    >>> described(find_strategy("dcd", "squared_hinge"))
    'bqo around dcd'
    """
    inner: Solver | None = strategy.solver
    return strategy.name if inner is None else f"{strategy.name} around {inner.name}"
