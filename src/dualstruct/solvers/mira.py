"""MIRA, the margin-infused relaxed algorithm: as little change of w as an example's margin needs.

    min_w',ξ≥0  ½‖w' − w‖² + C ξ   subject to  w'·δ_i(y) ≥ Δ_i(y) − ξ  for the k best y

The k best outputs are those of loss-augmented inference, max_y Δ_i(y) + w·φ_i(y). For k = 1

    w ← w + min(C, H_i(y; w)/‖δ_i(y)‖²) δ_i(y);

for k > 1 Hildreth's algorithm solves the dual. All constraints of an example share its one slack,
because its loss is the maximum over them; so their multipliers together are at most C (a simplex),
not each of them (core/learning/rules/hildreth.hpp).

C is the weight of one example's loss, as in every solver; the classical MIRA without slack is a
large C.

Source: Crammer et al. 2006, "Online Passive-Aggressive Algorithms", §8, the max-loss variant;
McDonald et al. 2005 for k best. It is DCA on the hinge loss (Martins et al. 2010, eq. (15)).
"""

from __future__ import annotations

from typing import ClassVar

from dualstruct import _core
from dualstruct.solvers.base import Iterate
from dualstruct.solvers.online import OnlineSolver, check_count


class MIRA(OnlineSolver):
    """1-best and k-best MIRA.

    Its formula is (26) of docs/mathematics.md.

    Parameters
    ----------
    k : int
        How many of the best outputs get a constraint.
    averaged : bool
        Predict with the mean of w over all steps instead of the last w.
    """

    name: ClassVar[str] = "mira"
    losses: ClassVar[tuple[str, ...]] = ("hinge",)

    def __init__(self, k: int = 1, averaged: bool = True) -> None:
        check_count("k", k)
        self.k = k
        self.averaged = averaged

    def run_pass(self, iterate: Iterate) -> _core.PassReport:
        step = _core.PassiveAggressiveStep(iterate.problem.C, 1.0, self.k)
        return self.meet_all(iterate, step)
