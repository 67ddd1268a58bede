"""What comes from outside the core is checked before it is a place in memory.

Numbers of examples, outputs, words of cuts, weights, marginals, and every array of a checkpoint.
The sanitizers watch what is not refused; test_crafted_checkpoints.py looks at certificates.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from dualstruct import Problem, Stopping, _core, fit
from dualstruct.data.arrays import read_arrays
from dualstruct.errors import InputError
from dualstruct.solvers import SOLVERS, CuttingPlane
from dualstruct.structures import Subset
from naive import random_chain
from structure_cases import CASES, Case

kinds = pytest.mark.parametrize("kind", CASES)
HUGE = 2**31 - 1


def built(kind: str) -> tuple[Case, _core.Weights]:
    case = CASES[kind](np.random.default_rng(3))
    return case, case.structure.new_weights()


def wrong_outputs(truth: np.ndarray) -> list[np.ndarray]:
    """Too short, too long, and with each number out of range."""
    outputs = [np.append(truth, truth[-1:] if len(truth) else [0]), np.zeros(1000, np.int32)]
    if len(truth):
        outputs += [truth[:-1], truth[:0]]
    for place in range(len(truth)):
        for number in (-1, HUGE, -HUGE, 5000):
            outputs.append(truth.copy())
            outputs[-1][place] = number
    return [output.astype(np.int32) for output in outputs]


def is_free(kind: str, truth: np.ndarray, output: np.ndarray) -> bool:
    """A custom structure's output is a cost and a sparse vector: other costs are outputs, too."""
    if not kind.startswith("custom") or len(output) != len(truth):
        return False
    cost = output[:1].view(np.float32)[0]
    return bool(np.array_equal(output[1:], truth[1:]) and np.isfinite(cost) and cost >= 0)


@kinds
def test_outputs_out_of_range_are_refused(kind):
    case, w = built(kind)
    core = case.structure.core
    for i in range(len(case.structure)):
        truth = case.truth(i)
        for output in wrong_outputs(truth):
            if is_free(kind, truth, output):
                continue
            for call in (
                lambda i=i, y=output: core.difference(i, y),
                lambda i=i, y=output: core.cost(i, y),
                lambda i=i, y=output: core.score(w, i, y),
                lambda i=i, y=output: core.add_features(w, i, y, 1.0),
            ):
                with pytest.raises(ValueError, match="no output of this example"):
                    call()
        core.difference(i, truth)
        core.score(w, i, truth)


@kinds
def test_examples_that_are_not_there_are_refused(kind):
    case, w = built(kind)
    core = case.structure.core
    examples = case.structure.core_examples
    truth, no_words = case.truth(0), np.zeros(0, np.uint32)
    marginals = np.zeros(1, np.float32)
    calls = {
        "output_size": lambda i: core.output_size(i),
        "decode": lambda i: core.decode(w, i),
        "k_best": lambda i: core.k_best(w, i, 1),
        "cost": lambda i: core.cost(i, truth),
        "score": lambda i: core.score(w, i, truth),
        "add_features": lambda i: core.add_features(w, i, truth, 1.0),
        "difference": lambda i: core.difference(i, truth),
        "is_valid": lambda i: core.is_valid(i, no_words),
        "dot": lambda i: core.dot(w, i, no_words),
        "axpy": lambda i: core.axpy(w, i, no_words, 1.0),
        "inner": lambda i: core.inner(i, no_words, no_words),
        "distance2": lambda i: core.distance2(i, no_words, no_words),
        "combination_norm2": lambda i: core.combination_norm2(i, [no_words], [1.0]),
        "log_loss": lambda i: core.log_loss(w, i, 1.0, 1.0),
        "parts": lambda i: core.parts(i),
        "part_scores": lambda i: core.part_scores(w, i, 1.0),
        "part_marginals": lambda i: core.part_marginals(i, marginals),
        "expected_part_cost": lambda i: core.expected_part_cost(i, marginals),
        "add_parts": lambda i: core.add_parts(w, i, marginals, 1.0),
        "add_part_difference": lambda i: core.add_part_difference(w, i, marginals, 1.0),
        "cuts_of": lambda i: _core.DualState(examples, w).cuts_of(i),
        "take": lambda i: _core.DualState(examples, w).take(np.array([i])),
        "Examples": lambda i: _core.Examples(core, np.array([i])),
        # Those that only some have.
        "expectation": lambda i: core.expectation(w, i, 1.0, 0.0),
        "best": lambda i: core.best(w, i, 0.0),
        "violated": lambda i: core.violated(i, truth),
        "marginals": lambda i: (
            core.marginals(w, i, 10, 0.1)
            if isinstance(core, _core.SecondOrderTree)
            else core.marginals(w, i, 1.0, 0.0)
        ),
    }
    for name, call in calls.items():
        if name in ("expectation", "best", "violated", "marginals") and not hasattr(core, name):
            continue
        for i in (-1, len(case.structure), 2**40, -(2**62)):
            with pytest.raises(IndexError):
                call(i)


@kinds
def test_words_that_are_no_difference_are_refused(kind):
    case, w = built(kind)
    core = case.structure.core
    rng = np.random.default_rng(0)
    for i in range(len(case.structure)):
        for size in (1, 2, 3, 7):
            for most in (4, 2**12, 2**21, 2**32):
                words = rng.integers(0, most, size, dtype=np.uint64).astype(np.uint32)
                if core.is_valid(i, words):
                    core.dot(w, i, words)  # in range: the sanitizers watch
                    core.axpy(w, i, words, 1.0)
                    continue
                for call in (
                    lambda i=i, x=words: core.dot(w, i, x),
                    lambda i=i, x=words: core.axpy(w, i, x, 1.0),
                    lambda i=i, x=words: core.inner(i, x, x),
                    lambda i=i, x=words: core.distance2(i, x, x),
                    lambda i=i, x=words: core.combination_norm2(i, [x], [1.0]),
                ):
                    with pytest.raises(ValueError, match="no difference of this example"):
                        call()


@kinds
def test_weights_and_averages_of_another_structure_are_refused(kind):
    case, w = built(kind)
    core = case.structure.core
    other = random_chain(np.random.default_rng(0), labels=5, features=9).fast()
    foreign, average = other.new_weights(), _core.Average(other.core)
    examples = case.structure.core_examples
    own = _core.Average(core)
    truth = case.truth(0)
    problem_calls = [
        lambda: core.decode(foreign, 0),
        lambda: examples.decode_all(foreign),
        lambda: core.score(foreign, 0, truth),
        lambda: core.add_features(foreign, 0, truth, 1.0),
        lambda: _core.DualState(examples, foreign),
        lambda: _core.DualState(examples, w, foreign),
        lambda: _core.DualState(examples, w).average_into(average),
        lambda: _core.PlaneStore(examples, foreign),
        lambda: _core.largest_violations(examples, foreign),
        lambda: own.write(other.core, foreign, 1.0, foreign),
        lambda: average.write(core, w, 1.0, w),
        lambda: own.load(core, np.zeros(core.dimension + 1, np.float32), 1.0, 1),
        lambda: own.load(other.core, np.zeros(other.core.dimension, np.float32), 1.0, 1),
        lambda: own.load(core, np.zeros(core.dimension, np.float32), np.nan, 1),
        lambda: own.load(core, np.zeros(core.dimension, np.float32), 1.0, -1),
        lambda: w.assign(core, np.zeros(core.dimension + 1, np.float32)),
    ]
    for call in problem_calls:
        with pytest.raises(ValueError, match=r"weights|average"):
            call()


@kinds
def test_marginals_of_another_length_are_refused(kind):
    case, w = built(kind)
    core = case.structure.core
    for i in range(len(case.structure)):
        try:
            parts = core.parts(i)
        except _core.UnsupportedError:
            return
        for size in {0, parts - 1, parts + 1} - {parts, -1}:
            wrong = np.zeros(size, np.float32)
            for call in (
                lambda i=i, x=wrong: core.part_marginals(i, x),
                lambda i=i, x=wrong: core.expected_part_cost(i, x),
                lambda i=i, x=wrong: core.add_parts(w, i, x, 1.0),
                lambda i=i, x=wrong: core.add_part_difference(w, i, x, 1.0),
            ):
                with pytest.raises(ValueError, match="for every part"):
                    call()


def test_costs_need_true_outputs():
    naive = random_chain(np.random.default_rng(0))
    structure = naive.fast()
    bare = type(structure)(structure.rows, 3)
    w, core = bare.new_weights(), bare.core
    y = np.zeros(core.output_size(0), np.int32)
    assert len(core.decode(w, 0)) == len(y)
    for call in (
        lambda: core.decode(w, 0, 1.0),
        lambda: bare.core_examples.decode_all(w, 1.0),
        lambda: core.k_best(w, 0, 2, 1.0),
        lambda: core.cost(0, y),
        lambda: core.difference(0, y),
        lambda: core.is_valid(0, np.zeros(0, np.uint32)),
        lambda: core.log_loss(w, 0, 1.0, 0.0),
        lambda: core.part_scores(w, 0, 1.0),
        lambda: core.expectation(w, 0, 1.0, 1.0),
        lambda: core.marginals_all(w, 1.0, 1.0, 1),
        lambda: _core.observed_weights(bare.core_examples),
    ):
        with pytest.raises(ValueError, match="true outputs"):
            call()


ALL_SOLVERS = {
    **{name: solver() for name, solver in SOLVERS.items()},
    "cutting-plane, n slacks": CuttingPlane(slack="n"),
}


TAKEN = [
    (kind, name)
    for kind, make in CASES.items()
    for case in [make(np.random.default_rng(5))]
    for name, solver in ALL_SOLVERS.items()
    if (solver.losses[0] != "crf" or case.has_expectations) and (name != "eg" or case.has_parts)
]
FEW = ("chain", "tree", "custom", "sparse multiclass", "label sets")


def started(kind: str, name: str, passes: int = 3):
    """A solver, a problem and its iterate after some passes."""
    solver = ALL_SOLVERS[name]
    case = CASES[kind](np.random.default_rng(5))
    problem = Problem(case.structure, solver.losses[0], 0.7)
    iterate = solver.start(problem, 1)
    for _ in range(passes):
        solver.run_pass(iterate)
    return solver, problem, iterate


def crafted(array: np.ndarray, rng: np.random.Generator):
    """The array as strangers would have it."""
    yield array[:-1]
    yield np.append(array, array[-1:]) if array.ndim == 1 else np.vstack([array, array[:1]])
    yield array[:0]
    if not array.size:
        return
    numbers: list = [np.nan, np.inf, -1.0, 1e30]
    if array.dtype.kind in "iu":
        top = np.iinfo(array.dtype)
        numbers = [n for n in (-1, top.min, top.max, 2**20, 2**31) if top.min <= n <= top.max]
    for number in numbers:
        for place in {0, array.size // 2, array.size - 1}:
            changed = array.copy()
            changed.flat[place] = number
            yield changed
        yield np.full_like(array, number)
    for _ in range(6):
        changed = array.copy()
        places = rng.integers(0, array.size, 2)
        changed.view(np.uint8 if array.dtype.itemsize == 1 else f"u{array.dtype.itemsize}").flat[
            places
        ] = rng.integers(0, 256, 2)
        yield changed


@pytest.mark.parametrize(("kind", "name"), [pair for pair in TAKEN if pair[0] in FEW])
def test_crafted_arrays_of_checkpoints_are_refused_or_harmless(kind, name):
    solver, problem, iterate = started(kind, name)
    metadata, arrays = iterate.state()
    rng = np.random.default_rng(0)
    for which, array in arrays.items():
        for changed in crafted(np.asarray(array), rng):
            other = solver.start(problem, 1)
            try:
                other.restore(metadata, arrays | {which: changed})
            except InputError:
                continue
            # Whatever it computes, it computes in its own memory; or it says that it diverges.
            diverges = (InputError, _core.InfeasibleError)
            with np.errstate(all="ignore"), contextlib.suppress(*diverges):
                solver.run_pass(other)
    again = solver.start(problem, 1)
    again.restore(metadata, arrays)
    np.testing.assert_array_equal(again.w.array, iterate.w.array)


@pytest.mark.parametrize("name", [name for kind, name in TAKEN if kind == "chain"])
def test_memory_of_a_solver_that_lacks_something_is_refused_or_harmless(name):
    solver, problem, iterate = started("chain", name)
    metadata, arrays = iterate.state()
    for key in metadata["memory"]:
        kept = {other: value for other, value in metadata["memory"].items() if other != key}
        for memory in (kept, kept | {key: True}, kept | {key: 0.5}, kept | {key: 1e300}):
            other = solver.start(problem, 1)
            with contextlib.suppress(InputError), np.errstate(all="ignore"):
                other.restore(metadata | {"memory": memory}, arrays)
                solver.run_pass(other)


def test_outputs_taken_from_other_data_cannot_be_put_back():
    _, problem, iterate = started("chain", "dcd")
    n = len(problem.structure)
    held = iterate.duals.take(np.arange(n))
    few = Subset(problem.structure, [0])
    state = _core.DualState(few.core_examples, few.new_weights())
    if n > 1:
        with pytest.raises(ValueError, match="other data"):
            state.put(held)


def told(path):
    """All that a checkpoint says but how long it took."""
    metadata, arrays = read_arrays(path, "dualstruct checkpoint")
    metadata.pop("cpu_seconds")
    for point in metadata["trace"]:
        for clock in [name for name in point if "seconds" in name]:
            point.pop(clock)
    return metadata, {name: np.asarray(array).tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize(("kind", "name"), TAKEN)
def test_identical_runs_write_identical_checkpoints(kind, name, tmp_path):
    solver = ALL_SOLVERS[name]
    found = []
    for run in range(2):
        # Memory that was used and given back is what uninitialised memory would show.
        rubbish = [np.full(2000, 0xDEADBEEF + run, np.uint64) for _ in range(50)]
        del rubbish
        case = CASES[kind](np.random.default_rng(5))
        path = tmp_path / str(run)
        problem = Problem(case.structure, solver.losses[0], 0.7)
        fit(problem, solver, Stopping(passes=3), seed=4, checkpoint=path)
        found.append(told(path))
    assert found[0] == found[1]
