"""Perceptron, MIRA, DCA, SGD and Pegasos against slow re-implementations and known optima."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dualstruct import InputError, Problem, Stopping, _core, conversions, fit, write_columns
from dualstruct.datasets import make_chains
from dualstruct.losses import Ramp, RiskBound, SoftmaxMargin, find_loss
from dualstruct.solvers import DCA, DCD, MIRA, SGD, Averaged, Pegasos, Perceptron
from dualstruct.training.progress import ProgressLine
from naive import NaiveChain, random_chain, solve_hinge
from naive_custom import Orders
from naive_online import NaiveCCCP, NaiveOnline, solve_smooth
from naive_optima import solve_simplex_qp
from patience import HANGS
from random_cases import cases

C = 0.7
DATA = make_chains(sentences=120, tokens=8, labels=4, features=60, noise=0.6, seed=1)

pairs = [
    (Perceptron(), "perceptron"),
    (MIRA(), "hinge"),
    (MIRA(k=3), "hinge"),
    (DCA(), "crf"),
    (DCA(), SoftmaxMargin(3.0, 2.0)),
    (DCA(), "hinge"),
    (DCA(k=4), "hinge"),
    (SGD(), "hinge"),
    (SGD(averaged=True), "squared_hinge"),
    (SGD("lecun"), "crf"),
    (SGD("lecun", averaged=True), SoftmaxMargin(2.0, 1.0)),
    (Pegasos(), "hinge"),
    (Pegasos(batch=7, projection=True), "hinge"),
    (MIRA(k=2, candidates="predicted"), "hinge"),
    (SGD("printed"), "hinge"),
    (SGD(averaged=True), RiskBound(2.0, 1.0)),
    (Pegasos(passes_per_round=2), "ramp"),
    (Pegasos(ramp="direct"), "ramp"),
    (Pegasos(projection=True, ramp="direct"), Ramp(costed=False)),
]


def problem_of(loss, C: float = 0.5) -> Problem:
    return Problem(DATA.structure(), loss, C=C)


def flat(chain, w) -> np.ndarray:
    return np.concatenate(
        [chain.emission_weights(w).ravel(), chain.transition_weights(w).ravel()]
    ).astype(float)


def untied(seed: int) -> NaiveChain:
    """Real features and costs: no ties, so that both sides decode the same outputs."""
    rng = np.random.default_rng(seed)
    naive = random_chain(rng, sentences=5, tokens=3, real=True, weighted=True, counted=True)
    for x in naive.X:
        x[:] = rng.normal(size=x.shape).astype(np.float32)
    return naive


def anywhere(naive: NaiveChain, seed: int) -> np.ndarray:
    """Weights at which no two outputs tie, as many do at 0."""
    w = np.random.default_rng(seed).normal(size=naive.dimension).astype(np.float32).astype(float)
    w[-1] = 0  # from start to end: not a weight
    return w


def compare(
    naive: NaiveChain, solver, loss, slow: NaiveOnline, meet, batch=1, center=None, passes=4
) -> None:
    """A few passes on both sides: the same losses, the same w, the same average."""
    chain = naive.fast()
    center = None if center is None else chain.pack(*naive.split(center))
    iterate = solver.start(Problem(chain, loss, C=slow.C, center=center), slow.seed)
    iterate.start_averaging()
    for _ in range(passes):
        expected = slow.one_pass(meet, batch)
        report = solver.run_pass(iterate)
        size = max(1.0, np.abs(slow.iterates).max())
        np.testing.assert_allclose(flat(chain, iterate.w), slow.w, atol=3e-4 * size)
        mean = np.mean(slow.iterates, axis=0)
        np.testing.assert_allclose(flat(chain, iterate.answer()), mean, atol=3e-4 * size)
        assert report.loss == pytest.approx(expected, rel=1e-3, abs=3e-3 * size)
        assert iterate.dual() is None


seeds = st.integers(0, 2**32 - 1)


@cases(60)
@given(seeds)
def test_a_perceptron_pass_is_that_of_collins(seed):
    naive = untied(seed)
    w = anywhere(naive, seed)
    slow = NaiveOnline(naive, C, seed % 1000, w)
    compare(naive, Perceptron(), "perceptron", slow, slow.perceptron, center=w)


@cases(60)
@given(seeds, st.sampled_from([0.02, 0.7, 100.0]))
def test_a_mira_pass_is_that_of_crammer(seed, C):
    naive = untied(seed)
    slow = NaiveOnline(naive, C, seed % 1000)
    compare(naive, MIRA(), "hinge", slow, slow.mira)


@cases(30)
@given(seeds, st.sampled_from([2, 4]), st.sampled_from([0.1, 2.0]))
def test_a_k_best_mira_pass_solves_the_small_problem_of_each_example(seed, k, C):
    naive = untied(seed)
    w = anywhere(naive, seed)
    slow = NaiveOnline(naive, C, seed % 1000, w)

    def meet(met: list[int]) -> float:
        return slow.k_best_mira(met, k)

    # One pass: a step makes the outputs tie whose constraints it meets with equality.
    compare(naive, MIRA(k=k), "hinge", slow, meet, center=w, passes=1)


@cases(40)
@given(seeds, st.sampled_from([0.05, 2.0, None]))
def test_prediction_based_mira_is_footnote_7_of_martins_and_without_slack_that_of_chang(seed, C):
    naive = untied(seed)
    w = anywhere(naive, seed)
    slow = NaiveOnline(naive, 0.7 if C is None else C, seed % 1000, w)
    solver = MIRA(candidates="predicted", slack=C is not None)

    def meet(met: list[int]) -> float:
        return slow.predicted_mira(met, np.inf if C is None else C)

    # One pass: a step makes outputs tie.
    compare(naive, solver, "hinge", slow, meet, center=w, passes=1)


@cases(20)
@given(seeds, st.sampled_from([2, 4]), st.booleans())
def test_k_best_mira_of_the_predictions_solves_the_small_problem_of_each_example(seed, k, slack):
    naive = untied(seed)
    w = anywhere(naive, seed)
    slow = NaiveOnline(naive, C, seed % 1000, w)

    def meet(met: list[int]) -> float:
        # Multipliers together do not come to 100: then as many more change nothing.
        return slow.k_best_mira(met, k, 0.0, None if slack else 100.0)

    solver = MIRA(k=k, candidates="predicted", slack=slack)
    compare(naive, solver, "hinge", slow, meet, center=w, passes=1)


@cases(40)
@given(seeds, st.booleans(), st.sampled_from([1, 3]))
def test_pegasos_with_the_ramp_is_cccp_with_fixed_outputs(seed, costed, T):
    naive = untied(seed)
    loss = Ramp(costed)
    slow = NaiveCCCP(naive, C, seed % 1000, loss.concave_cost_weight, T)
    chain = naive.fast()
    solver = Pegasos(passes_per_round=T)
    iterate = solver.start(Problem(chain, loss, C=C), slow.seed)
    for _ in range(3):
        expected = slow.one_round()
        found = sum(solver.run_pass(iterate).loss for _ in range(T))
        size = max(1.0, np.abs(slow.iterates).max())
        np.testing.assert_allclose(flat(chain, iterate.w), slow.w, atol=3e-4 * size)
        assert found == pytest.approx(expected, rel=1e-3, abs=3e-3 * size)


def test_the_bound_of_the_risk_is_above_the_risk_and_zero_without_cost():
    naive = untied(5)
    chain, w = naive.fast(), anywhere(naive, 5)
    weights = chain.pack(*naive.split(w))
    bound = RiskBound(1.0, 1.0).values(chain.core_examples, weights, 1)
    nothing = RiskBound(1.0, 0.0).values(chain.core_examples, weights, 1)
    np.testing.assert_allclose(nothing, 0, atol=1e-5)
    w = w.astype(np.float32).astype(float)
    for i in range(len(chain)):
        risk = naive.expectation(w, i, 1.0, 0.0)[1]
        expected = np.log(
            sum(np.exp(float(w @ naive.phi(i, y)) + naive.loss(i, y)) for y in naive.outputs(i))
            / sum(np.exp(float(w @ naive.phi(i, y))) for y in naive.outputs(i))
        )
        assert bound[i] == pytest.approx(expected, rel=1e-4, abs=1e-4)
        assert bound[i] >= risk - 1e-4


@cases(60)
@given(seeds, st.sampled_from([(1.0, 0.0), (1.0, 1.0), (3.0, 0.5)]))
def test_a_dca_pass_is_algorithm_2_of_martins(seed, shape):
    naive = untied(seed)
    slow = NaiveOnline(naive, C, seed % 1000)
    compare(naive, DCA(), SoftmaxMargin(*shape), slow, lambda met: slow.dca(met, *shape))


@cases(60)
@given(
    seeds,
    st.sampled_from(["bottou", "lecun", "printed"]),
    st.sampled_from(
        ["hinge", "squared_hinge", "crf", SoftmaxMargin(2.0, 1.5), RiskBound(2.0, 1.5)]
    ),
    # λ η0 = η0/(C n) of 0.05, and so near 1 or beyond that the scale is folded again and again.
    st.sampled_from([(C, 0.05), (C, 0.99), (0.05, 0.999), (0.02, 1.7)]),
)
def test_an_sgd_pass_is_gradient_descent(seed, schedule, loss, setting):
    naive = untied(seed)
    C, shrinkage = setting
    if loss == "squared_hinge":  # its gradient grows with the loss
        C, shrinkage = 0.02, min(shrinkage, 0.5)
    if isinstance(loss, RiskBound):  # not convex: long steps magnify rounding
        shrinkage = 0.05
    eta0 = shrinkage * C * 5
    slow = NaiveOnline(naive, C, seed % 1000)
    eta = {
        "bottou": lambda T: eta0 / (1 + eta0 * T / (C * 5)) ** 0.75,
        "lecun": lambda T: eta0 / (1 + T / 5),
        "printed": lambda T: eta0 / (1 + eta0 * T / C) ** 0.75,
    }[schedule]
    smooth = find_loss(loss)
    shape = (smooth.beta, smooth.gamma) if smooth.sums else ()
    kind = smooth.name if isinstance(smooth, RiskBound) else "smooth" if shape else loss
    solver = SGD(schedule, eta0=eta0)
    compare(naive, solver, loss, slow, lambda met: slow.sgd(met, eta, kind, shape))


@cases(60)
@given(
    seeds,
    st.sampled_from([1, 2, 5, 9]),
    st.sampled_from([False, True, "classical"]),
    st.sampled_from(["hinge", Ramp(costed=True), Ramp(costed=False)]),
    st.sampled_from([0, 2]),
)
def test_a_pegasos_pass_is_that_of_shalev_shwartz(seed, batch, projection, loss, hinge_passes):
    naive = untied(seed)
    slow = NaiveOnline(naive, C, seed % 1000)
    costs = [max(naive.loss(i, y) for y in naive.outputs(i)) for i in range(5)]
    bound = C * float(np.dot(costs, naive.weights))
    radius = {
        False: None,
        True: np.sqrt(bound if loss == "hinge" else 2 * bound),
        "classical": np.sqrt(C * 5),
    }[projection]
    concave = None if loss == "hinge" else loss.concave_cost_weight

    def meet(met: list[int]) -> float:
        return slow.pegasos(met, radius, concave if slow.passes > hinge_passes else None)

    solver = Pegasos(batch=batch, projection=projection, hinge_passes=hinge_passes, ramp="direct")
    compare(naive, solver, loss, slow, meet, batch)


def test_a_projection_that_shrinks_w_again_and_again_leaves_the_average_exact():
    data = make_chains(sentences=60, tokens=5, labels=3, features=40, noise=0.3, seed=4)
    problem = Problem(data.structure(), "hinge", C=50.0)
    solver = Pegasos(projection=True, averaged=True)
    whole = solver.start(problem, seed=1)
    whole.start_averaging()
    # One step a call: w after each of them can be seen and added up.
    radius = whole.memory["radius"]
    w, average = problem.structure.new_weights(), _core.Average(problem.structure.core)
    total = np.zeros(len(w.array))
    norms = []
    for t in range(300):
        step = _core.PegasosStep(1 / (50.0 * 60), 1, t, radius, None)
        one = np.array([t * 7 % 60], dtype=np.int32)
        _core.online_pass(problem.structure.core_examples, w, average, step, t, one)
        total += w.array
        norms.append(np.linalg.norm(w.array))
    out = problem.structure.new_weights()
    average.write(problem.structure.core, w, 1.0, out)
    assert np.isclose(norms[:30], radius, rtol=1e-5).sum() > 20
    assert max(norms) < radius * (1 + 1e-5)
    np.testing.assert_allclose(out.array, total / 300, atol=1e-5 * radius)
    # And within one pass, where the scale is folded only when it has to be.
    solver.run_pass(whole)
    assert np.linalg.norm(whole.answer().array) <= radius * (1 + 1e-5)


@cases(40)
@given(seeds, st.sampled_from([1, 3]))
def test_dca_on_the_hinge_takes_the_very_steps_of_mira(seed, k):
    chain = random_chain(np.random.default_rng(seed), sentences=8, tokens=4).fast()
    weights = []
    for solver in (MIRA(k=k), DCA(k=k)):
        iterate = solver.start(Problem(chain, "hinge", C=0.3), 5)
        iterate.start_averaging()
        for _ in range(3):
            solver.run_pass(iterate)
        weights.append(iterate.w.array.tobytes() + iterate.answer().array.tobytes())
    assert weights[0] == weights[1]


def test_dca_tends_to_mira_as_beta_grows():
    naive = untied(3)
    chain = naive.fast()
    mira, distances = MIRA(), []
    target = mira.start(Problem(chain, "hinge", C=C), 1)
    mira.run_pass(target)
    for beta in (1.0, 10.0, 1000.0):
        dca = DCA()
        iterate = dca.start(Problem(chain, SoftmaxMargin(beta, 1.0), C=C), 1)
        dca.run_pass(iterate)
        distances.append(np.linalg.norm(iterate.w.array - target.w.array))
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 1e-3 * np.linalg.norm(target.w.array)


@cases(200)
@given(seeds, st.integers(1, 6), st.integers(1, 8), st.sampled_from([0.01, 0.5, 20.0]))
@example(36330, 6, 1, 20.0)  # rows that pull against each other
@example(34238, 6, 2, 20.0)
@example(6005, 6, 3, 20.0)
def test_hildreths_solution_is_optimal(seed, k, dimension, C):
    rng = np.random.default_rng(seed)
    D = rng.integers(-2, 3, (k, dimension)).astype(float)  # often dependent, sometimes 0
    H = rng.normal(size=k) * 3
    G = D @ D.T
    alpha = _core.hildreth(np.ascontiguousarray(G), H, C)
    # Feasible; and no multiplier can take from another (or from what is left of C) and gain.
    assert (alpha >= 0).all()
    assert alpha.sum() <= C * (1 + 1e-12)
    gradient = H - G @ alpha
    xi = max(gradient.max(), 0.0)  # the slack at w'
    assert (gradient[alpha > 1e-12 * C] >= xi - 1e-6).all()
    assert xi * (C - alpha.sum()) <= 1e-6 * max(1, C)

    def dual(a):
        return H @ a - 0.5 * a @ G @ a

    assert dual(alpha) >= dual(solve_simplex_qp(G, H, C)) - 1e-6


def test_hildreth_on_one_output_is_the_step_of_1_best_mira():
    for H, norm2, C in [(2.0, 3.0, 1.0), (2.0, 3.0, 0.1), (-1.0, 3.0, 1.0), (1.0, 0.0, 0.5)]:
        expected = 0 if H < 0 else min(C, H / norm2) if norm2 else C
        assert _core.hildreth(np.array([[norm2]]), np.array([H]), C)[0] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "solver",
    [
        SGD(averaged=True),
        SGD("lecun", eta0=C, averaged=True),
        Pegasos(),
        Pegasos(projection=True),
        Pegasos(batch=2),
    ],
)
def test_the_hinge_optimum_is_approached(solver, seed):
    rng = np.random.default_rng(seed)
    naive = random_chain(rng, sentences=4, tokens=3, labels=2, weighted=True)
    result = fit(Problem(naive.fast(), "hinge", C=C), solver, Stopping(passes=3000))
    optimum, _ = solve_hinge(naive, C)
    assert optimum - 1e-4 <= result.primal <= 1.03 * optimum


def test_the_squared_hinge_optimum_is_approached():
    best = fit(problem_of("squared_hinge"), DCD(admission=1e-6), Stopping(gap=1e-3, passes=5000))
    result = fit(problem_of("squared_hinge"), SGD(averaged=True), Stopping(passes=2000))
    assert best.dual <= result.primal <= 1.03 * best.dual


@pytest.mark.parametrize("shape", [(1.0, 0.0), (2.0, 1.0)])
@pytest.mark.parametrize("schedule", ["bottou", "lecun"])
def test_the_smooth_optimum_is_approached(shape, schedule):
    naive = random_chain(np.random.default_rng(2), sentences=6, tokens=3, labels=3)
    problem = Problem(naive.fast(), SoftmaxMargin(*shape), C=C)
    result = fit(problem, SGD(schedule, averaged=True), Stopping(passes=2000))
    optimum = solve_smooth(naive, C, *shape)
    assert optimum * (1 - 1e-5) <= result.primal <= 1.01 * optimum


def test_the_perceptron_stops_moving_on_separable_data():
    data = make_chains(sentences=50, tokens=6, labels=3, features=300, noise=0.0, seed=3)
    solver = Perceptron()
    iterate = solver.start(Problem(data.structure(), "perceptron"), seed=0)
    for _ in range(50):
        before = iterate.w.array.tobytes()
        report = solver.run_pass(iterate)
    assert report.loss == 0
    assert iterate.w.array.tobytes() == before
    predicted = data.structure().decode_all(iterate.w)
    np.testing.assert_array_equal(predicted, data.truth)


def test_the_perceptron_loss_keeps_dca_at_its_optimum_0_and_moves_it_from_elsewhere():
    assert not fit(problem_of("perceptron"), DCA(), Stopping(passes=2)).w.array.any()
    structure = DATA.structure()
    center = structure.new_weights(
        np.random.default_rng(0).normal(size=structure.core.dimension).astype(np.float32)
    )
    problem = Problem(structure, "perceptron", center=center)
    losses = [
        point.primal for point in fit(problem, DCA(), Stopping(passes=8), certify_every=1).trace
    ]
    assert losses[-1] < losses[0] < problem.primal(center)


@pytest.mark.parametrize("costed", [True, False])
def test_ramp_steps_lower_the_ramp_loss_on_noisy_data(costed):
    data = make_chains(sentences=150, tokens=6, labels=3, features=50, noise=0.3, seed=6)
    truth = data.truth.copy()
    flipped = np.random.default_rng(0).random(truth.size) < 0.15
    truth[flipped] = (truth[flipped] + 1) % 3
    problem = Problem(data._replace(truth=truth).structure(), Ramp(costed), C=0.3)
    zero = problem.structure.new_weights()
    by_hinge = fit(Problem(problem.structure, "hinge", C=0.3), Pegasos(), Stopping(passes=60))
    by_ramp = fit(problem, Pegasos(), Stopping(passes=60))
    assert by_ramp.primal < problem.primal(by_hinge.w) < problem.primal(zero)


@pytest.mark.parametrize(("solver", "loss"), pairs, ids=repr)
def test_same_seed_same_weights_bit_for_bit(solver, loss):
    runs = [
        fit(problem_of(loss), solver, Stopping(passes=3), seed=seed).w.array.tobytes()
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize(("solver", "loss"), pairs, ids=repr)
def test_resuming_gives_the_uninterrupted_model_bit_for_bit(solver, loss, tmp_path):
    whole = fit(problem_of(loss), solver, Stopping(passes=7), seed=3)
    for passes in (2, 5, 7):
        part = fit(
            problem_of(loss), solver, Stopping(passes=passes), seed=3,
            checkpoint=tmp_path / "run.checkpoint", resume=True,
        )  # fmt: skip
    assert part.w.array.tobytes() == whole.w.array.tobytes()
    assert part.inference_calls == whole.inference_calls
    assert part.primal == whole.primal


@pytest.mark.parametrize(("solver", "loss"), pairs, ids=repr)
def test_no_gap_is_made_up(solver, loss):
    result = fit(problem_of(loss), solver, Stopping(gap=0.5, passes=2), certify_every=1)
    assert result.stopped_by == "passes"
    assert result.gap is result.dual is None
    assert "gap" not in str(result)
    for point in result.trace:
        assert point.gap is point.dual is point.gap_estimate is None
        assert np.isfinite(point.primal)
        line = ProgressLine(Stopping(passes=2), show=False).describe(point)
        assert "gap" not in line
        assert "objective" not in line


def test_the_command_line_reports_a_missing_gap_as_null(tmp_path):
    file = tmp_path / "train.txt"
    write_columns(file, [["a", "b"], ["b", "c"]], [["X", "Y"], ["Y", "X"]])
    command = [sys.executable, "-m", "dualstruct", "train", file, "--model", tmp_path / "m.dstruct"]
    command += ["--loss", "hinge", "--solver", "mira", "--json"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=HANGS)
    report = json.loads(done.stdout)
    assert report["gap"] is report["dual"] is None
    assert report["stopped_by"] == "passes"


def test_a_gap_alone_cannot_stop_a_solver_without_a_dual():
    with pytest.raises(InputError, match="mira has no dual and cannot stop on a gap"):
        fit(problem_of("hinge"), MIRA(), Stopping(gap=0.01))


def test_losses_met_are_those_of_the_weights_met():
    problem = problem_of("hinge", C=1e-9)  # w hardly moves from 0
    solver = MIRA()
    report = solver.run_pass(solver.start(problem, 0))
    at_zero = problem.loss.values(
        problem.structure.core_examples, problem.structure.new_weights(), 1
    )
    assert report.loss == pytest.approx(at_zero.sum(), rel=1e-5)


def test_negative_loss_estimates_are_counted():
    structure = DATA.structure()
    w = structure.new_weights()
    for i in range(len(structure)):  # so sure of the truth that only rounding is left of the loss
        truth = DATA.truth[structure.sentences[i] : structure.sentences[i + 1]]
        structure.add_features(w, i, truth, 3.1)
    center = structure.new_weights(w.array)
    problem = Problem(structure, "crf", C=1e-30, center=center)
    losses = problem.loss.values(structure.core_examples, center, 1)
    result = []
    fit(problem, DCA(averaged=False), Stopping(passes=2),
        callbacks=[lambda point, iterate: result.append(iterate.memory["clamped"])])  # fmt: skip
    assert result == [(losses < 0).sum(), 2 * (losses < 0).sum()]
    assert result[0] > 0


@pytest.mark.parametrize("loss", ["hinge", "perceptron"])
def test_outputs_that_are_worse_than_the_truth_are_counted(loss):
    """Where the decoder is approximate, a margin loss can come out negative, too."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(3, 3, 5)).astype(np.float32) for _ in range(12)]
    Y = [tuple(rng.permutation(3).tolist()) for _ in X]

    class Careless(Orders):
        def decode(self, w, x, truth=None, cost_weight=0.0):
            return (0, 1, 2)

    template = Careless(dimension=5)
    structure = template.bind(X, Y)
    center = structure.new_weights(rng.normal(size=5).astype(np.float32))
    w = center.array[:5].astype(float)
    expected = 0
    for x, y in zip(X, Y, strict=True):
        cost = template.distance(y, (0, 1, 2)) * (loss == "hinge")
        expected += cost + w @ (template.vector(x, (0, 1, 2)) - template.vector(x, y)) < -1e-6
    problem = Problem(structure, loss, C=1e-30, center=center)
    counts = []
    fit(problem, DCA(averaged=False), Stopping(passes=2),
        callbacks=[lambda point, iterate: counts.append(iterate.memory["clamped"])])  # fmt: skip
    assert counts == [expected, 2 * expected]
    assert 0 < expected < len(X)


def test_averaging_is_a_choice():
    averaged, last = (
        fit(problem_of("hinge"), MIRA(averaged=choice), Stopping(passes=3))
        for choice in (True, False)
    )
    wrapped = fit(problem_of("hinge"), Averaged(MIRA(averaged=False)), Stopping(passes=3))
    assert averaged.w.array.tobytes() == wrapped.w.array.tobytes() != last.w.array.tobytes()


def test_sgd_chooses_a_rate_that_does_not_diverge():
    rates = []
    for loss in ("hinge", "squared_hinge"):
        fit(problem_of(loss, C=5.0), SGD(), Stopping(passes=2),
            callbacks=[lambda point, iterate: rates.append(iterate.memory["eta0"])])  # fmt: skip
    assert rates[0] == rates[1]
    assert rates[2] == rates[3] < rates[0]


def test_steps_that_diverge_are_reported():
    with pytest.raises(InputError, match=r"diverge with eta0 = 0\.5"):
        fit(problem_of("squared_hinge", C=100.0), SGD(eta0=0.5), Stopping(passes=50))


def test_impossible_parameters_are_refused():
    for wrong in (0, -1, 1.5, float("nan")):
        with pytest.raises(InputError, match="k is"):
            MIRA(k=wrong)
        with pytest.raises(InputError, match="k is"):
            DCA(k=wrong)
        with pytest.raises(InputError, match="batch is"):
            Pegasos(batch=wrong)
    with pytest.raises(InputError, match="hinge_passes is -1"):
        Pegasos(hinge_passes=-1)
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="eta0 is"):
            SGD(eta0=wrong)
    with pytest.raises(InputError, match="choose one of bottou, lecun"):
        SGD("newton")
    with pytest.raises(InputError, match="only the hinge loss has k best"):
        fit(problem_of("crf"), DCA(k=2), Stopping(passes=1))
    structure = DATA.structure()
    for solver in (SGD(), Pegasos()):
        with pytest.raises(InputError, match="cannot continue from an earlier model"):
            fit(Problem(structure, "hinge", center=structure.new_weights()), solver,
                Stopping(passes=1))  # fmt: skip
    with pytest.raises(InputError, match="does not take the loss hinge"):
        fit(problem_of("hinge"), Perceptron(), Stopping(passes=1))


def test_examples_that_do_not_exist_are_refused():
    structure = DATA.structure()
    with pytest.raises(IndexError, match="no such example"):
        _core.online_pass(
            structure.core_examples,
            structure.new_weights(),
            None,
            _core.PerceptronStep(),
            0,
            np.array([120], dtype=np.int32),
        )


def test_weights_and_averages_of_another_structure_are_refused():
    structure, other = DATA.structure(), make_chains(features=7).structure().core
    examples, w = structure.core_examples, structure.new_weights()
    step = _core.PerceptronStep()
    with pytest.raises(ValueError, match="another structure"):
        _core.online_pass(examples, _core.Weights(other), None, step, 0)
    with pytest.raises(ValueError, match="another structure"):
        _core.online_pass(examples, w, _core.Average(other), step, 0)


def test_ctrl_c_in_a_pass_leaves_w_whole():
    big = make_chains(sentences=2000, tokens=200, labels=40, features=2000, seed=0)
    problem = Problem(big.structure(), "hinge", C=0.1)

    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))

    class Interrupted(Pegasos):
        def run_pass(self, iterate):
            if timer.ident is None:
                timer.start()
            return super().run_pass(iterate)

    result = fit(problem, Interrupted(), Stopping(passes=10_000))
    assert result.stopped_by == "interrupt"
    assert problem.primal(result.w) == pytest.approx(result.primal)
    assert np.isfinite(result.primal)


@given(st.floats(1e-6, 1e6), st.integers(1, 10**6))
def test_converted_parameters_mean_the_same_objective(value, n):
    norm2, losses = 3.7, 11.3  # ‖w‖² and Σ ℓ of some w

    def objective(C: float) -> float:
        return 0.5 * norm2 + C * losses

    C = conversions.C_from_lambda(value, n)
    assert objective(C) == pytest.approx((value / 2 * norm2 + losses / n) / value)
    assert conversions.lambda_from_C(C, n) == pytest.approx(value)
    C = conversions.C_from_total(value, n)
    assert objective(C) == pytest.approx(0.5 * norm2 + value / n * losses)
    assert conversions.total_from_C(C, n) == pytest.approx(value)
    C = conversions.C_from_c2(value)
    assert objective(C) == pytest.approx((losses + value * norm2) / (2 * value))
    assert conversions.c2_from_C(C) == pytest.approx(value)


def test_impossible_conversions_are_refused():
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        for convert in (conversions.C_from_c2, conversions.c2_from_C):
            with pytest.raises(InputError, match="must be positive and finite"):
                convert(wrong)
        for convert in (conversions.C_from_lambda, conversions.lambda_from_C,
                        conversions.C_from_total, conversions.total_from_C):  # fmt: skip
            with pytest.raises(InputError, match="must be positive and finite"):
                convert(wrong, 3)
            with pytest.raises(InputError, match="examples is 0"):
                convert(1.0, 0)
