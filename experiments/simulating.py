"""Workers that take turns: what each of them computes is measured as if it had a core to itself.

Threads stand for machines. Only the one whose turn it is computes; when it waits for others, the
next one has its turn. Between two meetings the slowest worker counts, by its own CPU clock. What a
meeting adds up is divided among the workers, as it is on Ray and under MPI. The network is a model:
every worker sends and receives at the same time, at full speed, and a meeting has two halves
(numbers to those who add them up, sums to all), each with log2 K latencies.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dualstruct.distributed import run_local

GBE = 0.125e9  # bytes per second of 1 GbE
LATENCY = 50e-6  # seconds


@dataclass
class Stage:
    """From one meeting to the next, of one worker."""

    work: float  #: CPU seconds before it
    adding: float  #: and in it, of all that is added up
    given: int  #: bytes that this worker brings
    taken: int  #: and that all take home


@dataclass
class Worker:
    """A communicator that keeps the books of one worker."""

    inner: Any
    turn: threading.Lock
    counting: bool = True
    stages: list[Stage] = field(default_factory=list)
    attempt: int = 0

    def __post_init__(self) -> None:
        self.rank, self.size = self.inner.rank, self.inner.size
        self.interrupted = False

    def begin(self) -> None:
        self.turn.acquire()
        self._since = time.thread_time()

    def tell(self, sentence: str) -> None:
        self.inner.tell(sentence)

    def allreduce(self, array: Any) -> Any:
        return self._meet(lambda: self.inner.allreduce(array), array.nbytes)

    def allreduce_sparse(self, vector: Any, dimension: int) -> Any:
        return self._meet(lambda: self.inner.allreduce_sparse(vector, dimension), vector.nbytes)

    def broadcast(self, array: Any, root: int = 0) -> Any:
        return self._meet(lambda: self.inner.broadcast(array, root), array.nbytes)

    def barrier(self) -> None:
        self._meet(self.inner.barrier, 0)

    @contextmanager
    def not_counted(self) -> Iterator[None]:
        """What was computed before is a stage; what is done here costs nothing."""
        self.stages.append(Stage(time.thread_time() - self._since, 0.0, 0, 0))
        self.counting = False
        yield
        self.counting = True
        self._since = time.thread_time()

    def _meet(self, meet: Callable[[], Any], given: int) -> Any:
        before = time.thread_time()
        self.turn.release()
        try:
            found = meet()
        finally:
            self.turn.acquire()
        after = time.thread_time()
        if self.counting:
            taken = getattr(found, "nbytes", 0)
            self.stages.append(Stage(before - self._since, after - before, given, taken))
        self._since = time.thread_time()
        return found


def take_turns(workers: int, work: Callable[[Worker], Any]) -> list[Any]:
    """What ``work`` returns for each of so many workers, of which one computes at a time."""
    turn = threading.Lock()

    def run(communicator: Any) -> Any:
        worker = Worker(communicator, turn)
        worker.begin()
        try:
            return work(worker)
        finally:
            turn.release()

    return run_local(workers, run)


def seconds(stages: list[list[Stage]], gigabits: float) -> dict[str, float]:
    """What the stages of all workers take: work, and the network."""
    workers = len(stages)
    work = network = 0.0
    sent = 0
    for stage in zip(*stages, strict=True):
        work += max(each.work for each in stage) + sum(each.adding for each in stage) / workers
        if workers == 1 or not any(each.taken for each in stage):
            continue
        share = (workers - 1) / workers
        there = share * max(max(each.given for each in stage), np.mean([s.given for s in stage]))
        home = share * stage[0].taken
        sent += int(there + home)
        network += (there + home) / (gigabits * GBE) + 2 * math.ceil(math.log2(workers)) * LATENCY
    return {"work": work, "network": network, "bytes": sent}
