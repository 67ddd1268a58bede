"""Slips of annotators: each kind is found where it was made, and named."""

from __future__ import annotations

import numpy as np
import pytest

from dualstruct import SequenceTagger
from dualstruct.features import FeatureRows
from dualstruct.labels.schemes import Span
from dualstruct.mistakes.kinds import kinds_of
from dualstruct.suspecting.channel import (
    CREDITED,
    Evidence,
    as_probabilities,
    joined,
    random_log_odds,
    sentence_log_odds,
    slip_odds,
    slip_rates,
)
from dualstruct.tasks.tagging.suspecting import SpanSlips, Tokens, label_slips

NAMES = ["O", "B-A", "I-A", "B-B", "I-B"]


def annotated(seed: int = 0, sentences: int = 300) -> tuple[list, list]:
    """Words that tell most of their labels: spans of two types among words outside."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(sentences):
        words, labels = [], []
        for _ in range(rng.integers(3, 6)):
            words += [f"o{rng.integers(0, 12)}" for _ in range(rng.integers(1, 3))]
            labels += ["O"] * (len(words) - len(labels))
            if rng.random() < 0.4:
                type_ = "AB"[rng.integers(0, 2)]
                length = rng.integers(1, 3)
                words += [f"{type_}{t}{rng.integers(0, 6)}" for t in range(length)]
                labels += [f"{'I' if t else 'B'}-{type_}" for t in range(length)]
        X.append(words)
        y.append(labels)
    return X, y


def slipped(labels: list[str], kind: str) -> list[str] | None:
    """The first span, or place for one, made wrong."""
    changed = list(labels)
    firsts = [t for t, label in enumerate(labels) if label.startswith("B-")]
    if kind == "invented":
        places = [t for t, label in enumerate(labels) if label == "O"]
        changed[places[0]] = "B-A"
        return changed
    if not firsts:
        return None
    start = firsts[0]
    end = start + 1
    while end < len(labels) and labels[end].startswith("I-"):
        end += 1
    type_ = labels[start][2:]
    if kind == "missed":
        changed[start:end] = ["O"] * (end - start)
    elif kind == "type":
        other = {"A": "B", "B": "A"}[type_]
        changed[start:end] = [f"{label[:2]}{other}" for label in labels[start:end]]
    elif end - start < 2:
        return None
    else:  # boundary
        changed[end - 1] = "O"
    return changed


@pytest.mark.parametrize("kind", ["missed", "invented", "type", "boundary"])
def test_each_kind_of_slip_comes_first_and_is_named(kind):
    X, y = annotated()
    wrong = []
    for i in range(0, len(y), 25):
        k = next(k for k in range(i, len(y)) if slipped(y[k], kind) is not None)
        y[k] = slipped(y[k], kind)
        wrong.append(k + 1)
    tagger = SequenceTagger(features="word[0]\nprefix(word[0],2)\n", passes=2).fit(X, y)
    found = tagger.suspects(X, y, top=len(wrong))
    assert len({each.sentence for each in found} & set(wrong)) >= 0.8 * len(wrong)
    mine = [each for each in found if each.sentence in wrong]
    assert all(any(doubt.kind == kind for doubt in each.doubts) for each in mine)
    for doubt in (doubt for each in mine for doubt in each.doubts):
        assert 0 <= doubt.given_probability < 0.5 < doubt.predicted_probability <= 1


@pytest.mark.parametrize(
    ("given", "said", "kinds"),
    [
        ("O O O", "O B-A O", " missed "),
        ("O B-A O", "O O O", " invented "),
        ("B-A I-A O", "B-B I-B O", "type type "),
        ("B-A I-A O", "B-A O O", " boundary "),
        ("B-A O O", "B-A I-A O", " boundary "),
        ("B-A B-A", "B-A I-A", " boundary"),
        ("N V", "N N", " label"),
    ],
)
def test_kinds_of_disagreement(given, said, kinds):
    assert kinds_of(given.split(), said.split()) == kinds.split(" ")


def naive_slip(shares, p, given):
    """a of one token, term by term: the truth is another label, and this one was drawn."""
    total = 0.0
    for truth in range(len(shares)):
        if truth != given:
            rivals = [shares[k] for k in range(len(shares)) if k != truth]
            total += p[truth] * shares[given] / sum(rivals)
    return total


def doubted_tokens(labels: int, count: int, seed: int = 0) -> Tokens:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(labels), count)
    truth = rng.integers(0, labels, count).astype(np.int32)
    return Tokens(np.arange(count), truth, p, p.sum(axis=0))


def test_label_slips_equal_the_sum_over_truths():
    shares = np.random.default_rng(1).dirichlet(np.ones(5))
    tokens = doubted_tokens(5, 40)
    found = label_slips(tokens, shares)
    for n in range(40):
        expected = naive_slip(shares, tokens.probabilities[n], tokens.truth[n])
        assert found.slips[n] == pytest.approx([expected], abs=1e-12)
        assert found.given[n] == tokens.probabilities[n, tokens.truth[n]]
    assert found.chances == pytest.approx([40.0])


def test_tokens_outside_may_be_missed_far_from_spans_or_beside_them():
    tokens = doubted_tokens(len(NAMES), 30)
    slips = SpanSlips(NAMES, [[Span("A", 0, 2)], [Span("B", 1, 2)]])
    beside = np.random.default_rng(2).random(30) < 0.5
    found = slips.evidence(np.array([[7, 0.2, 0.1, 0.3, 0.05]]), 9, tokens, beside)
    assert found.sentence[0] == 7
    assert found.given[0] == 0.2
    assert found.slips[0].tolist() == [0.1, 0.3, 0.05, 0, 0]
    outside = np.flatnonzero(tokens.truth == 0)
    assert len(found.given) == 1 + len(outside)
    for row, t in enumerate(outside, start=1):
        p = tokens.probabilities[t, 0]
        expected = [0, 0, 0, 0, 1 - p] if beside[t] else [0, 0, 0, 1 - p, 0]
        assert (found.sentence[row], found.given[row]) == (t, p)
        assert found.slips[row].tolist() == expected
    places = tokens.probabilities[:, 0].sum()
    assert found.chances == pytest.approx([9, 9, places, 9, 9])


def test_neighbours_of_spans_stay_within_their_sentence():
    truth = np.array([0, 1, 0, 0, 0, 3], dtype=np.int32)
    slips = SpanSlips(NAMES, [[Span("A", 1, 2)]])
    found = slips.beside(truth, np.array([0, 2, 4, 6]))
    assert found.tolist() == [True, False, False, False, True, False]


def test_slip_rates_are_recovered_from_what_they_made():
    """Truths are drawn, some are changed at known rates, and the model knows the rest."""
    rng = np.random.default_rng(3)
    count = 20_000
    p = rng.beta(8, 0.4, count)  # of one of two labels; the other one has 1 − p
    p = np.where(rng.random(count) < 0.5, p, 1 - p)
    truth = rng.random(count) < p
    rates = {True: 0.02, False: 0.1}
    change = rng.random(count) < np.where(truth, rates[True], rates[False])
    given = truth ^ change
    slips = np.stack([np.where(given, 0, p), np.where(given, 1 - p, 0)], axis=1)
    chances = np.array([p.sum(), (1 - p).sum()])
    evidence = Evidence(np.arange(count), np.where(given, p, 1 - p), slips, chances)
    np.testing.assert_allclose(slip_rates(evidence), [0.02, 0.1], rtol=0.25)
    odds = slip_odds(evidence)
    # The odds are calibrated: of those that are slips with probability q, a share q is.
    probability = odds / (1 + odds)
    sure = probability > 0.8
    assert sure.sum() > 200
    assert abs(change[sure].mean() - probability[sure].mean()) < 0.05


def test_a_sentence_counts_by_its_worst_part():
    one = Evidence(
        np.array([0, 0, 1]), np.array([0.5, 0.01, 0.4]), np.full((3, 1), 0.3), np.ones(1)
    )
    found = sentence_log_odds(one, 3)
    odds = slip_odds(one, CREDITED)
    assert found[1] == pytest.approx(np.log(odds[2]))
    assert found[0] >= np.log(odds[1]) - 1e-12
    assert found[2] == -np.inf
    halves = [
        Evidence(one.sentence[s], one.given[s], one.slips[s], one.chances / 2)
        for s in (slice(0, 2), slice(2, 3))
    ]
    np.testing.assert_allclose(sentence_log_odds(joined(halves), 3), found)


def test_a_kind_that_a_corpus_is_full_of_does_not_fill_the_list():
    """Many disagreements of one kind, as sure as the few of another: these are not behind."""
    slips = np.zeros((50, 2))
    slips[:45, 0] = slips[45:, 1] = 0.5
    evidence = Evidence(np.arange(50), np.full(50, 1e-4), slips, np.array([90.0, 300.0]))
    rates = slip_rates(evidence)
    assert rates[0] > 10 * rates[1] > 10 * CREDITED
    found = sentence_log_odds(evidence, 50)
    assert found == pytest.approx(np.full(50, found[0]))


def test_sentences_at_random_are_told_from_the_others():
    ratios = np.concatenate([np.full(95, -20.0), np.full(5, 30.0)])
    found = as_probabilities(random_log_odds(ratios))
    assert (found[:95] < 1e-6).all()
    assert (found[95:] > 0.99).all()


def test_rows_of_some_sentences_are_those_of_the_whole():
    rng = np.random.default_rng(1)
    lengths = np.array([2, 0, 3, 1])
    per_row = rng.integers(0, 4, lengths.sum())
    offsets = np.concatenate([[0], np.cumsum(per_row)])
    ids = rng.integers(0, 9, offsets[-1]).astype(np.int32)
    values = rng.random(offsets[-1]).astype(np.float32)
    sentences = np.concatenate([[0], np.cumsum(lengths)])
    pairs = FeatureRows(offsets, ids[::-1].copy(), None, sentences, 9)
    rows = FeatureRows(offsets, ids, values, sentences, 9, pairs)
    part = rows.select([3, 1, 0])
    chosen = [5, 0, 1]
    assert part.sentences.tolist() == [0, 1, 1, 3]
    assert (part.matrix() != rows.matrix()[chosen]).nnz == 0
    assert part.pairs is not None
    assert (part.pairs.matrix() != pairs.matrix()[chosen]).nnz == 0
