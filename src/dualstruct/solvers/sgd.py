"""Stochastic gradient descent.

    min_w  λ/2‖w‖² + (1/n) Σ_i ℓ_i(w) = P(w)/(C n),     λ = 1/(C n)
    w ← (1 − η_t λ) w − η_t ∇ℓ_i(w)

after T = t − 1 steps with one of three learning rates:

    bottou   η_t = η0/(1 + λ η0 T)^0.75 = η0/(1 + η0 T/(C n))^0.75
    lecun    η_t = η0/(1 + T/n)

    printed  η_t = η0/(1 + η0 T/C)^0.75

The last is as Chang & Yih (2013, §4.3) print it. Their C, as ours, weighs the loss of one example,
whereas Bottou's λ belongs to the mean loss: P/(C n) has λ = 1/(C n). So it is C n that stands under
T; with C alone the steps fade n times too early. The rate lecun is that of Martins et al. (2010,
§5); its steps add up to no more than η0 n log T, so it needs an η0 near C to get to the optimum.

η0 is chosen among 2⁻¹ … 2⁻⁵ by the lowest objective after one pass over 1,000 random examples. If
that is the smallest of them, it is halved further as long as this helps: the gradient of the
squared hinge grows with the loss, and larger steps diverge. Steps are at most 1/λ. The printed rate
takes the printed grid, 2⁻¹ … 2⁻⁵ alone, and judges by ½‖w‖² + C Σ ℓ_i over the 1,000 examples.

The loss risk_bound, (1/β) log E exp βγΔ, has the difference of two expectations for its gradient.
It is flat where the model is sure of a wrong output, and SGD starts from 0: on the entities of the
embedded corpus it ends with the label O for all tokens. It is here to be studied.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.errors import DivergedError, InputError
from dualstruct.losses import RiskBound, SoftmaxMargin
from dualstruct.problem import Problem
from dualstruct.solvers.base import Iterate
from dualstruct.solvers.online import OnlineSolver, refuse_center

FIRST_RATES = tuple(2.0**-e for e in range(1, 6))
SMALLEST_RATE = 2.0**-30
TRIAL_EXAMPLES = 1000
SCHEDULES = ("bottou", "lecun", "printed")


class SGD(OnlineSolver):
    """Stochastic gradient descent with a learning rate that it can choose by itself.

    Its formula is (28) of docs/mathematics.md.

    The default's rate is Bottou's, not the one that Chang & Yih 2013 print:
    ``SGD(schedule="printed")`` is as published there, ``SGD("lecun", eta0=...)`` as in Martins et
    al. 2010.

    Parameters
    ----------
    schedule : {"bottou", "lecun", "printed"}
        How the learning rate falls, and with "printed" also how the first one is chosen.
    eta0 : float, optional
        The first learning rate; by default the best of a few on 1,000 examples.
    averaged : bool
        Predict with the mean of w over all steps instead of the last w.
    """

    name: ClassVar[str] = "sgd"
    losses: ClassVar[tuple[str, ...]] = (
        "hinge", "squared_hinge", "crf", "softmax_margin", "risk_bound"
    )  # fmt: skip
    published: ClassVar[dict[str, dict[str, Any]]] = {
        "Chang & Yih 2013, §4.3": {"schedule": "printed"},
        "Martins et al. 2010, §5": {"schedule": "lecun"},
    }

    def __init__(
        self, schedule: str = "bottou", eta0: float | None = None, averaged: bool = False
    ) -> None:
        if schedule not in SCHEDULES:
            raise InputError(f"schedule is {schedule!r}; choose one of {', '.join(SCHEDULES)}")
        if eta0 is not None and not 0 < eta0 < float("inf"):
            raise InputError(f"eta0 is {eta0}; it must be positive and finite")
        self.schedule = schedule
        self.eta0 = eta0
        self.averaged = averaged

    def start(self, problem: Problem, seed: int) -> Iterate:
        refuse_center(problem, self.name)
        return super().start(problem, seed)

    def run_pass(self, iterate: Iterate) -> _core.PassReport:
        if "eta0" not in iterate.memory:
            iterate.memory["eta0"] = self.eta0 or self._choose_eta0(iterate)
        eta0 = iterate.memory["eta0"]
        steps = iterate.core_passes * len(iterate.problem.structure)
        try:
            return self.meet_all(iterate, self._step(iterate.problem, eta0, steps))
        except DivergedError:
            raise InputError(
                f"the steps of sgd diverge with eta0 = {eta0}; give a smaller eta0 or C"
            ) from None

    def _step(self, problem: Problem, eta0: float, steps: int) -> _core.Step:
        n = len(problem.structure)
        lambda_ = 1 / (problem.C * n)
        decay, power = {
            "bottou": (lambda_ * eta0, 0.75),
            "lecun": (1 / n, 1.0),
            "printed": (eta0 / problem.C, 0.75),
        }[self.schedule]
        schedule = _core.Schedule(lambda_, eta0, decay, power, steps)
        loss = problem.loss
        if isinstance(loss, RiskBound):
            return _core.RiskBoundStep(schedule, loss.beta, loss.gamma)
        if isinstance(loss, SoftmaxMargin):
            return _core.ExpectedGradientStep(schedule, loss.beta, loss.gamma)
        return _core.SubgradientStep(schedule, squared=loss.name == "squared_hinge")

    def _choose_eta0(self, iterate: Iterate) -> float:
        n = len(iterate.problem.structure)
        sample = np.random.default_rng(iterate.seed).permutation(n)[:TRIAL_EXAMPLES]
        examples = sample.astype(np.int32)
        tried = {eta0: self._try(iterate, eta0, examples) for eta0 in FIRST_RATES}

        def lowest() -> float:
            return min(tried, key=lambda eta0: (tried[eta0], eta0))

        smallest = min(FIRST_RATES) if self.schedule == "printed" else SMALLEST_RATE
        while (best := lowest()) == min(tried) and best > smallest:
            tried[best / 2] = self._try(iterate, best / 2, examples)
        if not np.isfinite(tried[best]):
            raise InputError(f"the steps of sgd diverge even with eta0 = {best}; give a smaller C")
        return best

    def _try(self, iterate: Iterate, eta0: float, examples: NDArray[np.int32]) -> float:
        """The objective P/(C n), its mean loss that of the examples, after one pass over them.

        For the printed grid: their own objective, ½‖w‖² + C Σ ℓ_i.
        """
        problem = iterate.problem
        whole, w = problem.structure.core_examples, problem.structure.new_weights()
        try:
            step = self._step(problem, eta0, 0)
            learned = _core.online_pass(whole, w, None, step, iterate.seed, examples)
            still = self._step(problem, 0.0, 0)  # a rate of 0 only adds up the losses
            judged = _core.online_pass(whole, w, None, still, iterate.seed, examples)
        except DivergedError:
            return float("inf")
        iterate.inference_calls += learned.inferences + judged.inferences
        counted = len(examples) if self.schedule == "printed" else len(problem.structure)
        return problem.regulariser(w) / (problem.C * counted) + judged.loss / len(examples)
