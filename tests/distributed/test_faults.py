"""Workers that die or hang, drivers that are killed, checkpoints that are damaged: training
continues to the same model, to the last bit."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import engine_jobs
from dualstruct import DCD, InputError, Problem, SequenceTagger, Stopping, fit
from dualstruct.data.writing import OutputError
from dualstruct.datasets import make_chains
from dualstruct.distributed import (
    ADMM,
    BQO,
    CommunicationError,
    IterativeMixing,
    RecoveryWarning,
    SimpleAverage,
    fit_local,
    partition,
    run_local,
)
from dualstruct.solvers import DualIterate
from dualstruct.structures import Subset
from dualstruct.training import checkpoints
from dualstruct.workers.communicator import call
from dualstruct.workers.ray_board import Board
from engine_jobs import SILENCE
from engines_here import found_by_workers, job, mpiexec, needs_ray, run
from patience import HANGS

CHAINS = make_chains(sentences=20, tokens=5, labels=3, features=30, noise=0.5, seed=3).structure()
PROBLEM = Problem(CHAINS, "squared_hinge", 0.3)


def train(folder: Path, passes: int, strategy=None, problem: Problem = PROBLEM, **options):
    options = {"workers": 2, "checkpoint_every": 2, **options}
    return fit_local(
        problem, strategy or BQO(), Stopping(passes=passes), checkpoint=folder, **options
    )


def names(folder: Path) -> list[str]:
    """Of the files, without the letters that are drawn again each time."""
    return sorted(
        f"{path.name.rsplit('-', path.name.count('-') - 1)[0]}{path.name[path.name.index('.') :]}"
        for path in folder.iterdir()
    )


def newest(folder: Path, kind: str) -> Path:
    numbers = {int(path.name.split("-")[1]): path for path in folder.glob(f"*.{kind}*")}
    return numbers[max(numbers)]


def test_two_checkpoints_are_kept_and_nothing_else(tmp_path):
    train(tmp_path / "run", 9)
    assert names(tmp_path / "run") == [
        f"checkpoint-{number}.{kind}"
        for number in (4, 5)
        for kind in ("manifest", "rank-0-of-2", "rank-1-of-2")
    ]
    metadata = json.loads(newest(tmp_path / "run", "manifest").read_text().rpartition("}")[0] + "}")
    assert (metadata["passes"], metadata["workers"], metadata["settings"]["C"]) == (9, 2, 0.3)
    for file in metadata["files"]:
        assert (tmp_path / "run" / file["name"]).stat().st_size == file["bytes"]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink], ids=["cut", "flipped", "gone"])
@pytest.mark.parametrize("kind", ["rank-0", "rank-1", "manifest"])
def test_when_a_checkpoint_is_damaged_the_one_before_it_is_used(tmp_path, kind, damage):
    whole = train(tmp_path / "whole", 8)
    train(tmp_path / "run", 6)
    broken = newest(tmp_path / "run", kind)
    damage(broken)
    with pytest.warns(
        RecoveryWarning, match=r"the checkpoint before it is used, of pass 4"
    ) as told:
        resumed = train(tmp_path / "run", 8, resume=True)
    [message] = [str(each.message) for each in told]
    assert broken.name.partition(".")[0] in message
    np.testing.assert_array_equal(resumed.w.array, whole.w.array)
    assert [point.dual for point in resumed.trace] == [point.dual for point in whole.trace]
    assert len({name.split(".")[0] for name in names(tmp_path / "run")}) == 2


def test_a_disk_without_room_ends_the_run_and_the_checkpoint_before_is_whole(tmp_path):
    """The limit of the system on files stands for the disk: writing fails half-way."""
    whole = train(tmp_path / "whole", 8)
    size = newest(tmp_path / "whole", "rank-0").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(point, iterate) -> None:
        if point.passes == 5:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, hard))

    try:
        with pytest.raises(
            OutputError, match=r"rank-\d-of-2.* could not be written: File too large"
        ):
            train(tmp_path / "run", 8, callbacks=[fill])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    seen: list[int] = []
    resumed = train(
        tmp_path / "run",
        8,
        resume=True,
        callbacks=[lambda point, iterate: seen.append(point.passes)],
    )
    assert min(seen) == 5  # from the checkpoint of pass 4
    np.testing.assert_array_equal(resumed.w.array, whole.w.array)
    assert len({name.split(".")[0] for name in names(tmp_path / "run")}) == 2


def test_when_all_checkpoints_are_damaged_it_is_said_what_is_wrong(tmp_path):
    train(tmp_path / "run", 4)
    for path in (tmp_path / "run").glob("*.rank-1*"):
        cut(path)
    with pytest.raises(
        InputError, match=r"no checkpoint .* can be used: .*rank-1-of-2 is cut short"
    ):
        train(tmp_path / "run", 8, resume=True)


@pytest.mark.parametrize("after", ["a worker's file", "all workers' files"])
def test_a_checkpoint_that_was_not_finished_is_not_used(tmp_path, after, monkeypatch):
    whole = train(tmp_path / "whole", 8)
    train(tmp_path / "run", 4)

    def full(*args):
        raise OutputError("the disk is full")

    with monkeypatch.context() as patch:
        target = "_checksum" if after == "a worker's file" else "replace_file"
        patch.setattr(checkpoints, target, full)
        with pytest.raises(OutputError, match="the disk is full"):
            train(tmp_path / "run", 8, checkpoint_every=1)
    with pytest.warns(RecoveryWarning, match="was not finished"):
        resumed = train(tmp_path / "run", 8, resume=True)
    np.testing.assert_array_equal(resumed.w.array, whole.w.array)


def test_a_new_run_is_not_continued_from_what_an_older_one_left(tmp_path):
    train(tmp_path / "run", 6)
    passes = []

    def attempt(number: int) -> None:
        def work(workers) -> None:
            def seen(point, iterate) -> None:
                passes.append(point.passes)
                if not number:
                    raise InputError("a fault before the first checkpoint")

            workers.attempt = number
            own = Subset(CHAINS, partition(len(CHAINS), 2)[workers.rank])
            problem = Problem(own, "squared_hinge", 0.3, communicator=workers)
            fit(problem, BQO(), Stopping(passes=8), checkpoint=tmp_path / "run", callbacks=[seen])

        run_local(2, work)

    with pytest.raises(InputError, match="a fault"):
        attempt(0)
    with pytest.warns(RecoveryWarning, match="resumes from the checkpoint of pass 0"):
        attempt(1)
    assert sorted(passes) == sorted([1, *range(1, 9)] * 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"problem": Problem(CHAINS, "squared_hinge", 0.4)}, "its C is 0.3, here 0.4"),
        ({"strategy": ADMM()}, "its solver is bqo, here admm"),
        ({"seed": 1}, "was written by"),
    ],
)
def test_checkpoints_of_other_runs_are_refused(tmp_path, change, message):
    train(tmp_path / "run", 2)
    with pytest.raises(InputError, match=message):
        train(tmp_path / "run", 4, resume=True, **change)


def test_checkpoints_need_a_folder_that_all_ranks_see(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SEEN_AFTER", 0.2)

    def work(workers) -> None:
        own = Subset(CHAINS, partition(len(CHAINS), 2)[workers.rank])
        problem = Problem(own, C=0.3, communicator=workers)
        fit(problem, BQO(), Stopping(passes=2), checkpoint=tmp_path / f"of-{workers.rank}")

    with pytest.raises(OutputError, match=r"to see .*, which worker 1 has written: .* share"):
        run_local(2, work)
    (tmp_path / "file").touch()
    with pytest.raises(
        OutputError, match="is a file; checkpoints of several workers need a folder"
    ):
        train(tmp_path / "file", 2)


@pytest.mark.parametrize(
    ("strategy", "array"),
    [
        (BQO(), "w"),
        (BQO(), "local.cut_words"),
        (ADMM(), "bound"),
        (SimpleAverage(DCD()), "local.w"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_weights_that_the_duals_do_not_give_are_found_after_a_recovery(
    tmp_path, strategy, array, monkeypatch
):
    iterate = type(strategy.start(PROBLEM, 0))
    state = iterate.state

    def wrong(self):
        metadata, arrays = state(self)
        if array == "local.cut_words":  # the duals of another pass: none
            empty = np.zeros_like(arrays["local.cut_words_of_example"])
            arrays |= {array: arrays[array][:0], "local.cut_words_of_example": empty}
            arrays["local.sum_alpha"] = np.zeros_like(arrays["local.sum_alpha"])
        else:
            arrays[array] = arrays[array] * np.float32(1.01)
        return metadata, arrays

    with monkeypatch.context() as patch:
        patch.setattr(iterate, "state", wrong)
        train(tmp_path / "run", 2, strategy)
    with pytest.raises(InputError, match="weights are not those that its duals give"):
        train(tmp_path / "run", 4, strategy, resume=True)


def test_weights_that_the_duals_do_not_give_are_found_on_one_machine(tmp_path, monkeypatch):
    def drifted(self):
        metadata, arrays = state(self)
        return metadata, arrays | {"w": arrays["w"] * np.float32(1.01)}

    state = DualIterate.state
    with monkeypatch.context() as patch:
        patch.setattr(DualIterate, "state", drifted)
        fit(PROBLEM, DCD(), Stopping(passes=2), checkpoint=tmp_path / "run")
    with pytest.raises(InputError, match="weights are not those that its duals give"):
        fit(PROBLEM, DCD(), Stopping(passes=4), checkpoint=tmp_path / "run", resume=True)


def test_ranks_with_different_weights_do_not_go_on(tmp_path, monkeypatch):
    strategy, problem = IterativeMixing(), Problem(CHAINS, "perceptron")
    iterate = type(strategy.start(problem, 0))
    state = iterate.state

    def differing(self):
        metadata, arrays = state(self)
        return metadata, arrays | {"w": arrays["w"] + np.float32(self.communicator.rank)}

    with monkeypatch.context() as patch:
        patch.setattr(iterate, "state", differing)
        train(tmp_path / "run", 2, strategy, problem)
    with pytest.raises(InputError, match="worker 1 has other weights than worker 0"):
        train(tmp_path / "run", 4, strategy, problem, resume=True)


def test_the_command_goes_on_from_the_folder_of_its_workers(tmp_path):
    data = tmp_path / "train.txt"
    data.write_text("Ada B\nlives O\n\nBob B\nsings O\n\nrain O\nfalls O\n\nEve B\nruns O\n\n")

    def weights(name: str, passes: int, *options: str) -> np.ndarray:
        model = tmp_path / name
        command = [sys.executable, "-m", "dualstruct", "train", str(data), "--model", str(model)]
        command += ["--engine", "local", "--workers", "2", "--passes", str(passes), *options]
        done = run(*command)
        assert done.returncode == 0, done.stderr
        return SequenceTagger.load(model).model_.w.array

    whole = weights("whole", 6)
    folder = str(tmp_path / "run")
    weights("first", 2, "--checkpoint", folder)
    resumed = weights("resumed", 6, "--checkpoint", folder, "--resume")
    np.testing.assert_array_equal(resumed, whole)


def test_a_thread_that_hangs_is_named_and_left_behind():
    release = threading.Event()

    def work(workers) -> None:
        if workers.rank == 1:
            release.wait(HANGS)
        workers.allreduce(np.zeros(3))

    expected = "worker 0 has waited 0.3 seconds for worker 1 to come to its allreduce of 3 numbers"
    try:
        with pytest.raises(CommunicationError, match=expected):
            run_local(2, work, timeout=0.3)
    finally:
        release.set()


def test_the_board_refuses_what_comes_twice_or_from_an_earlier_attempt():
    number = call("allreduce", np.ones(1))

    async def story() -> list:
        board = Board(2)
        await board.begin(0)
        waits = asyncio.create_task(board.meet(0, 0, 0, number, 1, 60))
        await asyncio.sleep(0)
        found = [await board.meet(0, 0, 0, number, 1, 60)]  # rank 0 has come already
        found += [await board.meet(0, 0, 1, number, 2, 60), await waits]
        found += [await board.meet(0, 0, 1, number, 2, 60)]  # that meeting is over
        waits = asyncio.create_task(board.meet(0, 1, 0, number, 1, 60))
        await asyncio.sleep(0)
        await board.begin(1)
        found += [await waits, await board.meet(0, 1, 1, number, 2, 60)]
        await board.leave(0, 1)  # nobody of this attempt has left
        waits = asyncio.create_task(board.meet(1, 0, 0, number, 5, 60))
        found += [await board.meet(1, 0, 1, number, 6, 60), await waits]
        return found

    refused = ("refused", None)
    both = ("all", [(number, 1), (number, 2)])
    later = ("all", [(number, 5), (number, 6)])
    assert asyncio.run(story()) == [refused, both, both, refused, refused, refused, later, later]


def undisturbed(name: str = "bqo", passes: int = engine_jobs.PASSES) -> list:
    """What two workers in one process arrive at."""
    results = run_local(2, lambda workers: engine_jobs.train(workers, name, passes=passes))
    return json.loads(json.dumps(results[0]))


@needs_ray
class TestRay:
    @pytest.mark.parametrize("name", engine_jobs.STRATEGIES)
    def test_a_killed_worker_comes_back_and_all_arrive_at_the_same_model(self, on_ray, name):
        found = on_ray["strategies"]
        assert [each[name] for each in found["results"]] == [undisturbed(name)] * 2

    def test_each_death_was_told_and_training_went_on_from_a_checkpoint(self, on_ray):
        told = on_ray["strategies"]["warnings"]
        deaths = [sentence for sentence in told if "died" in sentence]
        assert deaths == [
            f"worker {rank} died; the workers are restarted (restart {number} of at most 6)"
            for number, rank in enumerate([0, 1, 0, 1, 0, 1], 1)
        ]
        last = told[told.index(deaths[-1]) :]
        assert last[1:6] == ["training resumes from the checkpoint of pass 8"] * 5
        assert last[-1].startswith("training resumes from the checkpoint of pass")

    def test_a_worker_that_dies_while_features_are_written_is_replaced(self, on_ray, tmp_path):
        found = on_ray["features"]
        assert found["results"] == engine_jobs.out_of_core(tmp_path, "local")
        assert [told for told in found["warnings"] if "died; the workers are restarted" in told]

    def test_labelling_goes_on_where_a_worker_died(self, on_ray):
        found = on_ray["labelling"]
        assert found["results"] == [[f"{k}.txt" for k in range(4)], [True] * 4]
        assert [told for told in found["warnings"] if "died; the workers are restarted" in told]

    def test_a_worker_that_hangs_is_replaced(self, on_ray):
        found = on_ray["hangs"]
        assert found["results"] == [undisturbed()] * 2
        assert found["warnings"][0].startswith(
            f"worker 0 has waited {SILENCE} seconds for worker 1 to come to its allreduce of"
        )

    def test_workers_that_always_die_end_the_run_with_a_sentence(self, on_ray):
        assert on_ray["dies always"]["error"] == (
            "CommunicationError: worker 1 died, and restarts is 1: they are used up; with resume "
            "training continues from the last checkpoint"
        )

    def test_nothing_of_a_killed_driver_is_left_running(self, lost_driver, ray_folder):
        assert lost_driver.returncode == -9
        pids = [int(path.name.split("-")[1]) for path in ray_folder.glob("pid-*")]
        assert len(pids) >= 2
        deadline = time.monotonic() + HANGS
        while alive := [pid for pid in pids if is_alive(pid)]:
            assert time.monotonic() < deadline, f"{alive} still run"
            time.sleep(0.1)

    def test_a_killed_driver_is_started_again_and_ctrl_c_ends_it_after_a_pass(self, on_ray):
        assert "results" in on_ray["address"], on_ray["address"]
        [found, other] = on_ray["address"]["results"]
        assert found == other == ["interrupt", *undisturbed(passes=found[1])[1:]]

    def test_a_second_ctrl_c_stops_them_at_once(self, on_ray):
        assert on_ray["ctrl-c twice"]["error"] == "KeyboardInterrupt: "


def is_alive(pid: int) -> bool:
    """Not as a zombie that nobody has asked for its last words."""
    if not Path("/proc/self").exists():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


class TestMPI:
    def test_a_job_that_lost_a_worker_ends_and_goes_on_when_started_again(self, tmp_path):
        killed = run(mpiexec(), "-n", "2", *job("mpi", tmp_path))
        assert killed.returncode != 0
        assert "Killed" in killed.stdout + killed.stderr  # as mpiexec puts it
        assert found_by_workers(tmp_path) == []
        done = run(mpiexec(), "-n", "2", *job("mpi-again", tmp_path))
        assert done.returncode == 0, done.stderr
        assert found_by_workers(tmp_path) == [undisturbed()] * 2

    def test_a_rank_that_hangs_ends_the_job_with_a_sentence(self, tmp_path):
        done = run(mpiexec(), "-n", "2", *job("mpi-hangs", tmp_path))
        assert done.returncode != 0
        assert f"worker 0 has waited {SILENCE} seconds for worker 1 to come to its" in done.stderr
        assert "Traceback" not in done.stderr
