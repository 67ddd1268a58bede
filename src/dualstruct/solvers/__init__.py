"""Solvers: the schedule of passes, rules and stopping that learns the weights."""

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names

if TYPE_CHECKING:
    from dualstruct.solvers.automatic import auto_solver as auto_solver
    from dualstruct.solvers.base import Averaged as Averaged
    from dualstruct.solvers.base import DualIterate as DualIterate
    from dualstruct.solvers.base import DualSolver as DualSolver
    from dualstruct.solvers.base import Iterate as Iterate
    from dualstruct.solvers.completion import Completing as Completing
    from dualstruct.solvers.cutting_plane import CuttingPlane as CuttingPlane
    from dualstruct.solvers.dca import DCA as DCA
    from dualstruct.solvers.dcd import CPD as CPD
    from dualstruct.solvers.dcd import DCD as DCD
    from dualstruct.solvers.dcd import DCDLight as DCDLight
    from dualstruct.solvers.exponentiated_gradient import (
        ExponentiatedGradient as ExponentiatedGradient,
    )
    from dualstruct.solvers.frank_wolfe import FrankWolfe as FrankWolfe
    from dualstruct.solvers.lbfgs import LBFGS as LBFGS
    from dualstruct.solvers.mira import MIRA as MIRA
    from dualstruct.solvers.pegasos import Pegasos as Pegasos
    from dualstruct.solvers.perceptron import Perceptron as Perceptron
    from dualstruct.solvers.ramp import RampSDM as RampSDM
    from dualstruct.solvers.registry import SOLVERS as SOLVERS
    from dualstruct.solvers.registry import find_solver as find_solver
    from dualstruct.solvers.sdm import SDM as SDM
    from dualstruct.solvers.sgd import SGD as SGD
    from dualstruct.solvers.solver import Solver as Solver

#: Predictions need none of these.
_HOMES = {
    "solvers.automatic": "auto_solver",
    "solvers.base": "Averaged DualIterate DualSolver Iterate",
    "solvers.completion": "Completing",
    "solvers.cutting_plane": "CuttingPlane",
    "solvers.dca": "DCA",
    "solvers.dcd": "CPD DCD DCDLight",
    "solvers.exponentiated_gradient": "ExponentiatedGradient",
    "solvers.frank_wolfe": "FrankWolfe",
    "solvers.lbfgs": "LBFGS",
    "solvers.mira": "MIRA",
    "solvers.pegasos": "Pegasos",
    "solvers.perceptron": "Perceptron",
    "solvers.ramp": "RampSDM",
    "solvers.registry": "SOLVERS find_solver",
    "solvers.sdm": "SDM",
    "solvers.sgd": "SGD",
    "solvers.solver": "Solver",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
