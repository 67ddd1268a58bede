"""Slow and obvious re-implementations. Every fast path has to agree with these."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from scipy.special import logsumexp

import naive_optima
from dualstruct.features import FeatureRows
from dualstruct.structures import Chain


@dataclass
class NaiveChain:
    """Sentences as dense matrices; every labelling is written out."""

    X: list[np.ndarray]  # a matrix [tokens, features] a sentence
    labels: int
    truth: list[tuple[int, ...]]
    cost: np.ndarray  # [labels, labels]
    transitions: np.ndarray | None = None  # bool [labels + 1, labels + 1]
    allowed: list[list[list[int] | None]] | None = None
    token_weights: list[np.ndarray] | None = None  # [tokens] a sentence
    weights: np.ndarray | None = None  # [sentences]: what C is multiplied by
    Z: list[np.ndarray] | None = None  # [tokens, pair features] a sentence

    def weight(self, i: int) -> float:
        return 1.0 if self.weights is None else float(self.weights[i])

    def fast(self) -> Chain:
        """The same chain as the core has it."""
        pairs = None if self.Z is None else sparse_rows(self.Z)
        rows = replace(sparse_rows(self.X), pairs=pairs)
        truth = np.array([k for y in self.truth for k in y], dtype=np.int32)
        chain = Chain(
            rows,
            self.labels,
            truth,
            cost=self.cost,
            token_weights=None
            if self.token_weights is None
            else np.concatenate(self.token_weights),
            transitions=self.transitions,
            allowed=self.allowed,
        )
        chain.set_example_weights(self.weights)
        return chain

    @property
    def pair_features(self) -> int:
        return 0 if self.Z is None else self.Z[0].shape[1]

    def outputs(self, i: int) -> list[tuple[int, ...]]:
        return [
            y
            for y in itertools.product(range(self.labels), repeat=len(self.X[i]))
            if self.is_allowed(i, y)
        ]

    def is_allowed(self, i: int, y: tuple[int, ...]) -> bool:
        if self.allowed is not None:
            for label, choice in zip(y, self.allowed[i], strict=True):
                if choice is not None and label not in choice:
                    return False
        if self.transitions is not None and y:
            steps = zip((self.labels, *y), (*y, self.labels), strict=True)
            return all(self.transitions[a, b] for a, b in steps)
        return True

    def phi(self, i: int, y: tuple[int, ...]) -> np.ndarray:
        """φ_i(y): emissions [features, labels], transitions [labels + 1, labels + 1], and what
        pair features see at each step [pair features, labels, labels]."""
        emission = np.zeros((self.X[i].shape[1], self.labels))
        transition = np.zeros((self.labels + 1, self.labels + 1))
        for x, label in zip(self.X[i], y, strict=True):
            emission[:, label] += x
        if y:
            for a, b in zip((self.labels, *y), (*y, self.labels), strict=True):
                transition[a, b] += 1
        pairs = np.zeros((self.pair_features, self.labels, self.labels))
        if self.Z is not None:
            for t in range(1, len(y)):
                pairs[:, y[t - 1], y[t]] += self.Z[i][t]
        return np.concatenate([emission.ravel(), transition.ravel(), pairs.ravel()])

    def delta(self, i: int, y: tuple[int, ...]) -> np.ndarray:
        return self.phi(i, self.truth[i]) - self.phi(i, y)

    def loss(self, i: int, y: tuple[int, ...]) -> float:
        """Δ_i(y)."""
        costs = [self.cost[t, k] for t, k in zip(self.truth[i], y, strict=True)]
        weights = [1.0] * len(y) if self.token_weights is None else self.token_weights[i]
        return float(np.dot(costs, weights))

    @property
    def dimension(self) -> int:
        K = self.labels
        return self.X[0].shape[1] * K + (K + 1) ** 2 + self.pair_features * K**2

    def split(self, w: np.ndarray) -> tuple[np.ndarray, ...]:
        """What the fast chain's ``pack`` takes."""
        K = self.labels
        features = self.X[0].shape[1] * K
        emission, transition, pairs = np.split(
            w.astype(np.float32), [features, features + (K + 1) ** 2]
        )
        parts = (emission.reshape(-1, K), transition.reshape(K + 1, K + 1))
        return parts if self.Z is None else (*parts, pairs.reshape(-1, K, K))

    def scored(self, w: np.ndarray, i: int, cost_weight: float) -> list[tuple[float, tuple]]:
        """Every output with w·φ + cost_weight·Δ, best first."""
        return sorted(
            (
                (float(w @ self.phi(i, y)) + cost_weight * self.loss(i, y), y)
                for y in self.outputs(i)
            ),
            key=lambda pair: -pair[0],
        )

    def expectation(self, w: np.ndarray, i: int, beta: float, gamma: float) -> tuple:
        outputs = self.outputs(i)
        scores = np.array([w @ self.phi(i, y) + gamma * self.loss(i, y) for y in outputs])
        log_sum = logsumexp(beta * scores)
        p = np.exp(beta * scores - log_sum)
        tokens = len(self.X[i])
        labels = np.zeros((tokens, self.labels))
        pairs = np.zeros((max(tokens - 1, 0), self.labels, self.labels))
        cost = 0.0
        for q, y in zip(p, outputs, strict=True):
            cost += q * self.loss(i, y)
            for t, k in enumerate(y):
                labels[t, k] += q
                if t:
                    pairs[t - 1, y[t - 1], k] += q
        return log_sum / beta, cost, labels, pairs

    def primal(self, w: np.ndarray, C: float) -> float:
        """½‖w‖² + C Σ_i weight_i (max_y H_i(y; w))²."""
        worst = np.array([H.max() for H in naive_optima.violations(self.examples(), w)])
        return float(0.5 * w @ w + self.weights_of_losses(C) @ worst**2)

    def examples(self) -> list[naive_optima.Example]:
        """δ_i(y) and Δ_i(y) of all outputs of each sentence."""
        return [
            (
                np.array([self.delta(i, y) for y in self.outputs(i)]),
                np.array([self.loss(i, y) for y in self.outputs(i)]),
            )
            for i in range(len(self.X))
        ]

    def weights_of_losses(self, C: float) -> np.ndarray:
        return C * np.array([self.weight(i) for i in range(len(self.X))])

    def solve_squared_hinge(self, C: float) -> np.ndarray:
        return naive_optima.solve_squared_hinge(self.examples(), self.weights_of_losses(C))[1]


def sparse_rows(X: list[np.ndarray]) -> FeatureRows:
    """Dense matrices as the core has them."""
    offsets, ids, values, sentences = [0], [], [], [0]
    for x in X:
        for row in x:
            ids.extend(np.flatnonzero(row))
            values.extend(row[np.flatnonzero(row)])
            offsets.append(len(ids))
        sentences.append(len(offsets) - 1)
    binary = all(v == 1 for v in values)
    return FeatureRows(
        offsets=np.array(offsets),
        ids=np.array(ids, dtype=np.int32),
        values=None if binary else np.array(values, dtype=np.float32),
        sentences=np.array(sentences),
        dimension=X[0].shape[1],
    )


def random_chain(
    rng: np.random.Generator,
    *,
    sentences: int = 3,
    tokens: int = 4,
    labels: int = 3,
    features: int = 4,
    real: bool = False,
    weighted: bool = False,
    constrained: bool = False,
    counted: bool = False,
    pairs: int = 0,
) -> NaiveChain:
    """A small chain with random features, labels, costs, weights and satisfiable constraints."""
    X, truth = [], []
    for _ in range(sentences):
        n = int(rng.integers(0, tokens + 1))
        x = (rng.random((n, features)) < 0.5).astype(float)
        if real:
            x *= rng.normal(size=x.shape).astype(np.float32)
        X.append(x)
        truth.append(tuple(int(k) for k in rng.integers(0, labels, n)))
    cost = 1.0 - np.eye(labels)
    if weighted:
        cost = (cost * rng.uniform(0.1, 3, (labels, labels))).astype(np.float32).astype(float)
    chain = NaiveChain(X, labels, truth, cost)
    if weighted:
        chain.token_weights = [rng.uniform(0.2, 2, len(y)).astype(np.float32) for y in truth]
    if counted:
        chain.weights = np.append(1.0, rng.choice([0, 0.5, 1, 2], sentences - 1))
    if pairs:
        chain.Z = [(rng.random((len(x), pairs)) < 0.5).astype(float) for x in X]
        if real:
            chain.Z = [z * rng.normal(size=z.shape).astype(np.float32) for z in chain.Z]
    if constrained:
        chain.transitions = rng.random((labels + 1, labels + 1)) < 0.6
        chain.allowed = []
        for y in truth:
            for a, b in zip((labels, *y), (*y, labels), strict=True):
                if y:
                    chain.transitions[a, b] = True
            choices = []
            for k in y:
                others = [j for j in range(labels) if rng.random() < 0.5 and j != k]
                choices.append(None if rng.random() < 0.5 else sorted([k, *others]))
            chain.allowed.append(choices)
    return chain


#: Chains small enough for a general solver.
problems = st.builds(
    lambda seed, **shape: random_chain(
        np.random.default_rng(seed), sentences=4, features=3, **shape
    ),
    seed=st.integers(0, 2**32 - 1),
    tokens=st.integers(1, 3),
    labels=st.integers(2, 3),
    real=st.booleans(),
    weighted=st.booleans(),
    constrained=st.booleans(),
    counted=st.booleans(),
)


def viterbi(emission: np.ndarray, transition: np.ndarray) -> tuple[float, np.ndarray]:
    """The best path through [tokens, K] scores and [K + 1, K + 1] transitions, in float64."""
    tokens, K = emission.shape
    best = transition[K, :K] + emission[0]
    back = []
    for t in range(1, tokens):
        through = best[:, None] + transition[:K, :K]
        back.append(through.argmax(axis=0))
        best = through.max(axis=0) + emission[t]
    best = best + transition[:K, K]
    path = [int(best.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return float(best.max()), np.array(path[::-1])


class NaiveRandom:
    """The core's generator, written out."""

    def __init__(self, seed: int) -> None:
        self.state = self._mix((seed + 0x9E3779B97F4A7C15) % 2**64)

    @staticmethod
    def _mix(z: int) -> int:
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        return z ^ (z >> 31)

    def below(self, bound: int) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        return (self._mix(self.state) * bound) >> 64

    def shuffle(self, items: list) -> None:
        for left in range(len(items), 1, -1):
            k = self.below(left)
            items[left - 1], items[k] = items[k], items[left - 1]


class NaiveDCD:
    """Algorithms 1 to 3 of Chang & Yih 2013 on dense vectors, line by line."""

    def __init__(self, chain: NaiveChain, C: float, r: int, delta: float, seed: int) -> None:
        self.chain, self.C, self.r, self.delta, self.seed = chain, C, r, delta, seed
        self.w = np.zeros(chain.dimension)
        self.W: list[dict[tuple, float]] = [{} for _ in chain.X]  # working sets: output → α
        self.passes = 0
        self.closest = np.inf  # how much the best output ever beat the second best by

    def order(self) -> tuple[list[int], NaiveRandom]:
        self.passes += 1
        seed = (self.seed * 0x9E3779B97F4A7C15 + self.passes) % 2**64
        order = list(range(len(self.chain.X)))
        NaiveRandom(seed).shuffle(order)
        return order, NaiveRandom(seed ^ 0x5EED)

    def update_weight(self, i: int, random: NaiveRandom) -> None:
        outputs = list(self.W[i])
        if len(outputs) > 1:  # newest first, the others shuffled
            outputs[0], outputs[-1] = outputs[-1], outputs[0]
            rest = outputs[1:]
            random.shuffle(rest)
            outputs[1:] = rest
        for y in outputs:
            phi = self.chain.delta(i, y)
            C = self.C * self.chain.weight(i)
            d = (self.chain.loss(i, y) - self.w @ phi - sum(self.W[i].values()) / (2 * C)) / (
                phi @ phi + 1 / (2 * C)
            )
            alpha = max(self.W[i][y] + d, 0)
            self.w = self.w + (alpha - self.W[i][y]) * phi
            self.W[i][y] = alpha
        self.W[i] = {y: alpha for y, alpha in self.W[i].items() if alpha > 0}

    def one_pass(self) -> None:
        if any(self.W):
            for _ in range(self.r):
                order, random = self.order()
                for i in order:
                    self.update_weight(i, random)
        order, random = self.order()
        added = False
        for i in order:
            (best, y), *others = self.chain.scored(self.w, i, 1.0)
            if others:
                self.closest = min(self.closest, best - others[0][0])
            if self.chain.weight(i) == 0:
                continue
            violation = self.chain.loss(i, y) - self.w @ self.chain.delta(i, y)
            gain = violation - sum(self.W[i].values()) / (2 * self.C * self.chain.weight(i))
            if y != self.chain.truth[i] and gain >= self.delta and y not in self.W[i]:
                self.W[i][y] = 0.0
                added = True
            self.update_weight(i, random)
        if not added:
            self.delta /= 2


def solve_hinge(
    chain: NaiveChain, C: float, center: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """min ½‖w − c‖² + C Σ_i weight_i max_y H_i(y; w), proven."""
    return naive_optima.solve_hinge(chain.examples(), chain.weights_of_losses(C), center)
