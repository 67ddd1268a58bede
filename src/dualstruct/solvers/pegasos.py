"""Pegasos: primal estimated subgradients for the hinge and the ramp loss.

    min_w  λ/2‖w‖² + (1/n) Σ_i ℓ_i(w) = P(w)/(C n),     λ = 1/(C n)

Step t takes a batch B of examples and goes η_t = 1/(λt) along their mean subgradient at w:

    w ← (1 − 1/t) w + η_t/|B| Σ_i∈B δ_i(ỹ_i),           ỹ_i = argmax_y H_i(y; w), if H_i(ỹ_i) > 0

For the ramp, max_y H_i(y) − (max_y −cΔ_i(y) − w·δ_i(y))₊, the output ȳ_i of the second maximum,
if that is positive, comes in with −δ_i(ȳ_i). The first passes leave it out, as the first round of
CCCP is the hinge problem: the first steps are so long that both maxima are at the same output of
most examples, their subgradients cancel, and the ramp would give these examples up for good.

With ``projection``, w is then drawn into a ball that holds the optimum. The classical radius 1/√λ
takes Δ ≤ 1 for granted: where costs are larger, it cuts the optimum off. In general

    hinge   P = D at the optimum:  ‖w*‖² = Σ α Δ − C Σ_i ℓ_i ≤ C Σ_i max_y Δ_i(y)
    ramp    P(w*) ≤ P(0), ℓ ≥ 0:   ‖w*‖² ≤ 2 C Σ_i max_y Δ_i(y)

The average of w over all steps is what it is judged by. No duals, so no gap.

Source: Shalev-Shwartz et al. 2011, "Pegasos"; with the ramp Mančev 2015, §5 (whose λ = 1/C is of
an objective with C/N: see dualstruct.conversions).
"""

from __future__ import annotations

from math import sqrt
from typing import ClassVar, Literal

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.losses import Ramp
from dualstruct.problem import Problem
from dualstruct.solvers.base import Iterate
from dualstruct.solvers.online import OnlineSolver, check_count, refuse_center


class Pegasos(OnlineSolver):
    """Stochastic subgradient descent with steps of 1/(λt).

    Its formula is (29) of docs/mathematics.md.

    Parameters
    ----------
    batch : int
        Examples a step; 1 is the stochastic version.
    projection : bool or "classical"
        Whether each step ends in the ball that holds the optimum; "classical" is the ball of
        radius 1/√λ, which holds it where no output costs more than 1.
    hinge_passes : int
        For the ramp: passes over its convex part alone, before the second part comes in.
    averaged : bool
        Predict with the mean of w over all steps instead of the last w.
    """

    name: ClassVar[str] = "pegasos"
    losses: ClassVar[tuple[str, ...]] = ("hinge", "ramp")

    def __init__(
        self,
        batch: int = 1,
        projection: bool | Literal["classical"] = False,
        hinge_passes: int = 1,
        averaged: bool = True,
    ) -> None:
        check_count("batch", batch)
        check_count("hinge_passes", hinge_passes, least=0)
        if projection not in (True, False, "classical"):
            raise InputError(f'projection is {projection!r}; it can be True, False or "classical"')
        self.batch = batch
        self.projection = projection
        self.hinge_passes = hinge_passes
        self.averaged = averaged

    def start(self, problem: Problem, seed: int) -> Iterate:
        refuse_center(problem, self.name)
        iterate = super().start(problem, seed)
        if self.projection == "classical":
            iterate.memory["radius"] = sqrt(problem.C * len(problem.structure))
        elif self.projection:
            structure = problem.structure
            costs = _core.largest_violations(
                structure.core_examples, structure.new_weights(), 1.0, problem.threads
            )  # at w = 0 a violation is a cost
            bound = float(costs @ problem.weights_of_losses())
            iterate.memory["radius"] = sqrt(2 * bound if problem.loss.name == "ramp" else bound)
        return iterate

    def run_pass(self, iterate: Iterate) -> _core.PassReport:
        problem = iterate.problem
        n = len(problem.structure)
        concave = None
        if isinstance(problem.loss, Ramp) and iterate.core_passes >= self.hinge_passes:
            concave = problem.loss.concave_cost_weight
        step = _core.PegasosStep(
            lambda_=1 / (problem.C * n),
            batch=self.batch,
            steps=iterate.core_passes * -(-n // self.batch),
            radius=iterate.memory.get("radius"),
            concave=concave,
        )
        return self.meet_all(iterate, step)
