"""Ranks that are processes of an MPI job: ``mpiexec -n 4 python train.py``.

MPI's own sums may be taken in any order. Here every rank gets one part of the array from all the
others, adds it up in rank order and gives it to all: as many bytes as the best of MPI's ways, and
the same numbers as with every other back end.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dualstruct.distributed.communicator import (
    Communicator,
    Numbers,
    call,
    check_calls,
    sum_in_order,
)
from dualstruct.errors import DualstructError, InputError

Result = TypeVar("Result")


class MPICommunicator:
    """This process's connection to the job, or to the communicator of mpi4py that is given."""

    interrupted = False  # mpiexec passes Ctrl-C on to all processes, and they end

    def __init__(self, communicator: Any = None) -> None:
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise InputError(
                "training with MPI needs mpi4py and an MPI library: "
                f"pip install 'dualstruct[mpi]' ({error})"
            ) from None
        self._mpi = MPI.COMM_WORLD if communicator is None else communicator
        self.rank: int = self._mpi.Get_rank()
        self.size: int = self._mpi.Get_size()

    def allreduce(self, array: NDArray[Numbers]) -> NDArray[Numbers]:
        own = np.ascontiguousarray(array)
        self._check("allreduce", own)
        bounds = np.linspace(0, own.size, self.size + 1).astype(np.int64)
        counts, begins = np.diff(bounds), bounds[:-1]
        mine = int(counts[self.rank])
        parts = np.empty((self.size, mine), dtype=own.dtype)
        same = np.full(self.size, mine)
        self._mpi.Alltoallv([own, (counts, begins)], [parts, (same, mine * np.arange(self.size))])
        total = np.empty_like(own)
        self._mpi.Allgatherv(sum_in_order(list(parts)), [total, (counts, begins)])
        return total

    def broadcast(self, array: NDArray[Numbers], root: int = 0) -> NDArray[Numbers]:
        own = np.array(array, order="C")
        self._check(f"broadcast from {root}", own)
        self._mpi.Bcast(own, root)
        return own

    def barrier(self) -> None:
        self._check("barrier", np.zeros(0))

    def _check(self, what: str, array: NDArray[Any]) -> None:
        """All ranks must want the same, or MPI would mix up what they send."""
        check_calls(self._mpi.allgather(call(what, array)))


def run_mpi(work: Callable[[Communicator], Result]) -> Result:
    """What ``work`` returns on this rank; an exception on any rank ends the whole job.

    >>> run_mpi(lambda ranks: ranks.size)  # doctest: +SKIP
    4
    """
    communicator = MPICommunicator()
    try:
        return work(communicator)
    except Exception as error:
        if isinstance(error, DualstructError):
            print(f"worker {communicator.rank}: {error}", file=sys.stderr, flush=True)
        else:
            traceback.print_exc()
        if communicator.size > 1:  # the others wait for this rank and would do so for ever
            communicator._mpi.Abort(1)
        raise SystemExit(1) from None
