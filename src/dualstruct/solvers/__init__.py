"""Solvers: the schedule of passes, rules and stopping that learns the weights."""

from __future__ import annotations

from dualstruct.errors import InputError
from dualstruct.solvers.base import Averaged, DualIterate, DualSolver, Iterate, Solver
from dualstruct.solvers.dcd import CPD, DCD, DCDLight
from dualstruct.solvers.exponentiated_gradient import ExponentiatedGradient
from dualstruct.solvers.lbfgs import LBFGS

__all__ = [
    "CPD",
    "DCD",
    "LBFGS",
    "SOLVERS",
    "Averaged",
    "DCDLight",
    "DualIterate",
    "DualSolver",
    "ExponentiatedGradient",
    "Iterate",
    "Solver",
    "find_solver",
]

#: Every solver by its name on the command line.
SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver for solver in (DCD, DCDLight, CPD, LBFGS, ExponentiatedGradient)
}


def find_solver(name: str | Solver, loss: str) -> Solver:
    """The solver of this name, or the quickest one for the loss ("auto").

    >>> find_solver("auto", "squared_hinge")
    DCD(inner_passes=5, delta=0.01)
    """
    if isinstance(name, Solver):
        solver = name
    elif name == "auto":
        fitting = [candidate for candidate in SOLVERS.values() if loss in candidate.losses]
        if not fitting:
            raise InputError(f"no solver takes the loss {loss}; {_pairs()}")
        solver = fitting[0]()
    elif name.replace("_", "-") in SOLVERS:
        solver = SOLVERS[name.replace("_", "-")]()
    else:
        raise InputError(f"unknown solver {name!r}; there is auto, {', '.join(SOLVERS)}")
    if loss not in solver.losses:
        raise InputError(f"solver {solver.name} does not take the loss {loss}; {_pairs()}")
    return solver


def _pairs() -> str:
    fits = (f"{solver.name} with {' or '.join(solver.losses)}" for solver in SOLVERS.values())
    return f"these pairs fit: {', '.join(fits)}"
