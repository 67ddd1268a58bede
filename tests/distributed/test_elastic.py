"""A run resumes on another number of workers: cuts go to whoever has their examples."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run_command
from dualstruct import DependencyParser, InputError, Problem, SequenceTagger, Stopping
from dualstruct.datasets import load_english, make_chains
from dualstruct.distributed import (
    ADMM,
    BQO,
    DistributedLBFGS,
    IterativeMixing,
    RampBQO,
    fit_local,
)
from dualstruct.solvers import MIRA
from random_cases import cases

CHAINS = make_chains(sentences=25, tokens=5, labels=3, features=30, noise=0.5, seed=3).structure()
TREES = load_english()
X = [list(TREES[i].forms) for i in range(120)]
Y = [list(TREES[i].entities) for i in range(120)]


def train(folder, passes, workers, strategy=None, loss="squared_hinge", **options):
    problem = Problem(CHAINS, loss, 0.3)
    options = {"checkpoint": folder, "checkpoint_every": 2, "resume": True, **options}
    return fit_local(
        problem, strategy or BQO(), Stopping(passes=passes), workers=workers, **options
    )


def same(found, expected) -> None:
    """The certificates are of the same w and the same duals, up to sums in another order: far from
    the optimum P is steep, and what is a millionth of w shows in it."""
    assert found.passes == expected.passes
    away = np.linalg.norm(found.w.array - expected.w.array)
    assert away <= 1e-5 * np.linalg.norm(expected.w.array)
    np.testing.assert_allclose(found.dual, expected.dual, rtol=1e-6)
    np.testing.assert_allclose(found.primal, expected.primal, rtol=1e-4)


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from(["squared_hinge", "hinge"]),
    st.sampled_from([None, "workers", 1.5]),
)
@cases(25)
def test_the_certificate_is_that_of_the_checkpoint(tmp_path_factory, before, after, loss, theta):
    folder = tmp_path_factory.mktemp("run") / "run"
    left = train(folder, 5, before, BQO(theta=theta), loss)
    taken = train(folder, 5, after, BQO(theta=theta), loss)
    same(taken, left)
    assert taken.cuts == left.cuts
    assert taken.inference_calls == left.inference_calls
    assert [point.dual for point in taken.trace] == [point.dual for point in left.trace]
    on = train(folder, 9, before + 1, BQO(theta=theta), loss)
    duals = [point.dual for point in on.trace[4:]]
    assert np.all(np.diff(duals) >= -1e-6 * abs(duals[0]))  # training has gone on, not begun
    assert on.inference_calls > left.inference_calls


def test_training_that_went_on_elsewhere_ends_at_the_optimum(tmp_path):
    problem, gap = Problem(CHAINS, "squared_hinge", 0.3), 1e-4
    whole = fit_local(problem, BQO(), Stopping(gap=gap, passes=400), workers=2)
    train(tmp_path / "run", 4, 2)
    train(tmp_path / "run", 8, 5)
    end = fit_local(
        problem, BQO(), Stopping(gap=gap, passes=400), workers=3,
        checkpoint=tmp_path / "run", resume=True,
    )  # fmt: skip
    assert whole.gap <= gap
    assert end.gap <= gap
    np.testing.assert_allclose(end.primal, whole.primal, rtol=2 * gap)


def test_l_bfgs_goes_on_elsewhere(tmp_path):
    alone = train(tmp_path / "whole", 12, 1, DistributedLBFGS(), "crf")
    left = train(tmp_path / "run", 5, 2, DistributedLBFGS(), "crf")
    same(train(tmp_path / "run", 5, 4, DistributedLBFGS(), "crf"), left)
    end = train(tmp_path / "run", 12, 3, DistributedLBFGS(), "crf")
    np.testing.assert_allclose(end.primal, alone.primal, rtol=1e-6)


def test_the_ramp_goes_on_elsewhere(tmp_path):
    left = train(tmp_path / "run", 7, 2, RampBQO(3), "ramp")
    taken = train(tmp_path / "run", 7, 5, RampBQO(3), "ramp")
    assert taken.passes == left.passes
    assert taken.inference_calls == left.inference_calls
    away = np.linalg.norm(taken.w.array - left.w.array)
    assert away <= 1e-5 * np.linalg.norm(left.w.array)
    assert train(tmp_path / "run", 9, 3, RampBQO(3), "ramp").passes == 9


@pytest.mark.parametrize(
    ("strategy", "loss"), [(ADMM(), "hinge"), (IterativeMixing(MIRA()), "hinge")]
)
def test_what_cannot_be_divided_anew_is_refused(tmp_path, strategy, loss):
    train(tmp_path / "run", 3, 2, strategy, loss)
    with pytest.raises(
        InputError,
        match=r"rank-0-of-2 was written by 2 workers and cannot be resumed from by 3: what each "
        r"of its workers knows cannot be divided anew",
    ):
        train(tmp_path / "run", 5, 3, strategy, loss)


def test_other_examples_are_refused(tmp_path):
    train(tmp_path / "run", 3, 2)
    others = make_chains(sentences=24, tokens=5, labels=3, features=30, noise=0.5, seed=3)
    problem = Problem(others.structure(), "squared_hinge", 0.3)
    with pytest.raises(InputError, match=r"by 3: it is of other examples"):
        fit_local(
            problem, BQO(), Stopping(passes=4), workers=3, checkpoint=tmp_path / "run", resume=True
        )
    others = make_chains(sentences=25, tokens=5, labels=3, features=30, noise=0.5, seed=4)
    problem = Problem(others.structure(), "squared_hinge", 0.3)
    with pytest.raises(InputError, match="cannot be resumed from by 3"):
        fit_local(
            problem, BQO(), Stopping(passes=4), workers=3, checkpoint=tmp_path / "run", resume=True
        )


def test_a_damaged_file_of_another_number_of_workers_is_not_used(tmp_path):
    train(tmp_path / "run", 4, 3)
    newest = max((tmp_path / "run").glob("*rank-2-of-3"), key=lambda path: path.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:-9])
    with pytest.warns(UserWarning, match="rank-2-of-3 is cut short.*of pass 2"):
        assert train(tmp_path / "run", 6, 2).passes == 6


@pytest.mark.parametrize("settings", [{}, {"hash_bits": 10}], ids=["dictionary", "hashed"])
def test_a_tagger_with_development_data_goes_on_elsewhere(tmp_path, settings):
    run = {"features": "word[0]\nsuffix(word[0],2)\n", "engine": "local", **settings}
    run |= {"checkpoint": str(tmp_path / "run"), "resume": True}
    left = SequenceTagger(**run, workers=2, passes=4).fit(X, Y, dev=(X[:40], Y[:40]))
    taken = SequenceTagger(**run, workers=3, passes=4).fit(X, Y, dev=(X[:40], Y[:40]))
    same(taken.result_, left.result_)
    assert taken.result_.dev_score == left.result_.dev_score
    np.testing.assert_allclose(taken.model_.w.array, left.model_.w.array, atol=1e-5)
    assert taken.predict(X) == left.predict(X)


def test_a_parser_goes_on_elsewhere(tmp_path):
    run = {"hash_bits": 12, "engine": "local", "passes": 2, "resume": True}
    run["checkpoint"] = str(tmp_path / "run")
    left = DependencyParser(**run, workers=3).fit(TREES.select(range(60)))
    taken = DependencyParser(**run, workers=2).fit(TREES.select(range(60)))
    same(taken.result_, left.result_)


@pytest.mark.parametrize("files", [7, 1])
def test_training_out_of_core_goes_on_elsewhere(tmp_path, files):
    from dualstruct import write_columns

    (tmp_path / "texts").mkdir()
    for k in range(files):
        write_columns(tmp_path / "texts" / f"{k}.txt", X[k::files], Y[k::files])
    run = {"features": "word[0]\nsuffix(word[0],2)\n", "hash_bits": 10, "engine": "local"}
    run |= {"checkpoint": str(tmp_path / "run"), "resume": True}

    def trained(workers, passes=3):
        tagger = SequenceTagger(**run, workers=workers, passes=passes)
        return tagger.fit_large(str(tmp_path / "texts"), tmp_path / "disk")

    left = trained(2)
    same(trained(3).result_, left.result_)
    same(trained(1).result_, left.result_)
    assert trained(2).model_.w.array.tobytes() == left.model_.w.array.tobytes()
    assert trained(5, 6).result_.dual > left.result_.dual


def test_a_command_that_is_killed_goes_on_with_more_workers(tmp_path):
    from dualstruct import write_columns

    write_columns(tmp_path / "train.txt", X, Y)
    command = ["train", str(tmp_path / "train.txt"), "--features", "pos", "--engine", "local"]
    command += ["--checkpoint", str(tmp_path / "run"), "--model", str(tmp_path / "m.dstruct")]
    running = subprocess.Popen(
        [sys.executable, "-m", "dualstruct", *command, "--workers", "2", "--passes", "100000"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 120
        while not list((tmp_path / "run").glob("*.manifest")):
            assert running.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    saved = [path.name for path in (tmp_path / "run").glob("*.manifest")]
    done = run_command(*command, "--workers", "4", "--passes", "1", "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert saved
    assert '"workers": 4' in done.stdout
    assert '"passes": 1,' not in done.stdout  # those of before count
