"""MIRA, the margin-infused relaxed algorithm: as little change of w as an example's margin needs.

    min_w',ξ≥0  ½‖w' − w‖² + C ξ   subject to  w'·δ_i(y) ≥ Δ_i(y) − ξ  for the k best y

The k best outputs are those of loss-augmented inference, max_y Δ_i(y) + w·φ_i(y). For k = 1

    w ← w + min(C, H_i(y; w)/‖δ_i(y)‖²) δ_i(y);

for k > 1 Hildreth's algorithm solves the dual. All constraints of an example share its one slack,
because its loss is the maximum over them; so their multipliers together are at most C (a simplex),
not each of them (core/learning/rules/hildreth.hpp).

C is the weight of one example's loss, as in every solver.

Two variants take other outputs: ``candidates="predicted"`` takes the k best of w·φ_i(y) alone,
without the cost. With k = 1 that is the prediction-based MIRA of Crammer et al. 2006 (Martins et
al. 2010, footnote 7); without slack (``slack=False``, constraints that have to hold whatever they
cost) it is MIRA as Chang & Yih 2013 (§2.1) define it.

Source: Crammer et al. 2006, "Online Passive-Aggressive Algorithms", §8, the max-loss variant;
McDonald et al. 2005 for k best. It is DCA on the hinge loss (Martins et al. 2010, eq. (15)).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.solvers.base import Iterate
from dualstruct.solvers.online import OnlineSolver, check_count

#: C without slack: more than multipliers come to, unless constraints contradict each other.
NO_SLACK = 1e6


class MIRA(OnlineSolver):
    """1-best and k-best MIRA: by default as Crammer et al. 2006 and Martins et al. 2010 publish it;
    ``MIRA(candidates="predicted", slack=False)`` is that of Chang & Yih 2013.

    Its formula is (26) of docs/mathematics.md.

    Parameters
    ----------
    k : int
        The number of best outputs that get a constraint.
    averaged : bool
        Predict with the mean of w over all steps instead of the last w.
    candidates : {"costed", "predicted"}
        Whether the k best are those of loss-augmented inference or those that the model predicts.
    slack : bool
        Whether an example may violate its constraints at cost C. Without slack, C is not
        used.

    Examples
    --------
    >>> MIRA(candidates="predicted").k
    1
    """

    name: ClassVar[str] = "mira"
    losses: ClassVar[tuple[str, ...]] = ("hinge",)
    published: ClassVar[dict[str, dict[str, Any]]] = {
        "Crammer et al. 2006, §8, max-loss; Martins et al. 2010, eq. (15) and (17)": {},
        "Martins et al. 2010, footnote 7": {"candidates": "predicted"},
        "Chang & Yih 2013, §2.1": {"candidates": "predicted", "slack": False},
    }

    def __init__(
        self,
        k: int = 1,
        averaged: bool = True,
        candidates: Literal["costed", "predicted"] = "costed",
        slack: bool = True,
    ) -> None:
        check_count("k", k)
        if candidates not in ("costed", "predicted"):
            raise InputError(f'candidates is {candidates!r}; it can be "costed" or "predicted"')
        self.k = k
        self.averaged = averaged
        self.candidates = candidates
        self.slack = slack

    def run_pass(self, iterate: Iterate) -> _core.PassReport:
        C = iterate.problem.C if self.slack else NO_SLACK
        search_weight = 1.0 if self.candidates == "costed" else 0.0
        step = _core.PassiveAggressiveStep(C, 1.0, self.k, search_weight)
        return self.meet_all(iterate, step)
