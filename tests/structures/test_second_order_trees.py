"""Siblings and grandparents over pruned arcs: decoders and beliefs against every tree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

import naive_trees
from dualstruct import DCD, Problem, Stopping, _core, fit
from dualstruct.errors import InputError
from dualstruct.structures import SecondOrderTree, Tree, TreeColumns, prune_arcs
from random_cases import cases


class Sentence:
    """Random scores of arcs, siblings and grandparents, and the slow sum of them."""

    def __init__(self, seed: int, words: int, kept: float, siblings: float, grandparents: float):
        rng = np.random.default_rng(seed)
        self.kept = (rng.random((words + 1, words + 1)) < kept).astype(np.uint8)
        self.kept[:, 0] = 0
        np.fill_diagonal(self.kept, 0)
        self.parts = _core.SecondOrderParts(self.kept)
        self.arcs = self.parts.arcs().reshape(-1, 2)
        self.rows = self.parts.parts().reshape(-1, 4)
        self.arc_scores = rng.normal(size=len(self.arcs))
        scale = np.where(self.rows[:, 0] < 2, siblings, grandparents)
        self.extra_scores = rng.normal(size=len(self.rows)) * scale
        self.arc_index = {tuple(a): k for k, a in enumerate(self.arcs.tolist())}
        self.part_index = {tuple(r): k for k, r in enumerate(self.rows.tolist())}
        assert len(self.part_index) == len(self.rows)

    def parts_of(self, heads: tuple[int, ...]) -> tuple[list[int], list[int]]:
        """The arcs and second-order parts of a tree; heads[m - 1] is the head of word m."""
        arcs = [self.arc_index[h, m] for m, h in enumerate(heads, start=1)]
        extras = []
        for h in range(len(heads) + 1):
            modifiers = [m for m, head in enumerate(heads, start=1) if head == h]
            left = [m for m in modifiers if m < h][::-1]
            right = [m for m in modifiers if m > h]
            for kind, side in enumerate((left, right)):
                chain = [h, *side, h]  # the head itself stands for nothing and for the end
                for before, after in itertools.pairwise(chain):
                    extras.append(self.part_index[kind, h, before, after])
            extras += [self.part_index[2, heads[h - 1], h, m] for m in modifiers if h > 0]
        return arcs, extras

    def scored(self, projective: bool, single_root: bool) -> list[tuple[float, tuple[int, ...]]]:
        found = []
        for heads in naive_trees.all_trees(len(self.kept) - 1, projective, single_root):
            if all(self.kept[h, m] for m, h in enumerate(heads, start=1)):
                found.append((self.score(heads), heads))
        return sorted(found, key=lambda t: -t[0])

    def score(self, heads: tuple[int, ...]) -> float:
        arcs, extras = self.parts_of(heads)
        return float(self.arc_scores[arcs].sum() + self.extra_scores[extras].sum())


sentences = st.builds(
    Sentence,
    seed=st.integers(0, 2**32 - 1),
    words=st.integers(1, 4),
    kept=st.sampled_from([1.0, 0.7]),
    siblings=st.sampled_from([0.3, 1.0, 3.0]),
    grandparents=st.just(0.0),
)
with_grandparents = st.builds(
    Sentence,
    seed=st.integers(0, 2**32 - 1),
    words=st.integers(1, 4),
    kept=st.sampled_from([1.0, 0.7]),
    siblings=st.sampled_from([0.3, 1.0]),
    grandparents=st.sampled_from([0.3, 1.0]),
)


@cases(200)
@given(sentences, st.booleans(), st.booleans())
def test_exact_decoders_find_the_best_of_all_projective_trees(sentence, single_root, grandparents):
    trees = sentence.scored(True, single_root)
    arguments = (sentence.arc_scores, sentence.extra_scores, True, single_root, grandparents)
    if not trees:
        with pytest.raises(InputError, match="no tree"):
            sentence.parts.decode(*arguments)
        return
    heads, score, bound, exact, _ = sentence.parts.decode(*arguments)
    assert exact
    assert score == bound == pytest.approx(trees[0][0], abs=1e-9)
    assert sentence.score(tuple(heads[1:].tolist())) == pytest.approx(score, abs=1e-9)


@cases(200)
@given(with_grandparents, st.booleans())
def test_exact_decoder_of_grandparents_finds_the_best_of_all_projective_trees(
    sentence, single_root
):
    trees = sentence.scored(True, single_root)
    arguments = (sentence.arc_scores, sentence.extra_scores, True, single_root)
    if not trees:
        with pytest.raises(InputError, match="no tree"):
            sentence.parts.decode(*arguments)
        return
    heads, score, _, exact, _ = sentence.parts.decode(*arguments)
    assert exact
    assert score == pytest.approx(trees[0][0], abs=1e-9)
    assert sentence.score(tuple(heads[1:].tolist())) == pytest.approx(score, abs=1e-9)


@cases(200)
@given(with_grandparents, st.booleans(), st.booleans())
def test_relaxation_bounds_all_trees_and_its_certificates_are_true(
    sentence, projective, single_root
):
    trees = sentence.scored(projective, single_root)
    arguments = (sentence.arc_scores, sentence.extra_scores, projective, single_root)
    if not trees:
        with pytest.raises(InputError, match="no tree"):
            sentence.parts.decode(*arguments, relax=True)
        return
    heads, score, bound, exact, _ = sentence.parts.decode(*arguments, relax=True)
    found = tuple(heads[1:].tolist())
    assert found in {t for _, t in trees}
    assert sentence.score(found) == pytest.approx(score, abs=1e-6)
    assert bound >= trees[0][0] - 1e-5
    assert score <= trees[0][0] + 1e-6
    if exact:
        assert score == pytest.approx(trees[0][0], abs=2e-5)


def test_most_relaxations_are_certified_where_the_second_order_is_weak():
    exact = 0
    for seed in range(60):
        sentence = Sentence(seed, words=4, kept=1.0, siblings=0.1, grandparents=0.1)
        *_, certified, _ = sentence.parts.decode(
            sentence.arc_scores, sentence.extra_scores, seed % 2 == 0, True, relax=True
        )
        exact += certified
    assert exact >= 40


@cases(100)
@given(with_grandparents, st.booleans(), st.booleans())
def test_beliefs_are_near_the_true_ones_where_the_second_order_is_weak(
    sentence, projective, single_root
):
    trees = sentence.scored(projective, single_root)
    if not trees:
        return
    weak = sentence.extra_scores * 0.05
    log_partition, arcs, extras, converged, iterations = sentence.parts.marginals(
        sentence.arc_scores, weak, projective, single_root
    )
    assert converged
    assert iterations > 0
    scores, expected_arcs = [], np.zeros(len(arcs))
    used = [sentence.parts_of(heads) for _, heads in trees]
    for a, e in used:
        scores.append(sentence.arc_scores[a].sum() + weak[e].sum())
    total = logsumexp(scores)
    for score, (a, _) in zip(scores, used, strict=True):
        np.add.at(expected_arcs, a, np.exp(score - total))
    np.testing.assert_allclose(arcs, expected_arcs, atol=0.1)
    assert log_partition == pytest.approx(total, abs=0.1)
    # An arc is on when its head's chain comes to its modifier, and when it continues from there.
    for (h, m), p in zip(sentence.arcs.tolist(), arcs, strict=True):
        steps = (sentence.rows[:, 0] == int(m > h)) & (sentence.rows[:, 1] == h)
        for place in (2, 3):
            chain = extras[steps & (sentence.rows[:, place] == m)].sum()
            assert chain == pytest.approx(p, abs=1e-4)


@cases(60)
@given(with_grandparents, st.booleans(), st.booleans())
def test_beliefs_without_second_order_scores_are_first_order_marginals(
    sentence, projective, single_root
):
    scores = np.full(sentence.kept.shape, -np.inf, dtype=np.float32)
    scores[sentence.arcs[:, 0], sentence.arcs[:, 1]] = sentence.arc_scores
    if not naive_trees.scored_trees(scores, projective, single_root):
        return
    log_partition, marginals = naive_trees.marginals(scores, projective, single_root)
    found, arcs, _, converged, _ = sentence.parts.marginals(
        sentence.arc_scores, np.zeros_like(sentence.extra_scores), projective, single_root
    )
    assert converged
    np.testing.assert_allclose(arcs, marginals[sentence.arcs[:, 0], sentence.arcs[:, 1]], atol=1e-3)
    assert found == pytest.approx(log_partition, abs=1e-2)


def test_pruning_keeps_probable_heads_the_tree_and_the_truth():
    p = np.zeros((5, 5), dtype=np.float32)
    p[:, 1] = [0.6, 0, 0.3, 0.09, 0.01]
    p[:, 2] = [0.1, 0.9, 0, 0, 0]
    p[:, 3] = [0.25, 0.25, 0.25, 0, 0.25]
    p[:, 4] = [0.2, 0.2, 0.2, 0.4, 0]
    tree = np.array([-1, 0, 1, 2, 3], dtype=np.int32)
    truth = np.array([-1, 4, 1, 2, 0], dtype=np.int32)
    kept, recall = _core.tree_prune(p, 2, 0.2, tree, truth)
    assert np.flatnonzero(kept[:, 1]).tolist() == [0, 2, 4]  # the truth is 4
    assert np.flatnonzero(kept[:, 2]).tolist() == [1]
    assert np.flatnonzero(kept[:, 3]).tolist() == [0, 1, 2]  # 2 is in the tree
    assert np.flatnonzero(kept[:, 4]).tolist() == [0, 3]
    assert recall == 3  # not that of word 1, which was kept only as the truth
    kept, recall = _core.tree_prune(p, 2, 0.2, tree)
    assert np.flatnonzero(kept[:, 1]).tolist() == [0, 2]
    assert recall == 0


def distant_cause(sentences: int, seed: int) -> Tree:
    """A language that first order cannot parse: what the last word hangs from depends on a word
    that is neither of the two, nor beside one of them."""
    rng = np.random.default_rng(seed)
    words, heads = [], []
    for _ in range(sentences):
        cause = int(rng.integers(2))
        words.append([(word,) for word in ("r", "f", "st"[cause], "g", "a", "q")])
        heads += [0, 3, 1, 3, 3, (1, 5)[cause]]
    table = _core.TokenTable.from_sentences(words)
    return Tree(
        table,
        TreeColumns(form=0),
        1,
        heads=np.array(heads, dtype=np.int32),
        labels=np.zeros(len(heads), dtype=np.int32),
        between=[],
        line_bits=10,
        label_bits=8,
    )


def trained(structure) -> _core.Weights:
    return fit(Problem(structure, "squared_hinge", 1.0), DCD(), Stopping(passes=20)).w


@pytest.mark.parametrize("parts", [{"siblings": False}, {"grandparents": False}, {}])
def test_second_order_learns_what_first_order_cannot(parts):
    tree = distant_cause(20, seed=0)
    first_heads, _ = tree.split(tree.decode_all(trained(tree)))
    assert (first_heads != tree.heads).any()
    arcs = prune_arcs(tree, trained(tree), threshold=0.0)
    second = SecondOrderTree(tree, arcs, bits=10, **parts)
    heads, _ = second.split(second.decode_all(trained(second)))
    np.testing.assert_array_equal(heads, tree.heads)
    effort = second.take_effort()
    assert effort.exact == effort.decoded > 0


def test_beliefs_of_a_learned_model_favour_the_true_arcs():
    tree = distant_cause(20, seed=0)
    arcs = prune_arcs(tree, trained(tree), threshold=0.0)
    second = SecondOrderTree(tree, arcs, bits=10)
    w = trained(second)
    w = second.new_weights(4 * np.array(w.array))
    for i in range(4):
        found = second.marginals(w, i)
        assert found.converged
        np.testing.assert_allclose(found.arcs[:, 1:].sum(axis=0), 1, atol=1e-3)
        truth = tree.heads[tree.sentences[i] : tree.sentences[i + 1]]
        np.testing.assert_array_equal(found.arcs[:, 1:].argmax(axis=0), truth)


def test_wrong_settings_and_foreign_arcs_are_refused():
    tree, other = distant_cause(3, seed=0), distant_cause(4, seed=0)
    w = tree.new_weights()
    for settings_given in ({"most_heads": 0}, {"threshold": 2.0}, {"beta": 0.0}):
        with pytest.raises(InputError, match=next(iter(settings_given))):
            prune_arcs(tree, w, **settings_given)
    arcs = prune_arcs(tree, w)
    with pytest.raises(InputError, match="bits is 3"):
        SecondOrderTree(tree, arcs, bits=3)
    with pytest.raises(InputError, match="max_iterations is 0"):
        SecondOrderTree(tree, arcs, max_iterations=0)
    with pytest.raises(ValueError, match="other sentences"):
        SecondOrderTree(other, arcs)
