"""Chains against enumeration, at every shape the kernels have code for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct import DCD, Problem, _core
from dualstruct.errors import InputError
from dualstruct.features import FeatureRows
from dualstruct.structures import Chain
from naive import NaiveChain, random_chain, viterbi
from random_cases import cases

chains = st.builds(
    lambda seed, **shape: (np.random.default_rng(seed), shape),
    seed=st.integers(0, 2**32 - 1),
    tokens=st.integers(1, 5),
    labels=st.integers(1, 4),
    features=st.integers(1, 5),
    real=st.booleans(),
    weighted=st.booleans(),
    constrained=st.booleans(),
)


def build(case) -> tuple[NaiveChain, Chain, np.ndarray, _core.Weights, np.random.Generator]:
    rng, shape = case
    naive = random_chain(rng, sentences=2, **shape)
    chain = naive.fast()
    w = rng.normal(size=naive.dimension).astype(np.float32).astype(float)
    transition = w[naive.X[0].shape[1] * naive.labels :].reshape(naive.labels + 1, -1)
    transition[naive.labels, naive.labels] = 0  # from start to end: no sentence has it
    return naive, chain, w, chain.pack(*naive.split(w)), rng


@cases(300)
@given(chains, st.sampled_from([0.0, 1.0, -1.0, 0.5]))
def test_decode_finds_the_best_of_all_labellings(case, cost_weight):
    naive, chain, w, weights, _ = build(case)
    for i in range(len(chain)):
        best, _ = naive.scored(w, i, cost_weight)[0]
        y = tuple(chain.decode(weights, i, cost_weight).tolist())
        assert y in naive.outputs(i)
        assert w @ naive.phi(i, y) + cost_weight * naive.loss(i, y) == pytest.approx(best, abs=1e-4)


@cases(300)
@given(chains, st.integers(1, 12), st.sampled_from([0.0, 1.0, -1.0]))
def test_k_best_lists_the_best_labellings_in_order(case, k, cost_weight):
    naive, chain, w, weights, _ = build(case)
    for i in range(len(chain)):
        expected = naive.scored(w, i, cost_weight)[:k]
        found = chain.k_best(weights, i, k, cost_weight)
        assert len(found) == len(expected)
        assert len({tuple(y.tolist()) for _, y in found}) == len(found)
        for (score, y), (best, _) in zip(found, expected, strict=True):
            assert score == pytest.approx(best, abs=1e-4)
            value = w @ naive.phi(i, tuple(y)) + cost_weight * naive.loss(i, tuple(y))
            assert value == pytest.approx(score, abs=1e-4)


@cases(300)
@given(chains, st.sampled_from([0.3, 1.0, 4.0]), st.sampled_from([0.0, 1.0, -0.5]))
def test_expectation_equals_the_sum_over_all_labellings(case, beta, gamma):
    naive, chain, w, weights, _ = build(case)
    for i in range(len(chain)):
        log_partition, cost, labels, pairs = naive.expectation(w, i, beta, gamma)
        found = chain.expectation(weights, i, beta, gamma)
        assert found.log_partition == pytest.approx(log_partition, abs=1e-4)
        assert found.cost == pytest.approx(cost, abs=1e-4)
        np.testing.assert_allclose(found.labels, labels, atol=2e-5)
        np.testing.assert_allclose(found.pairs, pairs, atol=2e-5)


@cases(300)
@given(chains)
def test_cut_arithmetic_equals_dense_vectors(case):
    naive, chain, w, weights, rng = build(case)
    core = chain.core
    for i in range(len(chain)):
        outputs = naive.outputs(i)
        a, b = (outputs[rng.integers(len(outputs))] for _ in range(2))
        cost, words = core.difference(i, np.array(a, dtype=np.int32))
        _, other = core.difference(i, np.array(b, dtype=np.int32))
        assert cost == pytest.approx(naive.loss(i, a), rel=1e-6)
        assert (len(words) == 0) == (a == naive.truth[i])
        assert core.dot(weights, i, words) == pytest.approx(w @ naive.delta(i, a), abs=1e-4)
        inner = naive.delta(i, a) @ naive.delta(i, b)
        assert core.inner(i, words, other) == pytest.approx(inner, abs=1e-4)
        assert chain.score(weights, i, a) == pytest.approx(w @ naive.phi(i, a), abs=1e-4)
        assert chain.cost(i, a) == pytest.approx(naive.loss(i, a), rel=1e-6)
        core.axpy(weights, i, words, 0.5)
        w = w + 0.5 * naive.delta(i, a)
        chain.add_features(weights, i, b, -0.25)
        w = w - 0.25 * naive.phi(i, b)
        emission, transition = naive.split(w)
        np.testing.assert_allclose(chain.emission_weights(weights), emission, atol=1e-5)
        np.testing.assert_allclose(chain.transition_weights(weights), transition, atol=1e-5)
        # The copies that decoding reads have to follow.
        best = naive.scored(w, i, 0.0)[0][0]
        y = tuple(chain.decode(weights, i).tolist())
        assert w @ naive.phi(i, y) == pytest.approx(best, abs=1e-4)


@cases(250)
@given(chains, st.sampled_from([0.3, 1.0, 4.0]), st.sampled_from([0.0, 1.0]))
def test_expected_features_equal_the_sum_over_all_labellings(case, beta, gamma):
    naive, chain, w, weights, rng = build(case)
    for i in range(len(chain)):
        outputs = naive.outputs(i)
        scores = np.array([gamma * naive.loss(i, y) - w @ naive.delta(i, y) for y in outputs])
        p = np.exp(beta * (scores - scores.max()))
        p /= p.sum()
        expected = sum(q * naive.delta(i, y) for q, y in zip(p, outputs, strict=True))
        target = chain.new_weights()
        loss, norm2 = chain.core.log_loss(weights, i, beta, gamma, target, 2.0)
        soft = np.log(np.exp(beta * (scores - scores.max())).sum()) / beta + scores.max()
        assert loss == pytest.approx(soft, abs=2e-4)
        assert norm2 == pytest.approx(expected @ expected, abs=1e-3)
        emission, transition = naive.split(2 * expected)
        np.testing.assert_allclose(chain.emission_weights(target), emission, atol=2e-4)
        np.testing.assert_allclose(chain.transition_weights(target), transition, atol=2e-4)
        a, b = (outputs[rng.integers(len(outputs))] for _ in range(2))
        words = [chain.core.difference(i, np.array(y, dtype=np.int32))[1] for y in (a, b)]
        apart = naive.delta(i, a) - naive.delta(i, b)
        assert chain.core.distance2(i, *words) == pytest.approx(apart @ apart, abs=1e-4)


def long_chain(
    rng, tokens: int, labels: int, features: int = 6
) -> tuple[Chain, np.ndarray, np.ndarray]:
    ids = rng.integers(0, features, (tokens, 3)).astype(np.int32)
    rows = FeatureRows(
        offsets=np.arange(tokens + 1) * 3,
        ids=ids.ravel(),
        values=None,
        sentences=np.array([0, tokens]),
        dimension=features,
    )
    chain = Chain(rows, labels, rng.integers(0, labels, tokens).astype(np.int32))
    emission = rng.normal(size=(features, labels)).astype(np.float32)
    transition = rng.normal(size=(labels + 1, labels + 1)).astype(np.float32)
    transition[-1, -1] = 0
    return chain, emission, transition


@pytest.mark.parametrize("labels", [*range(1, 70), 127, 128, 129, 200, 443, 2000])
def test_every_number_of_labels_decodes_like_plain_viterbi(labels):
    rng = np.random.default_rng(labels)
    chain, emission, transition = long_chain(rng, tokens=7 if labels > 100 else 150, labels=labels)
    w = chain.pack(emission, transition)
    scores = emission.astype(float)[chain.rows.ids.reshape(-1, 3)].sum(axis=1)
    best, path = viterbi(scores, transition.astype(float))
    assert chain.decode(w, 0).tolist() == path.tolist()
    assert chain.score(w, 0, path) == pytest.approx(best, rel=1e-6)
    marginals = chain.expectation(w, 0).labels
    np.testing.assert_allclose(marginals.sum(axis=1), 1, atol=1e-5)
    [(first, y), (second, _)] = chain.k_best(w, 0, 2) if labels > 1 else [(best, path)] * 2
    assert y.tolist() == path.tolist()
    assert first >= second


def test_a_hundred_thousand_tokens_keep_their_precision():
    rng = np.random.default_rng(0)
    tokens, labels = 100_000, 5
    chain, emission, transition = long_chain(rng, tokens, labels)
    emission *= 0.05  # close calls: rounding errors that grow with the length would show
    emission += 30.0
    w = chain.pack(emission, transition)
    scores = emission.astype(float)[chain.rows.ids.reshape(-1, 3)].sum(axis=1)
    best, path = viterbi(scores, transition.astype(float))
    y = chain.decode(w, 0)
    assert chain.score(w, 0, y) == pytest.approx(best, rel=1e-9)
    assert (y == path).mean() > 0.999
    found = chain.expectation(w, 0)
    np.testing.assert_allclose(found.labels.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(found.pairs.sum(axis=2), found.labels[:-1], atol=1e-3)
    assert found.log_partition >= best


def test_an_empty_sentence_has_one_empty_labelling():
    naive = NaiveChain([np.zeros((0, 2)), np.ones((1, 2))], 2, [(), (1,)], 1 - np.eye(2))
    chain = naive.fast()
    w = chain.new_weights()
    assert chain.decode(w, 0).tolist() == []
    assert [(s, y.tolist()) for s, y in chain.k_best(w, 0, 3)] == [(0.0, [])]
    assert chain.expectation(w, 0).log_partition == 0
    assert chain.decode_all(w).tolist() == [0]


def test_decoding_all_sentences_is_the_same_with_threads():
    naive = random_chain(np.random.default_rng(3), sentences=40, labels=4)
    chain = naive.fast()
    w = chain.pack(*naive.split(np.random.default_rng(4).normal(size=naive.dimension)))
    one = chain.decode_all(w)
    assert one.tolist() == [k for i in range(40) for k in chain.decode(w, i)]
    assert chain.decode_all(w, threads=3).tolist() == one.tolist()
    flat = np.concatenate([chain.expectation(w, i).labels for i in range(40)])
    np.testing.assert_array_equal(chain.marginals_all(w, threads=3), flat)


def one_sentence(**constraints) -> Chain:
    rows = FeatureRows(
        offsets=np.arange(4),
        ids=np.zeros(3, dtype=np.int32),
        values=None,
        sentences=np.array([0, 3]),
        dimension=1,
    )
    return Chain(rows, 2, constraints.pop("truth", None), **constraints)


def test_contradictory_constraints_name_sentence_and_token():
    forbid_all = np.ones((3, 3), dtype=bool)
    forbid_all[0, 1] = False
    chain = one_sentence(transitions=forbid_all, allowed=[[None, [0], [1]]])
    with pytest.raises(InputError, match="sentence 1, token 3: no labelling satisfies"):
        chain.decode(chain.new_weights(), 0)
    with pytest.raises(InputError, match="sentence 1, token 3"):
        chain.k_best(chain.new_weights(), 0, 2)
    with pytest.raises(InputError, match="sentence 1, token 3"):
        chain.expectation(chain.new_weights(), 0)
    with pytest.raises(InputError, match="sentence 1, token 3"):
        chain.decode_all(chain.new_weights(), threads=2)


def test_a_forbidden_truth_is_refused_before_training():
    transitions = np.ones((3, 3), dtype=bool)
    transitions[0, 1] = False
    with pytest.raises(InputError, match="sentence 1, token 2: the true label is not allowed"):
        one_sentence(truth=np.array([0, 1, 1]), transitions=transitions)
    with pytest.raises(InputError, match="sentence 1, token 3: the true label is not among"):
        one_sentence(truth=np.array([0, 1, 1]), allowed=[[None, None, [0]]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": np.array([1, np.nan, 1])}, "sentence 1, token 2: a feature has the value nan"),
        ({"values": np.array([1.0, 1.0])}, "3 features, but 2 values"),
        (
            {"values": np.array([1, 3e38, 1])},
            "sentence 1, token 2: a feature has the value 3e\\+38",
        ),
        ({"values": np.array([1, 1, np.inf])}, "sentence 1, token 3: a feature has the value inf"),
        ({"ids": np.array([0, 0, 5], dtype=np.int32)}, "a feature id is not in 0 … 0"),
        ({"offsets": np.array([0, 2, 1, 3])}, "do not rise"),
        ({"sentences": np.array([0, 2])}, "the sentences have 2 tokens, not 3"),
    ],
)
def test_broken_rows_are_refused(change, message):
    good = {
        "offsets": np.arange(4),
        "ids": np.zeros(3, dtype=np.int32),
        "values": None,
        "sentences": np.array([0, 3]),
        "dimension": 1,
    }
    with pytest.raises(InputError, match=message):
        Chain(FeatureRows(**{**good, **change}), 2)


def test_weights_of_another_layout_are_refused():
    chain = one_sentence(truth=np.array([0, 1, 1]))
    open_transitions = np.ones((3, 3), dtype=bool)
    forbidding = open_transitions.copy()
    forbidding[0, 0] = False
    same = one_sentence(transitions=open_transitions)
    other = one_sentence(transitions=forbidding)
    larger = random_chain(np.random.default_rng(0), features=9).fast()
    assert chain.decode(same.new_weights(), 0).tolist() == [0, 0, 0]
    for weights in (other.new_weights(), larger.new_weights()):
        for use in (
            lambda w: chain.decode(w, 0),
            lambda w: chain.decode_all(w),
            lambda w: chain.add_features(w, 0, [0, 1, 1], 1.0),
            lambda w: Problem(chain).primal(w),
            lambda w: DCD().start(Problem(chain, center=w), 0),
        ):
            with pytest.raises(ValueError, match="belong to another structure"):
                use(weights)


def test_learning_needs_true_labels():
    with pytest.raises(InputError, match="no true outputs"):
        Problem(one_sentence())


@pytest.mark.parametrize("cost", [[1.0], [[0, -1], [1, 0]], [[1, 1], [1, 0]], [np.nan, 1]])
def test_impossible_costs_are_refused(cost):
    with pytest.raises(InputError, match="cost"):
        one_sentence(truth=np.array([0, 1, 1]), cost=cost)


#: Tests run at this one anyway.
OTHERS = [level for level in _core.simd_levels() if level != _core.simd_level()]


@pytest.mark.parametrize("level", OTHERS)
def test_these_tests_pass_at_every_instruction_set(level):
    files = [__file__, str(Path(__file__).parents[1] / "solvers" / "test_dcd.py")]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-p",
            "no:cacheprovider",
            "-k",
            "not instruction",
            *files,
        ],
        env={**os.environ, "DUALSTRUCT_SIMD": level, "DUALSTRUCT_SHARE_OF_CASES": "0.2"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_an_unknown_instruction_set_is_refused_by_name():
    done = subprocess.run(
        [sys.executable, "-c", "from dualstruct import _core; print(_core.simd_level())"],
        env={**os.environ, "DUALSTRUCT_SIMD": "mmx"},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "DUALSTRUCT_SIMD is 'mmx', but this machine runs baseline" in done.stderr
