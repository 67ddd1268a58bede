"""Every solver by its name."""

from __future__ import annotations

from dualstruct.errors import InputError
from dualstruct.solvers.automatic import auto_solver
from dualstruct.solvers.cutting_plane import CuttingPlane
from dualstruct.solvers.dca import DCA
from dualstruct.solvers.dcd import CPD, DCD, DCDLight
from dualstruct.solvers.exponentiated_gradient import ExponentiatedGradient
from dualstruct.solvers.frank_wolfe import FrankWolfe
from dualstruct.solvers.lbfgs import LBFGS
from dualstruct.solvers.mira import MIRA
from dualstruct.solvers.pegasos import Pegasos
from dualstruct.solvers.perceptron import Perceptron
from dualstruct.solvers.ramp import RampSDM
from dualstruct.solvers.sdm import SDM
from dualstruct.solvers.sgd import SGD
from dualstruct.solvers.solver import Solver

#: Every solver by its name on the command line.
SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (
        DCD,
        DCDLight,
        CPD,
        SDM,
        FrankWolfe,
        CuttingPlane,
        RampSDM,
        LBFGS,
        ExponentiatedGradient,
        DCA,
        MIRA,
        Perceptron,
        SGD,
        Pegasos,
    )
}


def find_solver(name: str | Solver, loss: str) -> Solver:
    """The solver of this name, or the quickest one for the loss ("auto").

    >>> find_solver("auto", "squared_hinge")
    DCD(revisits=5, admission=0.01, rounds=3)
    """
    if isinstance(name, Solver):
        solver = name
    elif name == "auto":
        solver = auto_solver(loss)
    elif name.replace("_", "-") in SOLVERS:
        solver = SOLVERS[name.replace("_", "-")]()
    else:
        raise InputError(f"unknown solver {name!r}; choose one of auto, {', '.join(SOLVERS)}")
    if loss not in solver.losses:
        others = ", ".join(other.name for other in SOLVERS.values() if loss in other.losses)
        own = " and ".join(solver.losses)
        raise InputError(
            f"solver {solver.name} does not take the loss {loss}, only {own}; "
            f"{loss} is for {others or 'no solver'}"
        )
    return solver
