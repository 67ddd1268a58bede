"""What every solver promises, over the registry: a new one is tested by its row in SOLVERS."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from dualstruct import InputError, Problem, Stopping, _core, fit
from dualstruct.datasets import make_chains
from dualstruct.losses import LOSSES, Hinge, Ramp, SquaredHinge, find_loss
from dualstruct.solvers import (
    CPD,
    DCD,
    LBFGS,
    SDM,
    SOLVERS,
    Averaged,
    Completing,
    CuttingPlane,
    DCDLight,
    ExponentiatedGradient,
    FrankWolfe,
    RampSDM,
    find_solver,
)
from dualstruct.solvers.base import DualIterate, distance
from naive import problems, random_chain, solve_hinge
from random_cases import cases
from structure_cases import CASES, Case

#: Solvers that reach the optimum of a convex loss as exactly as wanted, with the loss.
EXACT = [
    (DCD(admission=1e-9), "squared_hinge"),
    (DCDLight(admission=1e-9), "squared_hinge"),
    (CPD(admission=1e-9), "squared_hinge"),
    (CuttingPlane(tolerance=1e-8), "squared_hinge"),
    (CuttingPlane(slack="n", tolerance=1e-8), "squared_hinge"),
    (SDM(), "hinge"),
    (SDM(heuristics=False), "hinge"),
    (FrankWolfe(), "hinge"),
    (CuttingPlane(tolerance=1e-8), "hinge"),
    (CuttingPlane(slack="n", tolerance=1e-8), "hinge"),
]
names = [f"{solver.name}-{loss}-{k}" for k, (solver, loss) in enumerate(EXACT)]


def optimum(naive, loss: str, C: float) -> float:
    if loss == "hinge":
        return solve_hinge(naive, C)[0]
    return naive.primal(naive.solve_squared_hinge(C), C)


@pytest.mark.parametrize(("solver", "loss"), EXACT, ids=names)
@cases(25)
@given(naive=problems, C=st.sampled_from([0.05, 1.0, 5.0]))
def test_exact_solvers_reach_the_optimum_of_a_qp_solver(solver, loss, naive, C):
    problem = Problem(naive.fast(), loss, C)
    result = fit(problem, solver, Stopping(gap=1e-4, passes=5000))
    best = optimum(naive, loss, C)
    assert result.stopped_by == "gap"
    assert result.primal <= best + 2e-4 * max(1, best)
    assert result.primal >= best - 1e-5 * max(1, best)
    assert result.dual <= best + 1e-5 * max(1, best)


@pytest.mark.parametrize(("solver", "loss"), EXACT, ids=names)
@cases(15)
@given(naive=problems)
def test_duals_rise_and_stay_feasible(solver, loss, naive):
    problem = Problem(naive.fast(), loss, 0.7)
    iterate = solver.start(problem, 1)
    last = -1e-6
    for _ in range(8):
        solver.run_pass(iterate)
        dual = iterate.dual()
        assert dual >= last - 1e-5 * max(1.0, abs(last))
        last = dual
        before = np.array(iterate.w.array)
        iterate.rebuild()
        np.testing.assert_allclose(iterate.w.array, before, atol=1e-4)  # w = Σ α δ
        assert problem.primal(iterate.w) >= dual - 1e-5 * max(1.0, dual)
        if loss == "hinge" and hasattr(iterate, "duals"):
            C = problem.weights_of_losses()
            assert (iterate.duals.sum_alpha() <= C * (1 + 1e-6)).all()
        if hasattr(iterate, "duals"):
            for i in range(len(problem.structure)):
                assert all(cut[0] >= 0 for cut in iterate.duals.cuts_of(i))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_all_exact_solvers_agree_on_a_larger_problem(loss):
    data = make_chains(sentences=60, tokens=6, labels=4, features=40, noise=0.5, seed=2)
    primals = {}
    for solver, takes in EXACT:
        if takes == loss:
            result = fit(
                Problem(data.structure(), loss, 0.2), solver, Stopping(gap=1e-4, passes=4000)
            )
            assert result.stopped_by == "gap", solver
            primals[repr(solver)] = result.primal
    values = np.array(list(primals.values()))
    assert np.ptp(values) <= 2e-4 * values.min(), primals


def primal_by_enumeration(case: Case, w: np.ndarray, loss: str, C: float) -> float:
    """½‖w‖² + C Σ_i ℓ_i(w) with every output written out."""
    total = 0.5 * w @ w
    for i in range(len(case.structure)):
        outputs = case.outputs(i)
        scores = np.array([-w @ case.delta(i, y) for y in outputs])
        if loss == "crf":
            total += C * logsumexp(scores)
            continue
        worst = (scores + [case.cost(i, y) for y in outputs]).max()
        total += C * (worst**2 if loss == "squared_hinge" else worst)
    return float(total)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "crf"])
@cases(3)
@given(seed=st.integers(0, 2**32 - 1))
def test_solvers_agree_on_the_optimum_of_every_structure(kind, loss, seed):
    case = CASES[kind](np.random.default_rng(seed))
    solvers = [solver for solver, takes in EXACT if takes == loss]
    if loss == "crf":
        if not (case.has_expectations and case.exact_expectations):
            return
        solvers = [LBFGS(), *([ExponentiatedGradient()] if case.has_parts else [])]
    C, primals = 0.5, {}
    for solver in solvers:
        result = fit(Problem(case.structure, loss, C), solver, Stopping(gap=1e-4, passes=3000))
        found = primal_by_enumeration(case, np.array(result.w.array, dtype=float), loss, C)
        assert found == pytest.approx(result.primal, rel=1e-4, abs=1e-4)
        if result.gap is not None:
            assert result.gap <= 1e-4, solver
        primals[repr(solver)] = found
    values = np.array(list(primals.values()))
    assert np.ptp(values) <= 3e-4 * max(1, values.min()), primals


@pytest.mark.parametrize("kind", ["multiclass", "graphs without loops", "projective tree"])
@pytest.mark.parametrize("name", SOLVERS)
def test_every_structure_resumes_bit_for_bit(name, kind, tmp_path):
    solver = SOLVERS[name]()
    problem = Problem(CASES[kind](np.random.default_rng(7)).structure, solver.losses[0], 0.5)
    whole = fit(problem, solver, Stopping(passes=5), seed=3)
    for passes in (2, 5):
        part = fit(
            problem,
            SOLVERS[name](),
            Stopping(passes=passes),
            seed=3,
            checkpoint=tmp_path / "run",
            checkpoint_every=2,
            resume=True,
        )
    assert part.w.array.tobytes() == whole.w.array.tobytes()


@pytest.mark.parametrize("name", SOLVERS)
def test_same_seed_same_weights_and_resumes_bit_for_bit(name, tmp_path):
    solver = SOLVERS[name]()
    data = make_chains(sentences=40, tokens=6, labels=3, features=30, noise=0.5, seed=1)
    problem = Problem(data.structure(), solver.losses[0], 0.5)
    whole = fit(problem, solver, Stopping(passes=13), seed=3)
    for passes in (4, 13):
        part = fit(
            problem,
            SOLVERS[name](),
            Stopping(passes=passes),
            seed=3,
            checkpoint=tmp_path / name,
            checkpoint_every=2,
            resume=True,
        )
    assert part.w.array.tobytes() == whole.w.array.tobytes()
    assert part.primal == whole.primal


# A perceptron has no optimum to agree on, and the last w of SGD is as noisy as its last step.
@pytest.mark.parametrize("name", [name for name in SOLVERS if name not in ("perceptron", "sgd")])
def test_permuted_examples_change_nothing_but_rounding(name):
    solver = SOLVERS[name]()
    data = make_chains(sentences=30, tokens=1, labels=3, features=20, noise=0.4, seed=4)
    first = fit(Problem(data.structure(), solver.losses[0], 0.3), solver, Stopping(passes=60))
    order = np.random.default_rng(0).permutation(30)
    ids = data.rows.ids.reshape(30, -1)[order].ravel()
    rows = type(data.rows)(data.rows.offsets, ids, None, data.rows.sentences, data.rows.dimension)
    shuffled = data._replace(rows=rows, truth=data.truth[order]).structure()
    second = fit(Problem(shuffled, solver.losses[0], 0.3), solver, Stopping(passes=60))
    assert second.primal == pytest.approx(first.primal, rel=0.05)


def test_the_average_of_frank_wolfe_weighs_later_steps_more():
    data = make_chains(sentences=1, tokens=9, labels=3, features=20, noise=0.5, seed=2)
    seen = []
    result = fit(
        Problem(data.structure(), "hinge", 0.3),
        FrankWolfe(revisits=0, averaged=True),
        Stopping(passes=6),
        callbacks=[lambda point, iterate: seen.append(iterate.w.array.copy())],
    )
    expected = np.average(seen, axis=0, weights=np.arange(1, 7))
    np.testing.assert_allclose(result.w.array, expected, atol=1e-5)


def test_the_ramp_lies_between_its_bounds():
    naive = random_chain(np.random.default_rng(3), sentences=20, weighted=True)
    chain = naive.fast()
    rng = np.random.default_rng(4)
    for loss in (Ramp(), Ramp(costed=False)):
        w = rng.normal(size=naive.dimension)
        weights = chain.pack(*naive.split(w))
        values = loss.values(chain.core_examples, weights, 1)
        hinge = Hinge().values(chain.core_examples, weights, 1)
        assert (values <= hinge + 1e-5).all()
        for i in range(20):
            w_fast = w.astype(np.float32).astype(float)
            outputs = naive.outputs(i)
            worst = max(outputs, key=lambda y: naive.loss(i, y) - w_fast @ naive.delta(i, y))
            cost = naive.loss(i, worst)
            assert -1e-4 <= values[i] <= (2 if loss.costed else 1) * cost + 1e-4  # eq. (2.4)


def test_the_first_round_of_the_ramp_is_the_hinge_problem():
    data = make_chains(sentences=40, tokens=6, labels=3, features=30, noise=0.5, seed=1)
    ramp = fit(Problem(data.structure(), "ramp", 0.5), RampSDM(), Stopping(passes=10), seed=2)
    hinge = fit(Problem(data.structure(), "hinge", 0.5), SDM(), Stopping(passes=10), seed=2)
    np.testing.assert_allclose(ramp.w.array, hinge.w.array, atol=1e-6)
    assert ramp.gap is None
    assert ramp.primal <= hinge.primal + 1e-6


@pytest.mark.parametrize("loss", [Ramp(), Ramp(costed=False)])
def test_ccp_rounds_lower_the_ramp_and_give_up_on_noise(loss):
    clean = make_chains(sentences=200, tokens=8, labels=4, features=40, noise=0.2, seed=5)
    rng = np.random.default_rng(0)
    noisy = rng.choice(200, 20, replace=False)
    truth = clean.truth.copy()
    for i in noisy:
        begin, end = clean.rows.sentences[i : i + 2]
        truth[begin:end] = rng.integers(0, 4, end - begin)
    structure = clean._replace(truth=truth).structure()
    solver = RampSDM(passes_per_round=10)
    problem = Problem(structure, loss, 0.5)
    iterate = solver.start(problem, 0)
    primals = []
    for _ in range(60):
        solver.run_pass(iterate)
        if iterate.memory["passes"] % 10 == 0:
            primals.append(problem.primal(iterate.w))
    assert primals[-1] < primals[0]
    assert all(later <= before * 1.02 for before, later in pairwise(primals))
    given_up = set(iterate.given_up.tolist())
    assert len(given_up & set(noisy.tolist())) >= 0.6 * len(given_up) > 0


def test_the_average_of_the_ramp_counts_every_w_once():
    """A new round moves w as a whole, which is no step: the average stays what it was."""
    data = make_chains(sentences=60, tokens=6, labels=3, features=20, noise=0.7, seed=1)
    solver = RampSDM(passes_per_round=3)
    iterate = solver.start(Problem(data.structure(), "ramp", 0.5), 0)
    iterate.start_averaging()
    for _ in range(3):
        solver.run_pass(iterate)
    before, w = np.array(iterate.answer().array), np.array(iterate.w.array)
    iterate.start_round(Ramp())
    assert len(iterate.given_up)
    assert np.abs(iterate.w.array - w).max() > 0.01
    np.testing.assert_allclose(iterate.answer().array, before, atol=1e-4)


@pytest.mark.parametrize("averaged", [False, True])
def test_every_pass_of_the_ramp_can_be_judged_though_nothing_bounds_it(averaged):
    problem = Problem(random_chain(np.random.default_rng(3)).fast(), "ramp", 0.5)
    solver = Averaged(RampSDM()) if averaged else RampSDM()
    met = []

    def remember(point, iterate):
        met.append(problem.primal(iterate.settled()[0]))

    result = fit(problem, solver, Stopping(passes=4), certify_every=1, callbacks=[remember])
    assert [point.primal for point in result.trace] == pytest.approx(met)
    assert all(point.gap is point.dual is None for point in result.trace)
    assert result.primal == pytest.approx(met[-1], rel=1e-5)
    assert len(set(met)) > 1


@pytest.mark.parametrize("name", sorted(set(SOLVERS) - {"ramp"}))
def test_rounding_that_w_has_gathered_is_undone_where_there_are_duals(name):
    """Of every solver with duals; the others have nothing to compute w from."""
    solver = find_solver(name, SOLVERS[name].losses[0])
    problem = Problem(random_chain(np.random.default_rng(4)).fast(), SOLVERS[name].losses[0], 0.5)
    iterate = solver.start(problem, 0)
    for _ in range(3):
        solver.run_pass(iterate)
    exact = iterate.settled()[0].array.copy()
    damaged = iterate.w.array * np.float32(1.01)
    iterate.w.assign(problem.structure.core, damaged)
    if isinstance(iterate, DualIterate):
        assert iterate.drift() > 1e-3
    iterate.rebuild()
    has_duals = hasattr(iterate, "duals")
    assert iterate.settles_as_rebuilt == has_duals
    if has_duals:
        np.testing.assert_allclose(iterate.w.array, exact, rtol=1e-4, atol=1e-6)
    assert iterate.drift() < 1e-5


@pytest.mark.parametrize("name", SOLVERS)
def test_a_gap_alone_can_end_what_has_a_dual(name):
    loss = SOLVERS[name].losses[0]
    problem = Problem(random_chain(np.random.default_rng(4)).fast(), loss, 0.01)
    iterate = SOLVERS[name]().start(problem, 0)
    SOLVERS[name]().run_pass(iterate)
    if iterate.dual() is None:
        with pytest.raises(InputError, match="cannot stop on a gap"):
            fit(problem, SOLVERS[name](), Stopping(gap=0.5))
    else:
        assert fit(problem, SOLVERS[name](), Stopping(gap=0.5)).stopped_by == "gap"


def test_drift_is_told_relative_to_what_w_should_be():
    structure = random_chain(np.random.default_rng(1)).fast()
    exact, w = structure.new_weights(), structure.new_weights()
    # Relative to C where w is shorter than that.
    for length, C, expected in ((0.5, 1.0, 0.25), (0.5, 0.25, 0.5), (4.0, 1.0, 0.0625)):
        for weights, first in ((exact, length), (w, length + 0.25)):
            values = np.zeros_like(weights.array)
            values[0] = first
            weights.assign(structure.core, values)
        assert distance(w, exact, C) == pytest.approx(expected)


def test_the_average_of_no_steps_is_where_training_starts():
    structure = random_chain(np.random.default_rng(1)).fast()
    center = structure.new_weights(np.ones_like(structure.new_weights().array))
    iterate = DCD().start(Problem(structure, "squared_hinge", center=center), 0)
    iterate.start_averaging()
    np.testing.assert_array_equal(iterate.answer().array, iterate.w.array)
    assert iterate.w.array.any()


@pytest.mark.parametrize("solver", [DCD(), FrankWolfe(), FrankWolfe(averaged=True)], ids=repr)
def test_completing_averages_as_its_solver_does(solver):
    completing = Completing(solver)
    for name in ("averaged", "linear_average", "passes_per_round"):
        assert getattr(completing, name) == getattr(solver, name)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"kappa1": 2}, [False, False, True, True]),
        ({"kappa1": 0}, [True, True, True, True]),
        ({"kappa1": 0, "max_revisits": 0}, [False, False, False, False]),
        ({"kappa1": 0, "heuristics": False}, [False, False, False, False]),
    ],
)
def test_sdm_revisits_after_as_many_passes_as_it_is_told(settings, expected, monkeypatch):
    revisit, made = DualIterate.revisit, []
    monkeypatch.setattr(
        DualIterate, "revisit", lambda self, rule: made.append(0) or revisit(self, rule)
    )
    data = make_chains(sentences=30, tokens=6, labels=3, features=30, noise=0.5, seed=2)
    iterate = SDM().start(Problem(data.structure(), "hinge", 0.5), 0)
    found = []
    for _ in expected:
        made.clear()
        SDM(**settings).run_pass(iterate)
        found.append(bool(made))
        assert len(made) <= settings.get("max_revisits", 5)
    assert found == expected


def test_every_round_of_the_ramp_begins_as_coarse_as_the_first():
    data = make_chains(sentences=30, tokens=6, labels=3, features=30, noise=0.5, seed=2)
    solver = RampSDM(passes_per_round=40)
    iterate = solver.start(Problem(data.structure(), "ramp", 0.5), 0)
    for _ in range(40):
        solver.run_pass(iterate)
    assert iterate.memory["scale"] < 0.5
    solver.run_pass(iterate)
    assert iterate.memory["scale"] >= 0.5


def test_n_slack_and_one_slack_count_what_they_hold():
    data = make_chains(sentences=40, tokens=6, labels=3, features=30, noise=0.5, seed=1)
    problem = Problem(data.structure(), "hinge", 0.5)
    one = fit(problem, CuttingPlane(patience=3), Stopping(passes=40))
    assert one.cuts < 40  # idle planes were dropped
    assert one.inference_calls == 40 * 40


def test_losses_that_do_not_fit_are_refused_with_those_that_do():
    with pytest.raises(InputError, match="squared_hinge is for dcd, dcd-light, cpd"):
        find_solver("sdm", "squared_hinge")
    with pytest.raises(InputError, match="eg does not take the loss hinge, only crf and softmax_m"):
        find_solver("eg", "hinge")
    for loss in ("hinge", "squared_hinge", "ramp"):
        assert loss in find_solver("auto", loss).losses
    with pytest.raises(InputError, match="no steps to average"):
        fit(
            Problem(make_chains(sentences=3).structure(), "hinge"),
            Averaged(CuttingPlane()),
            Stopping(passes=1),
        )
    with pytest.raises(InputError, match="tau_inner"):
        SDM(tau=0.1, tau_inner=0.2)
    with pytest.raises(InputError, match="slack"):
        CuttingPlane(slack="two")
    assert set(LOSSES) == {
        "hinge", "squared_hinge", "crf", "softmax_margin", "perceptron", "ramp", "ramp_uncosted",
        "risk_bound",
    }  # fmt: skip
    assert SquaredHinge().name == "squared_hinge"


@pytest.mark.parametrize(
    ("solver", "loss"),
    [
        (CPD(), "squared_hinge"),
        (CuttingPlane(), "hinge"),
        (CuttingPlane(slack="n"), "hinge"),
        (CuttingPlane(), "squared_hinge"),
    ],
)
def test_batch_solvers_give_the_same_weights_on_any_number_of_threads(solver, loss):
    data = make_chains(sentences=80, tokens=8, labels=5, features=80, noise=0.5, seed=2)
    weights = [
        fit(Problem(data.structure(), loss, 0.2, threads=n), solver, Stopping(passes=5)).w.array
        for n in (1, 3, 6)
    ]
    # The planes of the squared hinge have coefficients that are no integers: their sums round.
    rounding = 1e-5 if isinstance(solver, CuttingPlane) and loss == "squared_hinge" else 0
    for others in weights[1:]:
        np.testing.assert_allclose(others, weights[0], rtol=rounding, atol=rounding)


@pytest.mark.parametrize(
    "wrong", [{"beta": 0.0}, {"beta": -1.0}, {"gamma": -0.1}, {"beta": np.inf}]
)
def test_impossible_parameters_of_the_softmax_margin_are_refused(wrong):
    with pytest.raises(InputError, match=f"{next(iter(wrong))} is"):
        find_loss("softmax_margin", **wrong)


def test_warm_starts_from_foreign_or_broken_weights_are_refused():
    structure = make_chains(sentences=5).structure()
    other = make_chains(sentences=5, labels=9).structure()
    with pytest.raises(InputError, match="entries, the structure"):
        structure.new_weights(np.array(other.new_weights().array))
    broken = np.array(structure.new_weights().array)
    broken[3] = np.nan
    with pytest.raises(InputError, match="NaN"):
        structure.new_weights(broken)


CONCURRENT = [(DCD(), "squared_hinge"), (SDM(), "hinge"), (FrankWolfe(), "hinge")]


@pytest.mark.parametrize(("solver", "loss"), CONCURRENT)
def test_several_threads_reach_the_same_certified_objective(solver, loss):
    data = make_chains(sentences=300, tokens=8, labels=5, features=80, noise=0.5, seed=2)
    one = fit(Problem(data.structure(), loss, 0.2), solver, Stopping(gap=1e-3, passes=3000))
    for threads in (2, 3, 4, 8):
        problem = Problem(data.structure(), loss, 0.2, threads=threads)
        several = fit(problem, solver, Stopping(gap=1e-3, passes=3000))
        assert several.stopped_by == "gap"
        assert several.primal == pytest.approx(one.primal, rel=2e-3)
        assert several.inference_calls == 300 * several.passes


@pytest.mark.parametrize(("solver", "loss"), CONCURRENT)
@cases(15)
@given(naive=problems, threads=st.integers(2, 6))
def test_duals_of_several_threads_are_feasible(solver, loss, naive, threads):
    problem = Problem(naive.fast(), loss, 0.7, threads=threads)
    iterate = solver.start(problem, 1)
    for _ in range(5):
        solver.run_pass(iterate)
        for i in range(len(naive.X)):
            alpha = np.array([cut[0] for cut in iterate.duals.cuts_of(i)])
            assert np.all(alpha >= 0)
            assert loss != "hinge" or alpha.sum() <= problem.weights_of_losses()[i] + 1e-9
            assert iterate.duals.sum_alpha()[i] == pytest.approx(alpha.sum(), abs=1e-9)
        w, dual = iterate.settled()
        assert problem.primal(w) >= dual - 1e-5 * max(1.0, dual)


@pytest.mark.parametrize("threads", [2, 5])
def test_passes_on_several_threads_leave_w_as_the_duals_say(threads):
    data = make_chains(sentences=200, tokens=6, labels=4, features=50, noise=0.5, seed=3)
    problem = Problem(data.structure(), "squared_hinge", 0.5, threads=threads)
    iterate = DCD().start(problem, 1)
    rule = _core.DCDRule(0.5)
    for _ in range(5):
        iterate.visit(rule, 0.01)
        for _ in range(3):
            iterate.revisit(rule)
        exact = problem.structure.new_weights()
        iterate.duals.write(exact, threads=1)
        np.testing.assert_allclose(iterate.w.array, exact.array, atol=1e-5)


@pytest.mark.parametrize(("solver", "loss"), CONCURRENT)
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_passes_on_several_threads_raise_the_dual(solver, loss, threads):
    # Ten features in all: what one thread learns is what the others learn, too.
    data = make_chains(sentences=200, tokens=6, labels=4, features=10, noise=0.5, seed=3)
    iterate = solver.start(Problem(data.structure(), loss, 1.0, threads=threads), 1)
    duals = [0.0]
    for _ in range(12):
        solver.run_pass(iterate)
        duals.append(iterate.settled()[1])
    assert np.all(np.diff(duals) >= -1e-5 * duals[-1])


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize(("solver", "loss"), CONCURRENT)
def test_a_seed_gives_one_model_on_any_number_of_threads_from_two_on(solver, loss, averaged):
    data = make_chains(sentences=100, tokens=6, labels=4, features=50, noise=0.5, seed=2)

    def start(threads=3):
        iterate = solver.start(Problem(data.structure(), loss, 0.2, threads=threads), 1)
        if averaged:
            iterate.start_averaging(solver.linear_average)
        return iterate

    first, second = start(), start()
    for _ in range(4):
        solver.run_pass(first)
    for _ in range(2):
        solver.run_pass(second)
    resumed = start(threads=2)
    resumed.restore(*second.state())
    for iterate in (second, resumed):
        for _ in range(2):
            solver.run_pass(iterate)
        np.testing.assert_array_equal(iterate.w.array, first.w.array)
        np.testing.assert_array_equal(iterate.answer().array, first.answer().array)


@pytest.mark.parametrize("linear", [False, True])
def test_averages_count_the_steps_of_all_threads(linear):
    data = make_chains(sentences=50, tokens=6, labels=4, features=50, noise=0.5, seed=2)
    counts = []
    for threads in (1, 3):
        iterate = DCD().start(Problem(data.structure(), "squared_hinge", 0.2, threads=threads), 1)
        iterate.start_averaging(linear)
        for _ in range(3):
            DCD().run_pass(iterate)
        counts.append(iterate.average.save()[1:])
    assert counts[0] == counts[1]


def test_averages_are_the_same_kind_on_several_threads():
    data = make_chains(sentences=100, tokens=6, labels=4, features=50, noise=0.5, seed=2)
    primals = [
        fit(
            Problem(data.structure(), "hinge", 0.2, threads=threads),
            Averaged(SDM()),
            Stopping(passes=100),
        ).primal
        for threads in (1, 3)
    ]
    assert primals[1] == pytest.approx(primals[0], rel=0.02)


def test_cutting_planes_stop_where_the_risk_is_within_epsilon_of_the_planes():
    data = make_chains(sentences=60, tokens=6, labels=4, features=40, noise=0.5, seed=2)
    problem = Problem(data.structure(), "hinge", 0.2)
    result = fit(problem, CuttingPlane(epsilon=0.1), Stopping(passes=2000))
    assert result.stopped_by == "converged"
    # R(w) ≤ ξ + ε n, and ½‖w‖² + C ξ ≤ P*: the gap is at most C ε n.
    assert result.primal - result.dual <= 0.2 * 0.1 * 60 + 1e-3
    assert fit(problem, CuttingPlane(), Stopping(passes=result.passes)).dual <= result.dual + 1e-6
    with pytest.raises(InputError, match="epsilon is 0"):
        CuttingPlane(epsilon=0)
