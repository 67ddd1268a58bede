"""DCD-SSVM, DCD-Light and CPD against the paper's algorithm and a general QP solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dualstruct.errors import InputError
from dualstruct.problem import Problem
from dualstruct.solvers import CPD, DCD, DCDLight, find_solver
from naive import NaiveChain, NaiveDCD, problems, random_chain
from random_cases import cases

exact = [DCD(admission=1e-9), DCDLight(admission=1e-9), CPD(admission=1e-9, tolerance=0.1)]


def flat(naive: NaiveChain, chain, w) -> np.ndarray:
    return np.concatenate(
        [chain.emission_weights(w).ravel(), chain.transition_weights(w).ravel()]
    ).astype(float)


@cases(150)
@given(problems, st.sampled_from(exact), st.sampled_from([0.05, 1.0, 10.0]))
def test_the_certified_optimum_is_that_of_a_general_qp_solver(naive, solver, C):
    chain = naive.fast()
    problem = Problem(chain, C=C)
    iterate = solver.start(problem, seed=1)
    for _ in range(20_000):  # DCD-Light is slow where C is large
        solver.run_pass(iterate)
        iterate.rebuild()
        certificate = problem.certify(iterate.w, iterate.dual())
        assert certificate.gap >= -1e-6
        if certificate.gap < 1e-6:
            break
    assert certificate.gap < 1e-6
    best = naive.solve_squared_hinge(C)
    optimum = naive.primal(best, C)
    assert certificate.primal == pytest.approx(optimum, rel=2e-6, abs=2e-6)
    assert naive.primal(flat(naive, chain, iterate.w), C) == pytest.approx(
        certificate.primal, rel=1e-5
    )
    # P is 1-strongly convex: ½‖w − w*‖² ≤ P(w) − P*.
    distance = np.linalg.norm(flat(naive, chain, iterate.w) - best)
    assert distance <= np.sqrt(2 * 3e-6 * max(1, optimum))


@cases(100)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 5]), st.sampled_from([0.01, 0.1]))
def test_every_step_is_that_of_the_papers_algorithm(seed, r, delta):
    # Real features and costs make ties rare; where there is one, either choice is right.
    naive = random_chain(
        np.random.default_rng(seed), sentences=5, tokens=3, real=True, weighted=True
    )
    chain = naive.fast()
    slow = NaiveDCD(naive, C=0.7, r=r, delta=delta, seed=seed % 1000)
    solver = DCD(revisits=r, admission=delta)
    iterate = solver.start(Problem(chain, C=0.7), seed % 1000)
    for _ in range(4):
        slow.one_pass()
        solver.run_pass(iterate)
        assume(slow.closest > 1e-4)
        np.testing.assert_allclose(flat(naive, chain, iterate.w), slow.w, atol=2e-4)
        assert iterate.cuts == sum(map(len, slow.W))


@cases(60)
@given(problems, st.sampled_from(exact))
def test_the_dual_rises_and_the_state_stays_consistent(naive, solver):
    chain = naive.fast()
    problem = Problem(chain, C=0.5)
    iterate = solver.start(problem, seed=3)
    last = -1e-9
    for _ in range(6):
        solver.run_pass(iterate)
        dual = iterate.dual()
        assert dual >= last - 1e-5 * max(1, abs(last))
        last = dual
        w = np.zeros(naive.dimension)
        linear = penalty = 0.0
        for i in range(len(chain)):
            sum_alpha = 0.0
            for alpha, cost, norm2, words in iterate.duals.cuts_of(i):
                assert alpha > 0
                y = list(naive.truth[i])
                for word in words:
                    y[word >> 12] = int(word & 4095)
                delta = naive.delta(i, tuple(y))
                assert cost == pytest.approx(naive.loss(i, tuple(y)), rel=1e-6)
                assert norm2 == pytest.approx(delta @ delta, rel=1e-5)
                w += alpha * delta
                linear += alpha * cost
                sum_alpha += alpha
            assert iterate.duals.sum_alpha()[i] == pytest.approx(sum_alpha, abs=1e-6)
            if sum_alpha:
                penalty += sum_alpha**2 / (4 * problem.C * naive.weight(i))
        np.testing.assert_allclose(flat(naive, chain, iterate.w), w, atol=1e-5)
        assert dual == pytest.approx(linear - 0.5 * w @ w - penalty, abs=1e-4)


def test_delta_keeps_small_violations_out():
    naive = random_chain(np.random.default_rng(5), sentences=30, tokens=4)
    chain = naive.fast()
    cuts = []
    for delta in (0.0, 0.5, 100.0):
        solver = DCD(admission=delta)
        iterate = solver.start(Problem(chain, C=1.0), seed=0)
        for _ in range(5):
            solver.run_pass(iterate)
        cuts.append(iterate.cuts)
    assert cuts[0] > cuts[1] > cuts[2] == 0


def test_cuts_of_the_examples_are_bounded_as_theorem_1_says():
    naive = random_chain(np.random.default_rng(6), sentences=20, tokens=3)
    chain = naive.fast()
    C, delta = 1.0, 0.2
    solver = DCD(admission=delta)
    iterate = solver.start(Problem(chain, C=C), seed=0)
    added = sum(solver.run_pass(iterate).added for _ in range(50))
    outputs = [(i, y) for i in range(20) for y in naive.outputs(i)]
    radius2 = max(naive.delta(i, y) @ naive.delta(i, y) for i, y in outputs)
    largest_cost = max(naive.loss(i, y) for i, y in outputs)
    assert 0 < added <= 2 * (radius2 + 1 / (2 * C)) * 20 * C * largest_cost**2 / delta**2


@pytest.mark.parametrize("name", ["dcd", "dcd-light", "cpd"])
def test_same_seed_same_weights_bit_for_bit(name):
    naive = random_chain(np.random.default_rng(7), sentences=30, tokens=5)
    chain = naive.fast()
    runs = []
    for seed in (1, 1, 2):
        solver = find_solver(name, "squared_hinge")
        iterate = solver.start(Problem(chain, C=1.0), seed)
        for _ in range(4):
            solver.run_pass(iterate)
        runs.append(iterate.w.array.tobytes())
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("C", [0, -1, float("nan"), float("inf")])
def test_an_impossible_weight_of_the_loss_is_refused(C):
    naive = random_chain(np.random.default_rng(8))
    with pytest.raises(InputError, match="C is"):
        Problem(naive.fast(), C=C)


def test_an_unknown_solver_or_loss_names_those_that_exist():
    with pytest.raises(InputError, match="choose one of auto, dcd, dcd-light, cpd"):
        find_solver("magic", "squared_hinge")
    with pytest.raises(InputError, match="only squared_hinge; hinge is for sdm, frank-wolfe"):
        find_solver("dcd", "hinge")
    with pytest.raises(InputError, match="unknown loss 'nope'"):
        Problem(random_chain(np.random.default_rng(8)).fast(), loss="nope")
    with pytest.raises(InputError, match="admission is -1"):
        DCD(admission=-1)


@cases(50)
@given(problems, st.integers(0, 1000))
def test_a_center_draws_the_weights_towards_it_and_the_gap_still_closes(naive, seed):
    chain = naive.fast()
    center = np.random.default_rng(seed).normal(size=naive.dimension)
    center = np.concatenate([part.ravel() for part in naive.split(center)]).astype(float)
    center[-1] = 0  # from start to end: not a weight
    problem = Problem(chain, C=0.5, center=chain.pack(*naive.split(center)))
    solver = DCD(admission=1e-9)
    iterate = solver.start(problem, seed=1)
    np.testing.assert_allclose(flat(naive, chain, iterate.w), center, atol=1e-6)
    for _ in range(2000):
        solver.run_pass(iterate)
        iterate.rebuild()
        certificate = problem.certify(iterate.w, iterate.dual())
        # Weights are single precision: a primal that is small beside its center rounds as it does.
        rounding = 1e-6 * max(certificate.primal, 0.5 * center @ center)
        if certificate.primal - certificate.dual < rounding:
            break
    assert abs(certificate.primal - certificate.dual) < rounding

    # A small step in any direction must not help.
    def shifted(w: np.ndarray) -> float:
        return naive.primal(w, 0.5) - 0.5 * w @ w + 0.5 * (w - center) @ (w - center)

    w = flat(naive, chain, iterate.w)
    assert shifted(w) == pytest.approx(certificate.primal, rel=1e-5, abs=1e-5)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        assert shifted(w + 0.01 * rng.normal(size=w.size)) >= certificate.dual - rounding - 1e-6
