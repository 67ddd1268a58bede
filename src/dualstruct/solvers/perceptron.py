"""The averaged structured perceptron.

    ŷ = argmax_y w·φ_i(y);   if ŷ ≠ y_i:  w ← w + δ_i(ŷ)

It descends Σ_i max_y −w·δ_i(y) in steps of 1 and predicts with the mean of w over all steps, which
generalises better than the last w. There is no dual and no parameter: C does not change the steps,
it only weighs the losses in the objective that is reported.

Source: Collins 2002, "Discriminative Training Methods for Hidden Markov Models". The examples are
shuffled before each pass, as in Chang & Yih 2013, §4.3.
"""

from __future__ import annotations

from typing import Any, ClassVar

from dualstruct import _core
from dualstruct.solvers.base import Iterate
from dualstruct.solvers.online import OnlineSolver


class Perceptron(OnlineSolver):
    """Collins's perceptron, as published.

    Its formula is (25) of docs/mathematics.md.

    Parameters
    ----------
    averaged : bool
        Predict with the mean of w over all steps instead of the last w.
    """

    name: ClassVar[str] = "perceptron"
    losses: ClassVar[tuple[str, ...]] = ("perceptron",)
    published: ClassVar[dict[str, dict[str, Any]]] = {
        "Collins 2002, averaged": {},
    }

    def __init__(self, averaged: bool = True) -> None:
        self.averaged = averaged

    def run_pass(self, iterate: Iterate) -> _core.PassReport:
        return self.meet_all(iterate, _core.PerceptronStep())
