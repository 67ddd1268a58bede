"""Which solver ``"auto"`` is: the one place that says so, for estimators, strategies and suspects.

Of the solvers that fit the loss and certify, it is the quickest one (make bench-solvers).
"""

from __future__ import annotations

from dualstruct.errors import InputError
from dualstruct.solvers.dca import DCA
from dualstruct.solvers.dcd import DCD
from dualstruct.solvers.exponentiated_gradient import ExponentiatedGradient
from dualstruct.solvers.frank_wolfe import FrankWolfe
from dualstruct.solvers.lbfgs import LBFGS
from dualstruct.solvers.perceptron import Perceptron
from dualstruct.solvers.ramp import RampSDM
from dualstruct.solvers.sdm import SDM
from dualstruct.solvers.sgd import SGD
from dualstruct.solvers.solver import Solver
from dualstruct.structures.base import Structure

#: By loss.
_QUICKEST: dict[str, type[Solver]] = {
    "squared_hinge": DCD,
    "hinge": FrankWolfe,
    "crf": ExponentiatedGradient,
    "softmax_margin": ExponentiatedGradient,
    "ramp": RampSDM,
    "ramp_uncosted": RampSDM,
    "risk_bound": SGD,
    "perceptron": Perceptron,
}


def auto_solver(
    loss: str,
    structure: Structure | None = None,
    *,
    slow_revisits: bool = False,
    inside_strategy: bool = False,
) -> Solver:
    """The solver that ``"auto"`` stands for.

    Parameters
    ----------
    loss : str
    structure : Structure, optional
        What is trained on, where it is known.
    slow_revisits : bool
        Whether the features of a cut are recomputed each time that it is revisited, and there
        are too many marginals to be kept, as for trees.
    inside_strategy : bool
        Whether it works on one worker's share, inside a strategy for several.

    Examples
    --------
    >>> auto_solver("squared_hinge"), auto_solver("squared_hinge", slow_revisits=True)
    (DCD(revisits=5, admission=0.01, rounds=3), DCD(revisits=1, admission=0.01, rounds=3))
    """
    if loss not in _QUICKEST:
        raise InputError(f"no solver takes the loss {loss}; choose one of {', '.join(_QUICKEST)}")
    kind = _QUICKEST[loss]
    if slow_revisits and kind is DCD:
        return DCD(revisits=1)
    if slow_revisits and kind is ExponentiatedGradient:
        return DCA()
    if inside_strategy and kind is FrankWolfe:
        return SDM()
    if kind is ExponentiatedGradient and structure is not None and _is_slow_for_eg(structure):
        return LBFGS()
    return kind()


def _is_slow_for_eg(structure: Structure) -> bool:
    """It starts close to the truth, and is slow where costs do not say what that is."""
    return structure.has_unknown_truth or not structure.has_parts or structure.has_many_parts
