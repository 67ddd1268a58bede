"""Checkpoints with a right checksum and wrong contents: refused, or harmless to the certificate."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest

from dualstruct import InputError, Problem, SequenceTagger, Stopping, _core, fit
from dualstruct.data.arrays import read_arrays, write_arrays
from dualstruct.solvers import (
    CPD,
    DCD,
    LBFGS,
    SDM,
    CuttingPlane,
    ExponentiatedGradient,
    FrankWolfe,
    RampSDM,
)
from dualstruct.training.resuming import CHECKPOINT_FORMAT
from naive import random_chain
from structure_cases import CASES

CERTIFIED = [
    (DCD(), "squared_hinge"),
    (CPD(), "squared_hinge"),
    (CuttingPlane(), "squared_hinge"),
    (SDM(), "hinge"),
    (FrankWolfe(), "hinge"),
    (CuttingPlane(), "hinge"),
    (CuttingPlane(slack="n"), "hinge"),
    (ExponentiatedGradient(), "crf"),
    (LBFGS(), "crf"),
]
NAMES = [f"{solver.name}-{loss}-{k}" for k, (solver, loss) in enumerate(CERTIFIED)]
#: Outputs of structures of users are known by their costs and features alone: see docs/safety.md.
KNOWN = [kind for kind in CASES if "custom" not in kind]


def problem(loss: str, kind: str = "chain") -> Problem:
    return Problem(CASES[kind](np.random.default_rng(3)).structure, loss, 0.7)


def checkpoint(path, solver, loss: str, passes: int = 3):
    fit(problem(loss), solver, Stopping(passes=passes), checkpoint=path, certify_every=1)
    return read_arrays(path, CHECKPOINT_FORMAT)


def resume(path, solver, loss: str, passes: int = 3):
    return fit(problem(loss), solver, Stopping(passes=passes), checkpoint=path, resume=True)


def accepts_only_the_truth(path, solver, loss: str, best: float) -> None:
    """It is refused in one sentence that names the file, or the certificate is right."""
    said, result = "", None
    try:
        result = resume(path, solver, loss)
    except InputError as error:
        said = str(error)
    if result is None:
        assert str(path) in said
        assert "\n" not in said
        return
    if result.dual is None:  # nothing is claimed
        assert result.gap is None
        return
    assert result.dual <= best + 1e-5 * abs(best)
    assert result.primal == pytest.approx(problem(loss).primal(result.w), rel=1e-6)
    assert result.gap >= (result.primal - best) / result.primal - 1e-5


@pytest.mark.parametrize(("solver", "loss"), CERTIFIED, ids=NAMES)
def test_no_change_of_an_array_makes_a_false_certificate(solver, loss, tmp_path):
    path = tmp_path / "run"
    best = fit(problem(loss), solver, Stopping(gap=1e-5, passes=3000)).primal
    metadata, arrays = checkpoint(path, solver, loss)
    rng = np.random.default_rng(0)
    for name, array in arrays.items():
        odd: list[np.ndarray] = [array[:0], array.astype("i1"), array[None]]
        if array.dtype.kind == "f":
            odd += [array * 3, array * 1.001, -array, array * np.nan, array * 0]
        for _ in range(8):  # words of cuts have numbers of all kinds among them
            bits = array.copy().reshape(-1).view(np.uint32)
            if len(bits):
                bits[rng.integers(len(bits))] = rng.choice([0, 1, 2**31, 2**32 - 1, 0x40400000])
                odd.append(bits.view(array.dtype).reshape(array.shape))
        for changed in odd:
            changed = np.ascontiguousarray(changed, dtype=changed.dtype)
            write_arrays(path, CHECKPOINT_FORMAT, metadata, {**arrays, name: changed})
            accepts_only_the_truth(path, solver, loss, best)
        without = {key: value for key, value in arrays.items() if key != name}
        write_arrays(path, CHECKPOINT_FORMAT, metadata, without)
        accepts_only_the_truth(path, solver, loss, best)


ODD = [None, True, -1, 0, 7, 2**63, 2**70, 1e300, float("nan"), "", "x", [], [1], {}, {"a": None}]


def places_in(value, path=()):
    yield path
    parts = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):  # the last one stands for all
        parts = list(enumerate(value))[-1:]
    for key, part in parts:
        yield from places_in(part, (*path, key))


@pytest.mark.parametrize(("solver", "loss"), CERTIFIED[::2], ids=NAMES[::2])
def test_no_change_of_a_fact_makes_a_false_certificate_or_a_traceback(solver, loss, tmp_path):
    path = tmp_path / "run"
    best = fit(problem(loss), solver, Stopping(gap=1e-5, passes=3000)).primal
    metadata, arrays = checkpoint(path, solver, loss)
    places = [
        place for place in places_in(metadata) if place and place[0] not in ("format", "version")
    ]
    for number, place in enumerate(places):
        for value in ODD[number % 3 :: 3]:
            changed = copy.deepcopy(metadata)
            holder = changed
            for key in place[:-1]:
                holder = holder[key]
            if value is None and number % 2:
                del holder[place[-1]]
            else:
                holder[place[-1]] = value
            write_arrays(path, CHECKPOINT_FORMAT, changed, arrays)
            accepts_only_the_truth(path, solver, loss, best)


def heads_of(arrays):
    """Where cuts begin among the words, and how many words each has."""
    words, at = arrays["cut_words"], 0
    while at < len(words):
        yield at
        at += 6 + (int(words[at + 4]) + 1) // 2 * 2


@pytest.mark.parametrize(("solver", "loss"), [(DCD(), "squared_hinge"), (FrankWolfe(), "hinge")])
def test_costs_and_norms_that_were_tripled_are_refused(solver, loss, tmp_path):
    path = tmp_path / "run"
    metadata, arrays = checkpoint(path, solver, loss)
    for field in (2, 3):  # behind α, which takes two words
        words = arrays["cut_words"].copy()
        for at in heads_of(arrays):
            words[at + field : at + field + 1].view(np.float32)[:] *= 3
        write_arrays(path, CHECKPOINT_FORMAT, metadata, {**arrays, "cut_words": words})
        with pytest.raises(InputError, match="claim other costs or features than their outputs"):
            resume(path, solver, loss)


def test_planes_that_claim_more_are_refused(tmp_path):
    path = tmp_path / "run"
    for loss in ("hinge", "squared_hinge"):
        metadata, arrays = checkpoint(path, CuttingPlane(), loss)
        numbers = arrays["plane_numbers"].copy()
        numbers[::2] *= 1.01
        write_arrays(path, CHECKPOINT_FORMAT, metadata, {**arrays, "plane_numbers": numbers})
        with pytest.raises(InputError, match="planes claim other costs than their outputs have"):
            resume(path, CuttingPlane(), loss)
        path.unlink()


def test_duals_beyond_what_the_hinge_allows_are_refused(tmp_path):
    path = tmp_path / "run"
    metadata, arrays = checkpoint(path, FrankWolfe(), "hinge")
    words = arrays["cut_words"].copy()
    for at in heads_of(arrays):
        words[at : at + 2].view(np.float64)[:] *= 5
    larger = {"cut_words": words, "sum_alpha": arrays["sum_alpha"] * 5, "w": arrays["w"] * 5}
    write_arrays(path, CHECKPOINT_FORMAT, metadata, {**arrays, **larger})
    with pytest.raises(InputError, match="duals are more than the loss allows"):
        resume(path, FrankWolfe(), "hinge")


def test_a_gap_that_a_checkpoint_claims_is_not_believed(tmp_path):
    path = tmp_path / "run"
    metadata, arrays = checkpoint(path, DCD(), "squared_hinge")
    honest = metadata["trace"][-1]["gap"]
    metadata["trace"][-1] |= {"gap": 1e-9, "primal": 0.1, "dual": 0.1}
    write_arrays(path, CHECKPOINT_FORMAT, metadata, arrays)
    loss = "squared_hinge"
    result = fit(problem(loss), DCD(), Stopping(1e-4, 50), checkpoint=path, resume=True)
    assert result.trace[2].gap == honest
    assert result.passes > 3
    assert result.gap <= 1e-4


def test_a_development_score_that_a_checkpoint_claims_is_not_believed(tmp_path):
    path = tmp_path / "run"

    def dev(w):
        return float(np.abs(w.array).sum() % 1)

    loss = "squared_hinge"
    fit(problem(loss), DCD(), Stopping(passes=3), dev=dev, checkpoint=path)
    metadata, arrays = read_arrays(path, CHECKPOINT_FORMAT)
    honest, metadata["best_score"] = metadata["best_score"], 2.0
    write_arrays(path, CHECKPOINT_FORMAT, metadata, arrays)
    result = fit(problem(loss), DCD(), Stopping(passes=3), dev=dev, checkpoint=path, resume=True)
    assert result.dev_score == honest


def test_more_pairs_than_the_solver_remembers_are_refused_by_name(tmp_path):
    path = tmp_path / "run"
    metadata, arrays = checkpoint(path, LBFGS(), "crf")
    for pairs, said in [
        (7, r"iterate\.memory\.pairs is 7 and next is \d; the solver remembers 6 pairs"),
        (2**63, r"iterate\.memory\.pairs is 9\.2\d+e\+18; it must be a whole number from 0"),
    ]:
        metadata["iterate"]["memory"]["pairs"] = pairs
        write_arrays(path, CHECKPOINT_FORMAT, metadata, arrays)
        with pytest.raises(InputError, match=said):
            resume(path, LBFGS(), "crf")


def cut(core, i: int, y: np.ndarray, alpha: float = 0.5) -> np.ndarray:
    """A cut as a checkpoint has it."""
    cost, words = core.difference(i, y)
    head = np.zeros(1, dtype=[("a", "f8"), ("c", "f4"), ("n", "f4"), ("k", "u4"), ("u", "u4")])
    head["a"], head["c"], head["k"] = alpha, cost, len(words)
    head["n"] = core.inner(i, words, words)
    padded = np.concatenate([words, np.zeros(len(words) % 2, dtype=np.uint32)])
    return np.concatenate([head.view(np.uint32), padded])


@pytest.mark.parametrize("kind", KNOWN)
def test_only_outputs_that_the_constraints_allow_are_taken(kind):
    """A cut of any other would make the dual exceed the optimum."""
    taken = refused = 0
    for seed in range(4):
        case = CASES[kind](np.random.default_rng(seed))
        core = case.structure.core
        for i in range(len(case.structure)):
            outputs = case.outputs(i)
            allowed = {tuple(y.tolist()) for y in outputs}
            truth = tuple(case.truth(i).tolist())
            choices = [sorted(set(column)) for column in zip(*allowed, strict=True)]
            for y in itertools.islice(itertools.product(*choices), 300):
                if y == truth:
                    continue
                duals = _core.DualState(case.structure.core_examples, case.structure.new_weights())
                counts, sums = np.zeros(len(case.structure), np.int64), np.zeros(core.size)
                try:
                    words = cut(core, i, np.array(y, dtype=np.int32))
                except ValueError:  # a head that is its own modifier has no words
                    assert y not in allowed
                    continue
                counts[i], sums[i] = len(words), 0.5
                if y in allowed:
                    duals.load(words, counts, sums)
                    taken += 1
                else:
                    with pytest.raises(ValueError, match="saved cuts are damaged"):
                        duals.load(words, counts, sums)
                    refused += 1
    assert taken
    free = ("chain", "chain of pairs", "multiclass", "sparse multiclass", "label sets")
    assert refused or kind in (*free, "3-gram chain", "graphs without loops", "tied sparse graphs")


def test_planes_name_every_example_once(tmp_path):
    path = tmp_path / "run"
    metadata, arrays = checkpoint(path, CuttingPlane(), "hinge")
    examples = arrays["plane_examples"].copy()
    examples[:] = examples[0]
    for odd in (examples, arrays["plane_examples"] + 1000, arrays["plane_examples"] - 1000):
        write_arrays(path, CHECKPOINT_FORMAT, metadata, {**arrays, "plane_examples": odd})
        with pytest.raises(InputError, match="planes are damaged"):
            resume(path, CuttingPlane(), "hinge")


def test_a_checkpoint_gives_no_other_truth(tmp_path):
    path = tmp_path / "run"
    metadata, arrays = checkpoint(path, DCD(), "squared_hinge")
    other = np.zeros(len(problem("hinge").structure.truth), dtype=np.int32)
    write_arrays(path, CHECKPOINT_FORMAT, metadata, {**arrays, "structure.truth": other})
    with pytest.raises(InputError, match="no labels that a checkpoint could have completed"):
        resume(path, DCD(), "squared_hinge")


def test_labels_that_were_completed_must_fit_those_that_are_known(tmp_path):
    path = tmp_path / "run"
    X, Y = [["Ada", "lives", "here"], ["Bo", "left"]], [["A", "?", "B"], ["A", "B"]]

    def tagger(**run):
        return SequenceTagger(passes=3, unknown_label="?", checkpoint=path, **run)

    tagger().fit(X, Y)
    metadata, arrays = read_arrays(path, CHECKPOINT_FORMAT)
    tagger(resume=True).fit(X, Y)
    for place, label, said in [(0, 1, "true labels are others"), (1, 9, "was completed is none")]:
        truth = arrays["structure.truth"].copy()
        truth[place] = label
        write_arrays(path, CHECKPOINT_FORMAT, metadata, {**arrays, "structure.truth": truth})
        with pytest.raises(InputError, match=said):
            tagger(resume=True).fit(X, Y)


def test_examples_given_up_must_be_there(tmp_path):
    path = tmp_path / "run"
    naive = random_chain(np.random.default_rng(3), sentences=3, tokens=3, labels=3, features=4)
    ramp = Problem(naive.fast(), "ramp", 0.7)
    fit(ramp, RampSDM(), Stopping(passes=3), checkpoint=path)
    metadata, arrays = read_arrays(path, CHECKPOINT_FORMAT)
    odd = {"given_up": np.array([99], dtype=np.int64)}
    write_arrays(path, CHECKPOINT_FORMAT, metadata, {**arrays, **odd})
    with pytest.raises(InputError, match='"given_up" names an example that is not there'):
        fit(ramp, RampSDM(), Stopping(passes=4), checkpoint=path, resume=True)
