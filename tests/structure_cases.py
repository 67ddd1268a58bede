"""Small random structures of every kind with all their outputs written out.

A case is a structure together with the slow truth about it. A new structure is tested, and
trained by every solver, by adding its row to CASES.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dualstruct.structures.base import Structure
from naive import NaiveChain, random_chain
from naive_custom import Orders


@dataclass
class Case:
    """A structure and what enumeration says of it."""

    structure: Structure
    #: every output of example i, as the structure's decode gives them
    outputs: Callable[[int], list[np.ndarray]]
    truth: Callable[[int], np.ndarray]
    #: φ_i(y) as the structure lays out its weights [dimension]
    features: Callable[[int, np.ndarray], np.ndarray]
    cost: Callable[[int, np.ndarray], float]
    has_k_best: bool = True
    has_expectations: bool = True
    has_parts: bool = True

    def delta(self, i: int, y: np.ndarray) -> np.ndarray:
        """δ_i(y) = φ_i(y_i) − φ_i(y)."""
        return self.features(i, self.truth(i)) - self.features(i, y)


def chain_case(rng: np.random.Generator, **shape: bool) -> Case:
    naive: NaiveChain = random_chain(rng, sentences=3, tokens=3, labels=3, features=4, **shape)
    structure = naive.fast()

    def features(i: int, y: np.ndarray) -> np.ndarray:
        emission, transition = naive.split(naive.phi(i, tuple(y.tolist())))
        return np.array(structure.pack(emission, transition).array, dtype=float)

    return Case(
        structure,
        outputs=lambda i: [np.array(y, dtype=np.int32) for y in naive.outputs(i)],
        truth=lambda i: np.array(naive.truth[i], dtype=np.int32),
        features=features,
        cost=lambda i, y: naive.loss(i, tuple(y.tolist())),
    )


def custom_case(rng: np.random.Generator, **methods: bool) -> Case:
    template = Orders(dimension=5, **methods)
    X = [rng.normal(size=(int(n), int(n), 5)).astype(np.float32) for n in rng.integers(1, 4, 3)]
    Y = [tuple(rng.permutation(len(x)).tolist()) for x in X]
    structure = template.bind(X, Y)
    known = [{tuple(structure.encode(i, y).tolist()): y for y in template.outputs(x)}
             for i, x in enumerate(X)]  # fmt: skip

    def plain(i: int, y: np.ndarray) -> tuple[int, ...]:
        return known[i][tuple(y.tolist())]

    return Case(
        structure,
        outputs=lambda i: [np.array(y, dtype=np.int32) for y in known[i]],
        truth=lambda i: structure.encode(i, Y[i]),
        features=lambda i, y: template.features(X[i], plain(i, y)).astype(float),
        cost=lambda i, y: template.cost(Y[i], plain(i, y)),
        has_k_best=methods.get("k_best", False),
        has_expectations=methods.get("expectation", False),
        has_parts=False,
    )


CASES: dict[str, Callable[[np.random.Generator], Case]] = {
    "chain": lambda rng: chain_case(rng, real=True, weighted=True),
    "constrained chain": lambda rng: chain_case(rng, constrained=True),
    "custom": custom_case,
    "custom with all methods": lambda rng: custom_case(rng, k_best=True, expectation=True),
}
