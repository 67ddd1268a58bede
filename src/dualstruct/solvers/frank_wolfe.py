"""Block-coordinate Frank-Wolfe for the hinge loss.

    min_w  ½‖w‖² + C Σ_i max_y H_i(y; w)
    max_α  Σ_iy α_iy Δ_i(y) − ½‖w‖²,   α ≥ 0,  Σ_y α_iy = C (the true output included)

Each example steps towards the vertex of its simplex that inference finds, by exact line search
(core/learning/rules/frank_wolfe.hpp). Cuts are cached: passes without inference take one
pairwise step an example, from the worst to the best of the cuts held, which
converges linearly where plain Frank-Wolfe steps crawl.

Source: Lacoste-Julien, Jaggi, Schmidt & Pletscher 2013, "Block-Coordinate Frank-Wolfe
Optimization for Structural SVMs", Algorithm 4; caching and pairwise steps after Osokin et al.
2016, "Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs".
"""

from __future__ import annotations

from typing import ClassVar

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.solvers.base import DualIterate, DualSolver


class FrankWolfe(DualSolver):
    """Frank-Wolfe, one example at a time.

    Parameters
    ----------
    cached_passes : int
        Passes over the cached cuts between two with inference.
    averaged : bool
        Predict with the average of w in which step t counts t times (the paper's weighting).
    """

    name: ClassVar[str] = "frank-wolfe"
    losses: ClassVar[tuple[str, ...]] = ("hinge",)
    linear_average = True

    def __init__(self, cached_passes: int = 5, averaged: bool = False) -> None:
        if cached_passes < 0:
            raise InputError(f"cached_passes is {cached_passes}; it must be at least 0")
        self.cached_passes = cached_passes
        self.averaged = averaged

    @property
    def revisits(self) -> int:  # type: ignore[override]
        return self.cached_passes

    def run_pass(self, iterate: DualIterate) -> _core.PassReport:
        for _ in range(self.cached_passes if iterate.cuts else 0):
            self.run_revisit(iterate)
        return self.run_visit(iterate)

    def run_visit(self, iterate: DualIterate) -> _core.PassReport:
        return iterate.visit(_core.FrankWolfeRule(iterate.problem.C), 0.0)
