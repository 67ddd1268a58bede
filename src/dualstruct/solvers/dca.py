"""Dual coordinate ascent for the whole family of losses between perceptron, SVM and CRF.

    ℓ_i(w) = (1/β) log Σ_y exp β(γΔ_i(y) − w·δ_i(y))

Each example in turn asks for  min_w' ½‖w' − w‖² + C ℓ_i(w'), the best change of its own dual
variable. With ℓ_i replaced by its tangent at w (and 0, below which no loss falls) that is

    w ← w − min(C, ℓ_i(w)/‖∇ℓ_i(w)‖²) ∇ℓ_i(w),      −∇ℓ_i(w) = φ_i(y_i) − E φ_i(y)

so no learning rate is needed. At β = ∞ (hinge, perceptron) the expectation is one output and the
step is that of 1-best MIRA; k > 1 keeps the tangents of the k best outputs (hinge only, see
core/learning/rules/hildreth.hpp). The answer is the average of w over all steps, as Algorithm 1
returns it.

A dual variable is summed into w and not kept, so there is no dual value and no gap. The
perceptron's loss is 0 at w = 0, which is its optimum: from there this solver does not move, only
from the weights of an earlier model.

C is the paper's 1/(λm). Where inference is approximate (or rounding shows) an estimated loss can be
negative; it is taken for 0, and ``iterate.memory["clamped"]`` counts how often.

Source: Martins et al. 2010, "Aggressive Online Learning of Structured Classifiers", Algorithms 1
and 2, eq. (14) to (17).
"""

from __future__ import annotations

from typing import Any, ClassVar

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.losses import SoftmaxMargin
from dualstruct.problem import Problem
from dualstruct.solvers.base import Iterate
from dualstruct.solvers.online import OnlineSolver, check_count


class DCA(OnlineSolver):
    """Dual coordinate ascent, one example at a time, as published.

    Its formula is (27) of docs/mathematics.md.

    Parameters
    ----------
    k : int
        For the hinge loss: the number of best outputs that get a constraint.
    averaged : bool
        Predict with the mean of w over all steps instead of the last w.
    """

    name: ClassVar[str] = "dca"
    losses: ClassVar[tuple[str, ...]] = ("crf", "softmax_margin", "hinge", "perceptron")
    published: ClassVar[dict[str, dict[str, Any]]] = {
        "Martins et al. 2010, Algorithms 1 and 2": {},
    }

    def __init__(self, k: int = 1, averaged: bool = True) -> None:
        check_count("k", k)
        self.k = k
        self.averaged = averaged

    def start(self, problem: Problem, seed: int) -> Iterate:
        if self.k > 1 and problem.loss.name != "hinge":
            raise InputError(
                f"k is {self.k}, but only the hinge loss has k best outputs, "
                f"not {problem.loss.name}"
            )
        iterate = super().start(problem, seed)
        iterate.memory["clamped"] = 0
        return iterate

    def run_pass(self, iterate: Iterate) -> _core.PassReport:
        C, loss = iterate.problem.C, iterate.problem.loss
        step: _core.PassiveAggressiveStep | _core.ExpectedPassiveAggressiveStep
        if isinstance(loss, SoftmaxMargin):
            step = _core.ExpectedPassiveAggressiveStep(C, loss.beta, loss.gamma)
        else:
            cost_weight = 1.0 if loss.name == "hinge" else 0.0
            step = _core.PassiveAggressiveStep(C, cost_weight, self.k)
        report = self.meet_all(iterate, step)
        iterate.memory["clamped"] += step.clamped
        return report
