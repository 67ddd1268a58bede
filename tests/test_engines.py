"""Ray and MPI with real processes: the same numbers as ranks in one process, and plain errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dualstruct import InputError
from dualstruct.distributed import run_local, run_mpi, run_ray
from engines_here import mpiexec, needs_ray, run

WORK = """
import hashlib
import os
import signal

import numpy as np

from dualstruct import InputError, Problem, Stopping, fit
from dualstruct.datasets import make_chains
from dualstruct.distributed import (
    ADMM, BQO, IterativeMixing, partition, run_local, run_mpi, run_ray
)
from dualstruct.structures import Subset


def train(ranks):
    structure = make_chains(sentences=20, tokens=5, labels=3, features=30, seed=3).structure()
    own = Subset(structure, partition(len(structure), ranks.size)[ranks.rank])
    found = []
    for solver, loss in (
        (BQO(), "squared_hinge"),
        (ADMM(), "hinge"),
        (IterativeMixing(), "perceptron"),
    ):
        result = fit(Problem(own, loss, 0.2, communicator=ranks), solver, Stopping(passes=4))
        weights = hashlib.sha256(result.w.array.tobytes()).hexdigest()
        found.append([result.primal, result.dual, result.cuts, weights])
    # Long enough to be cut into parts, and not to be divided evenly.
    long = np.random.default_rng(ranks.rank).normal(size=100_001).astype(np.float32)
    found.append(hashlib.sha256(ranks.allreduce(long).tobytes()).hexdigest())
    found.append(ranks.broadcast(np.array([ranks.rank]), root=ranks.size - 1).tolist())
    return found


def fail(ranks):
    if ranks.rank == 1:
        raise InputError("sentence 7 is broken")
    ranks.barrier()


def die(ranks):
    if ranks.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    ranks.barrier()


def differ(ranks):
    ranks.allreduce(np.zeros(3 + ranks.rank))


def hang(ranks):
    if ranks.rank == 1:
        signal.pause()
    ranks.barrier()
"""

RAY = f"""{WORK}
import json

def error_of(work, **options):
    try:
        run_ray(2, work, restarts=0, **options)
    except Exception as error:
        return f"{{type(error).__name__}}: {{error}}"

found = {{"three": run_ray(3, train), "fail": error_of(fail), "die": error_of(die)}}
found |= {{"differ": error_of(differ), "hang": error_of(hang, timeout=1)}}
import ray

found["address"] = ray.get_runtime_context().gcs_address
print()
print(json.dumps(found))
"""

MPI = f"""{WORK}
import json
import sys

found = run_mpi(globals()[sys.argv[1]])
print(json.dumps(found))
"""


def local(workers: int) -> list:
    names: dict = {}
    exec(WORK, names)
    return run_local(workers, names["train"])


@needs_ray
def test_ray_gives_the_same_numbers_as_one_process_and_tells_what_went_wrong(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(RAY)
    done = run(sys.executable, str(script), timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["three"] == json.loads(json.dumps(local(3)))
    assert found["fail"].startswith("InputError: sentence 7 is broken")
    assert found["die"] == "CommunicationError: worker 1 died"
    assert found["differ"].startswith("InputError: worker 1 has 4 numbers")
    assert found["hang"] == (
        "CommunicationError: worker 0 has waited 1 seconds for worker 1 to come to its barrier"
    )
    assert found["address"].startswith("127.0.0.1:")


class TestMPI:
    def job(self, tmp_path: Path, work: str, workers: int) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "train.py"
        script.write_text(MPI)
        command = [mpiexec(), "-n", str(workers), sys.executable, str(script), work]
        return run(*command, timeout=120)

    @pytest.mark.parametrize("workers", [1, 3])
    def test_mpi_gives_the_same_numbers_as_one_process(self, tmp_path, workers):
        done = self.job(tmp_path, "train", workers)
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert found == json.loads(json.dumps(local(workers)))

    @pytest.mark.parametrize(
        ("work", "message"),
        [("fail", "worker 1: sentence 7 is broken"), ("differ", "worker 1 has 4 numbers")],
    )
    def test_a_rank_that_fails_ends_the_job_and_says_why(self, tmp_path, work, message):
        done = self.job(tmp_path, work, 2)
        assert done.returncode != 0
        assert message in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("package", "start"),
    [("ray", lambda: run_ray(2, len)), ("mpi4py", lambda: run_mpi(len))],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(package, start, monkeypatch):
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_USAGE_STATS_ENABLED"):
        monkeypatch.setenv(name, "")  # what starting Ray sets goes away with the test
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    monkeypatch.setitem(sys.modules, package, None)
    extra = {"ray": "ray", "mpi4py": "mpi"}[package]
    with pytest.raises(InputError, match=rf"pip install 'dualstruct\[{extra}\]'"):
        start()
