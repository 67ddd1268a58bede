"""A custom structure that enumerates its outputs: orders of a few items."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import logsumexp

from dualstruct import CustomStructure


class Orders(CustomStructure):
    """x[a, p] holds the features of item a at place p; y[p] is the item there.

    Its optional methods are there if asked for.
    """

    def __init__(self, dimension=None, k_best=False, expectation=False, form="vector"):
        self.dimension = dimension
        self.form = form
        self.calls = {"decode": 0, "features": 0, "cost": 0}
        if k_best:
            self.k_best = self.best
        if expectation:
            self.expectation = self.mean

    def outputs(self, x):
        return list(itertools.permutations(range(len(x))))

    def best(self, w, x, k, truth=None, cost_weight=0.0):
        def value(y):
            return float(w[: x.shape[-1]] @ self.vector(x, y)) + (
                cost_weight * self.distance(truth, y) if cost_weight else 0
            )

        return sorted(self.outputs(x), key=value, reverse=True)[:k]

    def decode(self, w, x, truth=None, cost_weight=0.0):
        self.calls["decode"] += 1
        return self.best(w, x, 1, truth, cost_weight)[0]

    def vector(self, x, y):
        return sum(x[item, place] for place, item in enumerate(y))

    def features(self, x, y):
        self.calls["features"] += 1
        vector = self.vector(x, y)
        if self.form == "names":
            return {f"f{k}": float(value) for k, value in enumerate(vector)}
        if self.form == "numbers":
            return dict(enumerate(vector))
        if self.form in ("csr_matrix", "csr_array", "coo_array"):
            import scipy.sparse

            return getattr(scipy.sparse, self.form)(vector[None, :])
        return vector

    def distance(self, truth, y):
        return float(np.sum(np.array(truth) != np.array(y))) * 0.5

    def cost(self, truth, y):
        self.calls["cost"] += 1
        return self.distance(truth, y)

    def mean(self, w, x, beta, gamma, truth=None):
        vectors = np.array([self.vector(x, y) for y in self.outputs(x)], dtype=float)
        costs = np.array([self.distance(truth, y) if gamma else 0 for y in self.outputs(x)])
        scores = beta * (vectors @ w + gamma * costs)
        p = np.exp(scores - logsumexp(scores))
        return logsumexp(scores) / beta, p @ vectors
