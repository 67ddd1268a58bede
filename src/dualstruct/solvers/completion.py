"""Partly known truths by the concave-convex procedure: the best completion stands for the truth.

    min_w  ½‖w‖² + C Σ_i min_h ℓ_i(w; h)          h: outputs that agree with what is known of y_i

With ℓ the hinge this is max_y (Δ_i(y) + w·φ_i(y)) − max_h w·φ_i(h), a latent structural SVM; costs
count where the truth is known. Rounds alternate: h_i = argmax_h w·φ_i(h), then a few passes of any
solver on the convex problem whose truth is h. Neither step raises the objective, if the second is
exact enough. It is the procedure of the ramp loss (ramp.py), whose concave part is replaced by its
tangent at w in the same way; there the truth stays and a center moves, here the truth moves, so
that it serves every loss that falls as w·φ_i(h) rises.

Cuts are kept over rounds: an output competes with the new truth with the α that it had. The problem
is not convex, so no dual bounds it and no gap is reported.

Source: Yu & Joachims 2009, "Learning Structural SVMs with Latent Variables", Algorithm 1; for
losses other than the hinge Chang et al. 2010, "Discriminative Learning over Constrained Latent
Representations".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualstruct.errors import InputError
from dualstruct.problem import Problem
from dualstruct.solvers.solver import PassResult, Solver
from dualstruct.structures.chain import Chain


class Completing(Solver):
    """Any solver, on chains some of whose true labels are unknown.

    Parameters
    ----------
    solver : Solver
        What solves the convex problem of a round.
    passes_per_round : int
        Its passes between two completions; by default as many as the solver makes good use of.
    """

    convex = False

    def __init__(self, solver: Solver, passes_per_round: int | None = None) -> None:
        if passes_per_round is not None and passes_per_round < 1:
            raise InputError(f"passes_per_round is {passes_per_round}; it must be at least 1")
        self.solver = solver
        self.passes_per_round = passes_per_round or solver.passes_per_round
        self.name = solver.name  # type: ignore[misc]
        self.losses = solver.losses  # type: ignore[misc]
        self.averaged = solver.averaged
        self.linear_average = solver.linear_average

    def start(self, problem: Problem, seed: int) -> Any:
        if not isinstance(problem.structure, Chain):
            raise InputError("only chains can have true labels that are unknown")
        return self.solver.start(problem, seed)

    def run_pass(self, iterate: Any) -> PassResult:
        rounds = iterate.memory.get("completed_passes", 0)
        if rounds and rounds % self.passes_per_round == 0:
            self._complete(iterate)
        iterate.memory["completed_passes"] = rounds + 1
        return self.solver.run_pass(iterate)

    def _complete(self, iterate: Any) -> None:
        chain = iterate.problem.structure
        truth = chain.best_completion(iterate.w, iterate.problem.threads)
        iterate.inference_calls += len(chain.incomplete)
        moved = np.concatenate([[0], np.cumsum(truth != chain.truth)])[chain.sentences]
        examples = np.flatnonzero(np.diff(moved))
        if len(examples):
            iterate.change_truth(examples, lambda: chain.set_truth(truth))

    def settings(self) -> dict[str, Any]:
        return {**self.solver.settings(), "passes_per_round": self.passes_per_round}

    def __repr__(self) -> str:
        return f"Completing({self.solver!r}, passes_per_round={self.passes_per_round})"
