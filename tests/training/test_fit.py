"""The training loop: stopping, best weights, interrupts, checkpoints."""

from __future__ import annotations

import os
import signal
import sys
import threading
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from dualstruct import Chain, InputError, Problem, Stopping, fit
from dualstruct.datasets import make_chains
from dualstruct.solvers import (
    CPD,
    DCD,
    Averaged,
    CuttingPlane,
    DCDLight,
    DualSolver,
    Iterate,
    Solver,
)
from dualstruct.training.results import FitResult

DATA = make_chains(sentences=120, tokens=8, labels=4, features=60, noise=0.6, seed=1)


def problem(C: float = 0.5) -> Problem:
    return Problem(DATA.structure(), C=C)


@pytest.mark.parametrize("solver", [DCD(), DCDLight(), CPD()])
def test_a_certified_gap_stops_training(solver):
    result = fit(problem(), solver, Stopping(gap=0.02, passes=500))
    assert result.stopped_by == "gap"
    assert 0 <= result.gap <= 0.02
    assert result.gap == pytest.approx((result.primal - result.dual) / result.primal)
    assert problem().primal(result.w) == pytest.approx(result.primal, rel=1e-6)
    assert result.trace[-1].gap <= 0.02
    assert all(point.gap is None or point.gap > 0.02 for point in result.trace[:-1])


def test_certificates_are_made_when_they_may_end_training(monkeypatch):
    made = []
    certify = Problem.certify
    monkeypatch.setattr(Problem, "certify", lambda *args: made.append(0) or certify(*args))
    late = []
    for seed in range(6):
        made.clear()
        watched = fit(problem(), DCD(), Stopping(gap=1e-3, passes=500), certify_every=1, seed=seed)
        assert len(made) == watched.passes  # the last of them serves as the result's, too
        made.clear()
        result = fit(problem(), DCD(), Stopping(gap=1e-3, passes=500), seed=seed)
        assert result.gap == result.trace[-1].gap <= 1e-3
        assert len(made) < 0.6 * sum(point.gap <= 2e-3 for point in watched.trace)
        late.append(result.passes - watched.passes)
    assert np.mean(late) <= 3


def test_gaps_are_relative_to_the_primal_unless_it_is_nothing_but_rounding():
    judge = problem(C=0.5)
    assert judge.relative_gap(4.0, 3.0) == 0.25
    assert judge.relative_gap(-4.0, -5.0) == 0.25
    assert judge.relative_gap(4e-6, 3e-6) == pytest.approx(0.25)
    assert judge.relative_gap(2.0**-30, 0.0) == 2.0**-30 / (2.0**-23 * 0.5)
    assert judge.relative_gap(4.0, None) is judge.relative_gap(np.nan, 3.0) is None


class Scripted(Solver):
    """Does nothing; the losses it says it met make estimates of the gap as they are told."""

    name = "scripted"
    losses = ("squared_hinge",)

    def __init__(self, dual: float, estimates: list[float]) -> None:
        self.dual = dual
        self.estimates = estimates

    def start(self, problem: Problem, seed: int) -> Iterate:
        iterate = Iterate(problem, seed)
        iterate.can_end = True
        iterate.dual = lambda: self.dual
        return iterate

    def run_pass(self, iterate: Iterate) -> SimpleNamespace:
        estimate = self.estimates[iterate.core_passes]
        iterate.next_seed()
        return SimpleNamespace(loss=self.dual / (1 - estimate) / iterate.problem.C)


def test_a_certificate_is_worth_it_where_the_last_one_makes_the_gap_likely():
    steps = [  # (estimate of the gap, whether it is worth a certificate), where 0.1 is asked for
        (0.21, False),  # more than twice as much
        (0.19, True),  # certified 0.5: estimates are 2.6 times too small
        (0.05, False),  # so this is 0.13
        (0.045, True),  # and this 0.118; but then it is seen to be 0.5, 11 times as much
        (0.15, False),
        (0.15, False),
        (0.15, False),
        (0.15, True),  # what was known is forgotten after three passes
        (0.15, False),
    ]
    at_start = problem()
    dual = at_start.primal(at_start.structure.new_weights()) / 2
    solver = Scripted(dual, [estimate for estimate, _ in steps])
    result = fit(at_start, solver, Stopping(gap=0.1, passes=len(steps)))
    assert [point.gap_estimate for point in result.trace] == pytest.approx(solver.estimates)
    assert [point.gap is not None for point in result.trace] == [worth for _, worth in steps]
    assert [point.gap for point in result.trace if point.gap is not None] == pytest.approx(
        [0.5] * 3
    )


class Clock:
    """In the place of the module ``time``: as late as it is set."""

    now = 100.0

    def perf_counter(self):
        return self.now

    def process_time(self):
        return self.now / 2


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(sys.modules["dualstruct.training.loop"], "time", clock)
    return clock


def test_passes_and_seconds_stop_training(clock):
    class Slow(DCD):
        def run_pass(self, iterate):
            clock.now += 10
            return super().run_pass(iterate)

    assert fit(problem(), Slow(), Stopping(passes=3)).passes == 3
    result = fit(problem(), Slow(), Stopping(seconds=25))
    assert result.stopped_by == "seconds"
    assert result.passes == 3


def test_an_unreachable_gap_with_a_limit_says_what_it_reached():
    result = fit(problem(), DCD(admission=1.0), Stopping(gap=1e-9, passes=5))
    assert result.stopped_by == "passes"
    assert result.gap > 1e-9


def test_nothing_to_stop_on_is_refused():
    with pytest.raises(InputError, match="nothing would stop training"):
        fit(problem(), DCD(), Stopping())
    for wrong in ({"passes": 0}, {"gap": -1}, {"seconds": -1}, {"patience": 0}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} is"):
            Stopping(**wrong)


def test_the_best_dev_weights_are_kept():
    scores = iter([0.1, 0.9, 0.3, 0.2, 0.4, 0.8])
    weights = []

    def dev(w) -> float:
        weights.append(w.array.copy())
        return next(scores)

    result = fit(problem(), DCD(), Stopping(patience=4, passes=50), dev=dev)
    assert result.stopped_by == "dev"
    assert (result.passes, result.best_pass, result.dev_score) == (6, 2, 0.9)
    np.testing.assert_array_equal(result.w.array, weights[1])
    assert problem().primal(result.w) == pytest.approx(result.primal, rel=1e-6)
    assert result.gap >= 0


def test_the_trace_tells_the_whole_story():
    result = fit(problem(), DCD(), Stopping(passes=6), certify_every=1, dev=lambda w: 0.5)
    duals = [point.dual for point in result.trace]
    assert [point.passes for point in result.trace] == [1, 2, 3, 4, 5, 6]
    assert all(point.gap >= -1e-6 and point.primal >= point.dual for point in result.trace)
    assert all(later >= before - 1e-4 for before, later in pairwise(duals))
    assert [point.inference_calls for point in result.trace] == [120 * k for k in range(1, 7)]
    seconds = [point.seconds for point in result.trace]
    assert seconds == sorted(seconds)
    assert result.trace[-1].cuts == result.cuts > 0
    assert result.trace[0].dev_score == 0.5


def test_a_callback_sees_every_pass_and_can_stop():
    seen = []

    def callback(point, iterate):
        seen.append((point.passes, iterate.cuts))
        return point.passes == 2

    result = fit(problem(), DCD(), Stopping(passes=10), callbacks=[callback])
    assert result.stopped_by == "callback"
    assert [p for p, _ in seen] == [1, 2]


@pytest.mark.parametrize("solver", [DCD(), DCDLight(), CPD()])
def test_resuming_gives_the_uninterrupted_model_bit_for_bit(solver, tmp_path):
    def dev(w) -> float:
        return float(np.abs(w.array).sum() % 1)

    stopping = Stopping(passes=25, patience=100)
    whole = fit(problem(), solver, stopping, seed=3, dev=dev)
    file = tmp_path / "run.checkpoint"
    for passes in (4, 11, 25):  # three sittings; the rebuild after 20 passes is in the last
        part = fit(
            problem(),
            solver,
            Stopping(passes=passes, patience=100),
            seed=3,
            dev=dev,
            checkpoint=file,
            checkpoint_every=3,
            resume=True,
        )
    assert part.w.array.tobytes() == whole.w.array.tobytes()
    assert (part.passes, part.best_pass, part.cuts) == (25, whole.best_pass, whole.cuts)
    assert part.inference_calls == whole.inference_calls
    assert part.primal == whole.primal
    assert len(part.trace) == 25


def test_a_run_killed_between_checkpoints_goes_on_from_the_last_one(tmp_path):
    file = tmp_path / "run.checkpoint"
    whole = fit(problem(), DCD(), Stopping(passes=9), seed=5)

    def fail(point, iterate):
        if point.passes == 8:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        fit(problem(), DCD(), Stopping(passes=9), seed=5, callbacks=[fail], checkpoint=file,
            checkpoint_every=3)  # fmt: skip
    part = fit(problem(), DCD(), Stopping(passes=9), seed=5, checkpoint=file, resume=True)
    assert part.w.array.tobytes() == whole.w.array.tobytes()


def test_a_checkpoint_of_other_data_or_another_seed_is_refused(tmp_path):
    file = tmp_path / "run.checkpoint"
    fit(problem(), DCD(), Stopping(passes=2), checkpoint=file)
    other = DATA._replace(truth=DATA.truth[::-1].copy())
    with pytest.raises(InputError, match="by a run on other data"):
        fit(
            Problem(other.structure(), C=0.5),
            DCD(),
            Stopping(passes=4),
            checkpoint=file,
            resume=True,
        )
    with pytest.raises(InputError, match="its seed is 0, here 9"):
        fit(problem(), DCD(), Stopping(passes=4), seed=9, checkpoint=file, resume=True)


def test_cuts_that_no_output_could_make_are_refused():
    solver = DCD()
    iterate = solver.start(problem(), 0)
    solver.run_pass(iterate)
    metadata, arrays = iterate.state()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        broken = {name: array.copy() for name, array in arrays.items()}
        words = broken["cut_words"]
        words[rng.integers(len(words))] ^= np.uint32(1 << rng.integers(32))
        try:
            solver.start(problem(), 0).restore(metadata, broken)
        except InputError:
            refused += 1
    assert refused > 100
    arrays["cut_words"][4] = 2**32 - 1  # the count of words
    with pytest.raises(InputError, match="does not fit this problem"):
        solver.start(problem(), 0).restore(metadata, arrays)


@pytest.mark.parametrize("solver", [DCD(), Averaged(DCD()), CuttingPlane()])
def test_a_run_that_a_gap_has_ended_gives_the_same_model_again(solver, tmp_path):
    stopping, file = Stopping(gap=0.05, passes=300), tmp_path / "run.checkpoint"
    first = fit(problem(), solver, stopping, checkpoint=file)
    again = fit(problem(), solver, stopping, checkpoint=file, resume=True)
    assert first.stopped_by == again.stopped_by == "gap"
    assert first.w.array.tobytes() == again.w.array.tobytes()
    assert first.primal == again.primal
    assert first.gap == pytest.approx(again.gap, rel=1e-9)


def test_certificates_do_not_change_the_model():
    plain = fit(problem(), DCD(), Stopping(passes=7))
    watched = fit(problem(), DCD(), Stopping(passes=7), certify_every=1)
    assert plain.w.array.tobytes() == watched.w.array.tobytes()


def test_training_ends_when_the_dual_stands_still():
    small = Problem(make_chains(sentences=5, tokens=4, labels=3, features=9).structure())
    result = fit(small, DCD(), Stopping(passes=100_000))
    assert result.stopped_by == "stalled"
    assert result.gap < 1e-6


def test_a_checkpoint_of_another_problem_is_refused(tmp_path):
    file = tmp_path / "run.checkpoint"
    fit(problem(), DCD(), Stopping(passes=2), checkpoint=file)
    with pytest.raises(InputError, match=r"another run: its C is 0\.5, here 2\.0"):
        fit(problem(C=2.0), DCD(), Stopping(passes=4), checkpoint=file, resume=True)
    with pytest.raises(InputError, match="its solver is dcd, here cpd"):
        fit(problem(), CPD(), Stopping(passes=4), checkpoint=file, resume=True)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"run\.checkpoint is damaged"):
        fit(problem(), DCD(), Stopping(passes=4), checkpoint=file, resume=True)


def test_ctrl_c_keeps_what_was_learned():
    def interrupt(point, iterate):
        if point.passes == 3:
            raise KeyboardInterrupt

    result = fit(problem(), DCD(), Stopping(passes=10), callbacks=[interrupt])
    assert result.stopped_by == "interrupt"
    assert result.passes == 3
    same = fit(problem(), DCD(), Stopping(passes=3))
    np.testing.assert_allclose(result.w.array, same.w.array, atol=1e-6)


def test_ctrl_c_returns_the_weights_that_were_judged():
    judged = []

    def dev(w) -> float:
        judged.append(w.array.copy())
        return len(judged)  # ever better

    class Interrupted(DCD):
        def run_pass(self, iterate):
            report = super().run_pass(iterate)
            if len(judged) == 3:
                raise KeyboardInterrupt  # w has moved on since the third pass was judged
            return report

    result = fit(problem(), Interrupted(), Stopping(passes=10), dev=dev)
    assert (result.stopped_by, result.best_pass, result.dev_score) == ("interrupt", 3, 3)
    np.testing.assert_array_equal(result.w.array, judged[2])


def test_a_second_ctrl_c_gives_up_the_certificate_only(monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(Problem, "primal", interrupted)
    result = fit(problem(), DCD(), Stopping(passes=2))
    assert result.stopped_by == "interrupt"
    assert result.gap is None
    assert result.w.array.any()


def test_a_resumed_run_counts_the_time_of_both(tmp_path, clock):
    def dev(w):  # judging takes ten seconds
        clock.now += 10
        return 0.5

    def train(passes, **options):
        path = tmp_path / "checkpoint"
        stopping = Stopping(passes=passes, patience=10)
        return fit(problem(), DCD(), stopping, dev=dev, checkpoint=path, **options)

    first = train(2)
    assert (first.seconds, first.cpu_seconds) == (20, 10)
    resumed = train(5, resume=True)
    assert (resumed.seconds, resumed.cpu_seconds) == (50, 25)
    assert [point.seconds for point in resumed.trace] == [10, 20, 30, 40, 50]


def test_results_of_before_say_nothing_of_what_was_not_counted_then():
    result = fit(problem(), DCD(), Stopping(passes=1))
    metadata = result.summary()
    for name in ("beaten", "skipped", "unproven", "estimate"):
        metadata.pop(name)
    assert str(FitResult.from_summary(metadata, lambda: result.w)) == str(result)
    assert FitResult.from_summary(metadata, lambda: result.w) == result


def test_averaged_weights_are_the_mean_over_all_steps():
    data = make_chains(sentences=1, tokens=9, labels=3, features=20, noise=0.5, seed=2)
    one = Problem(data.structure(), C=0.3)  # one example: a step is a pass over it
    solver = Averaged(DCDLight(admission=0.0))
    seen = []
    result = fit(
        one,
        solver,
        Stopping(passes=6),
        callbacks=[lambda point, iterate: seen.append(iterate.w.array.copy())],
    )
    np.testing.assert_allclose(result.w.array, np.mean(seen, axis=0), atol=1e-6)


def test_an_averaged_run_resumes_bit_for_bit(tmp_path):
    solver = Averaged(DCD())
    whole = fit(problem(), solver, Stopping(passes=6), seed=3)
    for passes in (2, 6):
        part = fit(
            problem(),
            solver,
            Stopping(passes=passes),
            seed=3,
            checkpoint=tmp_path / "c",
            resume=True,
        )
    assert part.w.array.tobytes() == whole.w.array.tobytes()
    assert whole.gap >= 0


def test_ctrl_c_reaches_a_long_pass_in_the_core():
    big = make_chains(sentences=1000, tokens=300, labels=60, features=2000, seed=0)

    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))

    class Interrupted(DCD):
        def run_pass(self, iterate):
            if timer.ident is None:
                timer.start()
            return super().run_pass(iterate)

    result = fit(Problem(big.structure()), Interrupted(), Stopping(passes=10_000))
    assert result.stopped_by == "interrupt"
    # (α, w) is consistent although a pass was cut short.
    assert result.gap >= 0


def test_a_solver_that_does_not_take_the_loss_is_refused():
    class Other(DualSolver):
        name = "other"
        losses = ("hinge",)

        def run_pass(self, iterate):
            raise AssertionError("must not run")

    with pytest.raises(InputError, match="does not take the loss squared_hinge"):
        fit(problem(), Other(), Stopping(passes=1))


def test_no_examples_are_refused():
    empty = make_chains(sentences=1, seed=0)
    rows = empty.rows
    none = type(rows)(
        offsets=np.zeros(1, dtype=np.int64),
        ids=rows.ids[:0],
        values=None,
        sentences=np.zeros(1, dtype=np.int64),
        dimension=rows.dimension,
    )
    chain = Chain(none, 3, np.zeros(0, dtype=np.int32))
    with pytest.raises(InputError, match="no examples"):
        fit(Problem(chain), DCD(), Stopping(passes=1))
