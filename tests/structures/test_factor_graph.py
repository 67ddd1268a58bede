"""Factor graphs with features: k-gram chains, ready templates, what is told and what refused."""

from __future__ import annotations

import doctest
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from dualstruct import InputError, Problem, Stopping, StructuredSVM, fit
from dualstruct.graphs import Graph, chain_edges, complete_edges, grid_edges
from dualstruct.solvers import DCA, DCD
from dualstruct.structures import (
    FactorGraph,
    FactorGraphOutput,
    GraphCRF,
    Grid,
    KGramChain,
    Multiclass,
    MultiLabel,
)
from dualstruct.structures.multiclass import MulticlassExamples
from random_cases import cases

seeds = st.integers(0, 2**32 - 1)


def k_gram_viterbi(emission, runs, k):
    """The best labels under emission [T, K] and runs[n][t] of n labels each.

    A state is the tuple of the last k − 1 labels; every extension of every tuple is tried.
    """
    T, K = emission.shape
    best = {(): (0.0, ())}
    for t in range(T):
        extended = {}
        for history, (score, path) in best.items():
            for label in range(K):
                total = score + emission[t, label]
                labels = (*path, label)
                for n in range(2, k + 1):
                    if t + 1 >= n:
                        total += runs[n][t][labels[-n:]]
                state = (*history, label)[-(k - 1) :] if k > 1 else ()
                if state not in extended or total > extended[state][0]:
                    extended[state] = (total, labels)
        best = extended
    return max(best.values())


@cases(150)
@given(seeds, st.integers(1, 4), st.integers(1, 3), st.integers(1, 7), st.booleans())
def test_k_gram_chains_equal_a_direct_viterbi_of_higher_order(seed, k, labels, length, observed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(length, 2)).astype(np.float32)
    z = rng.normal(size=(length, 3)).astype(np.float32)
    given_x = (x, z) if observed else x
    template = KGramChain(k).learn([given_x], [np.arange(labels)])
    bound = template.bind([given_x])
    w = bound.new_weights(rng.normal(size=bound.core.dimension).astype(np.float32))
    weights = template.weights(w)
    features = z if observed else np.ones((length, 1))
    runs = {
        n: [(row @ weights[f"{n}-gram"]).reshape((labels,) * n) for row in features]
        for n in range(2, k + 1)
    }
    score, path = k_gram_viterbi(x @ weights["1-gram"], runs, k)
    assert bound.is_forest
    assert bound.best(w, 0).exact
    assert bound.best(w, 0).score == pytest.approx(score, abs=1e-4)
    (predicted,) = template.predict(bound, w)
    assert predicted == list(path)
    (two,) = template.predict_k_best(bound, w, 2)
    assert two[0][1] == list(path)
    assert len(two) == min(2, labels**length)


def test_k_grams_learn_what_bigrams_cannot():
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(30):
        y = rng.integers(0, 2, 2).tolist()
        while len(y) < 12:  # each label is the exclusive or of the two before it
            y.append(y[-1] ^ y[-2])
        x = np.eye(2)[y] * 4
        x[2:] = 0  # only the first two are seen
        X.append(np.hstack([x, np.ones((12, 1))]))
        Y.append(y)
    scores = {
        k: StructuredSVM(KGramChain(k), C=1.0).fit(X[:20], Y[:20]).score(X[20:], Y[20:])
        for k in (2, 3)
    }
    assert scores[3] == 1
    assert scores[2] < 0


def blobs(rng, n=120, labels=3):
    truth = rng.integers(0, labels, n)
    centres = np.array([[2.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 0, 2.0, 0]])
    return centres[truth] + rng.normal(size=(n, 4)) * 0.5, np.array(["ant", "bee", "cat"])[truth]


def test_multiclass_learns_dense_and_sparse_alike_and_survives_a_file(tmp_path):
    X, Y = blobs(np.random.default_rng(1))
    dense, sparse = (StructuredSVM(Multiclass(), C=1.0, gap=1e-4, passes=2000) for _ in "12")
    dense.fit(X[:80], Y[:80])
    sparse.fit(csr_matrix(X[:80]), Y[:80])
    assert dense.score(X[80:], Y[80:]) > 0.95
    np.testing.assert_allclose(dense.weights_, sparse.weights_, atol=0.02)
    for x in (X[80:], csr_matrix(X[80:]), list(X[80:])):
        assert dense.predict(x) == sparse.predict(x)
    assert dense.weights_.shape == (5, 3)
    dense.save(tmp_path / "model")
    again = StructuredSVM.load(tmp_path / "model", Multiclass())
    assert again.predict(X[80:]) == dense.predict(X[80:])
    best, second = dense.predict_k_best(X[80:81], 2)[0]
    assert best[0] > second[0]
    assert best[1] == dense.predict(X[80:81])[0]


def test_multiclass_of_a_sparse_matrix_equals_the_dense_one():
    X, Y = blobs(np.random.default_rng(2))
    X[np.abs(X) < 0.5] = 0
    truth = np.unique(Y, return_inverse=True)[1]
    weights = []
    for x in (X, csr_matrix(X)):
        examples = MulticlassExamples(x, 3, truth)
        result = fit(Problem(examples, "squared_hinge", 0.5), DCD(), Stopping(gap=1e-4))
        weights.append(examples.weights(result.w))
    np.testing.assert_allclose(*weights, atol=1e-4)


def test_a_cost_matrix_moves_the_decisions_of_multiclass():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(size=(60, 1)) - 0.5, rng.normal(size=(60, 1)) + 0.5])
    Y = [0] * 60 + [1] * 60
    template = Multiclass(cost=[[0, 1], [8, 0]])
    careful = StructuredSVM(template, C=1.0).fit(X, Y)
    plain = StructuredSVM(Multiclass(), C=1.0).fit(X, Y)
    assert sum(careful.predict(X)) > sum(plain.predict(X)) + 20
    costs = [
        np.mean([careful.structure_.cost(y, p) for y, p in zip(Y, svm.predict(X), strict=True)])
        for svm in (careful, plain)
    ]
    assert costs[0] < costs[1]
    assert careful.score(X, Y) == pytest.approx(1 - costs[0])


def test_label_sets_learn_that_labels_exclude_each_other():
    rng = np.random.default_rng(4)
    x = rng.integers(-1, 2, 300)  # −1: the first, 1: the second, 0: one of them, who knows which
    second = np.where(x == 0, rng.integers(0, 2, 300), x == 1)
    X, Y = x[:, None].astype(float), np.stack([1 - second, second], axis=1)
    svm = StructuredSVM(MultiLabel(), loss="crf", C=0.1).fit(X, Y)
    table = svm.weights_["labels 0 and 1"].reshape(2, 2)
    assert table[0, 1] + table[1, 0] > table[0, 0] + table[1, 1] + 0.5
    assert [y.sum() for y in svm.predict(X)] == [1] * 300
    alone = StructuredSVM(MultiLabel(pairs="none"), C=0.1).fit(X, Y)
    assert set(alone.weights_) == {"label 0", "label 1"}


def noisy_grids(rng, count=6, size=8):
    X, Y = [], []
    for _ in range(count):
        y = np.zeros((size, size), dtype=int)
        y[rng.integers(2, size - 2) :] = 1
        y[:, rng.integers(2, size - 2) :] += 1
        noisy = y[..., None] + rng.normal(size=(size, size, 1)) * 0.7
        X.append(np.concatenate([noisy, noisy**2, np.ones_like(noisy)], axis=2))
        Y.append(y)
    return X, Y


@pytest.mark.parametrize(("loss", "C"), [("hinge", 0.1), ("squared_hinge", 0.003)])
def test_grids_learn_to_smooth(loss, C, tmp_path):
    X, Y = noisy_grids(np.random.default_rng(5))
    svm = StructuredSVM(Grid(), loss=loss, C=C, passes=20).fit(X[:4], Y[:4])
    correct = np.mean([p == y for p, y in zip(svm.predict(X[4:]), Y[4:], strict=True)])
    nodes = StructuredSVM(GraphCRF(), loss=loss, C=C, passes=20).fit(*as_nodes(X[:4], Y[:4]))
    alone = 1 - np.mean(
        [p != y.ravel() for p, y in zip(nodes.predict(as_nodes(X[4:], Y)[0]), Y[4:], strict=True)]
    )
    assert correct > alone + 0.05
    svm.save(tmp_path / "grid")
    again = StructuredSVM.load(tmp_path / "grid", Grid())
    for a, b in zip(again.predict(X), svm.predict(X), strict=True):
        np.testing.assert_array_equal(a, b)


def as_nodes(X, Y):
    """The cells of grids as graphs without edges."""
    empty = np.empty((0, 2), dtype=int)
    return [(x.reshape(-1, x.shape[2]), empty) for x in X], [y.ravel() for y in Y]


def test_edge_features_tell_graphs_where_labels_change():
    rng = np.random.default_rng(6)
    X, Y = [], []
    for _ in range(20):
        y = np.cumsum(rng.random(10) < 0.3) % 2
        change = (np.diff(y) != 0).astype(float)[:, None]
        nodes = np.zeros((10, 2))
        nodes[0] = np.eye(2)[y[0]]
        X.append((nodes, chain_edges(10), np.hstack([change, 1 - change])))
        Y.append(y)
    svm = StructuredSVM(GraphCRF(), C=10.0).fit(X[:10], Y[:10])
    assert svm.score(X[10:], Y[10:]) == 1
    grids = [(x[0][None], x[2][None], np.empty((0, 10, 2))) for x in X]
    grid = StructuredSVM(Grid(symmetric=False), C=10.0).fit(grids[:10], [y[None] for y in Y[:10]])
    assert grid.score(grids[10:], [y[None] for y in Y[10:]]) == 1


def test_crf_losses_train_forests_exactly_and_loops_by_estimates():
    rng = np.random.default_rng(7)
    for edges, forest in ((chain_edges(4), True), (complete_edges(4), False)):
        X = [(rng.normal(size=(4, 2)), edges) for _ in range(12)]
        Y = [(nodes[:, 0] > 0).astype(int) for nodes, _ in X]
        svm = StructuredSVM(GraphCRF(), loss="crf", C=1.0, passes=30).fit(X, Y)
        assert svm.score(X, Y) > 1 - 0.5
        bound = svm.structure_.bind(X, Y)
        assert bound.has_parts == forest
        expectation = bound.expectation(svm.result_.w, 0)
        assert expectation.exact == forest
        assert expectation.converged
    result = fit(Problem(bound, "crf", 0.5), DCA(), Stopping(passes=5))
    assert np.isfinite(result.primal)


def test_what_is_not_proven_is_counted():
    rng = np.random.default_rng(8)
    graphs = []
    for _ in range(20):
        graph = Graph()
        graph.variables(6)
        graph.factor("pair", complete_edges(6), rng.normal(size=(15, 2)))
        graphs.append(graph)
    structure = FactorGraph(graphs)
    w = structure.new_weights(rng.normal(size=8).astype(np.float32))
    structure.decode_all(w)
    decoded, inexact, _ = structure.exactness
    assert decoded == 20
    answers = [structure.best(w, i) for i in range(20)]
    assert inexact == sum(not answer.exact for answer in answers) > 0
    proven = FactorGraph(graphs, branch=True)
    proven.decode_all(w)
    assert proven.exactness.inexact == 0
    for i, answer in enumerate(answers):
        best = proven.best(w, i).score
        assert answer.score <= best + 1e-5 <= answer.bound + 2e-5
    with pytest.raises(InputError, match="without loops"):
        structure.k_best(w, 0, 2)
    truth = [rng.integers(0, 2, 6) for _ in graphs]
    svm = StructuredSVM(FactorGraphOutput(), C=1.0, passes=3).fit(graphs, truth)
    assert svm.result_.unproven > 0
    assert f"{svm.result_.unproven} decodings not proven" in str(svm.result_)
    svm.predict(graphs)
    assert svm.structure_.exactness_.decoded == 20
    proven = StructuredSVM(FactorGraphOutput(branch=True), C=1.0, passes=3).fit(graphs, truth)
    assert proven.result_.unproven == 0


def test_threads_decode_the_same():
    rng = np.random.default_rng(9)
    graphs = []
    for _ in range(30):
        graph = Graph()
        graph.variables(9, 3)
        graph.factor("node", np.arange(9)[:, None], rng.normal(size=(9, 2)))
        graph.factor("edge", grid_edges(3, 3))
        graphs.append(graph)
    structure = FactorGraph(graphs)
    w = structure.new_weights(rng.normal(size=structure.core.dimension).astype(np.float32))
    np.testing.assert_array_equal(structure.decode_all(w), structure.decode_all(w, threads=3))


def test_hard_factors_hold_in_training_and_prediction():
    rng = np.random.default_rng(10)

    def matching(x):
        n = len(x)
        graph = Graph()
        cells = graph.variables(n * n).reshape(n, n)
        graph.factor("cell", cells.reshape(-1, 1), x.reshape(n * n, -1))
        for line in itertools.chain(cells, cells.T):
            graph.exactly_one(line.tolist())
        return graph

    def ranked(x):
        totals = [((x @ [1, -2, 0.5, 0])[range(3), p].sum(), p) for p in every]
        return sorted(totals, reverse=True)

    every = list(itertools.permutations(range(3)))
    X = [x for x in rng.normal(size=(60, 3, 3, 4)) if ranked(x)[0][0] > ranked(x)[1][0] + 1]
    Y = [np.eye(3, dtype=int)[list(ranked(x)[0][1])].ravel() for x in X]
    graphs = [matching(x) for x in X]
    svm = StructuredSVM(FactorGraphOutput(), C=10.0, gap=1e-3).fit(graphs, Y)
    assert svm.score(graphs, Y) == 1
    for y in svm.predict(graphs):
        assert (y.reshape(3, 3).sum(axis=0) == 1).all()


def two_switches(**features):
    graph = Graph()
    graph.variables(2)
    graph.factor("unary", [[0], [1]], features.get("unary", np.ones((2, 2))))
    graph.factor("pair", [0, 1], features.get("pair"))
    return graph


def with_contradiction():
    graph = two_switches()
    graph.exactly_one([0, 1])
    graph.count([0, 1], least=2, most=2)
    return graph


def with_score():
    graph = two_switches()
    graph.table([0, 1], np.eye(2))
    return graph


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: FactorGraph([two_switches(), two_switches(unary=np.ones((2, 3)))]),
            r"example 2, factor 1 \(unary\): 3 features and 2 configurations; elsewhere 2 and 2",
        ),
        (
            lambda: FactorGraph([two_switches()], [[0, 2]]),
            "example 1: the truth: variable 2 is in state 2 of 2",
        ),
        (lambda: FactorGraph([two_switches()], [[0]]), r"example 1: the truth has shape \(1,\)"),
        (lambda: FactorGraph([two_switches()], []), "1 graphs, but 0 true outputs"),
        (
            lambda: FactorGraph([with_contradiction()], [[0, 1]]),
            r"example 1, factor 5 \(count\): it forbids the true output",
        ),
        (lambda: FactorGraph([with_score()]), r"example 1, factor 4 \(table\): given scores may"),
        (
            lambda: FactorGraph([two_switches()], [[0, 1]], costs=[[0, 1, 1, 1]]),
            "the true states must cost 0",
        ),
        (
            lambda: FactorGraph([two_switches()], [[0, 1]], costs=[[0, np.nan, 1, 0]]),
            "example 1: costs must be finite",
        ),
        (
            lambda: FactorGraph([two_switches()], kinds={"unary": (2, 2)}),
            r"example 1, factor 3 \(pair\): no factors of this kind",
        ),
        (
            lambda: MulticlassExamples([[1.0], [np.nan]], 2),
            "example 2: a feature is NaN or too large",
        ),
        (
            lambda: MulticlassExamples([[1.0], [1.0, 2.0]], 2),
            r"example 2: features of shape \(2,\)",
        ),
        (lambda: MulticlassExamples([[1.0], [2.0]], 2, [0, 2]), "example 2: a label not among"),
        (
            lambda: StructuredSVM(GraphCRF()).fit([(np.ones((2, 1)), [[0, 2]])], [[0, 1]]),
            r"example 1: factor 3: variables \[0, 2\] of 2",
        ),
        (
            lambda: StructuredSVM(Grid()).fit([np.ones((2, 2, 1))], [[[0, 1]]]),
            "example 1: labels of shape",
        ),
        (
            lambda: StructuredSVM(KGramChain()).fit([np.ones((3, 1))], [[0, 1]]),
            "example 1: 2 labels for 3 positions",
        ),
        (
            lambda: StructuredSVM(MultiLabel()).fit(np.ones((2, 1)), [[0, 1], [0, 2]]),
            "example 2: the truth: variable 2 is in state 2 of 2",
        ),
    ],
)
def test_mistakes_are_named_with_example_and_factor(build, message):
    with pytest.raises(InputError, match=message):
        build()


def test_contradictory_constraints_are_named_when_decoding():
    structure = FactorGraph([two_switches(), with_contradiction()])
    w = structure.new_weights()
    with pytest.raises(InputError, match=r"example 2, factor 5 \(count\)"):
        structure.decode_all(w)
    with pytest.raises(InputError, match=r"example 2, factor 5 \(count\)"):
        structure.expectation(w, 1)


def test_predictions_refuse_what_the_model_does_not_know():
    X, Y = blobs(np.random.default_rng(1))
    svm = StructuredSVM(Multiclass()).fit(X, Y)
    with pytest.raises(InputError, match="5 features; the model has 4"):
        svm.predict(np.ones((1, 5)))
    svm = StructuredSVM(GraphCRF()).fit([(np.ones((2, 3)), [[0, 1]])], [[0, 1]])
    with pytest.raises(
        InputError, match=r"example 1, factor 1 \(node\): 2 features; this kind has 3"
    ):
        svm.predict([(np.ones((2, 2)), [[0, 1]])])


def test_the_page_runs():
    page = Path(__file__).parents[2] / "docs" / "factor_graphs.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 20
    assert result.failed == 0
