"""The algorithms as published, against their pseudo-code; and the list of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dualstruct import InputError, Problem, Stopping, fit
from dualstruct.datasets import make_chains
from dualstruct.solvers import SDM, CuttingPlane, RampSDM
from naive import NaiveChain, random_chain
from naive_published import NaiveNSlack, NaiveSDM
from random_cases import cases

seeds = st.integers(0, 2**32 - 1)
#: Nearer to a tie than this, single precision may choose otherwise.
TIE = 1e-4


def untied(seed: int, sentences: int = 4) -> NaiveChain:
    rng = np.random.default_rng(seed)
    naive = random_chain(rng, sentences=sentences, tokens=3, real=True, weighted=True, counted=True)
    for x in naive.X:
        x[:] = rng.normal(size=x.shape).astype(np.float32)
    return naive


def flat(chain, w) -> np.ndarray:
    return np.concatenate(
        [chain.emission_weights(w).ravel(), chain.transition_weights(w).ravel()]
    ).astype(float)


@cases(60)
@given(seeds, st.sampled_from([0.3, 2.0]), st.sampled_from([(0, 2), (1, 5)]))
def test_sdm_as_published_is_algorithm_3(seed, C, kappas):
    naive = untied(seed)
    slow = NaiveSDM(naive, C, seed % 1000, 0.25, 0.15, *kappas)
    solver = SDM(kappa1=kappas[0], max_revisits=kappas[1], as_published=True)
    iterate = solver.start(Problem(naive.fast(), "hinge", C), seed % 1000)
    chain = iterate.problem.structure
    for _ in range(6):
        slow.algorithm_3()
        solver.run_pass(iterate)
        assume(slow.closest > TIE)
        size = max(1.0, np.abs(slow.w).max())
        np.testing.assert_allclose(flat(chain, iterate.w), slow.w, atol=1e-5 * size)
        assert iterate.converged == slow.stopped
        truth = [naive.truth[i] for i in range(len(chain))]
        expected = sum(y != truth[i] for i, V in enumerate(slow.V) for y in V)
        assert iterate.cuts == expected
        if slow.stopped:
            break


@cases(60)
@given(seeds, st.sampled_from([0.3, 2.0]))
def test_sdm_as_published_without_heuristics_is_algorithm_1(seed, C):
    naive = untied(seed)
    slow = NaiveSDM(naive, C, seed % 1000, 0.25, 0.15, 10, 5)
    solver = SDM(heuristics=False, as_published=True)
    iterate = solver.start(Problem(naive.fast(), "hinge", C), seed % 1000)
    for _ in range(4):
        slow.algorithm_1()
        solver.run_pass(iterate)
        assume(slow.closest > TIE)
        size = max(1.0, np.abs(slow.w).max())
        found = flat(iterate.problem.structure, iterate.w)
        np.testing.assert_allclose(found, slow.w, atol=1e-5 * size)
        assert iterate.converged == slow.stopped
        if slow.stopped:
            break


@cases(15)
@given(seeds, st.sampled_from([0.3, 1.0]))
def test_n_slack_as_published_solves_one_dual_for_each_cut(seed, C):
    naive = untied(seed, sentences=3)
    slow = NaiveNSlack(naive, C, seed % 1000, 0.1)
    solver = CuttingPlane("n", tolerance=1e-6, epsilon=0.1, as_published=True)
    iterate = solver.start(Problem(naive.fast(), "hinge", C), seed % 1000)
    for _ in range(4):
        slow.one_pass()
        solver.run_pass(iterate)
        assume(slow.closest > 1e-3)
        found = flat(iterate.problem.structure, iterate.w)
        np.testing.assert_allclose(found, slow.w, atol=1e-3 * max(1.0, np.abs(slow.w).max()))
        assert iterate.converged == slow.stopped
        if slow.stopped:
            break


def test_as_published_ends_where_every_example_is_tau_optimal():
    data = make_chains(sentences=60, tokens=8, labels=4, features=60, noise=0.6, seed=1)
    for solver in (SDM(as_published=True), SDM(heuristics=False, as_published=True)):
        problem = Problem(data.structure(), "hinge", 0.5)
        result = fit(problem, solver, Stopping(passes=2000))
        assert result.stopped_by == "converged"
        # ψ_i ≤ τ for all: the gap is at most C n τ.
        assert result.primal - result.dual <= 0.5 * 60 * 0.25 + 1e-6


def test_rounds_of_the_ramp_go_on_where_their_problem_is_solved():
    data = make_chains(sentences=40, tokens=6, labels=3, features=40, noise=0.4, seed=2)
    for settings in RampSDM.published.values():
        solver = RampSDM(passes_per_round=3, **settings)
        result = fit(Problem(data.structure(), "ramp", 0.3), solver, Stopping(passes=40))
        assert result.passes == 40


def test_what_cannot_be_published_is_refused():
    with pytest.raises(InputError, match="as_published is for n slacks"):
        CuttingPlane(as_published=True)
    solver = CuttingPlane("n", epsilon=0.1, as_published=True)
    problem = Problem(make_chains(sentences=3).structure(), "squared_hinge")
    with pytest.raises(InputError, match="hinge loss, not for squared_hinge"):
        solver.start(problem, 0)
