"""Inference in factor graphs against enumeration, linear programs and scipy's matchings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from dualstruct.errors import InputError
from dualstruct.graphs import Graph, Literal, chain_edges, complete_edges, grid_edges
from naive_graphs import NaiveGraph, random_graph
from naive_optima import largest_of_linear_program
from naive_trees import marginals as tree_marginals
from naive_trees import scored_trees
from random_cases import cases

seeds = st.integers(0, 2**32 - 1)


def build(seed: int, forest: bool) -> tuple[NaiveGraph, Graph]:
    naive = random_graph(np.random.default_rng(seed), forest=forest)
    return naive, naive.fast()


@cases(300)
@given(seeds)
def test_max_product_finds_the_best_assignment_of_a_forest(seed):
    naive, graph = build(seed, forest=True)
    assert graph.is_forest
    assignments = naive.assignments()
    if not assignments:
        with pytest.raises(InputError, match="no assignment is allowed"):
            graph.best()
        return
    found = graph.best()
    assert found.exact
    assert found.iterations == 0
    assert found.score == pytest.approx(assignments[0][0], abs=1e-9)
    assert naive.score(tuple(found.assignment)) == pytest.approx(found.score, abs=1e-9)
    assert graph.score(found.assignment) == pytest.approx(found.score, abs=1e-9)


@cases(250)
@given(seeds)
def test_sum_product_is_exact_on_forests(seed):
    naive, graph = build(seed, forest=True)
    assume(naive.assignments())
    log_sum, variables, tables = naive.marginals()
    found = graph.marginals()
    assert found.exact
    assert found.converged
    assert found.log_partition == pytest.approx(log_sum, abs=1e-8)
    for p, q in zip([*found.variables, *found.factors], [*variables, *tables], strict=False):
        np.testing.assert_allclose(p, q, atol=1e-8)


@cases(200)
@given(seeds, st.integers(1, 12))
def test_k_best_of_a_forest_are_the_first_of_all_assignments(seed, k):
    naive, graph = build(seed, forest=True)
    assignments = naive.assignments()
    assume(assignments)
    found = graph.k_best(k)
    np.testing.assert_allclose(
        [score for score, _ in found], [score for score, _ in assignments[:k]], atol=1e-9
    )
    assert len({tuple(y) for _, y in found}) == len(found)
    for score, y in found:
        assert naive.score(tuple(y)) == pytest.approx(score, abs=1e-9)


@cases(250)
@given(seeds)
def test_loops_never_claim_more_than_enumeration_says(seed):
    naive, graph = build(seed, forest=False)
    assignments = naive.assignments()
    if not assignments:
        with pytest.raises(InputError, match="no assignment is allowed"):
            graph.best()
        return
    best = assignments[0][0]
    found = graph.best()
    assert naive.score(tuple(found.assignment)) == pytest.approx(found.score, abs=1e-9)
    assert found.bound >= best - 1e-6
    if found.exact:
        assert found.score == pytest.approx(best, abs=1e-5)
    proven = graph.best(branch=True)
    assert proven.exact
    assert proven.score == pytest.approx(best, abs=1e-5)


@cases(200)
@given(seeds)
def test_loopy_marginals_say_that_they_are_not_exact_and_stay_distributions(seed):
    naive, graph = build(seed, forest=False)
    assume(naive.assignments() and not graph.is_forest)
    found = graph.marginals()
    assert not found.exact
    for p in found.variables:
        assert p.sum() == pytest.approx(1)
        assert (p >= 0).all()
    # "Impossible" is carried exactly: what the first messages rule out occurs nowhere.
    _, variables, _ = naive.marginals()
    for p, q in zip(graph.marginals(max_iterations=1).variables, variables, strict=True):
        assert (q[p == 0] == 0).all()


@cases(60)
@given(seeds)
def test_weak_loops_have_nearly_exact_marginals(seed):
    rng = np.random.default_rng(seed)
    naive = NaiveGraph([2] * 6)
    for a, b in grid_edges(2, 3):
        naive.tables.append(((int(a), int(b)), rng.normal(size=(2, 2)) * 0.2))
    log_sum, variables, _ = naive.marginals()
    found = naive.fast().marginals()
    assert found.converged
    assert found.log_partition == pytest.approx(log_sum, abs=5e-3)
    for p, q in zip(found.variables, variables, strict=True):
        np.testing.assert_allclose(p, q, atol=5e-3)


def relaxation_by_linear_program(naive: NaiveGraph) -> float:
    """The best of the local polytope: marginals of tables that agree on their variables."""
    starts = np.concatenate([[0], np.cumsum(naive.states)]).astype(int)
    size, columns = int(starts[-1]), []
    for _, table in naive.tables:
        columns.append(size)
        size += table.size
    c, rows, right = np.zeros(size), [], []
    for v, k in enumerate(naive.states):
        row = np.zeros(size)
        row[starts[v] : starts[v] + k] = 1
        rows.append(row)
        right.append(1)
    for (over, table), begin in zip(naive.tables, columns, strict=True):
        c[begin : begin + table.size] = table.ravel()
        where = np.indices(table.shape).reshape(len(over), -1)
        for axis, v in enumerate(over):
            for s in range(naive.states[v]):
                row = np.zeros(size)
                row[begin : begin + table.size] = where[axis] == s
                row[starts[v] + s] = -1
                rows.append(row)
                right.append(0)
    return largest_of_linear_program(c, np.array(rows), np.array(right, dtype=float))


@cases(60)
@given(seeds, st.sampled_from([2, 3]), st.booleans())
def test_the_bound_is_that_of_the_linear_program(seed, states, triples):
    rng = np.random.default_rng(seed)
    naive = NaiveGraph([states] * 6)
    for over in [*complete_edges(5).tolist(), *([[0, 2, 5], [1, 3, 5]] if triples else [[4, 5]])]:
        naive.tables.append((tuple(over), rng.normal(size=(states,) * len(over))))
    found = naive.fast().best(max_iterations=5000, residual=1e-7)
    relaxed = relaxation_by_linear_program(naive)
    assert found.bound >= relaxed - 1e-5
    assert found.bound <= relaxed + 1e-3 or found.exact


@cases(40)
@given(seeds, st.integers(2, 7))
def test_matchings_by_exactly_one_factors_are_those_of_scipy(seed, n):
    scores = np.random.default_rng(seed).normal(size=(n, n))
    graph = Graph()
    cells = graph.variables(n * n).reshape(n, n)
    for cell, score in zip(cells.ravel(), scores.ravel(), strict=True):
        graph.table([cell], [0, score])
    for line in [*cells, *cells.T]:
        graph.exactly_one(line.tolist())
    found = graph.best()
    rows, columns = linear_sum_assignment(scores, maximize=True)
    assert found.exact
    assert found.score == pytest.approx(scores[rows, columns].sum(), abs=1e-5)


@cases(40)
@given(seeds)
def test_facilities_by_or_with_output_and_a_budget(seed):
    rng = np.random.default_rng(seed)
    naive = NaiveGraph([2] * 9)
    for v in range(9):
        naive.tables.append(((v,), np.array([0, rng.normal() - 1.5 * (v >= 6)])))
    for f in range(3):  # facility 6 + f is open when one of its customers is served by it
        literals = [Literal(int(v)) for v in rng.choice(6, 3, replace=False)]
        naive.hard.append(("or output", [*literals, Literal(6 + f)], 0, 0))
    naive.hard.append(("count", [Literal(6 + f) for f in range(3)], 0, 2))
    found = naive.fast().best(branch=True)
    assert found.exact
    assert found.score == pytest.approx(naive.assignments()[0][0], abs=1e-5)


def tree_graph(scores: np.ndarray, projective: bool, single_root: bool) -> tuple[Graph, dict]:
    """A variable for each arc that is not taken away by −∞, and TREE over them."""
    n = len(scores) - 1
    graph = Graph()
    arcs = {
        (h, m): graph.variable()
        for h in range(n + 1)
        for m in range(1, n + 1)
        if h != m and np.isfinite(scores[h, m])
    }
    for (h, m), v in arcs.items():
        graph.table([v], [0, scores[h, m]])
    graph.tree(n, arcs, projective=projective, single_root=single_root)
    return graph, arcs


@cases(150)
@given(seeds, st.integers(1, 4), st.booleans(), st.booleans())
def test_tree_factors_hold_every_tree_and_nothing_else(seed, words, projective, single_root):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(words + 1, words + 1)) * 2
    scores[rng.random(scores.shape) < 0.15] = -np.inf
    scores[0, 1:] = np.where(np.isinf(scores[0, 1:]), -3.0, scores[0, 1:])
    graph, arcs = tree_graph(scores, projective, single_root)
    trees = scored_trees(scores, projective, single_root)
    if not trees:
        with pytest.raises(InputError, match=r"\(tree\)"):
            graph.best()
        return
    assert graph.is_forest
    assert graph.best().score == pytest.approx(trees[0][0], abs=1e-5)
    found = graph.k_best(len(trees) + 1)
    np.testing.assert_allclose([s for s, _ in found], [s for s, _ in trees], atol=1e-5)
    log_partition, expected = tree_marginals(scores, projective, single_root)
    marginals = graph.marginals()
    assert marginals.log_partition == pytest.approx(log_partition, abs=1e-4)
    for (h, m), v in arcs.items():
        assert marginals.variables[v][1] == pytest.approx(expected[h, m], abs=1e-4)


@cases(60)
@given(seeds, st.booleans())
def test_second_order_trees_are_solved_by_branch_and_bound(seed, projective):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(5, 5))
    graph, arcs = tree_graph(scores, projective, True)
    siblings = {}
    for (h, m), (g, c) in itertools.combinations(arcs, 2):
        if h == g or m == g:
            siblings[h, m, g, c] = score = float(rng.normal())
            graph.table([arcs[h, m], arcs[g, c]], [[0, 0], [0, score]])
    best = max(
        first + sum(s for (h, m, g, c), s in siblings.items() if y[m - 1] == h and y[c - 1] == g)
        for first, y in scored_trees(scores, projective, True)
    )
    plain, proven = graph.best(), graph.best(branch=True)
    assert proven.exact
    assert proven.score == pytest.approx(best, abs=1e-5)
    assert plain.bound >= best - 1e-5
    assert not plain.exact or plain.score == pytest.approx(best, abs=1e-5)


def test_large_grids_with_attraction_are_solved_exactly():
    rng = np.random.default_rng(3)
    graph = Graph()
    graph.variables(400)
    graph.table(np.arange(400)[:, None], rng.normal(size=(400, 2)))
    edges = grid_edges(20, 20)
    graph.table(edges, np.tile(0.7 * np.eye(2), (len(edges), 1, 1)))
    found = graph.best()
    assert found.exact
    assert found.bound == pytest.approx(found.score, rel=1e-5)


def test_contradictions_name_the_factor_that_completes_them():
    for extra in (0, 1):  # without and with a loop
        graph = Graph()
        graph.variables(3 + extra)
        graph.exactly_one([0, 1])
        if extra:
            graph.table(chain_edges(4, 3), np.zeros((2, 2, 2, 2)))
        graph.at_least_one([0, 1, 2])
        graph.at_most_one([0, 2])
        graph.count([0, 1], least=2, most=2)
        number = 6 if extra else 4
        for question in (graph.best, graph.marginals):
            with pytest.raises(InputError, match=rf"factor {number} \(count\) contradicts"):
                question()


def test_forbidden_entries_and_one_state_variables_are_respected():
    graph = Graph()
    a, b, c = graph.variable(1), graph.variable(3), graph.variable(2)
    graph.table([a, b], [[3.0, -np.inf, 1.0]])
    graph.table([b, c], [[-np.inf, -np.inf], [9, 9], [0, 1]])
    graph.exactly_one([(a, 0), (b, 1)])
    assert graph.best().assignment.tolist() == [0, 2, 1]
    assert graph.marginals().variables[1].tolist() == [0, 0, 1]
    assert graph.score([0, 0, 0]) == -np.inf


class Raises:
    def maximise(self, scores):
        raise RuntimeError("the decoder is broken")


class Short:
    def maximise(self, scores):
        return scores[:-1] > 0


class Scored:
    """Any number of literals; even numbers cost 5."""

    def maximise(self, scores):
        every = np.array(
            [[k >> b & 1 for b in range(len(scores))] for k in range(2 ** len(scores))]
        )
        return every[np.argmax(every @ scores + [self.score(on) for on in every])]

    def score(self, on):
        return -5.0 if sum(on) % 2 == 0 else 0.0


def test_factors_of_the_users_may_score_and_their_errors_come_through():
    naive_best = 2.0 + 1.0 + 0.5 - 0.0
    graph = Graph()
    graph.variables(3)
    graph.table([[0], [1], [2]], [[0, 2.0], [0, 1.0], [0, 0.5]])
    graph.own(Scored(), [0, 1, 2])
    assert graph.best().score == pytest.approx(naive_best)
    graph.table([0, 1], [[0, 0], [0, -4.0]])  # a loop, and two of them are one too many
    found = graph.best(branch=True)
    assert found.exact
    assert found.score == pytest.approx(2.0)
    for factor, error, message in (
        (Raises(), RuntimeError, "broken"),
        (Short(), ValueError, "2 values for 3 slots"),
    ):
        graph = Graph()
        graph.variables(3)
        graph.own(factor, [0, 1, 2])
        with pytest.raises(error, match=message):
            graph.best()
    with pytest.raises(NotImplementedError, match="marginals"):
        graph.marginals()


class Costly(Scored):
    """Every configuration costs more than all other scores together."""

    def score(self, on):
        return super().score(on) - 1e4


def test_scores_of_own_factors_are_not_taken_for_contradictions():
    for loop in (False, True):
        graph = Graph()
        graph.variables(3)
        graph.table([[0], [1], [2]], [[0, 2.0], [0, 1.0], [0, 0.5]])
        graph.own(Costly(), [0, 1, 2])
        if loop:
            graph.table([0, 1], [[0, 0], [0, -4.0]])
        assert graph.best(branch=True).score == pytest.approx(2.0 - 1e4 if loop else 3.5 - 1e4)


def test_k_best_of_loops_is_refused():
    graph = Graph()
    graph.variables(3)
    graph.table(complete_edges(3), np.zeros((3, 2, 2)))
    with pytest.raises(NotImplementedError, match="without loops"):
        graph.k_best(2)


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda g: g.table([0, 1], np.zeros((2, 2))), r"factor 2: its scores have shape \(2, 2\)"),
        (lambda g: g.table([0, 9], np.zeros((2, 2))), r"factor 2: variables \[0, 9\] of 3"),
        (lambda g: g.table([0, 0], np.zeros((2, 2))), "factor 2: a variable stands in it twice"),
        (lambda g: g.table([[0], [1]], np.zeros((2, 2))), r"factor 3: its variables have \[3\]"),
        (lambda g: g.table([0], [0.0, np.nan]), "factor 2: a score is NaN"),
        (lambda g: g.factor("pair", [0, 2], [np.nan]), r"factor 2 \(pair\): a feature is NaN"),
        (lambda g: g.factor("pair", [0, 2], np.zeros((2, 1))), "features of shape"),
        (lambda g: g.exactly_one([0, 1]), r"factor 2 \(exactly one\): variable 1 has 3 states"),
        (lambda g: g.exactly_one([0, (1, 3)]), "state 3 of variable 1, which has 3"),
        (lambda g: g.exactly_one([7]), "variable 7 of 3"),
        (lambda g: g.at_most_one([]), "no literals"),
        (lambda g: g.count([0, 2], least=3, most=4), "3 to 4 of 2 literals can not be on"),
        (lambda g: g.own(object(), [0]), "no method maximise"),
        (lambda g: g.variable(0), "at least one"),
        (lambda g: g.tree(2, {(0, 1): 0}), r"factor 2 \(tree\): no arc leads to word 2"),
        (lambda g: g.tree(1, {(1, 1): 0}), r"\(tree\): arc 1 → 1 in a sentence of 1 word"),
        (lambda g: g.factor("pair", [0, 2], tie=[0, 1]), "its tie has shape"),
        (lambda g: g.factor(["a", "b"], [0, 2]), "2 kinds for 1 factor"),
    ],
)
def test_mistakes_are_named_with_their_factor(add, message):
    graph = Graph()
    graph.variable(2), graph.variable(3), graph.variable(2)
    graph.table([0], [0.0, 1.0])
    with pytest.raises(InputError, match=message):
        add(graph)


def test_assignments_are_checked():
    graph = Graph()
    graph.variables(2)
    with pytest.raises(InputError, match="variable 2 is in state 2 of 2"):
        graph.score([0, 2])
    with pytest.raises(InputError, match="for 2 variables"):
        graph.score([0])
