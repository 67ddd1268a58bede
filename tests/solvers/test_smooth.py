"""Smooth losses: gradients, L-BFGS, exponentiated gradient, against enumeration and each other."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import logsumexp

from dualstruct import SequenceTagger, _core
from dualstruct.datasets import make_chains
from dualstruct.errors import InputError
from dualstruct.features import FeatureRows
from dualstruct.losses import SoftmaxMargin
from dualstruct.problem import Problem
from dualstruct.solvers import LBFGS, ExponentiatedGradient, find_solver
from dualstruct.structures import Chain
from dualstruct.training.loop import fit
from dualstruct.training.stopping import Stopping
from naive import NaiveChain, random_chain
from naive_optima import minimum
from random_cases import cases

chains = st.builds(
    lambda seed, **shape: random_chain(np.random.default_rng(seed), **shape),
    seed=st.integers(0, 2**32 - 1),
    sentences=st.integers(1, 4),
    tokens=st.integers(1, 4),
    labels=st.integers(2, 3),
    features=st.integers(1, 4),
    real=st.booleans(),
    weighted=st.booleans(),
    constrained=st.booleans(),
)
losses = st.builds(SoftmaxMargin, st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from([0.0, 1.0]))


def flat(naive: NaiveChain, chain: Chain, w: _core.Weights) -> np.ndarray:
    parts = (chain.emission_weights(w), chain.transition_weights(w))
    return np.concatenate([part.ravel() for part in parts]).astype(float)


class NaiveSmooth:
    """P(w) and its gradient with every output written out."""

    def __init__(self, naive: NaiveChain, loss: SoftmaxMargin, C: float) -> None:
        self.beta, self.gamma, self.C = loss.beta, loss.gamma, C
        self.examples = naive.examples()

    def losses(self, w: np.ndarray) -> np.ndarray:
        return np.array(
            [logsumexp(self.beta * (self.gamma * c - d @ w)) / self.beta for d, c in self.examples]
        )

    def primal(self, w: np.ndarray) -> float:
        return float(0.5 * w @ w + self.C * self.losses(w).sum())

    def gradient(self, w: np.ndarray) -> np.ndarray:
        g = w.copy()
        for d, c in self.examples:
            s = self.beta * (self.gamma * c - d @ w)
            g -= self.C * np.exp(s - logsumexp(s)) @ d
        return g

    def optimum(self) -> float:
        start = np.zeros(self.examples[0][0].shape[1])
        return minimum(lambda w: (self.primal(w), self.gradient(w)), start)[0]


def random_weights(naive: NaiveChain, chain: Chain, seed: int) -> tuple[np.ndarray, _core.Weights]:
    w = np.random.default_rng(seed).normal(size=naive.dimension).astype(np.float32).astype(float)
    w[-1] = 0  # from start to end: not a weight
    return w, chain.pack(*naive.split(w))


@cases(200)
@given(chains, losses, st.integers(0, 99), st.integers(1, 3))
def test_gradient_pass_equals_enumeration_and_differences(naive, loss, seed, threads):
    chain = naive.fast()
    w, weights = random_weights(naive, chain, seed)
    judge = NaiveSmooth(naive, loss, C=1.0)
    descent = chain.new_weights()
    total = _core.GradientPass(chain.core_examples, threads).run(
        weights, descent, loss.beta, loss.gamma
    )
    assert total == pytest.approx(judge.losses(w).sum(), abs=1e-4)
    np.testing.assert_allclose(w - flat(naive, chain, descent), judge.gradient(w), atol=2e-4)
    direction = np.random.default_rng(seed).normal(size=w.size)
    step = 1e-5
    slope = (judge.primal(w + step * direction) - judge.primal(w - step * direction)) / (2 * step)
    assert direction @ judge.gradient(w) == pytest.approx(slope, rel=1e-4, abs=1e-4)


@cases(200)
@given(chains, st.sampled_from([30.0, 300.0]), st.integers(0, 99))
def test_scores_too_far_apart_for_products_go_through_logarithms(naive, spread, seed):
    chain = naive.fast()
    w, _ = random_weights(naive, chain, seed)
    w = (spread * w).astype(np.float32).astype(float)
    weights = chain.pack(*naive.split(w))
    judge = NaiveSmooth(naive, SoftmaxMargin(1.0, 0.0), C=1.0)
    descent = chain.new_weights()
    total = _core.GradientPass(chain.core_examples, 1).run(weights, descent, 1.0, 0.0)
    assert total == pytest.approx(judge.losses(w).sum(), rel=1e-4, abs=1e-2)
    np.testing.assert_allclose(flat(naive, chain, descent), w - judge.gradient(w), atol=1e-2)


def long_chain(tokens: int, labels: int, lanes: bool = False) -> tuple[Chain, _core.Weights]:
    rng = np.random.default_rng(labels)
    rows = FeatureRows(
        offsets=np.arange(tokens + 1) * 3,
        ids=rng.integers(0, 6, 3 * tokens).astype(np.int32),
        values=None,
        sentences=np.array([0, tokens]),
        dimension=6,
    )
    transitions = None
    truth = rng.integers(0, labels, tokens).astype(np.int32)
    if lanes:  # two sets of labels that never meet
        side = np.arange(labels) % 2
        transitions = np.ones((labels + 1, labels + 1), dtype=bool)
        transitions[:-1, :-1] = side[:, None] == side
        truth = np.full(tokens, 0, dtype=np.int32)
    chain = Chain(rows, labels, truth, transitions=transitions)
    emission = rng.normal(size=(6, labels)).astype(np.float32)
    transition = rng.normal(size=(labels + 1, labels + 1)).astype(np.float32)
    transition[-1, -1] = 0
    return chain, chain.pack(emission, transition)


def against_logarithms(chain: Chain, w: _core.Weights, atol: float) -> None:
    """The fast sums against those of `expectation`, which works with logarithms throughout."""
    slow = chain.expectation(w, 0)
    descent = chain.new_weights()
    loss, _ = chain.core.log_loss(w, 0, 1.0, 0.0, descent, 1.0)
    assert chain.truth is not None
    expected = slow.log_partition - chain.score(w, 0, chain.truth)
    assert loss == pytest.approx(expected, rel=1e-5, abs=1e-3)
    pairs = np.zeros((chain.labels, chain.labels))
    np.add.at(pairs, (chain.truth[:-1], chain.truth[1:]), 1)
    pairs -= slow.pairs.sum(axis=0, dtype=float)
    found = chain.transition_weights(descent)
    np.testing.assert_allclose(found[:-1, :-1], pairs, atol=atol)
    start = (np.arange(chain.labels) == chain.truth[0]) - slow.labels[0]
    end = (np.arange(chain.labels) == chain.truth[-1]) - slow.labels[-1]
    np.testing.assert_allclose(found[-1, :-1], start, atol=1e-4)
    np.testing.assert_allclose(found[:-1, -1], end, atol=1e-4)


@pytest.mark.parametrize("labels", [*range(1, 40), 63, 64, 65, 127, 129, 200, 443, 2000])
def test_fast_sums_equal_slow_ones_at_every_number_of_labels(labels):
    against_logarithms(*long_chain(5 if labels > 100 else 60, labels), atol=1e-3)


def test_fast_sums_of_a_hundred_thousand_tokens():
    against_logarithms(*long_chain(100_000, 5), atol=1.0)


def test_mass_that_underflows_gradually_is_noticed():
    """One lane of labels falls behind by e^-10 a token, is lost to float32, and then wins."""
    chain, _ = long_chain(60, 4, lanes=True)
    ids = np.repeat((np.arange(60) >= 20).astype(np.int32), 3)
    rows = FeatureRows(chain.rows.offsets, ids, None, chain.sentences, 2)
    chain = Chain(rows, 4, chain.truth, transitions=chain.transitions)
    emission = np.zeros((2, 4), dtype=np.float32)
    emission[0] = [0, -10 / 3, 0, -10 / 3]
    emission[1] = [-10 / 3, 0, -10 / 3, 0]
    against_logarithms(chain, chain.pack(emission, np.zeros((5, 5), np.float32)), atol=1e-2)


def train(problem: Problem, solver, passes: int = 500):
    iterate = solver.start(problem, seed=0)
    for _ in range(passes):
        solver.run_pass(iterate)
        if iterate.memory.get("converged"):
            break
    return iterate


@cases(60)
@given(chains, losses, st.sampled_from([0.1, 1.0, 10.0]))
def test_lbfgs_reaches_the_optimum_and_certifies_it(naive, loss, C):
    chain = naive.fast()
    problem = Problem(chain, loss, C)
    iterate = train(problem, LBFGS())
    certificate = problem.certify(iterate.w, iterate.dual())
    judge = NaiveSmooth(naive, loss, C)
    best = judge.optimum()
    assert certificate.primal == pytest.approx(best, rel=1e-5, abs=1e-5)
    assert certificate.dual <= best + 1e-5 * max(1, best)
    assert certificate.gap < 1e-4
    assert certificate.primal - certificate.dual > -1e-5 * max(best, C)
    assert np.linalg.norm(judge.gradient(flat(naive, chain, iterate.w))) < 1e-2 * max(1, C)


@cases(60)
@given(chains, losses, st.integers(0, 99))
def test_dual_of_any_weights_bounds_the_optimum(naive, loss, seed):
    chain = naive.fast()
    problem = Problem(chain, loss, C=1.0)
    judge = NaiveSmooth(naive, loss, C=1.0)
    best = judge.optimum()
    solver = LBFGS()
    iterate = solver.start(problem, seed=0)
    for _ in range(4):
        solver.run_pass(iterate)
        w = flat(naive, chain, iterate.w)
        # The dual written out: entropies and expected costs of p, less ½‖C Σ E δ‖², where t of p
        # and 1 − t of the truth are mixed.
        value, v = 0.0, np.zeros_like(w)
        for d, c in judge.examples:
            s = loss.beta * (loss.gamma * c - d @ w)
            p = np.exp(s - logsumexp(s))
            entropy = -float(p @ np.where(p > 0, np.log(np.maximum(p, 1e-300)), 0))
            value += entropy / loss.beta + loss.gamma * float(p @ c)
            v += p @ d
        t = min(value / (v @ v), 1.0) if v @ v > 0 else 1.0
        written_out = t * value - 0.5 * t**2 * (v @ v)
        assert iterate.dual() == pytest.approx(written_out, rel=1e-4, abs=1e-3)
        assert iterate.dual() <= best + 1e-4


def test_softmax_margin_tends_to_hinge_as_beta_grows():
    naive = random_chain(np.random.default_rng(2), sentences=5, tokens=4)
    chain = naive.fast()
    _, weights = random_weights(naive, chain, 3)
    hinge = Problem(chain, "hinge").primal(weights)
    apart = [
        Problem(chain, SoftmaxMargin(beta, 1.0)).primal(weights) - hinge
        for beta in (1, 10, 100, 1000)
    ]
    assert all(a > b >= -1e-3 for a, b in pairwise(apart))
    assert apart[-1] < 0.02


def small_corpus(seed: int = 0, sentences: int = 40) -> NaiveChain:
    return random_chain(
        np.random.default_rng(seed), sentences=sentences, tokens=5, labels=3, features=12
    )


def test_lbfgs_goes_where_the_two_loops_of_the_textbook_go():
    chain = random_chain(np.random.default_rng(5), sentences=6, features=4).fast()
    solver = LBFGS(memory_size=3)
    iterate = solver.start(Problem(chain, "crf", 2.0), 0)
    points = []
    for _ in range(7):  # more than are remembered
        solver.run_pass(iterate)
        points.append((iterate.point.x.astype(float), iterate.point.gradient.astype(float)))
    changes = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)][-3:]
    expected, shares = -points[-1][1], []
    for s, y in reversed(changes):
        shares.append(s @ expected / (s @ y))
        expected -= shares[-1] * y
    s, y = changes[-1]
    expected *= s @ y / (y @ y)
    for (s, y), share in zip(changes, reversed(shares), strict=True):
        expected += (share - y @ expected / (s @ y)) * s
    found = iterate.direction(iterate.point.gradient)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_array_equal(found, iterate.direction(iterate.point.gradient.copy()))


def test_a_center_is_where_training_starts_and_what_it_is_drawn_to():
    naive = small_corpus()
    chain = naive.fast()
    center, weights = random_weights(naive, chain, 5)
    problem = Problem(chain, "crf", C=0.3, center=weights)
    iterate = LBFGS().start(problem, seed=0)
    np.testing.assert_array_equal(iterate.w.array, weights.array)
    iterate = train(problem, LBFGS())
    certificate = problem.certify(iterate.w, iterate.dual())
    assert -1e-6 < certificate.gap < 1e-5
    judge = NaiveSmooth(naive, SoftmaxMargin(1.0, 0.0), 0.3)
    w = flat(naive, chain, iterate.w)
    np.testing.assert_allclose(judge.gradient(w) - center, 0, atol=1e-3)


def test_threads_give_the_same_optimum():
    chain = small_corpus().fast()
    values = []
    for threads in (1, 2, 3):
        problem = Problem(chain, "crf", C=1.0, threads=threads)
        values.append(problem.primal(train(problem, LBFGS()).w))
    assert values == pytest.approx([values[0]] * 3, rel=1e-6)


def test_observed_states_hold_all_other_weights_at_zero():
    naive = small_corpus()
    chain = naive.fast()
    problem = Problem(chain, "crf", C=1.0)
    iterate = train(problem, LBFGS(states="observed"))
    seen = sum(naive.phi(i, y) for i, y in enumerate(naive.truth)) > 0
    emissions = 12 * 3
    w = flat(naive, chain, iterate.w)
    assert (w[:emissions][~seen[:emissions]] == 0).all()
    assert (w[:emissions][seen[:emissions]] != 0).all()
    judge = NaiveSmooth(naive, SoftmaxMargin(1.0, 0.0), 1.0)
    learned = seen.copy()
    learned[emissions:] = True
    np.testing.assert_allclose(judge.gradient(w)[learned], 0, atol=1e-3)


@pytest.mark.parametrize("states", ["all", "observed"])
def test_elastic_net_meets_its_optimality_conditions_with_many_exact_zeros(states):
    naive = small_corpus(sentences=60)
    chain = naive.fast()
    l1, C = 2.0, 1.0
    iterate = train(Problem(chain, "crf", C=C), LBFGS(states=states, l1=l1), passes=2000)
    assert iterate.dual() is None
    w = flat(naive, chain, iterate.w)
    g = NaiveSmooth(naive, SoftmaxMargin(1.0, 0.0), C).gradient(w)
    assert (w == 0).mean() > 0.3
    assert (w != 0).sum() > 3
    np.testing.assert_allclose(g[w != 0], -l1 * np.sign(w[w != 0]), atol=2e-2)
    if states == "all":
        assert (np.abs(g[w == 0]) <= l1 + 2e-2).all()


def test_fit_stops_on_a_certified_gap():
    chain = small_corpus().fast()
    result = fit(Problem(chain, "crf", C=1.0), LBFGS(), Stopping(gap=1e-3, passes=200))
    assert result.stopped_by == "gap"
    assert 0 <= result.gap <= 1e-3
    assert result.inference_calls >= result.passes * len(chain)


@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_a_resumed_run_gives_the_same_weights_bit_for_bit(tmp_path, l1):
    chain = small_corpus().fast()
    problem = Problem(chain, "crf", C=1.0)
    whole = fit(problem, LBFGS(l1=l1, memory_size=3), Stopping(passes=12))
    path = tmp_path / "checkpoint"
    for passes in (5, 12):
        parts = fit(
            problem,
            LBFGS(l1=l1, memory_size=3),
            Stopping(passes=passes),
            checkpoint=path,
            resume=True,
        )
    assert parts.w.array.tobytes() == whole.w.array.tobytes()
    with pytest.raises(InputError, match="another run"):
        fit(problem, LBFGS(l1=9.0), Stopping(passes=13), checkpoint=path, resume=True)


def test_after_convergence_passes_change_nothing():
    problem = Problem(small_corpus().fast(), "crf", C=1.0)
    solver = LBFGS(tolerance=1e-4)
    iterate = train(problem, solver)
    assert iterate.memory["converged"]
    before, calls = iterate.w.array.tobytes(), iterate.inference_calls
    solver.run_pass(iterate)
    assert iterate.w.array.tobytes() == before
    assert iterate.inference_calls == calls


def test_fit_ends_where_nothing_changes_even_if_the_gap_asked_for_is_out_of_reach():
    problem = Problem(small_corpus().fast(), "crf", C=1.0)
    result = fit(problem, LBFGS(), Stopping(gap=1e-30))
    assert result.stopped_by in ("converged", "gap")
    assert result.gap < 1e-6
    sparse = fit(problem, LBFGS(l1=1.0), Stopping(gap=1e-3))
    assert sparse.stopped_by == "converged"
    assert sparse.gap is None


@pytest.mark.parametrize("solver", [LBFGS(), LBFGS(l1=0.5)])
def test_an_interrupt_leaves_the_last_point_in_place(solver):
    problem = Problem(small_corpus().fast(), "crf", C=1.0)
    iterate = solver.start(problem, seed=0)
    for _ in range(3):
        solver.run_pass(iterate)
    before, dual = iterate.w.array.tobytes(), iterate.dual()
    real, calls = iterate.packing.pack, []

    class Interrupted:
        def unpack(self, x, w):
            return packing.unpack(x, w)

        def pack(self, *arguments):
            if not calls:
                calls.append(1)
                raise KeyboardInterrupt
            return real(*arguments)

    packing, iterate.packing = iterate.packing, Interrupted()
    with pytest.raises(KeyboardInterrupt):
        solver.run_pass(iterate)
    assert iterate.w.array.tobytes() == before
    assert iterate.dual() == dual
    solver.run_pass(iterate)  # and training can continue
    assert iterate.w.array.tobytes() != before


def test_a_tagger_learns_a_crf():
    sentences = [["a", "b"], ["b", "a", "b"], ["a"]] * 5
    labels = [[word.upper() for word in sentence] for sentence in sentences]
    for solver in ("auto", "lbfgs", "eg"):
        tagger = SequenceTagger(loss="crf", solver=solver, C=1.0, passes=30)
        assert tagger.fit(sentences, labels).predict(sentences) == labels
        assert -1e-5 < tagger.result_.gap < 1e-3


def test_auto_takes_what_is_quickest_for_the_smooth_losses():
    assert isinstance(find_solver("auto", "crf"), ExponentiatedGradient)
    assert isinstance(find_solver("auto", "softmax_margin"), ExponentiatedGradient)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"states": "some"}, "states is 'some'"),
        ({"l1": -1}, "l1 is -1"),
        ({"l1": float("nan")}, "l1 is nan"),
        ({"memory_size": 0}, "memory_size is 0"),
        ({"tolerance": -1}, "tolerance is -1"),
    ],
)
def test_impossible_settings_of_lbfgs_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        LBFGS(**settings)


def test_l1_with_a_center_is_refused():
    chain = small_corpus().fast()
    problem = Problem(chain, "crf", center=chain.new_weights())
    with pytest.raises(InputError, match="l1 draws towards 0"):
        LBFGS(l1=1.0).start(problem, 0)


def test_crfsuite_finds_the_same_optimum(tmp_path):
    """CRFsuite, with all states and transitions, on the very same problem.

    It has no weights for start and end, so its first and last tokens get attributes of their own:
    their state weights are our transitions from the start and into the end. Its objective is
    −log-likelihood + c2·‖w‖², ours ½‖w‖² − C·log-likelihood: C = 1/(2·c2).
    """
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="missing: pip install python-crfsuite")
    rng = np.random.default_rng(3)
    sentences, labels, features, c2 = 60, 3, 10, 0.25
    teacher = rng.normal(size=(features, labels))
    X, truth = [], []
    for _ in range(sentences):
        x = (rng.random((int(rng.integers(2, 7)), features)) < 0.4).astype(float)
        y = (x @ teacher + rng.normal(size=(len(x), labels))).argmax(axis=1)
        X.append(x)
        truth.append(tuple(int(k) for k in y))
    truth[0] = (*range(labels),)  # every label occurs
    X[0] = (rng.random((labels, features)) < 0.4).astype(float)
    chain = NaiveChain(X, labels, truth, 1 - np.eye(labels)).fast()
    problem = Problem(chain, "crf", C=1 / (2 * c2))
    ours = train(problem, LBFGS()).w

    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    everything = {"feature.possible_states": True, "feature.possible_transitions": True}
    patience = {"epsilon": 1e-7, "delta": 1e-9, "period": 30, "max_iterations": 2000}
    trainer.set_params({"c2": c2, **everything, **patience})
    attributes = []
    for x, y in zip(X, truth, strict=True):
        rows = [[f"f{f}" for f in np.flatnonzero(row)] for row in x]
        rows[0].append("start")
        rows[-1].append("end")
        attributes.append(rows)
        trainer.append(rows, [f"L{k}" for k in y])
    trainer.train(str(tmp_path / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    info = tagger.info()
    emission = np.zeros((features, labels), np.float32)
    transition = np.zeros((labels + 1, labels + 1), np.float32)
    for (attribute, label), weight in info.state_features.items():
        k = int(label[1:])
        if attribute == "start":
            transition[-1, k] = weight
        elif attribute == "end":
            transition[k, -1] = weight
        else:
            emission[int(attribute[1:]), k] = weight
    for (before, after), weight in info.transitions.items():
        transition[int(before[1:]), int(after[1:])] = weight
    theirs = chain.pack(emission, transition)

    assert problem.primal(ours) <= problem.primal(theirs) * (1 + 1e-6)
    assert problem.primal(theirs) == pytest.approx(problem.primal(ours), rel=1e-4)
    np.testing.assert_allclose(theirs.array, ours.array, atol=0.02)
    their_labels = [int(label[1:]) for rows in attributes for label in tagger.tag(rows)]
    assert chain.decode_all(ours).tolist() == their_labels


def dual_of(naive: NaiveChain, p: list[np.ndarray], loss, C: float) -> float:
    """D(p) written out."""
    value, v = 0.0, np.zeros(naive.dimension)
    for i, q in enumerate(p):
        outputs = naive.outputs(i)
        entropy = -float(q @ np.log(np.maximum(q, 1e-300)))
        cost = float(q @ [naive.loss(i, y) for y in outputs])
        value += entropy / loss.beta + loss.gamma * cost
        v += C * q @ np.array([naive.delta(i, y) for y in outputs])
    return float(C * value - 0.5 * v @ v)


def distributions(naive: NaiveChain, chain: Chain, theta: np.ndarray) -> list[np.ndarray]:
    """Every p_i ∝ exp θ_i(y), output by output."""
    K, stride, at = naive.labels, chain.core.stride, 0
    result = []
    for i, x in enumerate(naive.X):
        rows = theta[at : at + (len(x) + K + 2) * stride].reshape(-1, stride).astype(float)
        at += rows.size
        emission, transition = rows[: len(x)], rows[len(x) :]
        scores = []
        for y in naive.outputs(i):
            score = sum(emission[t, k] for t, k in enumerate(y))
            if y:
                score += transition[K, y[0]] + transition[K + 1, y[-1]]
                score += sum(transition[a, b] for a, b in pairwise(y))
            scores.append(score)
        result.append(np.exp(np.array(scores) - logsumexp(scores)))
    assert at == theta.size
    return result


@cases(60)
@given(chains, st.sampled_from(["crf", "softmax_margin"]), st.sampled_from([0.2, 2.0]))
def test_exponentiated_gradient_keeps_its_dual_exact_and_rising(naive, name, C):
    chain = naive.fast()
    problem = Problem(chain, name, C)
    solver = ExponentiatedGradient()
    iterate = solver.start(problem, seed=1)
    last = -np.inf
    for _ in range(6):
        p = distributions(naive, chain, iterate.duals.save()[0])
        dual = iterate.dual()
        assert dual == pytest.approx(dual_of(naive, p, problem.loss, C), rel=1e-4, abs=1e-3)
        w = C * sum(
            q @ np.array([naive.delta(i, y) for y in naive.outputs(i)]) for i, q in enumerate(p)
        )
        np.testing.assert_allclose(flat(naive, chain, iterate.w), w, atol=1e-3)
        assert dual >= last - 1e-4 * max(1, abs(dual))
        assert problem.primal(iterate.w) >= dual - 1e-4 * max(1, abs(dual))
        last = dual
        solver.run_pass(iterate)


# A step of η = 1 leads from p to where D is nearly the same, behind its maximum, and back.
mirrored = NaiveChain([np.array([[-0.07476009]])], 2, [(1,)], np.array([[0, 2.2595], [1.9799, 0]]))


@cases(25)
@given(chains, losses, st.sampled_from([0.1, 1.0]))
@example(mirrored, SoftmaxMargin(1, 1), 1.0)
def test_exponentiated_gradient_agrees_with_lbfgs(naive, loss, C):
    problem = Problem(naive.fast(), loss, C)
    iterate = train(problem, ExponentiatedGradient(), passes=300)
    iterate.rebuild()
    best = NaiveSmooth(naive, loss, C).optimum()
    certificate = problem.certify(iterate.w, iterate.dual())
    assert certificate.primal == pytest.approx(best, rel=1e-3, abs=1e-3)
    assert certificate.dual == pytest.approx(best, rel=1e-3, abs=1e-3)
    lbfgs = problem.primal(train(problem, LBFGS()).w)
    assert certificate.primal == pytest.approx(lbfgs, rel=1e-3, abs=1e-3)


# Beyond β = 10 the gains of steps are far below the rounding of the dual itself.
@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("beta", [1.0, 10.0, 100.0, 300.0])
def test_exponentiated_gradient_reaches_its_gap_near_the_hinge(beta, C):
    data = make_chains(sentences=30, tokens=6, labels=3, features=30, noise=0.5, seed=0)
    problem = Problem(data.structure(), SoftmaxMargin(beta, 1.0), C)
    result = fit(problem, ExponentiatedGradient(), Stopping(gap=1e-3, passes=500))
    assert result.stopped_by == "gap"
    assert (result.primal - result.dual) / result.primal <= 1e-3


def test_exponentiated_gradient_resumes_bit_for_bit(tmp_path):
    problem = Problem(small_corpus().fast(), "crf", C=1.0)
    whole = fit(problem, ExponentiatedGradient(), Stopping(passes=6))
    path = tmp_path / "checkpoint"
    for passes in (2, 6):
        parts = fit(
            problem, ExponentiatedGradient(), Stopping(passes=passes), checkpoint=path, resume=True
        )
    assert parts.w.array.tobytes() == whole.w.array.tobytes()


@pytest.mark.parametrize("loss", ["crf", "softmax_margin"])
def test_the_first_step_of_exponentiated_gradient_is_1(loss):
    chain = random_chain(np.random.default_rng(2)).fast()
    same, half = (
        fit(Problem(chain, loss, 0.5), ExponentiatedGradient(given), Stopping(passes=2)).w.array
        for given in (1.0, 0.5)
    )
    unasked = fit(Problem(chain, loss, 0.5), ExponentiatedGradient(), Stopping(passes=2)).w.array
    assert unasked.tobytes() == same.tobytes() != half.tobytes()


def test_an_impossible_first_step_is_refused():
    with pytest.raises(InputError, match="first_step is 0"):
        ExponentiatedGradient(first_step=0)


#: Tests run at this one anyway.
OTHERS = [level for level in _core.simd_levels() if level != _core.simd_level()]


@pytest.mark.parametrize("level", OTHERS)
def test_these_tests_pass_at_every_instruction_set(level):
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-k", "not instruction and not settings", str(Path(__file__))],
        env={**os.environ, "DUALSTRUCT_SIMD": level, "DUALSTRUCT_SHARE_OF_CASES": "0.2"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
