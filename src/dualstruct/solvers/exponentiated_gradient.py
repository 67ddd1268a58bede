"""Exponentiated gradient on the dual of log-linear models.

    min_w  ½‖w − c‖² + C Σ_i ℓ_i(w),   ℓ_i(w) = (1/β) log Σ_y exp β(γΔ_i(y) − w·δ_i(y))
    max_p  C Σ_i (H(p_i)/β + γ E_i Δ_i) − ½(‖w‖² − ‖c‖²),   w = c + C Σ_i E_i δ_i(y)

over distributions p_i of each example's outputs. p_i ∝ exp θ_i(y) with θ_i a sum over parts (a
label at a token, a pair of neighbours), so that only scores of parts are held. In random order, an
example at a time:

    θ_i ← (1 − η/β) θ_i + η (w·φ_i + γΔ_i)

η is the example's own: halved until the dual does not fall; then 10 % larger for the next time, or
smaller if it went beyond the dual's maximum. Every p is feasible and w follows it, so the dual is
exact and the gap certified.

The paper also takes the hinge, β = ∞. Without entropy the gains of steps shrink below the rounding
of single precision long before the optimum (30 chains ended 5 % short), so this solver does not.

Source: Collins, Globerson, Koo, Carreras & Bartlett 2008, "Exponentiated Gradient Algorithms for
Conditional Random Fields and Max-Margin Markov Networks", Figures 4 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import stored_array
from dualstruct.errors import InputError
from dualstruct.losses import SoftmaxMargin
from dualstruct.problem import Problem
from dualstruct.solvers.base import Iterate, refuse_lacking
from dualstruct.solvers.solver import Solver


class Report(NamedTuple):
    """An update meets marginals, not losses."""

    loss: float = math.nan


class ExponentiatedGradientIterate(Iterate):
    """θ and η of every example; w = c + C Σ E δ."""

    can_end = True

    def __init__(self, problem: Problem, seed: int, solver: ExponentiatedGradient) -> None:
        super().__init__(problem, seed)
        loss = problem.loss
        assert isinstance(loss, SoftmaxMargin)
        self.duals = _core.ExponentiatedGradient(
            problem.structure.core_examples,
            self.w,
            problem.center,
            problem.C,
            1 / loss.beta,
            loss.gamma,
            solver.first_step or 1.0,
            solver.first_score,
        )

    def rebuild(self) -> None:
        """w = c + C Σ E δ recomputed: single precision drifts."""
        self.duals.rebuild()

    def change_truth(self, examples: NDArray[np.int64], change: Callable[[], None]) -> None:
        change()
        self.duals.rebuild()  # p stays, and w = c + C Σ E δ follows the new truth

    def dual(self) -> float | None:
        return self.duals.dual()

    def settled(self) -> tuple[_core.Weights, float | None]:
        exact = self.problem.structure.new_weights()
        dual = self.duals.write(exact)
        return (exact if self.average is None else self.answer()), dual

    @property
    def settles_as_rebuilt(self) -> bool:
        return self.average is None

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = super().state()
        arrays["theta"], arrays["steps"] = self.duals.save()
        return metadata, arrays

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        theta = stored_array(arrays, "theta", np.float32)
        steps = stored_array(arrays, "steps", np.float64)
        if not (steps > 0).all():
            raise InputError("one of its steps is not positive")
        self.duals.load(theta, steps)
        super()._restore(metadata, arrays)


class ExponentiatedGradient(Solver):
    """Block-coordinate exponentiated gradient, as published; a pass updates every example once.

    Its formula is (24) of docs/mathematics.md.

    It stores a score for each part of each example: tokens × labels + labels² numbers for a
    sentence.

    Parameters
    ----------
    first_step : float, optional
        The first η of every example; by default 1.
    first_score : float
        How much the truth is preferred at the start, per unit of cost: p_i ∝ exp −first_score·Δ_i.
    """

    name: ClassVar[str] = "eg"
    losses: ClassVar[tuple[str, ...]] = ("crf", "softmax_margin")
    published: ClassVar[dict[str, dict[str, Any]]] = {"Collins et al. 2008, Figures 4 and 5": {}}

    def __init__(self, first_step: float | None = None, first_score: float = 20.0) -> None:
        if first_step is not None and not 0 < first_step < math.inf:
            raise InputError(f"first_step is {first_step}; it must be positive and finite")
        if not 0 <= first_score < math.inf:
            raise InputError(f"first_score is {first_score}; it must be at least 0 and finite")
        self.first_step = first_step
        self.first_score = first_score

    def start(self, problem: Problem, seed: int) -> ExponentiatedGradientIterate:
        refuse_lacking(problem, self.name, parts=True)
        return ExponentiatedGradientIterate(problem, seed, self)

    def run_pass(self, iterate: ExponentiatedGradientIterate) -> Report:
        report = iterate.duals.run(iterate.next_seed())
        iterate.inference_calls += report.inferences
        return Report()
