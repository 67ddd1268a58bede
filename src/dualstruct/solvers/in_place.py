"""Weights that learn from a few examples in place, in the time of these examples.

Training makes weights of its own, which takes as long as there are weights. Here those of a model
change, by dual coordinate descent for the squared hinge with the model as it was for its center:

    w ← w + Σ_iy α_iy δ_i(y),   α ≥ 0 by the rule of :mod:`dualstruct.solvers.dcd`
"""

from __future__ import annotations

from dualstruct import _core
from dualstruct.structures.base import Structure

__all__ = ["learn_in_place"]

#: The least gradient of a cut, as usual in training.
ADMISSION = 0.01


def learn_in_place(
    structure: Structure, w: _core.Weights, C: float, *, passes: int = 2, revisits: int = 5
) -> None:
    """Learn from the examples of a structure; nobody else may use the weights meanwhile.

    Parameters
    ----------
    structure : Structure
        Examples with their true outputs.
    w : Weights
    C : float
        The weight of one example's loss.
    passes : int
        How often each example is decoded.
    revisits : int
        How often its cuts are looked at again after that.
    """
    rule = _core.DCDRule(C)
    with structure.translating_errors():
        duals = _core.DualState(structure.core_examples, w)
        for number in range(1, passes + 1):
            duals.visit(rule, ADMISSION, number, 1)
            for more in range(revisits):
                duals.revisit(rule, 100 * number + more)
