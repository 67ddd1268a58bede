"""Ranks that are actors of a Ray cluster.

Arrays travel through Ray's object store; one small actor, the *board*, tells each rank where the
others' are. A long array is cut into as many parts as there are ranks: every rank adds up one part,
in rank order, and puts it back for all.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dualstruct.distributed.communicator import (
    Call,
    CommunicationError,
    Communicator,
    Numbers,
    call,
    check_calls,
    check_workers,
    first_to_tell,
    sum_in_order,
)
from dualstruct.errors import InputError

Result = TypeVar("Result")

#: Arrays of fewer bytes are sent to the board itself.
SHORT = 50_000
#: Seconds that ranks get to notice that another one has failed.
LAST_WORDS = 5.0


class _Board:
    """Where ranks leave what they bring until all have come; Ray runs it as an actor."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._round = 0
        self._brought: dict[int, tuple[Call, Any]] = {}
        self._all: list[tuple[Call, Any]] = []
        self._gone: int | None = None
        self._stop = False
        self._changed = asyncio.Condition()

    async def meet(self, rank: int, wanted: Call, brought: Any) -> list[tuple[Call, Any]] | int:
        """What all ranks brought; or the rank that will not come any more."""
        async with self._changed:
            mine = self._round
            self._brought[rank] = (wanted, brought)
            if len(self._brought) == self._size:
                self._all = [self._brought[each] for each in range(self._size)]
                self._brought = {}
                self._round += 1
                self._changed.notify_all()
            await self._changed.wait_for(lambda: self._round != mine or self._gone is not None)
            if self._round == mine:
                assert self._gone is not None
                return self._gone
            return self._all

    async def leave(self, rank: int) -> None:
        async with self._changed:
            if self._gone is None:
                self._gone = rank
            self._changed.notify_all()

    async def interrupt(self) -> None:
        self._stop = True

    async def interrupted(self) -> bool:
        return self._stop


class RayCommunicator:
    """An actor's connection to the other actors."""

    def __init__(self, board: Any, rank: int, size: int, timeout: float) -> None:
        import ray

        self._ray = ray
        self._board = board
        self.rank = rank
        self.size = size
        self._timeout = timeout
        # What others may still read: until the next meeting is over, they have not all been there.
        self._lent: list[Any] = []

    @property
    def interrupted(self) -> bool:
        return self.rank == 0 and bool(self._ray.get(self._board.interrupted.remote()))

    def allreduce(self, array: NDArray[Numbers]) -> NDArray[Numbers]:
        own = np.ascontiguousarray(array)
        if own.nbytes < SHORT:
            total: NDArray[Numbers] = sum_in_order(self._meet("allreduce", own, own))
            return total
        parts = [self._ray.put(part) for part in np.array_split(own, self.size)]
        brought = self._meet("allreduce", own, parts)
        mine = self._ray.get([refs[self.rank] for refs in brought], timeout=self._timeout)
        summed = [self._ray.put(sum_in_order(mine))]
        sums = self._meet("allreduce, second half", own, summed)
        self._lent = [summed]
        result: NDArray[Numbers] = np.concatenate(
            self._ray.get([ref for [ref] in sums], timeout=self._timeout)
        )
        return result

    def broadcast(self, array: NDArray[Numbers], root: int = 0) -> NDArray[Numbers]:
        own = np.array(array)
        received: NDArray[Numbers] = self._meet(f"broadcast from {root}", own, own)[root]
        return received

    def barrier(self) -> None:
        nothing = np.zeros(0)
        self._meet("barrier", nothing, nothing)

    def _meet(self, what: str, array: NDArray[Any], brought: Any) -> list[Any]:
        """What all ranks brought, once they have come for the same."""
        waiting = self._board.meet.remote(self.rank, call(what, array), brought)
        try:
            answer = self._ray.get(waiting, timeout=self._timeout)
        except self._ray.exceptions.GetTimeoutError:
            raise CommunicationError(
                f"worker {self.rank} has waited for the others for {self._timeout:g} seconds"
            ) from None
        if isinstance(answer, int):
            raise CommunicationError(
                f"worker {self.rank} waits for worker {answer}, which failed or has ended"
            )
        check_calls([each for each, _ in answer])
        return [each for _, each in answer]


class _Worker:
    """One rank; Ray runs it as an actor."""

    def run(self, work: Callable[[Communicator], Result], *place: Any) -> Result:
        return work(RayCommunicator(*place))


def start_ray(workers: int, address: str | None = None) -> Any:
    """Ray's module, connected to the cluster at ``address``; else to one that is started here.

    A cluster started here listens on the loopback interface only, asks for a token, reports no
    usage statistics and shows no dashboard.
    """
    if address is None:  # these must be set before Ray is first imported
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Ray's switch for machines that shall listen on the loopback interface only.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        if "RAY_AUTH_MODE" not in os.environ:
            os.environ["RAY_AUTH_MODE"] = "token"
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    try:
        import ray
    except ImportError as error:
        raise InputError(
            f"training with Ray needs the package ray: pip install 'dualstruct[ray]' ({error})"
        ) from None
    if ray.is_initialized():
        return ray
    if address is None:
        if ray.util.get_node_ip_address() != "127.0.0.1":
            raise InputError(
                "Ray was imported before it could be told to stay off the network: import it after "
                "dualstruct.distributed.run_ray was called, or set "
                "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0, or give the address of a running cluster"
            )
        ray.init(
            num_cpus=workers,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="error",
            _node_ip_address="127.0.0.1",
        )
        return ray
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except Exception as error:
        raise InputError(f"there is no Ray cluster at {address!r} ({error})") from None
    return ray


def run_ray(
    workers: int,
    work: Callable[[Communicator], Result],
    *,
    address: str | None = None,
    timeout: float = 3600,
) -> list[Result]:
    """What ``work`` returns for each of so many ranks, every one an actor with a CPU of its own.

    ``work`` and what it returns are pickled: let it read its part of the data itself and return
    arrays (``np.array(result.w.array)``, ``result.summary()``) rather than structures and weights.
    If a rank raises or dies, the others stop at their next word to each other.

    Parameters
    ----------
    workers : int
    work : callable
        Called with a communicator on every rank.
    address : str, optional
        A running cluster ("auto" finds the one of this machine); by default one is started here.
    timeout : float
        The most seconds that a rank waits for the others.

    Examples
    --------
    >>> run_ray(2, lambda ranks: ranks.rank)  # doctest: +SKIP
    [0, 1]
    """
    check_workers(workers)
    ray = start_ray(workers, address)
    board = ray.remote(num_cpus=0, max_concurrency=4 * workers + 10)(_Board).remote(workers)
    actor = ray.remote(num_cpus=1)(_Worker)
    actors = [actor.remote() for _ in range(workers)]
    ranks = {
        each.run.remote(work, board, rank, workers, timeout): rank
        for rank, each in enumerate(actors)
    }
    results: dict[int, Result] = {}
    errors: dict[int, Exception] = {}
    interrupts = 0
    waiting = list(ranks)
    try:
        while waiting:
            try:
                ended, waiting = ray.wait(
                    waiting, num_returns=1, timeout=LAST_WORDS if errors else None
                )
                if not ended:  # they hang, or have long passes before them
                    break
                [done] = ended
                rank = ranks[done]
                try:
                    results[rank] = ray.get(done)
                except ray.exceptions.RayActorError:
                    errors[rank] = CommunicationError(f"worker {rank} died")
                except ray.exceptions.RayTaskError as error:
                    errors[rank] = error.cause if isinstance(error.cause, Exception) else error
                ray.get(board.leave.remote(rank))
            except KeyboardInterrupt:
                interrupts += 1
                if interrupts > 1:
                    raise
                ray.get(board.interrupt.remote())
    finally:
        for each in (*actors, board):
            ray.kill(each)
    if errors:
        raise first_to_tell(errors)
    return [results[rank] for rank in range(workers)]
