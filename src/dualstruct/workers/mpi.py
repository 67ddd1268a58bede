"""Ranks that are processes of an MPI job: ``mpiexec -n 4 python train.py``.

MPI's own sums may be taken in any order. Here every worker gets one part of the array from all the
others, adds it up in rank order and gives it to all: as many bytes as the best of MPI's ways, and
the same numbers as with every other back end. MPI waits without end; so nothing here blocks, and
what is not done in time ends the job.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dualstruct.errors import DualstructError, InputError
from dualstruct.workers.communicator import (
    TIMEOUT,
    Call,
    Communicator,
    InUserProcess,
    Numbers,
    call,
    check_calls,
    check_timeout,
    late,
    sparse_call,
    sum_in_order,
)
from dualstruct.workers.sparse import (
    RangeAdder,
    SparseVector,
    by_range,
    joined,
    own_range,
    pack,
    unpack,
)

Result = TypeVar("Result")

#: Bytes in which a worker says what it wants of the others.
CALL = 96
#: Looks at a message that has not come before it is looked at less often: a worker that waits needs
#: a core for it, which others may have use for.
EAGER_LOOKS = 2000


class MPICommunicator(InUserProcess):
    """This process's connection to the job, or to the communicator of mpi4py that is given."""

    interrupted = False  # mpiexec passes Ctrl-C on to all processes, and they end

    def __init__(self, communicator: Any = None, *, timeout: float = TIMEOUT) -> None:
        check_timeout(timeout)
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:  # without mpi4py, or without its library
            raise InputError(
                "training with MPI needs mpi4py and an MPI library: "
                f"pip install 'dualstruct[mpi]' ({str(error).splitlines()[0]})"
            ) from None
        self._module = MPI
        self._timeout = timeout
        self._adder = RangeAdder()
        whole = MPI.COMM_WORLD if communicator is None else communicator
        self.rank: int = whole.Get_rank()
        self.size: int = whole.Get_size()
        # A communicator of our own: no message of the program's can be taken for one of ours.
        self._mpi: Any
        self._mpi, request = whole.Idup()
        self._complete([request], Call("beginning", 0, ""), self._others())

    def allreduce(self, array: NDArray[Numbers]) -> NDArray[Numbers]:
        own = np.ascontiguousarray(array)
        wanted = self._meet(call("allreduce", own))
        bounds = np.linspace(0, own.size, self.size + 1).astype(np.int64)
        counts, begins = np.diff(bounds), bounds[:-1]
        mine = int(counts[self.rank])
        parts = np.empty((self.size, mine), dtype=own.dtype)
        same = np.full(self.size, mine)
        self._finish(
            self._mpi.Ialltoallv(
                [own, (counts, begins)], [parts, (same, mine * np.arange(self.size))]
            ),
            wanted,
        )
        total = np.empty_like(own)
        summed = sum_in_order(list(parts))
        self._finish(self._mpi.Iallgatherv(summed, [total, (counts, begins)]), wanted)
        return total

    def allreduce_sparse(self, vector: SparseVector, dimension: int) -> SparseVector:
        wanted = self._meet(sparse_call(dimension))
        to_others = by_range(vector, dimension, self.size)
        going = np.array([len(part) for part in to_others])
        coming = np.empty_like(going)
        self._finish(self._mpi.Ialltoall(going, coming), wanted)
        parts = np.empty(int(coming.sum()), np.uint32)
        self._finish(
            self._mpi.Ialltoallv(
                [np.concatenate(to_others), (going, _begins(going))],
                [parts, (coming, _begins(coming))],
            ),
            wanted,
        )
        first, last = own_range(dimension, self.rank, self.size)
        vectors = [unpack(part) for part in np.split(parts, np.cumsum(coming)[:-1])]
        own = pack(self._adder.sum(vectors, first, last))
        lengths = np.empty(self.size, np.int64)
        self._finish(self._mpi.Iallgather(np.array([len(own)]), lengths), wanted)
        whole = np.empty(int(lengths.sum()), np.uint32)
        self._finish(self._mpi.Iallgatherv(own, [whole, (lengths, _begins(lengths))]), wanted)
        return joined(np.split(whole, np.cumsum(lengths)[:-1]))

    def broadcast(self, array: NDArray[Numbers], root: int = 0) -> NDArray[Numbers]:
        own = np.array(array, order="C")
        wanted = self._meet(call(f"broadcast from {root}", own))
        self._finish(self._mpi.Ibcast(own, root), wanted)
        return own

    def barrier(self) -> None:
        self._meet(Call("barrier", 0, ""))

    def end(self) -> None:
        """The whole job, at once: the others wait for this worker and would never end."""
        self._mpi.Abort(1)

    def _others(self) -> list[int]:
        return [rank for rank in range(self.size) if rank != self.rank]

    def _meet(self, wanted: Call) -> Call:
        """All workers must want the same, or MPI would mix up what they send.

        Every worker informs every other one, so that it is known who has not come.
        """
        others = self._others()
        said = np.zeros((self.size, CALL), dtype=np.uint8)  # [workers, bytes]
        words = f"{wanted.what}\n{wanted.numbers}\n{wanted.dtype}".encode()
        said[self.rank, : len(words)] = list(words)
        coming = [self._mpi.Irecv(said[rank], rank) for rank in others]
        going = [self._mpi.Isend(said[self.rank], rank) for rank in others]
        self._complete(coming, wanted, others)
        self._complete(going, wanted, others)
        calls = [row.tobytes().rstrip(b"\0").decode().split("\n") for row in said]
        check_calls([Call(what, int(numbers), dtype) for what, numbers, dtype in calls])
        return wanted

    def _finish(self, request: Any, wanted: Call) -> None:
        """What all workers do together, once all have come."""
        self._complete([request], wanted, self._others())

    def _complete(self, requests: list[Any], wanted: Call, others: list[int]) -> None:
        """Wait for what the others send; with one request each, it is known who is late."""
        deadline, looks = time.monotonic() + self._timeout, 0
        while not self._module.Request.Testall(requests):
            if time.monotonic() > deadline:
                if len(requests) == len(others):
                    others = [
                        rank
                        for rank, request in zip(others, requests, strict=True)
                        if not request.Test()
                    ]
                raise late(self.rank, others, wanted, self._timeout)
            looks += 1
            time.sleep(0 if looks < EAGER_LOOKS else 0.001)


def _begins(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of several arrays begins, one after the other."""
    return np.cumsum(lengths) - lengths


def run_mpi(work: Callable[[Communicator], Result], *, timeout: float = TIMEOUT) -> Result:
    """What ``work`` returns on this worker; an exception on any worker ends the whole job.

    So does a worker that makes the others wait for more than ``timeout`` seconds. A job that ended
    is started again by ``mpiexec``, and resumes from its checkpoints with ``fit(resume=True)``.

    >>> run_mpi(lambda workers: workers.size)  # doctest: +SKIP
    4
    """
    communicator = MPICommunicator(timeout=timeout)
    try:
        return work(communicator)
    except BaseException as error:
        if isinstance(error, DualstructError):
            print(f"worker {communicator.rank}: {error}", file=sys.stderr, flush=True)
        elif isinstance(error, (KeyboardInterrupt, SystemExit)):
            name = type(error).__name__
            print(f"worker {communicator.rank} ends ({name})", file=sys.stderr, flush=True)
        else:
            traceback.print_exc()
        if communicator.size > 1:
            communicator.end()
        raise SystemExit(1) from None
