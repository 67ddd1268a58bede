"""Pegasos: primal estimated subgradients for the hinge and the ramp loss.

    min_w  λ/2‖w‖² + (1/n) Σ_i ℓ_i(w) = P(w)/(C n),     λ = 1/(C n)

Step t takes a batch B of examples and goes η_t = 1/(λt) along their mean subgradient at w:

    w ← (1 − 1/t) w + η_t/|B| Σ_i∈B δ_i(ỹ_i),           ỹ_i = argmax_y H_i(y; w), if H_i(ỹ_i) > 0

For the ramp, max_y H_i(y) − (max_y −cΔ_i(y) − w·δ_i(y))₊, the output ȳ_i of the second maximum,
if that is positive, comes in with −δ_i(ȳ_i). As published (``ramp="cccp"``), ȳ_i is where that
maximum was when a round began, one of several rounds of a few passes each; the first round is the
hinge problem (at w = 0 no ȳ_i costs less than the truth). t counts on from round to round: begun
again, its first step would throw away what the rounds before have learned. ``ramp="direct"``
recomputes ȳ_i at every step, which is no longer CCCP. Its first passes leave ȳ_i out: the first
steps are so long that both maxima are at the same output of most examples, their subgradients
cancel, and the ramp would give these examples up for good.

With ``projection``, w is then drawn into a ball that holds the optimum. The classical radius 1/√λ
takes Δ ≤ 1 for granted: where costs are larger, it cuts the optimum off. In general

    hinge   P = D at the optimum:  ‖w*‖² = Σ α Δ − C Σ_i ℓ_i ≤ C Σ_i max_y Δ_i(y)
    ramp    P(w*) ≤ P(0), ℓ ≥ 0:   ‖w*‖² ≤ 2 C Σ_i max_y Δ_i(y)

The average of w over all steps is what it is judged by. No duals, so no gap.

Source: Shalev-Shwartz et al. 2011, "Pegasos"; with the ramp Mančev 2015, (3.2) and §5 (whose
λ = 1/C is of an objective with C/N: see dualstruct.conversions).
"""

from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import stored_array
from dualstruct.errors import InputError
from dualstruct.losses import Ramp
from dualstruct.problem import Problem
from dualstruct.solvers.base import Iterate
from dualstruct.solvers.online import OnlineSolver, check_count, refuse_center


class PegasosIterate(Iterate):
    """Remembers the w at which the round of CCCP began, and the outputs ȳ_i that follow from it."""

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self.round_w = problem.structure.new_weights()
        self.fixed: _core.FixedOutputs | None = None

    def start_round(self, loss: Ramp) -> None:
        """ȳ_i of every example at w."""
        self.round_w.assign(self.problem.structure.core, np.array(self.w.array))
        self.inference_calls += len(self.problem.structure)
        self.find_fixed(loss)

    def find_fixed(self, loss: Ramp) -> None:
        examples = self.problem.structure.core_examples
        self.fixed = _core.FixedOutputs(examples, self.round_w, loss.concave_cost_weight)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = super().state()
        return metadata, arrays | {"round_w": np.array(self.round_w.array)}

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        round_w = stored_array(arrays, "round_w", np.float32)
        self.round_w.assign(self.problem.structure.core, round_w)
        self.fixed = None
        super()._restore(metadata, arrays)


class Pegasos(OnlineSolver):
    """Stochastic subgradient descent with steps of 1/(λt), as published, without the optional
    projection; with the ramp by CCCP, as Mančev 2015 publishes it.

    Its formula is (29) of docs/mathematics.md.

    Parameters
    ----------
    batch : int
        Examples per step; 1 is the stochastic version.
    projection : bool or "classical"
        Whether each step is projected to the ball that contains the optimum; "classical" is the
        ball of radius 1/√λ, which contains it if no output costs more than 1.
    hinge_passes : int
        For ``ramp="direct"``: passes over its convex part before the second part is added.
    averaged : bool
        Predict with the mean of w over all steps instead of the last w.
    ramp : {"cccp", "direct"}
        For the ramp: whether the outputs of its second part are kept for a round, or recomputed at
        every step.
    passes_per_round : int
        For ``ramp="cccp"``: passes between two linearisations, T of Mančev.
    """

    name: ClassVar[str] = "pegasos"
    losses: ClassVar[tuple[str, ...]] = ("hinge", "ramp", "ramp_uncosted")
    published: ClassVar[dict[str, dict[str, Any]]] = {
        "Shalev-Shwartz et al. 2011; Mančev 2015, (3.2), without projection (Peg-WP)": {},
        "Mančev 2015, (3.2), with projection (Peg)": {"projection": "classical"},
    }

    def __init__(
        self,
        batch: int = 1,
        projection: bool | Literal["classical"] = False,
        hinge_passes: int = 1,
        averaged: bool = True,
        ramp: Literal["cccp", "direct"] = "cccp",
        passes_per_round: int = 10,
    ) -> None:
        check_count("batch", batch)
        check_count("passes_per_round", passes_per_round)
        if ramp not in ("cccp", "direct"):
            raise InputError(f'ramp is {ramp!r}; it can be "cccp" or "direct"')
        check_count("hinge_passes", hinge_passes, least=0)
        if projection not in (True, False, "classical"):
            raise InputError(f'projection is {projection!r}; it can be True, False or "classical"')
        self.batch = batch
        self.projection = projection
        self.hinge_passes = hinge_passes
        self.averaged = averaged
        self.ramp = ramp
        self.passes_per_round = passes_per_round

    def start(self, problem: Problem, seed: int) -> Iterate:
        refuse_center(problem, self.name)
        if isinstance(problem.loss, Ramp) and self.ramp == "cccp":
            iterate: Iterate = PegasosIterate(problem, seed)
        else:
            iterate = super().start(problem, seed)
        if self.projection == "classical":
            iterate.memory["radius"] = sqrt(problem.C * len(problem.structure))
        elif self.projection:
            structure = problem.structure
            costs = _core.largest_violations(
                structure.core_examples, structure.new_weights(), 1.0, problem.threads
            )  # at w = 0 a violation is a cost
            bound = float(costs @ problem.weights_of_losses())
            iterate.memory["radius"] = sqrt(2 * bound if isinstance(problem.loss, Ramp) else bound)
        return iterate

    def run_pass(self, iterate: Iterate) -> _core.PassReport:
        problem = iterate.problem
        n = len(problem.structure)
        concave, fixed = None, None
        if isinstance(iterate, PegasosIterate):
            fixed = self._round(iterate)
        if isinstance(problem.loss, Ramp):
            first = self.passes_per_round if self.ramp == "cccp" else self.hinge_passes
            if iterate.core_passes >= first:
                concave = problem.loss.concave_cost_weight
        step = _core.PegasosStep(
            lambda_=1 / (problem.C * n),
            batch=self.batch,
            steps=iterate.core_passes * -(-n // self.batch),
            radius=iterate.memory.get("radius"),
            concave=concave,
            fixed=fixed,
        )
        return self.meet_all(iterate, step)

    def _round(self, iterate: PegasosIterate) -> _core.FixedOutputs | None:
        """The outputs of the round that the next pass belongs to; None in the first."""
        loss = iterate.problem.loss
        assert isinstance(loss, Ramp)
        if iterate.core_passes < self.passes_per_round:
            return None
        if iterate.core_passes % self.passes_per_round == 0:
            iterate.start_round(loss)
        elif iterate.fixed is None:  # after a checkpoint
            iterate.find_fixed(loss)
        return iterate.fixed
