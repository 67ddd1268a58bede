"""Features of pairs of labels (B lines): what they can learn, and that models keep them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.special import logsumexp

from dualstruct import SequenceTagger
from dualstruct.crfsuite.conversion import crfsuite_from_tagger
from dualstruct.errors import InputError
from dualstruct.solvers import DCD
from naive import NaiveChain

TEMPLATES = "U:%x[0,0]\nB:%x[0,0]\nB"


def switches(seed: int, sentences: int = 60) -> tuple[list[list[str]], list[list[str]]]:
    """``on`` and ``off`` say what the label is; ``keep`` repeats the last one, ``flip`` changes it:
    nothing but a word together with the label before it tells the label."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(sentences):
        words = [str(rng.choice(["on", "off"]))]
        labels = [words[0]]
        for word in rng.choice(["keep", "flip"], int(rng.integers(0, 8))):
            words.append(str(word))
            other = {"on": "off", "off": "on"}[labels[-1]]
            labels.append(labels[-1] if word == "keep" else other)
        X.append(words)
        y.append(labels)
    return X, y


@pytest.fixture(scope="module")
def tagger() -> SequenceTagger:
    return SequenceTagger(TEMPLATES, C=10.0, passes=30).fit(*switches(0))


def test_words_weigh_steps_between_labels(tagger):
    X, y = switches(1)
    assert tagger.predict(X) == y
    plain = SequenceTagger("U:%x[0,0]\nB", C=10.0, passes=30).fit(*switches(0))
    assert plain.score(X, y) < 0.9
    assert tagger.weights_.pair_weight("B:keep", "on", "on") > 0
    assert tagger.weights_.pair_weight("B:flip", "on", "on") < 0
    assert tagger.weights_.pair_weight("B:never", "on", "on") == 0
    assert {row.feature for row in tagger.weights_.strongest_pairs(4)} == {"B:keep", "B:flip"}
    assert len(tagger.weights_.strongest_pairs(3)) == 3
    assert plain.weights_.strongest_pairs() == []


@pytest.mark.parametrize(
    ("loss", "solver"),
    [("squared_hinge", "dcd"), ("hinge", "sdm"), ("crf", "auto"), ("crf", "eg"), ("ramp", "auto"),
     ("perceptron", "auto"), ("softmax_margin", "dca")],
)  # fmt: skip
def test_every_kind_of_loss_learns_them(loss, solver):
    X, y = switches(1)
    more = {"beta": 1.0, "gamma": 1.0} if loss == "softmax_margin" else {}
    tagger = SequenceTagger(TEMPLATES, loss=loss, solver=solver, C=10.0, passes=40, **more)
    assert tagger.fit(*switches(0)).score(X, y) == 1.0


def forward(emission: np.ndarray, steps: np.ndarray, start: np.ndarray, end: np.ndarray, plus):
    """Scores of all labellings added up by ``plus``, in double precision; steps [tokens, K, K]."""
    row = start + emission[0]
    for t in range(1, len(emission)):
        row = plus(row[:, None] + steps[t], axis=0) + emission[t]
    return float(plus(row + end, axis=0))


@pytest.mark.parametrize("labels", [2, 9, 22, 40, 150])
@pytest.mark.parametrize("scale", [0.3, 40.0])  # at 40 products underflow
def test_long_sentences_of_many_labels_are_decoded_and_summed_exactly(labels, scale):
    rng = np.random.default_rng(labels)
    tokens, features = 90, 5
    X = [(rng.random((tokens, features)) < 0.5).astype(float)]
    Z = [(rng.random((tokens, features)) < 0.5).astype(float)]
    truth = [tuple(rng.integers(0, labels, tokens).tolist())]
    naive = NaiveChain(X, labels, truth, 1 - np.eye(labels), Z=Z)
    chain = naive.fast()
    W = (scale * rng.normal(size=(features, labels))).astype(np.float32)
    A = (scale * rng.normal(size=(labels + 1, labels + 1))).astype(np.float32)
    P = (scale * rng.normal(size=(features, labels, labels))).astype(np.float32)
    w = chain.pack(W, A, P)
    emission = X[0] @ W.astype(float)
    steps = A[:-1, :-1].astype(float) + np.einsum("tf,fjk->tjk", Z[0], P.astype(float))
    shape = (emission, steps, A[-1, :-1].astype(float), A[:-1, -1].astype(float))
    best = forward(*shape, np.max)
    assert chain.score(w, 0, chain.decode(w, 0)) == pytest.approx(best, rel=1e-5)
    (first, _), (second, _) = chain.k_best(w, 0, 2)
    assert first == pytest.approx(best, rel=1e-5)
    assert second <= first
    log_sum = forward(*shape, logsumexp)
    target = chain.new_weights()
    loss, _ = chain.core.log_loss(w, 0, 1.0, 0.0, target, 1.0)
    assert loss == pytest.approx(log_sum - chain.score(w, 0, truth[0]), rel=2e-5)
    expected = chain.expectation(w, 0)
    assert expected.log_partition == pytest.approx(log_sum, rel=2e-5)
    # φ(truth) − E φ from the marginals of each step, which logarithms gave.
    difference = np.zeros((features, labels, labels))
    for t in range(1, tokens):
        difference[:, truth[0][t - 1], truth[0][t]] += Z[0][t]
        difference -= Z[0][t][:, None, None] * expected.pairs[t - 1]
    np.testing.assert_allclose(chain.pair_weights(target), difference, atol=2e-3)


def test_threads_are_of_no_consequence(tagger):
    X, _ = switches(2)
    several = pickle.loads(pickle.dumps(tagger)).set_params(threads=3)
    assert several.predict(X) == tagger.predict(X)


def test_a_model_file_keeps_them(tagger, tmp_path):
    X, _ = switches(3)
    tagger.save(tmp_path / "model.dstruct")
    loaded = SequenceTagger.load(tmp_path / "model.dstruct")
    for again in (loaded, pickle.loads(pickle.dumps(tagger))):
        assert again.predict(X) == tagger.predict(X)
        assert again.predict_k_best(X[:5], 3) == tagger.predict_k_best(X[:5], 3)
        marginals = (each.predict_marginals(X, beta=1.0) for each in (again, tagger))
        for a, b in zip(*marginals, strict=True):
            np.testing.assert_array_equal(a, b)
        assert again.weights_.pair_weight("B:keep", "on", "on") > 0


def test_pair_features_without_weights_are_left_out(tmp_path):
    X, y = switches(0)
    X = [[*sentence, "only", "here"] for sentence in X]
    y = [[*labels, "end", "end"] for labels in y]
    tagger = SequenceTagger("U:%x[0,0]\nB:%x[0,0]\nB1:%x[@1,0]", C=1.0).fit(X, y)
    tagger.model_.w.assign(
        tagger.model_.empty_chain().core, np.zeros_like(np.array(tagger.model_.w.array))
    )
    tagger.save(tmp_path / "empty.dstruct")
    loaded = SequenceTagger.load(tmp_path / "empty.dstruct")
    assert loaded.weights_.pairs.shape == (0, 3, 3)
    assert len(loaded.predict(X)) == len(X)


def test_learning_goes_on_with_new_words_and_labels(tagger):
    more = pickle.loads(pickle.dumps(tagger))
    more.partial_fit([["on", "keep", "stop", "keep"]] * 5, [["on", "on", "end", "end"]] * 5)
    assert more.predict([["off", "flip", "stop", "keep"]]) == [["off", "on", "end", "end"]]
    X, y = switches(1)
    assert more.score(X, y) > 0.95


def test_labels_that_nobody_knows_are_filled_in_by_them():
    X, y = switches(0)
    rng = np.random.default_rng(0)
    partly = [[k if rng.random() < 0.7 else "?" for k in labels] for labels in y]
    tagger = SequenceTagger(TEMPLATES, C=10.0, passes=30, unknown_label="?").fit(X, partly)
    assert tagger.score(*switches(1)) > 0.98


@pytest.mark.parametrize("hash_bits", [6, 12])
def test_hashed_pairs_take_no_more_rows_than_hash_bits_gives(hash_bits, tmp_path):
    X, y = switches(1)
    tagger = SequenceTagger(TEMPLATES, C=10.0, passes=30, hash_bits=hash_bits).fit(*switches(0))
    features, labels, _ = tagger.weights_.pairs.shape
    assert features * labels == 2**hash_bits
    assert tagger.score(X, y) == 1.0
    tagger.save(tmp_path / "model.dstruct")
    assert SequenceTagger.load(tmp_path / "model.dstruct").predict(X) == y
    assert tagger.weights_.pair_weight("B:keep", "on", "on") > 0


def test_too_many_weights_are_refused_with_their_size():
    rng = np.random.default_rng(0)
    X = [[f"w{k}" for k in rng.integers(0, 10**6, 200)] for _ in range(100)]
    y = [[f"L{k}" for k in rng.integers(0, 300, 200)] for _ in range(100)]
    with pytest.raises(InputError, match=r"pairs of 300 labels need \d\.\d GB .* hash_bits"):
        SequenceTagger(TEMPLATES).fit(X, y)


def test_crfsuite_has_no_place_for_them(tagger):
    with pytest.raises(InputError, match="CRFsuite's transitions see no features"):
        crfsuite_from_tagger(tagger)


@pytest.mark.parametrize("hash_bits", [None, 8])
def test_explanations_say_what_they_did(hash_bits):
    # As published: which of two close outputs comes second depends on how far training went.
    solver = DCD(rounds=1)
    tagger = SequenceTagger(TEMPLATES, C=10.0, solver=solver, passes=30, hash_bits=hash_bits).fit(
        *switches(0)
    )
    last = tagger.explain(["on", "flip", "keep"])[2]
    assert (last.label, last.runner_up.label) == ("off", "on")
    by_pairs = [each for each in last.contributions if each.kind == "pair"]
    assert {each.name: each.chosen_part for each in by_pairs} == {
        "B:flip": "on → off",
        "B:keep": "off → off",
    }
    assert sum(each.amount for each in last.contributions) == pytest.approx(last.difference)
    assert "B:keep" in str(last)


def test_weights_of_pairs_can_be_changed(tagger):
    changed = pickle.loads(pickle.dumps(tagger))
    for before, after in (("on", "off"), ("off", "on")):
        changed.set_pair_weight("B:keep", before, after, 50.0)
    assert changed.predict([["on", "keep"]]) == [["on", "off"]]
    assert tagger.predict([["on", "keep"]]) == [["on", "on"]]
    with pytest.raises(InputError, match="no pair feature 'B:never'"):
        changed.set_pair_weight("B:never", "on", "on", 1.0)
