"""Decoders of trees and sums over trees, against every tree of short sentences and against each other on long ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_trees
from dualstruct import _core
from dualstruct.errors import InputError

booleans = st.booleans()


@st.composite
def score_matrices(draw, labels: int | None = None, most_words: int = 5):
    """Scores of a few words: real, small integers (many ties), or large; some arcs may be missing."""
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


@settings(max_examples=600, deadline=None)
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


@settings(max_examples=200, deadline=None)
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
