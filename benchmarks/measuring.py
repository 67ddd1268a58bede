"""What the benchmarks share: the place of the data, Brown's tags, CPU time, memory, processes."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

DATA = Path(os.environ.get("DUALSTRUCT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def plain_tag(tag: str) -> str:
    """Brown's tag without what is no part of speech: foreign, a title, cited, negated, joined.

    472 tags become about 90: with all of them, tools that keep K² transitions take hours.
    """
    return tag.removeprefix("FW-").split("-")[0].split("+")[0].rstrip("*") or tag


class Clock:
    """CPU seconds since the last lap."""

    def __init__(self) -> None:
        self.last = time.process_time()

    def lap(self) -> float:
        now = time.process_time()
        self.last, before = now, self.last
        return now - before


def best_of(times: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of the quickest run, and what the last one returned."""
    clock, taken = Clock(), []
    for _ in range(times):
        clock.lap()
        found = work()
        taken.append(clock.lap())
    return min(taken), found


def peak_memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_own_process(script: str, name: str, data: Path) -> dict[str, Any]:
    """``script --run name``, one thread, with times and peak memory of its own."""
    print(f"running {name} …", file=sys.stderr, flush=True)
    command = [sys.executable, script, "--data", str(data), "--run", name]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)
