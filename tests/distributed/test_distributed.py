"""Training on several machines, simulated in one process, against one machine that has it all."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct import (
    CPD,
    DCD,
    LBFGS,
    MIRA,
    SDM,
    FrankWolfe,
    InputError,
    Perceptron,
    Problem,
    Stopping,
    _core,
    fit,
)
from dualstruct.datasets import make_chains
from dualstruct.distributed import (
    ADMM,
    BQO,
    CommunicationError,
    DistributedLBFGS,
    IterativeMixing,
    RampBQO,
    SimpleAverage,
    fit_local,
    partition,
    run_local,
)
from dualstruct.solvers import DCDLight, RampSDM
from dualstruct.structures import Subset
from dualstruct.workers.communicator import sum_in_order
from dualstruct.workers.sparse import (
    RangeAdder,
    SparseVector,
    by_range,
    joined,
    pack,
    ranges,
    unpack,
)
from naive_truth import Truth
from random_cases import cases
from structure_cases import CASES

CHAINS = make_chains(sentences=40, tokens=5, labels=3, features=30, noise=0.5, seed=3).structure()
LOSSES = ["squared_hinge", "hinge"]
STRATEGIES = {
    "bqo": (BQO(), "squared_hinge"),
    "bqo-hinge": (BQO(SDM()), "hinge"),
    "admm": (ADMM(), "squared_hinge"),
    "mixed perceptrons": (IterativeMixing(), "perceptron"),
    "mixed last perceptrons": (IterativeMixing(Perceptron(averaged=False)), "perceptron"),
    "weighted mira": (IterativeMixing(MIRA(k=2), weighted=True), "hinge"),
    "simple average": (SimpleAverage(DCD()), "squared_hinge"),
    "simple average of averages": (SimpleAverage(Perceptron()), "perceptron"),
    "l-bfgs": (DistributedLBFGS(), "crf"),
    "ramp": (RampBQO(passes_per_round=2), "ramp"),
    "sparse l-bfgs": (DistributedLBFGS(LBFGS(states="observed", l1=0.1)), "softmax_margin"),
}


def on_workers(structure, workers: int, loss: str, C: float, work: Callable, center=None) -> list:
    """What ``work`` makes of each worker's problem."""
    shares = partition(len(structure), workers)
    return run_local(
        workers,
        lambda communicator: work(
            Problem(
                Subset(structure, shares[communicator.rank]),
                loss,
                C,
                center=center,
                communicator=communicator,
            )
        ),
    )


def best(structure, loss: str, C: float, center=None) -> float:
    """The optimum on one machine."""
    solver = SDM() if loss == "hinge" else DCD(admission=1e-9)
    problem = Problem(structure, loss, C, center=center)
    result = fit(problem, solver, Stopping(gap=2e-5, passes=20000))
    assert result.stopped_by == "gap"
    return result.primal


def test_sums_are_taken_in_rank_order_and_are_the_same_everywhere():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=100).astype(np.float32) * 10.0**k for k in range(5)]
    expected = (((arrays[0] + arrays[1]) + arrays[2]) + arrays[3]) + arrays[4]
    for total in run_local(5, lambda workers: workers.allreduce(arrays[workers.rank])):
        np.testing.assert_array_equal(total, expected)
    assert (arrays[0] != expected).any()


@given(
    seed=st.integers(0, 2**31),
    workers=st.integers(1, 5),
    dimension=st.integers(1, 3000),
    share=st.floats(0, 1),
)
@cases(30)
def test_sparse_sums_are_those_of_dense_vectors(seed, workers, dimension, share):
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(workers, dimension)).astype(np.float32)
    dense[rng.random(dense.shape) > share] = 0

    def work(communicator):
        found = []
        for repeat in range(2):  # what is kept between two sums is empty
            own = dense[(communicator.rank + repeat) % workers]
            places = np.flatnonzero(own).astype(np.uint32)
            vector = SparseVector(places, own[places])
            found.append(communicator.allreduce_sparse(vector, dimension))
        return found

    for repeat in range(2):
        expected = sum_in_order([dense[(rank + repeat) % workers] for rank in range(workers)])
        for found in run_local(workers, work):
            np.testing.assert_array_equal(found[repeat].places, np.flatnonzero(expected))
            np.testing.assert_array_equal(found[repeat].values, expected[expected != 0])
        parts = []
        for row in np.roll(dense, -repeat, axis=0):
            vector = SparseVector(np.flatnonzero(row).astype(np.uint32), row[row != 0])
            parts.append(by_range(vector, dimension, 3))
        bounds = ranges(dimension, 3).tolist()
        sums = [
            pack(RangeAdder().sum([unpack(part[k]) for part in parts], *bounds[k : k + 2]))
            for k in range(3)
        ]
        np.testing.assert_array_equal(joined(sums).places, np.flatnonzero(expected))
        np.testing.assert_array_equal(joined(sums).values, expected[expected != 0])


def test_broadcast_gives_everybody_the_roots_array():
    found = run_local(
        3, lambda workers: workers.broadcast(np.array([workers.rank]), root=2).tolist()
    )
    assert found == [[2], [2], [2]]


def test_nobody_passes_a_barrier_before_all_are_there():
    here = []

    def work(workers):
        here.append(workers.rank)
        workers.barrier()
        return len(here)

    assert run_local(4, work) == [4, 4, 4, 4]


def test_a_rank_that_fails_ends_all_and_its_error_is_told():
    def work(workers):
        if workers.rank == 2:
            raise InputError("sentence 7 is broken")
        for _ in range(3):
            workers.barrier()

    threads = threading.active_count()
    with pytest.raises(InputError, match="sentence 7 is broken"):
        run_local(4, work)
    assert threading.active_count() == threads


def test_a_rank_that_ends_early_does_not_leave_the_others_waiting():
    with pytest.raises(CommunicationError, match="waits for worker 1, which failed or has ended"):
        run_local(3, lambda workers: workers.rank == 1 or workers.barrier())


def test_ranks_that_do_different_things_are_told_so():
    with pytest.raises(CommunicationError, match="different things: barrier, allreduce"):
        run_local(
            2, lambda workers: workers.allreduce(np.zeros(0)) if workers.rank else workers.barrier()
        )


def test_ranks_with_other_labels_or_templates_are_told_so():
    with pytest.raises(InputError, match=r"worker 1 has 4 numbers .* where worker 0 has 3"):
        run_local(2, lambda workers: workers.allreduce(np.zeros(3 + workers.rank)))


@given(examples=st.integers(1, 50), workers=st.integers(1, 50), seed=st.integers(0, 3))
def test_a_partition_gives_every_example_to_one_rank(examples, workers, seed):
    if examples < workers:
        with pytest.raises(InputError, match="every worker needs at least one"):
            partition(examples, workers, seed)
        return
    parts = partition(examples, workers, seed)
    assert sorted(np.concatenate(parts).tolist()) == list(range(examples))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("kind", CASES)
def test_a_subset_has_the_examples_it_names(kind):
    rng = np.random.default_rng(5)
    structure = CASES[kind](rng).structure
    subset = Subset(structure, [2, 0])
    w = subset.new_weights(rng.normal(size=subset.core.dimension).astype(np.float32))
    for i, k in enumerate([2, 0]):
        np.testing.assert_array_equal(subset.decode(w, i, 1.0), structure.decode(w, k, 1.0))
        assert subset.cost(i, subset.decode(w, i, 1.0)) == structure.cost(
            k, structure.decode(w, k, 1.0)
        )
    with pytest.raises(InputError, match="numbers from 0 to"):
        Subset(structure, [len(structure)])


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "crf"])
def test_the_primal_of_all_ranks_is_that_of_one_machine(loss):
    w = np.random.default_rng(1).normal(size=CHAINS.core.dimension).astype(np.float32)
    expected = Problem(CHAINS, loss, 0.3).primal(CHAINS.new_weights(w))
    found = on_workers(CHAINS, 3, loss, 0.3, lambda p: p.primal(p.structure.new_weights(w)))
    assert found == pytest.approx([expected] * 3, rel=1e-9)


@pytest.mark.parametrize("kind", CASES)
@cases(5)
@given(seed=st.integers(0, 2**31), share=st.floats(0, 1), loss=st.sampled_from(LOSSES))
def test_duals_are_interpolated_along_a_line_and_dropped_cuts_come_back(kind, seed, share, loss):
    rng = np.random.default_rng(seed)
    problem = Problem(CASES[kind](rng).structure, loss, 2.0)
    solver = DCD() if loss == "squared_hinge" else SDM()
    iterate = solver.start(problem, seed)

    def alphas() -> dict:
        return {
            (i, cut[3].tobytes()): cut[0]
            for i in range(len(problem.structure))
            for cut in iterate.duals.cuts_of(i)
        }

    def exact() -> np.ndarray:
        out = problem.structure.new_weights()
        iterate.duals.write(out)
        return np.array(out.array)

    for _ in range(int(rng.integers(1, 3))):
        solver.run_pass(iterate)
    saved, before, w_before = iterate.duals.save(), alphas(), exact()
    core = problem.structure.core
    lines = _core.SharedLines(core)
    sharers = rng.integers(0, 4, len(lines.moved()), dtype=np.uint8)
    times = np.arange(256, dtype=np.float32) * 0.7 + 0.5
    lines.set_sharers(sharers, times)
    iterate.duals.share(lines)
    base = problem.structure.new_weights(np.array(iterate.w.array))
    for _ in range(int(rng.integers(1, 8))):
        solver.run_pass(iterate)
    after = alphas()
    felt = np.array(iterate.w.array) - base.array
    places, values = lines.take_moves(core, iterate.w, base)
    moved = np.zeros_like(w_before)
    moved[places] = values
    np.testing.assert_allclose(moved, exact() - w_before, atol=1e-5)
    line_of_place = np.arange(len(moved)) // 16
    np.testing.assert_allclose(moved * times[sharers[line_of_place]], felt, atol=1e-5)
    assert (np.diff(places.astype(int)) > 0).all()
    scratch = _core.MoveScratch(core)
    for _ in range(2):  # what is kept between two searches is empty
        exactly = np.zeros_like(w_before)
        found_at, values = iterate.duals.exact_moves(*saved[:2], scratch)
        exactly[found_at] = values
        np.testing.assert_allclose(exactly, exact() - w_before, atol=1e-5)
    np.testing.assert_array_equal(iterate.w.array, base.array)
    np.testing.assert_array_equal(np.flatnonzero(lines.moved()), np.unique(line_of_place[places]))
    assert not len(lines.take_moves(core, iterate.w, base)[0])  # what was taken is gone
    largest = iterate.duals.largest_step(*saved[:2])
    falls = [(a, a - after.get(key, 0.0)) for key, a in before.items()]
    assert largest == min([a / fall for a, fall in falls if fall > 0], default=np.inf)
    step = share * min(largest, 3.0)
    iterate.duals.interpolate(*saved[:2], step)
    expected = {
        key: before.get(key, 0.0) + step * (after.get(key, 0.0) - before.get(key, 0.0))
        for key in before | after
    }
    found = alphas()
    assert set(found) <= set(expected)
    for key, alpha in expected.items():
        assert found.get(key, 0.0) == pytest.approx(alpha, abs=1e-12)
    sums = np.zeros(len(problem.structure))
    for (i, _), alpha in found.items():
        sums[i] += alpha
    np.testing.assert_allclose(iterate.duals.sum_alpha(), sums, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_bqo_reaches_the_optimum_of_one_machine(workers, loss):
    result = fit_local(
        Problem(CHAINS, loss, 0.2), BQO(), Stopping(gap=5e-5, passes=5000), workers=workers
    )
    assert result.stopped_by == "gap"
    assert result.primal == pytest.approx(best(CHAINS, loss, 0.2), rel=1e-4)


def test_bqo_on_32_machines_reaches_the_optimum_of_one():
    problem = Problem(CHAINS, "squared_hinge", 0.2)
    result = fit_local(problem, BQO(), Stopping(gap=5e-5, passes=5000), workers=32)
    assert result.stopped_by == "gap"
    assert result.primal == pytest.approx(best(CHAINS, "squared_hinge", 0.2), rel=1e-4)


@pytest.mark.parametrize(
    ("solver", "loss"),
    [(DCDLight(), "squared_hinge"), (CPD(), "squared_hinge"), (FrankWolfe(), "hinge")],
    ids=lambda value: getattr(value, "name", value),
)
def test_bqo_takes_any_solver_with_cuts(solver, loss):
    strategy = BQO(solver, local_passes=2)
    result = fit_local(
        Problem(CHAINS, loss, 0.2), strategy, Stopping(gap=1e-3, passes=3000), workers=3
    )
    assert result.stopped_by == "gap"
    assert result.primal == pytest.approx(best(CHAINS, loss, 0.2), rel=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rounds", [1, 3, 50])
def test_rounds_with_a_part_of_the_examples_reach_the_same_optimum(loss, rounds):
    strategy = BQO(rounds_per_pass=rounds)
    result = fit_local(
        Problem(CHAINS, loss, 0.2), strategy, Stopping(gap=1e-3, passes=3000), workers=2
    )
    assert result.stopped_by == "gap"
    assert result.primal == pytest.approx(best(CHAINS, loss, 0.2), rel=2e-3)
    assert result.inference_calls == len(CHAINS) * result.passes


@pytest.mark.parametrize("seed", [4, 7, 10, 173])
def test_rounding_does_not_stop_bqo(seed):
    """Where the dual is right to eight digits, the slope of a line search is noise."""
    structure = CASES["tree"](np.random.default_rng(seed)).structure
    problem = Problem(structure, "hinge", 0.5)
    result = fit_local(problem, BQO(), Stopping(gap=1e-4, passes=2000), workers=2)
    assert result.stopped_by == "gap"


@pytest.mark.parametrize("loss", LOSSES)
def test_rounds_without_inference_save_passes(loss):
    passes = {}
    for revisits in (0, 1):
        strategy = BQO(revisits=revisits, rounds_per_pass=1)
        stopping = Stopping(gap=0.01, passes=2000)
        result = fit_local(Problem(CHAINS, loss, 0.2), strategy, stopping, workers=4)
        assert result.stopped_by == "gap"
        assert result.inference_calls == len(CHAINS) * result.passes
        passes[revisits] = result.passes
    assert passes[1] < passes[0]


@pytest.mark.parametrize("local_passes", [1, 2, 3])
@pytest.mark.parametrize("revisits", [0, 2])
def test_a_round_has_as_many_inference_passes_as_asked_for(local_passes, revisits):
    solver = BQO(local_passes=local_passes, revisits=revisits, rounds_per_pass=2)
    result = fit_local(Problem(CHAINS, "squared_hinge", 0.3), solver, Stopping(passes=1), workers=2)
    assert result.inference_calls == local_passes * len(CHAINS)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", CASES)
@cases(3)
@given(seed=st.integers(0, 2**31))
def test_bqo_reaches_the_optimum_of_every_structure(kind, loss, seed):
    case = CASES[kind](np.random.default_rng(seed))
    expected = Truth(case, np.ones(len(case.structure)), 0.5).optimum(loss)
    # Float32 rounds losses of size 1: an objective far below that cannot be as exact, relatively.
    gap = min(1e-4 * max(1.0, 1 / expected), 0.5) if expected > 0 else 1e-4
    problem = Problem(case.structure, loss, 0.5)
    result = fit_local(problem, BQO(), Stopping(gap=gap, passes=5000), workers=2)
    assert result.stopped_by == "gap"
    assert result.primal == pytest.approx(expected, rel=1.5e-4, abs=1.5e-4)


@pytest.mark.parametrize("kind", ["chain", "projective tree"])
@pytest.mark.parametrize("loss", LOSSES)
@cases(8)
@given(seed=st.integers(0, 2**31), workers=st.integers(1, 3), theta=st.sampled_from([None, 1.0]))
def test_bqo_never_loses_and_all_ranks_agree_on_w_and_alpha(kind, loss, seed, workers, theta):
    structure = CASES[kind](np.random.default_rng(seed)).structure
    strategy = BQO(theta=theta)

    def work(problem: Problem) -> list[tuple[np.ndarray, float]]:
        iterate = strategy.start(problem, seed)
        seen = []
        for _ in range(12):
            strategy.run_pass(iterate)
            answer, dual = iterate.settled()
            # w = Σ α δ over all workers, and the local weights are the center and the local duals.
            exact = iterate.whole(iterate.own_share())
            np.testing.assert_allclose(iterate.w.array, exact, atol=1e-4)
            local = np.array(iterate.w.array)
            np.testing.assert_allclose(iterate.local.w.array, local, atol=1e-5)
            duals = iterate.local.duals
            for i in range(len(problem.structure)):
                assert all(cut[0] > 0 for cut in duals.cuts_of(i))
            if loss == "hinge":
                assert (duals.sum_alpha() <= problem.C * (1 + 1e-9)).all()
            assert problem.primal(answer) >= dual - 1e-5 * max(1.0, dual)
            seen.append((local, iterate.dual()))
        return seen

    found = on_workers(structure, workers, loss, 0.7, work)
    for seen in found[1:]:
        for (w, dual), (w0, dual0) in zip(seen, found[0], strict=True):
            np.testing.assert_array_equal(w, w0)
            assert dual == dual0
    duals = [0.0] + [dual for _, dual in found[0]]
    assert (np.diff(duals) >= -1e-5 * max(1.0, duals[-1])).all()


@pytest.mark.parametrize(
    ("workers", "settings", "rounds"),
    [
        (1, {}, 1),
        (3, {}, 9),
        (3, {"rounds_per_pass": 1, "revisits": 0}, 1),
        (2, {"revisits": 1}, 4),
    ],
)
def test_the_answer_of_bqo_is_a_mean_of_the_last_rounds(workers, settings, rounds):
    strategy = BQO(DCD(), **settings)

    def work(problem: Problem) -> None:
        iterate = strategy.start(problem, 0)
        met: list[np.ndarray] = []
        end_round = iterate.end_round

        def watched(*moved):
            end_round(*moved)
            met.append(np.array(iterate.w.array))

        iterate.end_round = watched
        for _ in range(3):
            strategy.run_pass(iterate)
        assert len(met) == 3 * rounds
        mean = np.zeros_like(met[0])
        for t, w in enumerate(met, start=1):
            mean += (w - mean) / min(t, rounds)
        np.testing.assert_allclose(iterate.answer().array, mean, atol=1e-6)
        np.testing.assert_allclose(iterate.settled()[0].array, mean, atol=1e-5)
        again = strategy.start(problem, 0)
        again.restore(*iterate.state())
        np.testing.assert_array_equal(again.answer().array, iterate.answer().array)

    on_workers(CHAINS, workers, "squared_hinge", 0.2, work)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_admm_reaches_the_optimum_of_one_machine(workers, loss):
    result = fit_local(
        Problem(CHAINS, loss, 0.2), ADMM(), Stopping(gap=1e-4, passes=5000), workers=workers
    )
    assert result.stopped_by == "gap"
    assert result.primal == pytest.approx(best(CHAINS, loss, 0.2), rel=1.5e-4)


@pytest.mark.parametrize("strategy", [BQO(), ADMM()], ids=lambda strategy: strategy.name)
def test_strategies_go_on_from_an_earlier_model(strategy):
    center = CHAINS.new_weights(fit(Problem(CHAINS), DCD(), Stopping(passes=2)).w.array)
    problem = Problem(CHAINS, "squared_hinge", 0.2, center=center)
    result = fit_local(problem, strategy, Stopping(gap=1e-4, passes=5000), workers=3)
    assert result.stopped_by == "gap"
    assert result.primal == pytest.approx(
        best(CHAINS, "squared_hinge", 0.2, center), rel=2e-4, abs=2e-4
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("solver", "loss"),
    [
        (Perceptron(), "perceptron"),
        (Perceptron(averaged=False), "perceptron"),
        (MIRA(k=2), "hinge"),
    ],
)
def test_mixing_on_one_machine_is_the_solver_itself(solver, loss, weighted):
    alone = fit(Problem(CHAINS, loss, 0.3), solver, Stopping(passes=4), seed=5)
    mixed = fit_local(
        Problem(CHAINS, loss, 0.3),
        IterativeMixing(solver, weighted),
        Stopping(passes=4),
        seed=5,
        workers=1,
    )
    np.testing.assert_array_equal(mixed.w.array, alone.w.array)
    assert mixed.inference_calls == alone.inference_calls


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("averaged", [False, True])
def test_mixing_mixes_as_written(weighted, averaged):
    """With one example a worker there is no order, and a pass is one step."""
    few = Subset(CHAINS, range(5))
    core, zeros = few.core, np.zeros(few.core.dimension)
    w, steps, moved = zeros, [], []
    for _ in range(4):
        after, moves = [], []
        for i in range(5):
            weights = few.new_weights(w.astype(np.float32))
            y = few.decode(weights, i)
            _, words = core.difference(i, y)
            moves.append(len(words) > 0)
            if len(words):
                core.axpy(weights, i, words, 1.0)
            after.append(np.array(weights.array, dtype=float))
        steps += after
        moved.append(sum(moves))
        shares = np.array(moves, float) if weighted and any(moves) else np.ones(5)
        w = shares / shares.sum() @ np.array(after)
    assert any(0 < moves < 5 for moves in moved)  # otherwise the weights would not matter
    solver = IterativeMixing(Perceptron(averaged), weighted)
    result = fit_local(Problem(few, "perceptron"), solver, Stopping(passes=4), workers=5)
    expected = np.mean(steps, axis=0) if averaged else w
    np.testing.assert_allclose(result.w.array, expected, atol=1e-5)


def test_a_simple_average_is_the_mean_of_models_trained_apart():
    parts = partition(len(CHAINS), 3, seed=4)
    models = [
        fit(Problem(Subset(CHAINS, part), C=0.2), DCD(), Stopping(passes=5), seed=4 + rank).w.array
        for rank, part in enumerate(parts)
    ]
    result = fit_local(
        Problem(CHAINS, C=0.2), SimpleAverage(DCD()), Stopping(passes=5), workers=3, seed=4
    )
    np.testing.assert_allclose(result.w.array, np.mean(models, axis=0), atol=1e-5)
    assert result.dual is None


@pytest.mark.parametrize("loss", ["crf", "softmax_margin"])
@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_lbfgs_reaches_the_optimum_of_one_machine(workers, loss):
    problem, ends = Problem(CHAINS, loss, 0.7), Stopping(gap=1e-7, passes=300)
    one = fit(problem, LBFGS(), ends)
    many = fit_local(problem, DistributedLBFGS(), ends, workers=workers)
    assert many.certified
    assert many.primal == pytest.approx(one.primal, rel=1e-6)
    assert many.dual == pytest.approx(one.dual, rel=1e-6)
    np.testing.assert_allclose(many.w.array, one.w.array, atol=2e-3 * np.abs(one.w.array).max())


@pytest.mark.parametrize("solver", [LBFGS(), LBFGS("observed"), LBFGS(l1=0.05)], ids=str)
@pytest.mark.parametrize("kind", ["chain", "projective tree", "tree"])
@cases(5)
@given(seed=st.integers(0, 2**31), weighted=st.booleans())
def test_lbfgs_takes_the_steps_of_one_machine(kind, solver, seed, weighted):
    """Up to rounding, with weights of examples and a center, too."""
    rng = np.random.default_rng(seed)
    structure = CASES[kind](rng).structure
    if weighted:
        structure.set_example_weights(rng.uniform(0.2, 2, size=len(structure)))
    center = None
    if not solver.l1:
        center = structure.new_weights(rng.normal(size=structure.core.dimension).astype(np.float32))
    problem = Problem(structure, "crf", 0.5, center=center)
    one = fit(problem, solver, Stopping(passes=4))
    many = fit_local(problem, DistributedLBFGS(solver), Stopping(passes=4), workers=2)
    assert many.inference_calls == one.inference_calls
    assert many.primal == pytest.approx(one.primal, rel=1e-5, abs=1e-6)
    assert (many.dual is None) == (one.dual is None)
    if one.dual is not None:
        assert many.dual == pytest.approx(one.dual, rel=1e-4, abs=1e-5)


NOISY = make_chains(sentences=40, tokens=5, labels=3, features=30, noise=2.0, seed=3).structure()


@pytest.mark.parametrize("loss", ["ramp", "ramp_uncosted"])
@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_the_ramp_ends_where_its_tangents_are_those_at_w(workers, loss):
    """It is not convex: other orders may end elsewhere, but all where no round changes anything."""
    problem, ends = Problem(NOISY, loss, 0.3), Stopping(passes=400)
    one = fit(problem, RampSDM(40), ends)
    hinge = fit(Problem(NOISY, "hinge", 0.3), SDM(), Stopping(gap=1e-4, passes=600))
    solver = RampBQO(40)

    def work(own: Problem) -> tuple[float, float, int]:
        iterate = solver.start(own, 0)
        for _ in range(400):
            solver.run_pass(iterate)
        iterate.start_round(own.loss)
        w, dual = iterate.convex.settled()
        gap = iterate.convex.problem.certify(w, dual).gap
        return own.primal(w), gap, iterate.inference_calls

    for primal, gap, calls in on_workers(NOISY, workers, loss, 0.3, work):
        assert gap <= 2e-3
        assert primal < problem.primal(hinge.w)  # where its first round ends: every round descends
        assert calls == one.inference_calls == len(NOISY) * (400 + 9)


def test_the_first_round_of_the_ramp_is_the_hinge_on_several_workers():
    ends = Stopping(passes=4)
    ramp = fit_local(Problem(CHAINS, "ramp", 0.3), RampBQO(4), ends, workers=3)
    hinge = fit_local(Problem(CHAINS, "hinge", 0.3), BQO(), ends, workers=3)
    np.testing.assert_allclose(ramp.w.array, hinge.w.array, atol=1e-6)


def test_the_tangent_is_that_of_all_examples():
    solver = RampBQO(passes_per_round=3)

    def work(problem: Problem) -> tuple[np.ndarray, ...]:
        iterate = solver.start(problem, 0)
        for _ in range(3):
            solver.run_pass(iterate)
        before = np.array(iterate.w.array)
        iterate.start_round(problem.loss)
        exact = iterate.convex.whole(iterate.convex.own_share())
        np.testing.assert_allclose(iterate.w.array, exact, atol=1e-5)
        return before, np.array(iterate.center.array)

    found = on_workers(NOISY, 3, "ramp", 0.3, work)
    expected = NOISY.new_weights()
    w = NOISY.new_weights(found[0][0])
    given_up = _core.linearise_concave(NOISY.core_examples, w, -1.0, 0.3, expected)
    assert len(given_up)
    for _, center in found:
        np.testing.assert_allclose(center, expected.array, atol=1e-5)


@pytest.mark.parametrize("name", STRATEGIES)
def test_runs_repeat_and_resume_bit_for_bit(name, tmp_path):
    strategy, loss = STRATEGIES[name]
    problem = Problem(CHAINS, loss, 0.3)
    path = tmp_path / "run"

    def train(passes: int, **options):
        return fit_local(problem, strategy, Stopping(passes=passes), workers=2, seed=9, **options)

    whole = train(5)
    np.testing.assert_array_equal(train(5).w.array, whole.w.array)
    train(2, checkpoint=path)
    seen = []
    resumed = train(
        5,
        checkpoint=path,
        resume=True,
        callbacks=[lambda point, iterate: seen.append(point.passes)],
    )
    assert set(seen) == {3, 4, 5}  # not from the beginning
    assert resumed.passes == 5
    np.testing.assert_array_equal(resumed.w.array, whole.w.array)
    assert (resumed.primal, resumed.dual, resumed.cuts, resumed.inference_calls) == (
        whole.primal,
        whole.dual,
        whole.cuts,
        whole.inference_calls,
    )


@pytest.mark.parametrize("name", STRATEGIES)
def test_settings_make_the_same_strategy_again(name):
    strategy, _ = STRATEGIES[name]
    again = type(strategy).from_settings(strategy.settings())
    assert again.settings() == strategy.settings()
    assert again.losses == strategy.losses


def test_the_development_score_is_asked_of_one_rank_and_counts_on_all():
    calls = []

    def dev(w) -> float:
        calls.append(threading.get_ident())
        return -abs(len(calls) - 3)  # best after the third pass

    problem = Problem(CHAINS, "squared_hinge", 0.3)
    result = fit_local(problem, BQO(), Stopping(patience=2, passes=20), dev=dev, workers=3)
    assert (result.stopped_by, result.best_pass, result.dev_score) == ("dev", 3, 0)
    assert len(calls) == 5
    assert len(set(calls)) == 1


def test_a_callback_of_one_rank_stops_all():
    def work(problem: Problem) -> str:
        def stop(point, iterate) -> bool:
            return problem.communicator.rank == 0 and point.passes == 2

        return fit(problem, BQO(), Stopping(passes=9), callbacks=[stop]).stopped_by

    assert on_workers(CHAINS, 3, "squared_hinge", 0.3, work) == ["callback"] * 3


def test_ctrl_c_stops_all_ranks_after_a_pass():
    def press(point, iterate) -> None:
        if point.passes == 2 and iterate.communicator.rank == 1:
            os.kill(os.getpid(), signal.SIGINT)

    problem = Problem(CHAINS, "squared_hinge", 0.3)
    result = fit_local(problem, BQO(), Stopping(passes=10**6), callbacks=[press], workers=2)
    assert result.stopped_by == "interrupt"
    assert result.gap >= -1e-6


def test_a_second_ctrl_c_stops_what_does_not_stop_by_itself():
    def work(workers) -> None:
        if workers.rank == 0:
            os.kill(os.getpid(), signal.SIGINT)
            while not workers.interrupted:
                pass
            os.kill(os.getpid(), signal.SIGINT)
        while True:
            workers.barrier()

    threads = threading.active_count()
    for _ in range(200):  # wherever the caller is when the keys are pressed
        with pytest.raises(KeyboardInterrupt):
            run_local(3, work)
        assert threading.active_count() == threads


def test_solvers_of_one_machine_are_refused_on_many():
    with pytest.raises(InputError, match="solver dcd works on one machine"):
        fit_local(Problem(CHAINS), DCD(), Stopping(passes=1), workers=2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BQO(Perceptron()), "needs a local solver with cuts"),
        (lambda: BQO(theta=0), "theta is 0"),
        (lambda: ADMM(rho=-1), "rho is -1"),
        (lambda: BQO(local_passes=0), "local_passes is 0"),
        (lambda: BQO(rounds_per_pass=0), "rounds_per_pass is 0"),
        (lambda: BQO(revisits=-1), "revisits is -1"),
        (lambda: RampBQO(0), "passes_per_round is 0"),
        (lambda: RampBQO(bqo=BQO(DCD())), "needs a local solver for the hinge, not dcd"),
        (lambda: IterativeMixing(DCD()), "mixes perceptron or mira, not dcd"),
        (lambda: run_local(0, lambda workers: None), "workers is 0"),
        (
            lambda: fit_local(Problem(CHAINS), BQO(), Stopping(passes=1), workers=41),
            "40 examples for 41 workers",
        ),
    ],
)
def test_bad_settings_are_refused_with_a_sentence(make, message):
    with pytest.raises(InputError, match=message):
        make()
