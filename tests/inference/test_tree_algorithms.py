"""Decoders of trees and sums over trees: against enumeration, and each other on long sentences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_trees
from dualstruct import _core
from dualstruct.errors import InputError
from random_cases import cases

booleans = st.booleans()


@st.composite
def score_matrices(draw, labels: int | None = None, most_words: int = 5):
    """Scores of a few words: real, small integers (ties), or large; some arcs may be missing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    nodes = draw(st.integers(1, most_words)) + 1
    shape = (nodes, nodes) if labels is None else (nodes, nodes, labels)
    kind = draw(st.sampled_from(["real", "ties", "large"]))
    if kind == "ties":
        scores = rng.integers(-1, 2, size=shape).astype(np.float32)
    else:
        scores = rng.normal(scale=1 if kind == "real" else 100, size=shape).astype(np.float32)
    scores[rng.random(shape) < draw(st.sampled_from([0, 0, 0.2, 0.5]))] = -np.inf
    return scores


def nothing_there(scores: np.ndarray) -> np.ndarray:
    """What must not be read: arcs into the root and loops."""
    scores = scores.copy()
    scores[:, 0] = np.nan
    scores[np.arange(len(scores)), np.arange(len(scores))] = np.nan
    return scores


@cases(250)
@given(score_matrices(), booleans, booleans)
def test_decode_finds_the_best_of_all_trees(scores, projective, single_root):
    trees = naive_trees.scored_trees(scores, projective, single_root)
    if not trees:
        with pytest.raises(InputError, match="no tree"):
            _core.tree_decode(nothing_there(scores), projective, single_root)
        return
    heads = _core.tree_decode(nothing_there(scores), projective, single_root)
    assert heads[0] == -1
    found = tuple(heads[1:].tolist())
    assert found in {t for _, t in trees}
    best = trees[0][0]
    assert naive_trees.score_of(scores, found) == pytest.approx(best, abs=1e-4, rel=1e-6)


@cases(200)
@given(score_matrices(labels=2, most_words=3), st.integers(1, 400), booleans, booleans)
def test_k_best_lists_the_best_labelled_trees_in_order(scores, k, projective, single_root):
    expected = naive_trees.labelled_trees(scores, projective, single_root)
    found = _core.tree_k_best(scores, k, projective, single_root)
    assert len(found) == min(k, len(expected))
    outputs = [
        (tuple(heads[1:].tolist()), tuple(labels[1:].tolist())) for _, heads, labels in found
    ]
    assert len(set(outputs)) == len(outputs)
    value = {(heads, labels): score for score, heads, labels in expected}
    for (score, _, _), output, (best, _, _) in zip(found, outputs, expected, strict=False):
        assert score == pytest.approx(best, abs=1e-4, rel=1e-6)
        assert score == pytest.approx(value[output], abs=1e-4, rel=1e-6)


@pytest.mark.parametrize("words", [15, 16, 17, 31, 60])
def test_decoders_agree_where_the_best_tree_is_projective(words):
    rng = np.random.default_rng(words)
    for _ in range(5):
        scores = rng.normal(size=(words + 1, words + 1)).astype(np.float32)
        tree = _core.tree_decode(scores, True, True)
        scores[tree[1:], np.arange(1, words + 1)] += 100
        np.testing.assert_array_equal(_core.tree_decode(scores, False, True), tree)
        np.testing.assert_array_equal(_core.tree_decode(scores, True, True), tree)


@pytest.mark.parametrize("words", [40, 200])
@pytest.mark.parametrize("scale", [1, 500])
def test_long_sentences_have_the_score_of_the_textbook_algorithm(words, scale):
    rng = np.random.default_rng(words)
    for _ in range(3):
        scores = rng.uniform(-scale, scale, size=(words + 1, words + 1)).astype(np.float32)
        exact = scores.astype(float)
        best = naive_trees.score_of(exact, tuple(naive_trees.maximum_tree(exact)[1:]))
        any_root = _core.tree_decode(scores, False, False)[1:]
        assert naive_trees.is_tree(tuple(any_root))
        assert naive_trees.score_of(exact, tuple(any_root)) == pytest.approx(best, rel=1e-9)
        # one root: the fewest arcs from it, once they cost more than all others can bring
        costly = exact.copy()
        costly[0] -= 4 * scale * words
        best = naive_trees.score_of(exact, tuple(naive_trees.maximum_tree(costly)[1:]))
        one_root = _core.tree_decode(scores, False, True)[1:]
        assert naive_trees.is_tree(tuple(one_root))
        assert np.count_nonzero(one_root == 0) == 1
        assert naive_trees.score_of(exact, tuple(one_root)) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("single_root", [True, False])
def test_a_sentence_of_500_words_has_a_projective_tree(single_root):
    rng = np.random.default_rng(0)
    scores = rng.uniform(-500, 500, size=(501, 501)).astype(np.float32)
    heads = tuple(_core.tree_decode(scores, True, single_root)[1:].tolist())
    assert naive_trees.is_tree(heads)
    assert naive_trees.is_projective(heads)
    assert not single_root or heads.count(0) == 1
    free = tuple(_core.tree_decode(scores, False, single_root)[1:].tolist())
    assert naive_trees.score_of(scores, heads) <= naive_trees.score_of(scores, free)


@cases(250)
@given(score_matrices(), booleans, booleans)
def test_marginals_equal_the_sum_over_all_trees(scores, projective, single_root):
    if not naive_trees.scored_trees(scores, projective, single_root):
        with pytest.raises(InputError, match="no tree"):
            _core.tree_marginals(nothing_there(scores), projective, single_root)
        return
    log_partition, marginals = naive_trees.marginals(scores, projective, single_root)
    found_log, found = _core.tree_marginals(nothing_there(scores), projective, single_root)
    assert found_log == pytest.approx(log_partition, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(found, marginals, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize(
    ("words", "scale"), [(15, 500), (16, 1), (100, 1), (200, 500), (120, 5000)]
)
def test_marginals_of_long_sentences_are_probabilities(words, scale, projective, single_root):
    rng = np.random.default_rng(words)
    scores = rng.uniform(-scale, scale, size=(words + 1, words + 1)).astype(np.float32)
    log_partition, marginals = _core.tree_marginals(scores, projective, single_root)
    np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1, atol=1e-5)
    np.testing.assert_array_equal(marginals[:, 0], 0)
    assert marginals.min() >= 0
    roots = marginals[0].sum()
    assert roots == pytest.approx(1, abs=1e-5) if single_root else roots >= 1 - 1e-5
    tree = _core.tree_decode(scores, projective, single_root)
    best = naive_trees.score_of(scores, tuple(tree[1:].tolist()))
    assert best - 1e-6 * abs(best) <= log_partition <= best + words * np.log(words + 1)
    if scale >= 500:  # one tree has nearly all the mass, or two
        risk = _core.tree_minimum_risk(marginals, projective, single_root)
        arcs = np.arange(1, words + 1)
        assert marginals[risk[1:], arcs].sum() >= marginals[tree[1:], arcs].sum() - 1e-4
        assert np.mean(risk == tree) > 0.9


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("single_root", [True, False])
def test_marginals_are_the_gradient_of_the_log_partition(projective, single_root):
    rng = np.random.default_rng(3)
    scores = rng.normal(scale=2, size=(24, 24)).astype(np.float32)
    direction = rng.normal(size=scores.shape).astype(np.float32)
    _, marginals = _core.tree_marginals(scores, projective, single_root)
    step = np.float32(2**-8)
    above, _ = _core.tree_marginals(scores + step * direction, projective, single_root)
    below, _ = _core.tree_marginals(scores - step * direction, projective, single_root)
    assert (marginals * direction).sum() == pytest.approx((above - below) / (2 * step), abs=1e-3)


def test_a_strong_cycle_does_not_drown_the_rest():
    """Two words that want each other: the Laplacian is singular to double precision."""
    scores = np.zeros((4, 4), dtype=np.float32)
    scores[1, 2] = scores[2, 1] = 300
    for single_root in (True, False):
        log_partition, marginals = naive_trees.marginals(scores, False, single_root)
        found_log, found = _core.tree_marginals(scores, False, single_root)
        assert found_log == pytest.approx(log_partition, rel=1e-12)
        np.testing.assert_allclose(found, marginals, rtol=1e-6)


@pytest.mark.parametrize("projective", [True, False])
def test_sums_over_a_sentence_of_500_words(projective):
    scores = np.zeros((501, 501), dtype=np.float32)
    log_partition, marginals = _core.tree_marginals(scores, projective, False)
    if not projective:  # Cayley: (n + 1)^(n − 1) trees, and n (n + 1)^(n − 2) arcs of each kind
        assert log_partition == pytest.approx(499 * np.log(501), rel=1e-12)
        np.testing.assert_allclose(marginals[0, 1:], 2 / 501, rtol=1e-5)
    np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1, atol=1e-5)


@cases(100)
@given(score_matrices(most_words=4), booleans, booleans)
def test_minimum_risk_finds_the_tree_with_most_expected_arcs(scores, projective, single_root):
    trees = naive_trees.scored_trees(scores, projective, single_root)
    if not trees:
        return
    _, marginals = _core.tree_marginals(scores, projective, single_root)
    risk = _core.tree_minimum_risk(marginals, projective, single_root)
    best = max(naive_trees.score_of(marginals, tree) for _, tree in trees)
    found = tuple(risk[1:].tolist())
    assert found in {tree for _, tree in trees}
    assert naive_trees.score_of(marginals, found) == pytest.approx(best, abs=1e-5)
