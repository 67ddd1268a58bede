"""Small random structures of every kind with all their outputs written out.

A case is a structure together with the slow truth about it. A new structure is tested, and
trained by every solver, by adding its row to CASES.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.sparse import csr_matrix

from dualstruct import _core
from dualstruct.structures import (
    KGramChain,
    MultiLabel,
    SecondOrderTree,
    Tree,
    TreeColumns,
    prune_arcs,
)
from dualstruct.structures.base import Structure
from dualstruct.structures.multiclass import MulticlassExamples
from naive import NaiveChain, random_chain
from naive_arcs import NaiveArcs
from naive_custom import Orders
from naive_graphs import NaiveFactorGraph, random_factor_graph
from naive_second_order import NaiveSecondOrder

FEATS = ("_", "Case=Acc", "Case=Acc|Number=Sing")


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
    #: graphs with loops have estimates instead
    exact_expectations: bool = True

    def __post_init__(self) -> None:
        # The slow truth is asked for many times over.
        self.outputs, plain = cache(self.outputs), self.features
        known: dict[tuple[int, bytes], np.ndarray] = {}

        def features(i: int, y: np.ndarray) -> np.ndarray:
            key = (i, y.tobytes())
            if key not in known:
                known[key] = plain(i, y)
                known[key].flags.writeable = False
            return known[key]

        self.features = features

    def delta(self, i: int, y: np.ndarray) -> np.ndarray:
        """δ_i(y) = φ_i(y_i) − φ_i(y)."""
        return self.features(i, self.truth(i)) - self.features(i, y)


def chain_case(rng: np.random.Generator, **shape: bool | int) -> Case:
    naive: NaiveChain = random_chain(rng, sentences=3, tokens=3, labels=3, features=4, **shape)
    structure = naive.fast()

    def features(i: int, y: np.ndarray) -> np.ndarray:
        parts = naive.split(naive.phi(i, tuple(y.tolist())))
        return np.array(structure.pack(*parts).array, dtype=float)

    return Case(
        structure,
        outputs=lambda i: [np.array(y, dtype=np.int32) for y in naive.outputs(i)],
        truth=lambda i: np.array(naive.truth[i], dtype=np.int32),
        features=features,
        cost=lambda i, y: naive.loss(i, tuple(y.tolist())),
    )


def random_trees(
    rng: np.random.Generator, projective: bool, single_root: bool
) -> tuple[Case, list[NaiveArcs]]:
    labels, label_cost = int(rng.integers(1, 3)), float(rng.choice([0.5, 1.0]))
    sentences, truths = [], []
    for n in rng.integers(0, 4, size=3):
        words = [
            tuple(
                str(rng.choice(list(choice)))
                for choice in (("ab", "cat", "longer-word"), "xy", "NV", ("N1", "N2", "V"), FEATS)
            )
            for _ in range(n)
        ]
        sentences.append(words)
        trees = NaiveArcs(words, [], labels, 5, 4).outputs(projective, single_root)
        truths.append(trees[rng.integers(len(trees))])
    structure = Tree(
        _core.TokenTable.from_sentences(sentences),
        TreeColumns(form=0, lemma=1, coarse=2, fine=3, morphology=4),
        labels,
        heads=np.concatenate([y[: len(y) // 2] for y in truths]),
        labels=np.concatenate([y[len(y) // 2 :] for y in truths]),
        projective=projective,
        single_root=single_root,
        between=["N"],
        line_bits=5,
        label_bits=4,
        label_cost=label_cost,
    )
    naive = [NaiveArcs(words, structure.between, labels, 5, 4) for words in sentences]

    def cost(i: int, y: np.ndarray) -> float:
        n = len(y) // 2
        wrong_head = y[:n] != truths[i][:n]
        wrong_label = (y[n:] != truths[i][n:]) & ~wrong_head
        return float(wrong_head.sum() + label_cost * wrong_label.sum())

    case = Case(
        structure,
        outputs=lambda i: naive[i].outputs(projective, single_root),
        truth=lambda i: truths[i],
        features=lambda i, y: naive[i].features(y),
        cost=cost,
    )
    return case, naive


def tree_case(rng: np.random.Generator, projective: bool, single_root: bool) -> Case:
    return random_trees(rng, projective, single_root)[0]


def second_order_case(
    rng: np.random.Generator, projective: bool, single_root: bool, **parts: bool
) -> Case:
    """Arcs pruned by random weights; decoded until the output is proven the best."""
    first, naive_arcs = random_trees(rng, projective, single_root)
    assert isinstance(first.structure, Tree)
    w = first.structure.new_weights(
        rng.normal(size=first.structure.core.dimension).astype(np.float32)
    )
    arcs = prune_arcs(
        first.structure, w, most_heads=2, threshold=float(rng.choice([0, 0.1])), keep_truth=True
    )
    parts = {"siblings": True, "grandparents": True} | parts
    naive = [NaiveSecondOrder(arcs, 4, **parts) for arcs in naive_arcs]

    def outputs(i: int) -> list[np.ndarray]:
        kept = slice(arcs.offsets[i], arcs.offsets[i + 1])
        allowed = set(zip(arcs.heads[kept].tolist(), arcs.modifiers[kept].tolist(), strict=True))
        return [
            y
            for y in first.outputs(i)
            if all((h, m) in allowed for m, h in enumerate(y[: len(y) // 2].tolist(), start=1))
        ]

    return Case(
        SecondOrderTree(first.structure, arcs, bits=4, branch=True, max_iterations=1000, **parts),
        outputs=outputs,
        truth=first.truth,
        features=lambda i, y: naive[i].features(y),
        cost=first.cost,
        has_k_best=False,
        has_parts=projective,
        exact_expectations=projective,
    )


def custom_case(rng: np.random.Generator, dimension: int = 5, **methods: bool) -> Case:
    template = Orders(dimension=dimension, **methods)
    X = [
        rng.normal(size=(int(n), int(n), dimension)).astype(np.float32)
        for n in rng.integers(1, 4, 3)
    ]
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


def multiclass_case(rng: np.random.Generator, sparse: bool) -> Case:
    X = rng.normal(size=(4, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.3] = 0
    labels, truth = 4, rng.integers(0, 4, 4)
    cost = (1 - np.eye(labels)) * rng.uniform(0.1, 3, (labels, labels)).astype(np.float32)
    given = csr_matrix(X) if sparse else X
    structure = MulticlassExamples(given, labels, truth, cost=cost)

    def features(i: int, y: np.ndarray) -> np.ndarray:
        W = np.zeros(structure.core.dimension).reshape(-1, structure.core.stride)
        if sparse:
            W[:, y[0]] = X[i]
        else:
            W[y[0], : X.shape[1]] = X[i]
        return W.ravel()

    return Case(
        structure,
        outputs=lambda i: [np.array([k], dtype=np.int32) for k in range(labels)],
        truth=lambda i: truth[i : i + 1].astype(np.int32),
        features=features,
        cost=lambda i, y: float(cost[truth[i], y[0]]),
    )


def graph_case(naive: NaiveFactorGraph, structure: Structure) -> Case:
    exact = all(graph.is_forest for graph in structure.graphs)
    return Case(
        structure,
        outputs=naive.outputs,
        truth=lambda i: np.array(naive.truth[i], dtype=np.int32),
        features=naive.features,
        cost=naive.cost,
        has_k_best=exact,
        has_parts=exact,
        exact_expectations=exact,
    )


def random_graph_case(rng: np.random.Generator, **shape: bool) -> Case:
    naive = random_factor_graph(rng, **shape)
    return graph_case(naive, naive.fast())


def multilabel_case(rng: np.random.Generator) -> Case:
    X = rng.normal(size=(3, 2)).astype(np.float32)
    Y = rng.integers(0, 2, (3, 3))
    structure = MultiLabel(pairs=[[0, 1], [1, 2]]).learn(X, Y).bind(X, Y)
    return graph_case(NaiveFactorGraph.from_fast(structure), structure)


def k_gram_case(rng: np.random.Generator) -> Case:
    lengths = rng.integers(0, 5, 3)
    X = [
        (rng.normal(size=(n, 2)).astype(np.float32), rng.normal(size=(n, 2)).astype(np.float32))
        for n in lengths
    ]
    Y = [rng.integers(0, 2, n).tolist() for n in lengths]
    Y[0] = [*Y[0], 0, 1]  # both labels occur
    X[0] = tuple(np.vstack([x, np.ones((2, 2), dtype=np.float32)]) for x in X[0])
    structure = KGramChain(k=3).learn(X, Y).bind(X, Y)
    return graph_case(NaiveFactorGraph.from_fast(structure), structure)


CASES: dict[str, Callable[[np.random.Generator], Case]] = {
    "chain": lambda rng: chain_case(rng, real=True, weighted=True),
    "constrained chain": lambda rng: chain_case(rng, constrained=True),
    "chain of pairs": lambda rng: chain_case(rng, pairs=3, real=True, weighted=True),
    "constrained chain of pairs": lambda rng: chain_case(rng, pairs=2, constrained=True),
    "projective tree": lambda rng: tree_case(rng, projective=True, single_root=True),
    "projective forest": lambda rng: tree_case(rng, projective=True, single_root=False),
    "tree": lambda rng: tree_case(rng, projective=False, single_root=True),
    "forest": lambda rng: tree_case(rng, projective=False, single_root=False),
    "projective siblings": lambda rng: second_order_case(rng, True, True, grandparents=False),
    "projective second-order forest": lambda rng: second_order_case(rng, True, False),
    "second-order tree": lambda rng: second_order_case(rng, False, True),
    "second-order forest": lambda rng: second_order_case(rng, False, False),
    "custom": custom_case,
    "custom with all methods": lambda rng: custom_case(rng, k_best=True, expectation=True),
    "multiclass": lambda rng: multiclass_case(rng, sparse=False),
    "sparse multiclass": lambda rng: multiclass_case(rng, sparse=True),
    "graphs without loops": lambda rng: random_graph_case(rng, forest=True, weighted=True),
    "tied sparse graphs": lambda rng: random_graph_case(rng, forest=True, tied=True, sparse=True),
    "graphs with loops": lambda rng: random_graph_case(rng, forest=False),
    "label sets": multilabel_case,
    "3-gram chain": k_gram_case,
}
