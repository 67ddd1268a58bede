"""The optima of small problems, each with a proof.

An example is all its outputs written out, the truth among them: δ_i(y) [outputs, dimension] and
Δ_i(y) [outputs]. A solver returns (value, w) only if its answer is proven: P(w) by enumeration,
less the dual of a feasible point, is at most TOLERANCE of P. Otherwise it raises UnprovenError.

    min_w  P(w) = ½‖w − c‖² + Σ_i C_i ℓ_i(w)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import linprog, minimize, nnls
from scipy.special import logsumexp

#: δ_i(y) [outputs, dimension] and Δ_i(y) [outputs]
Example = tuple[np.ndarray, np.ndarray]

TOLERANCE = 1e-8


class UnprovenError(ArithmeticError):
    """A slow solver has not found what it can prove: mend the solver, not the test."""


def prove(upper: float, lower: float) -> None:
    """The optimum is between the two: they must be the same but for rounding."""
    if not upper - lower <= TOLERANCE * max(abs(upper), 1e-3):
        raise UnprovenError(f"the optimum is between {lower!r} and {upper!r}")


def violations(examples: Sequence[Example], w: np.ndarray) -> list[np.ndarray]:
    """H_i(y; w) = Δ_i(y) − w·δ_i(y), all of them."""
    return [costs - deltas @ w for deltas, costs in examples]


def solve_hinge(
    examples: Sequence[Example], C: np.ndarray, center: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """ℓ_i = max_y H_i(y), by an interior-point method on the dual.

    max_α Σ α Δ − ½‖w‖² + ½‖c‖² with w = c + Σ α_iy δ_i(y), α ≥ 0, Σ_y α_iy = C_i. The iterates are
    feasible: α > 0, and ξ_i above every H_i(y), s_iy = ξ_i − H_i(y) > 0. A Newton step goes towards
    α_iy s_iy = μ, and μ goes to 0.
    """
    dimension = examples[0][0].shape[1]
    c = np.zeros(dimension) if center is None else center
    used = [i for i in range(len(examples)) if C[i] > 0]
    if not used:
        return 0.0, c
    A = np.vstack([examples[i][0] for i in used])  # δ  [duals, dimension]
    b = np.concatenate([examples[i][1] for i in used])  # Δ  [duals]
    of = np.repeat(np.arange(len(used)), [len(examples[i][1]) for i in used])
    E = (of == np.arange(len(used))[:, None]).astype(float)  # [used, duals]
    total = np.asarray(C, dtype=float)[used]
    Q = A @ A.T
    alpha = (total / E.sum(axis=1))[of]
    xi, upper, lower, answer = None, np.inf, -np.inf, c
    for _ in range(100):
        w = c + alpha @ A
        H = b - A @ w
        worst = np.array([H[of == k].max() for k in range(len(used))])
        gap = alpha @ (worst[of] - H)  # P(w) − D(α)
        primal = 0.5 * (w - c) @ (w - c) + total @ worst
        lower = max(lower, primal - gap)
        if primal < upper:
            upper, answer = primal, w
        xi = worst + gap / total.sum() if xi is None else xi
        s = xi[of] - H
        if gap <= 1e-3 * TOLERANCE * abs(primal) or s.min() <= 0:
            break
        # s dα + α ds = μ − α s with ds = Q dα + Eᵀ dξ, and E dα = 0.
        kkt = np.block([[Q + np.diag(s / alpha), E.T], [E, np.zeros((len(used), len(used)))]])
        right = np.append(0.1 * (alpha @ s) / len(b) / alpha - s, np.zeros(len(used)))
        d_alpha, d_xi = np.split(np.linalg.solve(kkt, right), [len(b)])
        values, changes = np.append(alpha, s), np.append(d_alpha, Q @ d_alpha + d_xi[of])
        falling = changes < 0
        step = min(1.0, 0.99 * (values[falling] / -changes[falling]).min(initial=np.inf))
        alpha = alpha + step * d_alpha
        alpha *= (total / (E @ alpha))[of]
        xi = xi + step * d_xi
    prove(upper, lower)
    return float(upper), answer


def solve_squared_hinge(examples: Sequence[Example], C: np.ndarray) -> tuple[float, np.ndarray]:
    """ℓ_i = (max_y H_i(y))², by non-negative least squares.

    min ½‖w‖² + Σ C_i ξ_i² with w·δ_i(y) + ξ_i ≥ Δ_i(y) is the shortest vector (w, √(2C_i) ξ_i)
    with Gu ≥ h: one call of non-negative least squares (Lawson & Hanson, Solving Least Squares
    Problems, chapter 23), whose solution is the duals but for a factor.
    """
    dimension = examples[0][0].shape[1]
    used = [i for i in range(len(examples)) if C[i] > 0]
    if not used:
        return 0.0, np.zeros(dimension)
    of = np.repeat(used, [len(examples[i][1]) for i in used])
    A = np.vstack([examples[i][0] for i in used])
    h = np.concatenate([examples[i][1] for i in used])
    E = (of == np.arange(len(examples))[:, None]).astype(float)  # [examples, duals]
    scale = np.zeros(len(examples))
    scale[used] = 1 / np.sqrt(2 * np.asarray(C, dtype=float)[used])
    system = np.vstack([A.T, scale[:, None] * E, h])
    right = np.zeros(len(system))
    right[-1] = 1
    u, _ = nnls(system, right, maxiter=100 * system.shape[1])
    alpha = u / (1 - h @ u)
    w = alpha @ A
    worst = np.array([H.max() for H in violations(examples, w)])
    upper = 0.5 * w @ w + np.asarray(C) @ worst**2
    lower = alpha @ h - 0.5 * w @ w - 0.5 * ((scale * (E @ alpha)) ** 2).sum()
    prove(upper, lower)
    return float(upper), w


def solve_softmax_margin(
    examples: Sequence[Example], C: np.ndarray, beta: float, gamma: float
) -> tuple[float, np.ndarray]:
    """ℓ_i = (1/β) log Σ_y exp β(γΔ_i(y) − w·δ_i(y)), by L-BFGS."""

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = 0.5 * w @ w, w.copy()
        for C_i, (deltas, costs) in zip(C, examples, strict=True):
            scores = beta * (gamma * costs - deltas @ w)
            log_sum = logsumexp(scores)
            value += C_i * log_sum / beta
            gradient -= C_i * np.exp(scores - log_sum) @ deltas
        return value, gradient

    return minimum(objective, np.zeros(examples[0][0].shape[1]))


def minimum(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray
) -> tuple[float, np.ndarray]:
    """Of ½‖w‖² and something convex, given with its gradient g: P(w) − P* ≤ ½‖g‖²."""
    options = {"maxiter": 10_000, "maxfun": 100_000, "ftol": 0.0, "gtol": 1e-9}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    value, gradient = objective(found.x)
    prove(value, value - 0.5 * gradient @ gradient)
    return float(value), found.x


def largest_of_linear_program(c: np.ndarray, A: np.ndarray, b: np.ndarray) -> float:
    """max c·x with Ax = b, 0 ≤ x ≤ 1; any y gives the bound b·y + Σ_k (c − Aᵀy)_k₊."""
    found = linprog(-c, A_eq=A, b_eq=b, bounds=(0, 1))
    if found.x is None or np.abs(A @ found.x - b).max() > TOLERANCE:
        raise UnprovenError(f"the linear program has no feasible answer: {found.message}")
    y = -found.eqlin.marginals
    prove(b @ y + np.maximum(c - A.T @ y, 0).sum(), c @ found.x)
    return float(c @ found.x)


def solve_simplex_qp(G: np.ndarray, h: np.ndarray, C: float) -> np.ndarray:
    """max_α h·α − ½α'Gα with α ≥ 0, Σα ≤ C, by trying every set of positive α.

    At the answer no feasible point is higher to first order: with g = h − Gα, C (max_k g_k)₊ = g·α.
    """
    best, best_value = np.zeros(len(h)), 0.0
    for size in range(1, len(h) + 1):
        for support in map(list, itertools.combinations(range(len(h)), size)):
            block = G[np.ix_(support, support)]
            ones = np.ones((size, 1))
            border = np.block([[block, ones], [ones.T, np.zeros((1, 1))]])
            inside = np.linalg.lstsq(block, h[support], rcond=None)[0]
            tight = np.linalg.lstsq(border, np.append(h[support], C), rcond=None)[0][:size]
            for found in (inside, tight):
                alpha = np.zeros(len(h))
                alpha[support] = found
                value = h @ alpha - 0.5 * alpha @ G @ alpha
                feasible = alpha.min() >= -1e-12 and alpha.sum() <= C * (1 + 1e-9)
                if feasible and value > best_value:
                    best, best_value = alpha, value
    gradient = h - G @ best
    prove(best_value + C * max(gradient.max(), 0) - gradient @ best, best_value)
    return best
