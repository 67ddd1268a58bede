"""Excerpts (what cuts of an example touch of w) against the structure's own arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dualstruct import Problem, Stopping, fit
from dualstruct.features import FeatureRows
from dualstruct.solvers import DCD, SDM, FrankWolfe
from dualstruct.structures import Chain
from naive import random_chain
from random_cases import cases

seeds = st.integers(0, 2**32 - 1)


def chain_of(rng: np.random.Generator, tokens: int, labels: int, **other) -> Chain:
    """One sentence whose tokens share features, some of which they have twice."""
    ids = [rng.integers(0, 6, rng.integers(0, 6)) for _ in range(tokens)]
    offsets = np.cumsum([0, *map(len, ids)])
    rows = FeatureRows(
        offsets, np.concatenate(ids).astype(np.int32), None, np.array([0, tokens]), 6
    )
    truth = rng.integers(0, labels, tokens).astype(np.int32)
    return Chain(rows, labels, truth, **other)


def random_weights(rng: np.random.Generator, chain: Chain):
    core = chain.core
    weights = chain.new_weights()
    for _ in range(20):
        output = rng.integers(0, chain.labels, int(chain.sentences[-1])).astype(np.int32)
        chain.add_features(weights, 0, output, float(rng.normal()))
    return core, weights


def random_cuts(rng: np.random.Generator, chain: Chain, count: int) -> list[np.ndarray]:
    tokens = int(chain.sentences[-1])
    truth = np.asarray(chain.truth)
    cuts = []
    for _ in range(count):
        y = np.where(rng.random(tokens) < 0.4, rng.integers(0, chain.labels, tokens), truth)
        cuts.append(chain.core.difference(0, y.astype(np.int32))[1])
    return cuts


@cases(300)
@given(seed=seeds, tokens=st.integers(1, 7), labels=st.integers(2, 5), count=st.integers(1, 5))
def test_an_excerpt_measures_and_moves_as_the_structure_does(seed, tokens, labels, count):
    rng = np.random.default_rng(seed)
    chain = chain_of(rng, tokens, labels)
    core, w = random_weights(rng, chain)
    cuts = random_cuts(rng, chain, count)
    copy = chain.new_weights(np.array(w.array))
    excerpt = core.excerpt(w, 0, cuts)
    for _ in range(6):
        for k, cut in enumerate(cuts):
            assert excerpt.dot(k) == pytest.approx(core.dot(copy, 0, cut), abs=1e-3)
        k, step = int(rng.integers(count)), float(rng.normal())
        excerpt.axpy(k, step)
        core.axpy(copy, 0, cuts[k], step)
    coefficients = rng.normal(size=count).tolist()
    assert excerpt.combination_norm2(coefficients) == pytest.approx(
        core.combination_norm2(0, cuts, coefficients), rel=1e-4, abs=1e-4
    )
    excerpt.write(w)
    np.testing.assert_allclose(w.array, copy.array, atol=1e-4)
    # What decoding derives from the weights has followed.
    np.testing.assert_array_equal(chain.decode(w, 0, 1.0), chain.decode(copy, 0, 1.0))


@cases(300)
@given(seed=seeds, weighted=st.booleans(), constrained=st.booleans(), moved=st.booleans())
def test_recombining_finds_the_best_output_of_known_parts(seed, weighted, constrained, moved):
    rng = np.random.default_rng(seed)
    naive = random_chain(
        rng, sentences=1, tokens=5, labels=3, weighted=weighted, constrained=constrained
    )
    assume(naive.truth[0])
    chain = naive.fast()
    outputs = naive.outputs(0)
    truth = naive.truth[0]
    some = [outputs[k] for k in rng.integers(len(outputs), size=3)]
    cuts = [chain.core.difference(0, np.array(y, dtype=np.int32))[1] for y in some]
    core, w = chain.core, chain.new_weights()
    for y in outputs[:20]:
        chain.add_features(w, 0, np.array(y, dtype=np.int32), float(rng.normal()))
    now = chain.new_weights(np.array(w.array))
    excerpt = core.excerpt(w, 0, cuts)
    if moved:
        excerpt.axpy(0, 0.7)
        core.axpy(now, 0, cuts[0], 0.7)
    known = [{label, *(y[t] for y in some)} for t, label in enumerate(truth)]

    def violation(y):
        cost, codes = core.difference(0, np.array(y, dtype=np.int32))
        return cost - core.dot(now, 0, codes)

    best = max(violation(y) for y in outputs if all(label in known[t] for t, label in enumerate(y)))
    found, cost, codes = excerpt.decode()
    assert found == pytest.approx(best, abs=1e-3)
    assert cost - core.dot(now, 0, codes) == pytest.approx(best, abs=1e-3)
    assert core.is_valid(0, codes)
    y = list(truth)
    for code in codes.tolist():
        y[code >> 12] = code & 0xFFF
    assert tuple(y) in outputs
    excerpt.append(codes)
    assert cost - excerpt.dot(len(cuts)) == pytest.approx(best, abs=1e-3)


def test_what_is_too_large_or_has_values_has_no_excerpt():
    rng = np.random.default_rng(0)
    for tokens, labels in ((129, 3), (80, 70)):
        chain = chain_of(rng, tokens, labels)
        y = np.arange(tokens, dtype=np.int32) % labels
        cuts = [chain.core.difference(0, y)[1]]
        assert chain.core.excerpt(chain.new_weights(), 0, cuts) is None
    for shape in ({"real": True}, {"pairs": 2}):
        chain = random_chain(rng, tokens=4, **shape).fast()
        assert chain.core.excerpt(chain.new_weights(), 0, []) is None


@pytest.mark.parametrize("tokens", [20, 140])
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize(
    ("loss", "solver"),
    [("squared_hinge", DCD()), ("hinge", SDM()), ("hinge", FrankWolfe())],
    ids=["dcd", "sdm", "frank-wolfe"],
)
def test_solvers_come_to_the_same_optimum_with_and_without_excerpts(loss, solver, values, tokens):
    """Values that are all 1, and long sentences, keep a chain from having excerpts."""
    rng = np.random.default_rng(tokens)
    ids = rng.integers(0, 40, (6 * tokens, 3)).astype(np.int32)
    ids.sort(axis=1)
    rows = FeatureRows(
        np.arange(0, 3 * len(ids) + 1, 3),
        ids.ravel(),
        np.ones(ids.size, dtype=np.float32) if values else None,
        np.arange(0, len(ids) + 1, tokens),
        40,
    )
    chain = Chain(rows, 4, rng.integers(0, 4, len(ids)).astype(np.int32))
    result = fit(Problem(chain, loss, C=0.002), solver, Stopping(gap=1e-3, passes=300), seed=1)
    assert result.gap <= 1e-3
    dense = fit(
        Problem(chain, loss, C=0.002),
        DCD(rounds=1) if loss == "squared_hinge" else SDM(as_published=False),
        Stopping(gap=1e-4, passes=1000),
        seed=2,
    )
    assert result.primal == pytest.approx(dense.primal, rel=2e-3)


def test_an_opened_example_leaves_w_where_its_duals_say():
    rng = np.random.default_rng(3)
    chain = chain_of(rng, 30, 4)
    problem = Problem(chain, C=1.0)
    solver = DCD()
    iterate = solver.start(problem, 0)
    for _ in range(15):
        solver.run_pass(iterate)
        assert iterate.drift() < 1e-5
