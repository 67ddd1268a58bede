"""Block-coordinate Frank-Wolfe for the hinge loss.

    min_w  ½‖w‖² + C Σ_i max_y H_i(y; w)
    max_α  Σ_iy α_iy Δ_i(y) − ½‖w‖²,   α ≥ 0,  Σ_y α_iy = C (the true output included)

Each example steps towards the vertex of its simplex that inference finds, by exact line search
(core/learning/rules/frank_wolfe.hpp). Cuts are cached: passes without inference take one
pairwise step per example, from the worst to the best of the cuts held, which
converges linearly where plain Frank-Wolfe steps crawl.

Source: Lacoste-Julien, Jaggi, Schmidt & Pletscher 2013, "Block-Coordinate Frank-Wolfe
Optimization for Structural SVMs", Algorithm 4; caching and pairwise steps after Osokin et al.
2016, "Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs".
"""

from __future__ import annotations

from typing import Any, ClassVar

from dualstruct import _core
from dualstruct.renamed import OldAttribute, old_parameters
from dualstruct.solvers.base import DualIterate, RevisitingSolver


class FrankWolfe(RevisitingSolver):
    """Frank-Wolfe, one example at a time, by default with pairwise steps over the cuts held.

    As published (BCFW, called FW-Struct by Chang & Yih 2013), it does not revisit cuts and returns
    an average of w: ``FrankWolfe(revisits=0, averaged=True)``.

    Its formula is (19) of docs/mathematics.md.

    Parameters
    ----------
    revisits : int
        The number of revisits of the cuts between two inference passes.
    averaged : bool
        Predict with the average of w in which step t counts t times (the paper's weighting).
    """

    name: ClassVar[str] = "frank-wolfe"
    losses: ClassVar[tuple[str, ...]] = ("hinge",)
    linear_average = True
    published: ClassVar[dict[str, dict[str, Any]]] = {
        "Lacoste-Julien et al. 2013, Algorithm 4, weighted average": {
            "revisits": 0,
            "averaged": True,
        }
    }

    @old_parameters(cached_passes="revisits")
    def __init__(self, revisits: int = 5, averaged: bool = False) -> None:
        self._set_revisits(revisits)
        self.averaged = averaged

    cached_passes = OldAttribute("revisits")

    def run_visit(self, iterate: DualIterate) -> _core.PassReport:
        return iterate.visit(_core.FrankWolfeRule(iterate.problem.C), 0.0)
