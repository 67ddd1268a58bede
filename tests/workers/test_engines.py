"""Ray and MPI with real processes: the same numbers as workers in one process, and plain errors."""

from __future__ import annotations

import json
import sys

import pytest

import engine_jobs
from dualstruct import InputError
from dualstruct.distributed import run_local, run_mpi, run_ray
from engines_here import found_by_workers, job, mpiexec, needs_ray, run


def local(workers: int) -> list:
    return json.loads(json.dumps(run_local(workers, engine_jobs.train_all)))


@needs_ray
class TestRay:
    def test_ray_gives_the_same_numbers_as_one_process(self, on_ray):
        assert on_ray["three"]["results"] == local(3)

    def test_a_rank_that_fails_ends_all_and_its_error_is_told(self, on_ray):
        assert on_ray["fail"]["error"].startswith("InputError: sentence 7 is broken")
        assert on_ray["differ"]["error"].startswith("InputError: worker 1 has 4 numbers")
        assert on_ray["fail"]["warnings"] == on_ray["differ"]["warnings"] == []

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows who listens where")
    def test_a_cluster_started_here_listens_on_the_loopback_interface_only(self, on_ray):
        mapped = "0000000000000000FFFF00000100007F"
        assert len(on_ray["listening"]) >= 3
        assert set(on_ray["listening"]) <= {"0100007F", mapped}

    def test_a_cluster_started_here_refuses_those_without_its_token(self, on_ray):
        assert on_ray["stranger"] == "AuthenticationError"


class TestMPI:
    @pytest.mark.parametrize("workers", [1, 3])
    def test_mpi_gives_the_same_numbers_as_one_process(self, tmp_path, workers):
        done = run(mpiexec(), "-n", str(workers), *job("mpi-all", tmp_path))
        assert done.returncode == 0, done.stderr
        assert found_by_workers(tmp_path) == local(workers)

    @pytest.mark.parametrize(
        ("work", "message"),
        [("mpi-fail", "worker 1: sentence 7 is broken"), ("mpi-differ", "worker 1 has 4 numbers")],
    )
    def test_a_rank_that_fails_ends_the_job_and_says_why(self, tmp_path, work, message):
        done = run(mpiexec(), "-n", "2", *job(work, tmp_path))
        assert done.returncode != 0
        assert message in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("package", "start"),
    [("ray", lambda: run_ray(2, len)), ("mpi4py", lambda: run_mpi(len))],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(package, start, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    extra = {"ray": "ray", "mpi4py": "mpi"}[package]
    with pytest.raises(InputError, match=rf"pip install 'dualstruct\[{extra}\]'"):
        start()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://localhost:1", "127.0.0.1:99999"])
def test_an_address_where_nobody_is_gets_a_sentence_at_once(address):
    with pytest.raises(InputError, match=f"there is no Ray cluster at '{address}'"):
        run_ray(2, len, address=address)
