"""The truth about a small structure of any kind, from all its outputs written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

import naive_optima
from dualstruct.losses import Ramp, RiskBound, SoftmaxMargin, find_loss
from structure_cases import Case


class Truth:
    """All outputs of a case, and what follows from them."""

    def __init__(self, case: Case, weights: np.ndarray, C: float) -> None:
        self.case, self.C = case, C * weights
        self.outputs = [case.outputs(i) for i in range(len(case.structure))]
        self.examples = [
            (
                np.array([case.delta(i, y) for y in outputs]),
                np.array([case.cost(i, y) for y in outputs]),
            )
            for i, outputs in enumerate(self.outputs)
        ]
        self._optima: dict[str, float] = {}

    def losses(self, loss: str, w: np.ndarray) -> np.ndarray:
        """ℓ_i(w) of every example."""
        found = []
        kind = find_loss(loss)
        for deltas, costs in self.examples:
            scores = -deltas @ w
            if isinstance(kind, RiskBound):  # (1/β) log of the mean of exp βγΔ
                costed = logsumexp(kind.beta * (kind.gamma * costs + scores))
                found.append((costed - logsumexp(kind.beta * scores)) / kind.beta)
            elif isinstance(kind, SoftmaxMargin):
                found.append(logsumexp(kind.beta * (kind.gamma * costs + scores)) / kind.beta)
            elif isinstance(kind, Ramp):
                concave = max((kind.concave_cost_weight * costs + scores).max(), 0.0)
                found.append((costs + scores).max() - concave)
            else:
                worst = ((loss != "perceptron") * costs + scores).max()
                found.append(worst**2 if loss == "squared_hinge" else worst)
        return np.array(found)

    def primal(self, loss: str, w: np.ndarray) -> float:
        return float(0.5 * w @ w + self.C @ self.losses(loss, w))

    def optimum(self, loss: str) -> float:
        if loss not in self._optima:
            kind = find_loss(loss)
            if isinstance(kind, SoftmaxMargin):
                found = naive_optima.solve_softmax_margin(
                    self.examples, self.C, kind.beta, kind.gamma
                )
            elif loss == "hinge":
                found = naive_optima.solve_hinge(self.examples, self.C)
            else:
                found = naive_optima.solve_squared_hinge(self.examples, self.C)
            self._optima[loss] = found[0]
        return self._optima[loss]

    def dual_of_cuts(self, loss: str, duals) -> float:
        """D(α) of the cuts held, each of them found among all outputs."""
        core = self.case.structure.core
        gain, w, penalty = 0.0, 0.0, 0.0
        for i, (deltas, costs) in enumerate(self.examples):
            known = {
                tuple(core.difference(i, y)[1].tolist()): k for k, y in enumerate(self.outputs[i])
            }
            total = 0.0
            for alpha, cost, norm2, words in duals.cuts_of(i):
                k = known[tuple(words.tolist())]
                assert alpha >= 0
                assert cost == pytest.approx(costs[k], rel=1e-5, abs=1e-6)
                assert norm2 == pytest.approx(deltas[k] @ deltas[k], rel=1e-4, abs=1e-5)
                gain, w, total = gain + alpha * costs[k], w + alpha * deltas[k], total + alpha
            if loss == "hinge":
                assert total <= self.C[i] * (1 + 1e-5) + 1e-9
            elif total > 0:
                penalty += total**2 / (4 * self.C[i])
        return float(gain - 0.5 * np.dot(w, w) - penalty)
