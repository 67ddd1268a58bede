"""All workers in one process, a thread each: for tests, and to see what a cluster would do.

The core works without the GIL, so the workers share the machine's cores; what they compute does not
depend on how they are scheduled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dualstruct.errors import InputError
from dualstruct.workers.communicator import (
    TIMEOUT,
    Call,
    CommunicationError,
    Communicator,
    InUserProcess,
    Numbers,
    call,
    check_calls,
    check_timeout,
    check_workers,
    failed,
    first_to_tell,
    late,
    sparse_call,
    sum_in_order,
)
from dualstruct.workers.interrupts import hearing_ctrl_c
from dualstruct.workers.sparse import RangeAdder, SparseVector

Result = TypeVar("Result")


class _Table:
    """Where the workers lay down what they bring, and all take the result."""

    def __init__(self, size: int, timeout: float) -> None:
        self.size = size
        self.timeout = timeout
        self.interrupted = False
        self._changed = threading.Condition()
        self._round = 0
        self._brought: dict[int, tuple[Call, Any]] = {}
        self._outcome: Any
        self.adder = RangeAdder()
        self._gone: int | None = None  # the first worker that takes no more part

    def meet(
        self, rank: int, wanted: Call, brought: Any, combine: Callable[[list[Any]], Result]
    ) -> Result:
        """What ``combine`` makes of what all workers bring."""
        with self._changed:
            mine = self._round
            self._brought[rank] = (wanted, brought)
            if len(self._brought) == self.size:
                self._outcome = self._combined(combine)
                self._brought = {}
                self._round += 1
                self._changed.notify_all()
            # Nobody changes the outcome before this worker has brought its next array.
            self._changed.wait_for(
                lambda: self._round != mine or self._gone is not None, self.timeout
            )
            if self._round == mine:
                if self._gone is not None:
                    raise failed(rank, self._gone)
                others = [each for each in range(self.size) if each not in self._brought]
                raise late(rank, others, wanted, self.timeout)
            outcome: Result = self._outcome
        if isinstance(outcome, Exception):
            raise type(outcome)(str(outcome))  # one each: tracebacks are not shared
        return outcome

    def _combined(self, combine: Callable[[list[Any]], Any]) -> Any:
        brought = [self._brought[rank] for rank in range(self.size)]
        try:
            check_calls([each for each, _ in brought])
        except (InputError, CommunicationError) as error:
            return error
        return combine([each for _, each in brought])

    def leave(self, rank: int) -> None:
        with self._changed:
            if self._gone is None:
                self._gone = rank
            self._changed.notify_all()


class LocalCommunicator(InUserProcess):
    """A thread's connection to the other threads."""

    def __init__(self, table: _Table, rank: int) -> None:
        self._table = table
        self.rank = rank
        self.size = table.size

    @property
    def interrupted(self) -> bool:
        return self._table.interrupted

    def allreduce(self, array: NDArray[Numbers]) -> NDArray[Numbers]:
        return self._table.meet(self.rank, call("allreduce", array), array, _summed)

    def allreduce_sparse(self, vector: SparseVector, dimension: int) -> SparseVector:
        return self._table.meet(
            self.rank,
            sparse_call(dimension),
            vector,
            lambda vectors: self._table.adder.sum(vectors, 0, dimension),
        )

    def broadcast(self, array: NDArray[Numbers], root: int = 0) -> NDArray[Numbers]:
        wanted = call(f"broadcast from {root}", array)
        return self._table.meet(
            self.rank, wanted, array, lambda arrays: _shared(np.array(arrays[root]))
        )

    def barrier(self) -> None:
        self._table.meet(self.rank, Call("barrier", 0, ""), None, lambda brought: None)


def _summed(arrays: list[NDArray[Numbers]]) -> NDArray[Numbers]:
    return _shared(sum_in_order(arrays))


def _shared(array: NDArray[Numbers]) -> NDArray[Numbers]:
    """All workers have the same one: nobody may write to it."""
    array.flags.writeable = False
    return array


def run_local(
    workers: int, work: Callable[[Communicator], Result], *, timeout: float = TIMEOUT
) -> list[Result]:
    """What ``work`` returns for each of so many workers.

    If a worker raises, the others stop at their next message, and the exception is raised here.
    The first Ctrl-C asks all workers to stop after the pass they are in, the second one stops them
    at once. A worker waits for the others ``timeout`` seconds at most; one that hangs is
    left running, because threads cannot be killed.

    >>> run_local(3, lambda workers: int(workers.allreduce(np.array([workers.rank]))[0]))
    [3, 3, 3]
    """
    check_workers(workers)
    check_timeout(timeout)
    table = _Table(workers, timeout)
    results: dict[int, Result] = {}
    errors: dict[int, BaseException] = {}
    ended: SimpleQueue[int] = SimpleQueue()

    def run(rank: int) -> None:
        try:
            results[rank] = work(LocalCommunicator(table, rank))
        except BaseException as error:
            errors[rank] = error
        finally:
            table.leave(rank)
            ended.put(rank)

    def tell(presses: int) -> None:
        table.interrupted = True
        if presses > 1:
            table.leave(0)

    with hearing_ctrl_c(tell) as presses:
        # Daemons: one that hangs must not keep the program from ending.
        threads = [
            threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(workers)
        ]
        for thread in threads:
            thread.start()
        waiting, since = workers, time.monotonic()
        while waiting:
            try:
                # Handlers of signals run only between steps of Python, and a signal that comes
                # just before a wait does not end it: so no wait is long.
                threads[ended.get(timeout=0.1)].join()
                waiting, since = waiting - 1, time.monotonic()
            except Empty:
                if errors and time.monotonic() - since > timeout:
                    break
    if presses() > 1:
        raise KeyboardInterrupt
    if errors:
        raise first_to_tell(dict(errors))
    return [results[rank] for rank in range(workers)]
