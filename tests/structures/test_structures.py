"""What every structure promises, against enumeration of all its outputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from dualstruct import Problem, Stopping, _core, fit
from dualstruct.errors import UnsupportedError
from dualstruct.solvers import DCA, LBFGS, SGD, ExponentiatedGradient, find_solver
from dualstruct.structures import Subset
from random_cases import cases
from structure_cases import CASES, Case

seeds = st.integers(0, 2**32 - 1)
kinds = pytest.mark.parametrize("kind", CASES)


def build(kind: str, seed: int) -> tuple[Case, np.ndarray, _core.Weights, np.random.Generator]:
    rng = np.random.default_rng(seed)
    case = CASES[kind](rng)
    dimension = case.structure.core.dimension
    used = np.zeros(dimension, dtype=bool)  # padding and weights no output has stay 0
    for i in range(len(case.structure)):
        for y in case.outputs(i):
            used |= case.features(i, y) != 0
    w = np.where(used, rng.normal(size=dimension), 0).astype(np.float32)
    return case, w.astype(float), case.structure.new_weights(w), rng


def scored(case: Case, w: np.ndarray, i: int, cost_weight: float) -> list[float]:
    """w·φ + cost_weight·Δ of every output, best first."""
    return sorted(
        (float(w @ case.features(i, y)) + cost_weight * case.cost(i, y) for y in case.outputs(i)),
        reverse=True,
    )


def is_output(case: Case, i: int, y: np.ndarray) -> bool:
    return any(np.array_equal(y, other) for other in case.outputs(i))


@kinds
@cases(40)
@given(seed=seeds, cost_weight=st.sampled_from([0.0, 1.0, -1.0, 0.5]))
def test_decode_finds_the_best_output(kind, seed, cost_weight):
    case, w, weights, _ = build(kind, seed)
    found = case.structure.decode_all(weights, cost_weight)
    begin = 0
    for i in range(len(case.structure)):
        y = case.structure.decode(weights, i, cost_weight)
        assert is_output(case, i, y)
        value = w @ case.features(i, y) + cost_weight * case.cost(i, y)
        assert value == pytest.approx(scored(case, w, i, cost_weight)[0], abs=1e-4)
        np.testing.assert_array_equal(found[begin : begin + len(y)], y)
        begin += len(y)
    assert begin == len(found)


@kinds
@cases(40)
@given(seed=seeds, k=st.integers(1, 9), cost_weight=st.sampled_from([0.0, 1.0, -1.0]))
def test_k_best_lists_the_best_outputs_in_order(kind, seed, k, cost_weight):
    case, w, weights, _ = build(kind, seed)
    for i in range(len(case.structure)):
        if not case.has_k_best and k > 1:
            with pytest.raises(NotImplementedError):
                case.structure.k_best(weights, i, k, cost_weight)
            continue
        expected = scored(case, w, i, cost_weight)[:k]
        found = case.structure.k_best(weights, i, k, cost_weight)
        np.testing.assert_allclose([score for score, _ in found], expected, atol=1e-4)
        assert len({tuple(y.tolist()) for _, y in found}) == len(found)
        for score, y in found:
            assert is_output(case, i, y)
            value = w @ case.features(i, y) + cost_weight * case.cost(i, y)
            assert value == pytest.approx(score, abs=1e-4)


@kinds
@cases(40)
@given(seed=seeds)
def test_cut_arithmetic_equals_dense_vectors(kind, seed):
    case, w, weights, rng = build(kind, seed)
    core = case.structure.core
    for i in range(len(case.structure)):
        outputs = case.outputs(i)
        a, b, c = (outputs[rng.integers(len(outputs))] for _ in range(3))
        deltas = [case.delta(i, y) for y in (a, b, c)]
        cost, words = core.difference(i, a)
        others = [core.difference(i, y)[1] for y in (b, c)]
        assert cost == pytest.approx(case.cost(i, a), rel=1e-5)
        assert (len(words) == 0) == np.array_equal(a, case.truth(i))
        assert core.is_valid(i, words)
        assert core.dot(weights, i, words) == pytest.approx(w @ deltas[0], abs=1e-4)
        inner = core.inner(i, words, others[0])
        assert inner == pytest.approx(deltas[0] @ deltas[1], abs=1e-4)
        distance2 = core.distance2(i, words, others[0])
        assert distance2 == pytest.approx(((deltas[0] - deltas[1]) ** 2).sum(), abs=1e-4)
        coefficients = rng.normal(size=3)
        norm2 = core.combination_norm2(i, [words, *others], coefficients.tolist())
        expected = ((coefficients @ np.array(deltas)) ** 2).sum()
        assert norm2 == pytest.approx(expected, rel=1e-4, abs=1e-4)
        score = case.structure.score(weights, i, a)
        assert score == pytest.approx(w @ case.features(i, a), abs=1e-4)
        assert case.structure.cost(i, a) == pytest.approx(case.cost(i, a), rel=1e-5)
        core.axpy(weights, i, words, 0.5)
        w = w + 0.5 * deltas[0]
        case.structure.add_features(weights, i, b, -0.25)
        w = w - 0.25 * case.features(i, b)
        np.testing.assert_allclose(weights.array, w, atol=1e-4)
        # What decoding derives from the weights has to follow.
        y = case.structure.decode(weights, i)
        assert w @ case.features(i, y) == pytest.approx(scored(case, w, i, 0.0)[0], abs=1e-3)


@kinds
@cases(40)
@given(seed=seeds, beta=st.sampled_from([0.3, 1.0, 4.0]), gamma=st.sampled_from([0.0, 1.0]))
def test_expectations_equal_the_sum_over_all_outputs(kind, seed, beta, gamma):
    case, w, weights, _ = build(kind, seed)
    assert case.structure.has_expectations == case.has_expectations
    if not case.has_expectations:
        with pytest.raises(NotImplementedError):
            case.structure.core.log_loss(weights, 0, beta, gamma)
        return
    if not case.exact_expectations:
        return
    for i in range(len(case.structure)):
        deltas = np.array([case.delta(i, y) for y in case.outputs(i)])
        costs = np.array([case.cost(i, y) for y in case.outputs(i)])
        scores = beta * (gamma * costs - deltas @ w)
        expected = np.exp(scores - logsumexp(scores)) @ deltas
        target = case.structure.new_weights()
        loss, norm2 = case.structure.core.log_loss(weights, i, beta, gamma, target, 1.0)
        assert loss == pytest.approx(logsumexp(scores) / beta, rel=1e-4, abs=2e-4)
        np.testing.assert_allclose(target.array, expected, atol=2e-4)
        assert norm2 == pytest.approx((expected**2).sum(), rel=1e-3, abs=1e-3)


@kinds
@cases(40)
@given(seed=seeds, gamma=st.sampled_from([0.0, 1.0]))
def test_parts_carry_the_same_distribution(kind, seed, gamma):
    case, w, weights, _ = build(kind, seed)
    core = case.structure.core
    assert case.structure.has_parts == case.has_parts
    if not case.has_parts:
        with pytest.raises(NotImplementedError):
            core.parts(0)
        return
    for i in range(len(case.structure)):
        outputs = case.outputs(i)
        features = np.array([case.features(i, y) for y in outputs])
        costs = np.array([case.cost(i, y) for y in outputs])
        scores = features @ w + gamma * costs
        p = np.exp(scores - logsumexp(scores))
        log_sum, marginals = core.part_marginals(i, core.part_scores(weights, i, gamma))
        assert log_sum == pytest.approx(logsumexp(scores), rel=1e-4, abs=2e-4)
        assert core.expected_part_cost(i, marginals) == pytest.approx(p @ costs, abs=1e-3)
        total, difference = case.structure.new_weights(), case.structure.new_weights()
        core.add_parts(total, i, marginals, 1.0)
        core.add_part_difference(difference, i, marginals, 1.0)
        np.testing.assert_allclose(total.array, p @ features, atol=1e-3)
        core.add_parts(total, i, -marginals, 1.0)  # solvers move w by differences of marginals
        np.testing.assert_allclose(total.array, 0, atol=1e-3)
        expected = case.features(i, case.truth(i)) - p @ features
        np.testing.assert_allclose(difference.array, expected, atol=1e-3)


@kinds
@cases(10)
@given(seed=seeds)
def test_training_certifies_the_optimum(kind, seed):
    case, _, _, _ = build(kind, seed)
    for loss in ("squared_hinge", "hinge"):
        result = fit(
            Problem(case.structure, loss, 0.5),
            find_solver("auto", loss),
            Stopping(gap=1e-3, passes=3000),
        )
        assert result.stopped_by == "gap"
        w = np.array(result.w.array, dtype=float)
        primal = 0.5 * w @ w
        for i in range(len(case.structure)):
            worst = max(case.cost(i, y) - w @ case.delta(i, y) for y in case.outputs(i))
            primal += 0.5 * (worst**2 if loss == "squared_hinge" else worst)
        assert result.primal == pytest.approx(primal, rel=1e-4, abs=1e-4)


@kinds
def test_what_a_structure_lacks_is_refused_by_the_solvers_that_need_it(kind):
    structure = build(kind, 0)[0].structure
    some = Subset(structure, [0])
    assert some.has_expectations == structure.has_expectations
    assert some.has_parts == structure.has_parts
    for solver in (LBFGS(), SGD(), DCA(), ExponentiatedGradient()):
        lacks_parts = solver.name == "eg" and not structure.has_parts
        for examples in (structure, some):
            problem = Problem(examples, "crf", 0.5)
            if structure.has_expectations and not lacks_parts:
                solver.start(problem, 0)
                continue
            sentence = (
                f"solver {solver.name} does not take a {structure.kind}.* (expectations|parts)"
            )
            with pytest.raises(UnsupportedError, match=sentence):
                solver.start(problem, 0)
