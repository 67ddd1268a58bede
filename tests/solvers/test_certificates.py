"""Certificates keep their word: every structure × loss × solver × number of threads.

What a result claims is computed again in double precision from all outputs written out: the primal
of its weights, the dual of its cuts, and the optimum itself (naive_optima.py proves it). A claimed
gap below the true one is a failure. A new structure, loss or solver is tested by its registry.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import naive_optima
from dualstruct import InputError, Problem, SequenceTagger, Stopping, StructuredSVM, fit
from dualstruct.losses import LOSSES, find_loss
from dualstruct.problem import ROUNDING
from dualstruct.solvers import LBFGS, SOLVERS, CuttingPlane, Solver
from dualstruct.structures import GraphCRF, MultiLabel
from dualstruct.training.progress import ProgressLine
from naive import random_chain
from naive_truth import Truth
from structure_cases import CASES, Case, custom_case

GAP = 1e-3
#: What float32 may add to a claim, relative to the objective.
SLACK = 2e-5
THREADS = (1, 2, 3, 5)
#: Every solver with its defaults, and what else has code of its own.
EVERY_SOLVER: dict[str, Solver] = {
    **{name: solver() for name, solver in SOLVERS.items()},
    "cutting-plane-n": CuttingPlane(slack="n"),
    "lbfgs-observed": LBFGS(states="observed"),
}


def weighted(case: Case) -> tuple[Case, np.ndarray]:
    """The same examples with weights, one of them 0."""
    weights = np.resize([1.5, 0.25, 2.0], len(case.structure))
    if len(weights) > 3:
        weights[3] = 0.0
    case.structure.set_example_weights(weights)
    return case, weights


def can_run(case: Case, solver: Solver, loss: str) -> bool:
    if find_loss(loss).sums and not case.has_expectations:
        return False
    if solver.name == "eg" and not case.has_parts:
        return False
    if solver.name == "lbfgs" and case.structure.kind == "Orders":
        return solver.states == "all"  # it does not tell which features the truth has
    return True


@pytest.mark.parametrize("name", EVERY_SOLVER)
@pytest.mark.parametrize("kind", CASES)
def test_no_claimed_gap_is_below_the_true_one(kind, name):
    solver = EVERY_SOLVER[name]
    case, weights = weighted(CASES[kind](np.random.default_rng(11)))
    C = 0.5
    truth = Truth(case, weights, C)
    for loss in solver.losses:
        if not can_run(case, solver, loss):
            continue
        found = {}
        for threads in THREADS:
            iterates = []
            problem = Problem(case.structure, loss, C, threads=threads)
            stopping = Stopping(gap=GAP, passes=2000 if solver.convex else 20)
            if not solver.start(problem, 0).can_end:
                stopping = Stopping(passes=10)
            result = fit(
                problem, solver, stopping, callbacks=[lambda _, it, all_=iterates: all_.append(it)]
            )
            w = np.array(result.w.array, dtype=np.float64)
            primal = truth.primal(loss, w)
            exact = case.exact_expectations or not find_loss(loss).sums
            assert result.estimate == (not exact)
            if exact:
                assert result.primal == pytest.approx(primal, rel=SLACK), threads
            if result.gap is None or not exact:
                assert not result.certified
                continue
            best = truth.optimum(loss)
            if name == "lbfgs-observed":
                best = min(best, primal)  # its optimum is that of fewer weights
                assert result.stopped_by in ("gap", "converged"), threads
                continue
            assert result.certified
            assert result.dual <= best * (1 + SLACK), threads
            assert (primal - best) / primal <= result.gap + SLACK, threads
            assert (primal - result.dual) / primal == pytest.approx(result.gap, abs=SLACK)
            assert result.stopped_by in ("gap", "converged"), (threads, str(result))
            assert result.gap <= GAP, (threads, str(result))
            if hasattr(iterates[-1], "duals") and hasattr(iterates[-1].duals, "cuts_of"):
                dual = truth.dual_of_cuts(loss, iterates[-1].duals)
                assert result.dual == pytest.approx(dual, rel=SLACK, abs=SLACK * best), threads
            found[threads] = w
        # From two threads on it is one model, bit for bit.
        for threads in sorted(found)[2:]:
            np.testing.assert_array_equal(found[threads], found[2], err_msg=f"{threads} threads")


@pytest.mark.parametrize("dimension", [1, 3, 5, 8, 13])
@pytest.mark.parametrize("threads", [2, 3, 5, 8])
def test_no_weight_is_dropped_whatever_the_dimension(dimension, threads):
    """The sum over threads had left out the last weights of a dimension that 8 does not divide."""
    rng = np.random.default_rng(dimension)
    case = custom_case(rng, dimension=dimension, expectation=True)
    results = [
        fit(Problem(case.structure, "crf", 2.0, threads=k), LBFGS(), Stopping(gap=1e-5, passes=500))
        for k in (1, threads)
    ]
    assert results[1].primal == pytest.approx(results[0].primal, rel=1e-5)
    np.testing.assert_allclose(results[1].w.array, results[0].w.array, atol=1e-3)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "crf", "softmax_margin"])
@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_one_per_cent_is_one_per_cent_for_every_size_of_the_objective(solver, C, loss):
    if loss not in SOLVERS[solver].losses:
        return
    naive = random_chain(np.random.default_rng(3), sentences=4, tokens=3, labels=3, real=True)
    naive.weights = None
    problem = Problem(naive.fast(), loss, C)
    iterate = SOLVERS[solver]().start(problem, 0)
    if not iterate.can_end:
        return
    result = fit(problem, SOLVERS[solver](), Stopping(gap=0.01, passes=3000))
    examples, weights = naive.examples(), naive.weights_of_losses(C)
    if loss == "hinge":
        best, _ = naive_optima.solve_hinge(examples, weights)
    elif loss == "squared_hinge":
        best, _ = naive_optima.solve_squared_hinge(examples, weights)
    else:
        gamma = 1.0 if loss == "softmax_margin" else 0.0
        best, _ = naive_optima.solve_softmax_margin(examples, weights, 1.0, gamma)
    assert result.stopped_by in ("gap", "converged")
    assert result.gap <= 0.01
    assert result.primal - best <= 0.01 * result.primal * (1 + 1e-3)


def test_the_gap_is_relative_and_has_a_floor_only_where_the_primal_is_rounding():
    chain = random_chain(np.random.default_rng(0), sentences=2).fast()
    problem = Problem(chain, "hinge", 2.0)
    assert problem.relative_gap(0.02, 0.01) == 0.5
    assert problem.relative_gap(-2.0, -3.0) == 0.5
    assert problem.relative_gap(0.0, 0.0) == 0.0
    assert problem.relative_gap(ROUNDING, 0.0) == 0.5
    assert problem.relative_gap(1.0, None) is None
    assert problem.relative_gap(math.nan, 1.0) is None


@pytest.mark.parametrize("gap", [0.0, -0.1, 1.0, 1.5, float("nan"), float("inf")])
def test_gaps_outside_0_and_1_are_refused(gap):
    with pytest.raises(InputError, match="between 0 and 1"):
        Stopping(gap=gap)


def graphs_with_loops(rng: np.random.Generator, loss: str, **settings) -> StructuredSVM:
    X = [(rng.normal(size=(4, 2)), np.array([[0, 1], [1, 2], [2, 3], [3, 0]])) for _ in range(6)]
    Y = [rng.integers(0, 2, 4).tolist() for _ in X]
    return StructuredSVM(GraphCRF(), loss=loss, **settings).fit(X, Y)


def test_sums_on_graphs_with_loops_are_called_estimates():
    svm = graphs_with_loops(np.random.default_rng(0), "crf", solver="lbfgs", gap=0.01, passes=50)
    result = svm.result_
    assert result.gap is not None
    assert result.estimate
    assert not result.certified
    assert svm.certificate_.estimate
    assert "(estimate)" in str(result)
    assert result.summary()["estimate"] is True
    point = next(point for point in result.trace if point.gap is not None)
    assert point.estimate
    assert "(estimate)" in ProgressLine(Stopping(passes=5), False).describe(point)


def test_exact_inference_is_certified():
    X, Y = np.random.default_rng(0).normal(size=(6, 2)), [[0, 1]] * 3 + [[1, 1]] * 3
    for loss in ("crf", "hinge"):
        result = StructuredSVM(MultiLabel(), loss=loss).fit(X, Y).result_
        assert result.certified
        assert "estimate" not in str(result)


def test_an_output_that_is_not_proven_the_best_makes_the_gap_an_estimate():
    """AD3 without a search stops at what its relaxation says."""
    rng = np.random.default_rng(4)
    pairs = np.array([[a, b] for a in range(5) for b in range(a)])
    X = [(4 * rng.normal(size=(5, 3)), pairs) for _ in range(24)]
    Y = [rng.integers(0, 3, 5).tolist() for _ in X]
    for branch in (False, True):
        svm = StructuredSVM(
            GraphCRF(branch=branch), loss="hinge", C=10.0, passes=10, certify_every=1
        )
        result = svm.fit(X, Y).result_
        assert any(point.estimate for point in result.trace) != branch
        assert (result.unproven > 0) != branch


@pytest.mark.parametrize("solver", ["dcd", "lbfgs", "eg", "sdm", "frank-wolfe", "cutting-plane"])
def test_certify_every_gives_a_trace_that_can_be_plotted(solver):
    X = [["Ada", "met", "Bo"], ["Rome", "is", "old"]] * 3
    Y = [["PER", "O", "PER"], ["LOC", "O", "O"]] * 3
    loss = SOLVERS[solver].losses[0]
    tagger = SequenceTagger(
        "word[0]\n", loss=loss, solver=solver, gap=1e-4, passes=40, certify_every=1
    ).fit(X, Y)
    for point in tagger.result_.trace:
        assert point.gap == pytest.approx((point.primal - point.dual) / point.primal)
        assert point.gap_estimate is None or math.isfinite(point.gap_estimate)
        assert point.dual > 0
    assert tagger.get_params()["certify_every"] == 1
    with pytest.raises(InputError, match="certify_every is 0"):
        tagger.set_params(certify_every=0).fit(X, Y)


def test_every_loss_is_certified_by_some_solver_or_by_none_on_purpose():
    """Some losses have no dual that bounds anything."""
    naive = random_chain(np.random.default_rng(1), sentences=3)
    certified = {
        loss
        for loss in LOSSES
        for solver in SOLVERS.values()
        if loss in solver.losses
        and solver.convex
        and solver().start(Problem(naive.fast(), loss, 1.0), 0).can_end
    }
    assert set(LOSSES) - certified == {"perceptron", "ramp", "ramp_uncosted", "risk_bound"}
