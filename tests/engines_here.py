"""Ray and MPI as this machine has them, for tests that start real processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest

from patience import HANGS

# The extra "test" brings both, so whoever lacks them shall notice; but nobody makes Ray for musl.
needs_ray = pytest.mark.skipif(
    "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or ""),
    reason="Ray is missing: it has no packages for musl; use a system with glibc",
)


JOBS = Path(__file__).with_name("engine_jobs.py")


def job(name: str, folder: Path) -> list[str]:
    return [sys.executable, str(JOBS), name, str(folder)]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """A program of the tests, with no settings for Ray but its own."""
    environment = {name: value for name, value in os.environ.items() if "RAY" not in name}
    environment["PYTHONPATH"] = str(Path(__file__).parent)
    libraries = Path(mpiexec()).parent.with_name("lib")
    if (libraries / "libmpi.so").exists():
        environment.setdefault("LD_LIBRARY_PATH", str(libraries))
    return subprocess.run(
        command, capture_output=True, text=True, timeout=HANGS, env=environment, check=False
    )


def mpiexec() -> str:
    """The one that belongs to the MPI library installed by pip, or that of the system."""
    try:
        of_package = [file for file in files("mpich") or () if file.name == "mpiexec"]
    except PackageNotFoundError:
        of_package = []
    for file in of_package:
        return str(Path(str(file.locate())).resolve())
    return shutil.which("mpiexec") or "mpiexec"


def found_by_workers(folder: Path) -> list:
    """What the workers of an MPI job wrote down, in their order."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("found-*.json"))]
