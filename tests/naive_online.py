"""Learners without cuts on dense vectors, one obvious line after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

from naive import NaiveChain, NaiveRandom
from naive_optima import solve_simplex_qp, solve_softmax_margin


class NaiveOnline:
    """Meets the examples in the core's order; remembers every w that a step ended with."""

    def __init__(self, chain: NaiveChain, C: float, seed: int, w: np.ndarray | None = None) -> None:
        self.chain, self.C, self.seed = chain, C, seed
        self.w = np.zeros(chain.dimension) if w is None else w.copy()
        self.n = len(chain.X)
        self.passes = self.t = 0
        self.iterates: list[np.ndarray] = []

    def one_pass(self, meet: Callable[[list[int]], float], batch: int = 1) -> float:
        self.passes += 1
        order = list(range(self.n))
        seed = (self.seed * 0x9E3779B97F4A7C15 + self.passes) % 2**64
        NaiveRandom(seed).shuffle(order)
        loss = 0.0
        for first in range(0, self.n, batch):
            self.t += 1
            loss += meet(order[first : first + batch])
            self.iterates.append(self.w.copy())
        return loss

    def weight_of_loss(self, i: int) -> float:
        return self.C * self.chain.weight(i)

    def worst(self, i: int, cost_weight: float) -> tuple[float, np.ndarray]:
        """max_y cost_weight·Δ − w·δ, and its δ."""
        _, y = self.chain.scored(self.w, i, cost_weight)[0]
        delta = self.chain.delta(i, y)
        return cost_weight * self.chain.loss(i, y) - float(self.w @ delta), delta

    def smooth(self, i: int, beta: float, gamma: float) -> tuple[float, np.ndarray]:
        return smooth_loss(self.chain, self.w, i, beta, gamma)

    def perceptron(self, met: list[int]) -> float:
        loss, delta = self.worst(met[0], 0.0)
        self.w = self.w + self.chain.weight(met[0]) * delta
        return self.chain.weight(met[0]) * loss

    def mira(self, met: list[int]) -> float:
        loss, delta = self.worst(met[0], 1.0)
        if loss > 0 and delta @ delta > 0:
            self.w = self.w + min(self.weight_of_loss(met[0]), loss / (delta @ delta)) * delta
        return self.chain.weight(met[0]) * max(loss, 0.0)

    def k_best_mira(
        self, met: list[int], k: int, search_weight: float = 1.0, most: float | None = None
    ) -> float:
        i = met[0]
        ranked = self.chain.scored(self.w, i, search_weight)[:k]
        best = [y for _, y in ranked if y != self.chain.truth[i]]
        if not best:
            return 0.0
        D = np.array([self.chain.delta(i, y) for y in best])
        H = np.array([self.chain.loss(i, y) for y in best]) - D @ self.w
        most = self.weight_of_loss(i) if most is None else most * self.chain.weight(i)
        self.w = self.w + solve_simplex_qp(D @ D.T, H, most) @ D
        return self.chain.weight(i) * max(float(H.max()), 0.0)

    def predicted_mira(self, met: list[int], most: float) -> float:
        """1-best, with the output that the model predicts; most is C, infinite without slack."""
        i = met[0]
        y = self.chain.scored(self.w, i, 0.0)[0][1]
        delta = self.chain.delta(i, y)
        loss = self.chain.loss(i, y) - float(self.w @ delta)
        if loss > 0 and delta @ delta > 0 and self.chain.weight(i) > 0:
            self.w = self.w + min(most * self.chain.weight(i), loss / (delta @ delta)) * delta
        return self.chain.weight(i) * max(loss, 0.0)

    def dca(self, met: list[int], beta: float, gamma: float) -> float:
        loss, gradient = self.smooth(met[0], beta, gamma)
        if gradient @ gradient > 0:
            self.w = (
                self.w
                - min(self.weight_of_loss(met[0]), max(loss, 0) / (gradient @ gradient)) * gradient
            )
        return self.chain.weight(met[0]) * max(loss, 0.0)

    def sgd(self, met: list[int], eta: Callable[[int], float], loss: str, shape: tuple) -> float:
        """loss is hinge, squared_hinge, smooth or risk_bound; shape is (β, γ)."""
        if loss == "smooth":
            value, gradient = self.smooth(met[0], *shape)
        elif loss == "risk_bound":
            costed, plain = self.smooth(met[0], *shape), self.smooth(met[0], shape[0], 0.0)
            value, gradient = costed[0] - plain[0], costed[1] - plain[1]
        else:
            H, delta = self.worst(met[0], 1.0)
            value = H**2 if loss == "squared_hinge" else H
            gradient = -(2 * H if loss == "squared_hinge" else float(H > 0)) * delta
        weight = self.chain.weight(met[0])
        rate = min(eta(self.t - 1), self.C * self.n)
        self.w = self.w - rate * (self.w / (self.C * self.n) + weight * gradient)
        return weight * value

    def pegasos(self, met: list[int], radius: float | None, concave: float | None) -> float:
        eta = self.C * self.n / self.t
        total, step = 0.0, np.zeros_like(self.w)
        for i in met:
            H, delta = self.worst(i, 1.0)
            weight = self.chain.weight(i)
            total += weight * max(H, 0)
            step += weight * (H > 0) * delta
            if concave is not None:
                given_up, delta = self.worst(i, concave)
                total -= weight * max(given_up, 0)
                step -= weight * (given_up > 0) * delta
        self.w = (1 - 1 / self.t) * self.w + eta / len(met) * step
        if radius is not None and np.linalg.norm(self.w) > radius:
            self.w = self.w * radius / np.linalg.norm(self.w)
        return total


class NaiveCCCP(NaiveOnline):
    """Mančev 2015, (3.2): Pegasos on the convex part plus the tangents of the concave part."""

    def __init__(self, chain: NaiveChain, C: float, seed: int, concave: float, T: int) -> None:
        super().__init__(chain, C, seed)
        self.concave, self.T = concave, T
        self.tangents: list[np.ndarray | None] = [None] * self.n  # δ_i(ȳ_i) of the set A
        self.constants = [0.0] * self.n

    def linearise(self) -> None:
        for i in range(self.n):
            value, delta = self.worst(i, self.concave)
            self.tangents[i] = delta if value > 0 else None
            self.constants[i] = value + float(self.w @ delta) if value > 0 else 0.0

    def one_round(self) -> float:
        if self.passes:
            self.linearise()
        return sum(self.one_pass(self.step) for _ in range(self.T))

    def step(self, met: list[int]) -> float:
        i = met[0]
        weight = self.chain.weight(i)
        H, delta = self.worst(i, 1.0)
        loss, direction = max(H, 0.0), (H > 0) * delta
        if self.tangents[i] is not None:
            loss -= self.constants[i] - float(self.w @ self.tangents[i])
            direction = direction - self.tangents[i]
        self.w = (1 - 1 / self.t) * self.w + self.C * self.n / self.t * weight * direction
        return weight * loss


def smooth_loss(
    chain: NaiveChain, w: np.ndarray, i: int, beta: float, gamma: float
) -> tuple[float, np.ndarray]:
    """(1/β) log Σ_y exp β(γΔ − w·δ) and its gradient."""
    outputs = chain.outputs(i)
    deltas = np.array([chain.delta(i, y) for y in outputs])
    scores = beta * (gamma * np.array([chain.loss(i, y) for y in outputs]) - deltas @ w)
    log_sum = logsumexp(scores)
    return log_sum / beta, -np.exp(scores - log_sum) @ deltas


def solve_smooth(chain: NaiveChain, C: float, beta: float, gamma: float) -> float:
    """min_w ½‖w‖² + C Σ_i weight_i (1/β) log Σ_y exp β(γΔ_i − w·δ_i)."""
    return solve_softmax_margin(chain.examples(), chain.weights_of_losses(C), beta, gamma)[0]
