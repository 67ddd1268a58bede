"""What actors of a Ray cluster say to each other.

Arrays travel through Ray's object store; one small actor, the *board*, knows where they are.
A long array is cut into as many parts as there are workers: every worker adds up one
part, in rank order, and puts it back for all.

Messages bear the number of their attempt and of the meeting they are for; any other one is refused,
so nothing is added up twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.workers.communicator import (
    Call,
    CommunicationError,
    LateError,
    Numbers,
    PeerFailedError,
    call,
    check_calls,
    failed,
    late,
    named,
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

#: Seconds that workers get to notice that another one has failed.
LAST_WORDS = 5.0
#: Arrays of fewer bytes are sent to the board itself.
SHORT = 50_000

#: Seconds between two looks at the board and at Ctrl-C.
LOOK = 0.5


class DiedError(CommunicationError):
    """An actor's process is gone."""


class Board:
    """Where workers leave what they bring until all have come; Ray runs it as an actor."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._stop = False
        self._reports: list[str] = []
        self._changed = asyncio.Condition()
        self._heard = time.monotonic()
        self._attempt = -1

    async def begin(self, attempt: int) -> None:
        """Whoever belongs to an earlier attempt is refused from now on."""
        async with self._changed:
            self._attempt = attempt
            self._meeting = 0
            self._brought: dict[int, tuple[Call, Any]] = {}
            self._all: list[tuple[Call, Any]] = []
            self._gone: int | None = None
            self._heard = time.monotonic()
            self._changed.notify_all()

    async def meet(
        self, attempt: int, meeting: int, rank: int, wanted: Call, brought: Any, timeout: float
    ) -> tuple[str, Any]:
        """What all workers brought; or who will not come any more, or has not come in time."""

        def over() -> bool:
            return self._attempt != attempt

        async with self._changed:
            if over() or meeting != self._meeting or rank in self._brought:
                return "refused", None
            self._heard = time.monotonic()
            self._brought[rank] = (wanted, brought)
            if len(self._brought) == self._size:
                self._all = [self._brought[each] for each in range(self._size)]
                self._brought = {}
                self._meeting += 1
                self._changed.notify_all()
            try:
                await asyncio.wait_for(
                    self._changed.wait_for(
                        lambda: over() or self._meeting != meeting or self._gone is not None
                    ),
                    timeout,
                )
            except asyncio.TimeoutError:
                return "late", [each for each in range(self._size) if each not in self._brought]
            if over():
                return "refused", None
            if self._meeting == meeting:
                return "gone", self._gone
            return "all", self._all

    async def leave(self, attempt: int, rank: int) -> None:
        async with self._changed:
            if self._attempt == attempt and self._gone is None:
                self._gone = rank
            self._changed.notify_all()

    async def tell(self, sentence: str) -> None:
        self._reports.append(sentence)

    async def news(self) -> tuple[list[str], float]:
        """What was reported since the last time, and for how many seconds no worker has come."""
        reports, self._reports = self._reports, []
        return reports, time.monotonic() - self._heard

    async def interrupt(self) -> None:
        self._stop = True

    async def interrupted(self) -> bool:
        return self._stop


class RayCommunicator:
    """An actor's connection to the other actors."""

    def __init__(self, board: Any, attempt: int, rank: int, size: int, timeout: float) -> None:
        import ray

        self._ray = ray
        self._board = board
        self.attempt = attempt
        self.rank = rank
        self.size = size
        self._timeout = timeout
        self._meetings = 0
        # What others may still read: until the next meeting is over, they have not all been there.
        self._lent: list[Any] = []
        self._adder = RangeAdder()

    @property
    def interrupted(self) -> bool:
        return self.rank == 0 and bool(self._ask(self._board.interrupted.remote()))

    def tell(self, sentence: str) -> None:
        self._ask(self._board.tell.remote(sentence))

    def allreduce(self, array: NDArray[Numbers]) -> NDArray[Numbers]:
        own = np.ascontiguousarray(array)
        if own.nbytes < SHORT:
            total: NDArray[Numbers] = sum_in_order(self._meet(call("allreduce", own), own))
            return total
        # Parts of the flat array: Ray may hand out what it stores without a copy.
        parts = [self._ray.put(part) for part in np.array_split(own.ravel(), self.size)]
        sums = self._by_parts(call("allreduce", own), parts, sum_in_order)
        result: NDArray[Numbers] = np.concatenate(sums)
        return result.reshape(own.shape)

    def allreduce_sparse(self, vector: SparseVector, dimension: int) -> SparseVector:
        wanted = sparse_call(dimension)
        if 2 * 4 * dimension < SHORT:
            brought = self._meet(wanted, pack(vector))
            return self._adder.sum([unpack(each) for each in brought], 0, dimension)
        first, last = own_range(dimension, self.rank, self.size)

        def add_up(parts: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
            return pack(self._adder.sum([unpack(part) for part in parts], first, last))

        parts = [self._ray.put(part) for part in by_range(vector, dimension, self.size)]
        return joined(self._by_parts(wanted, parts, add_up))

    def _by_parts(
        self, wanted: Call, parts: list[Any], add_up: Callable[[list[NDArray[Any]]], NDArray[Any]]
    ) -> list[NDArray[Any]]:
        """The sums of all parts, of which every worker adds up one."""
        brought = self._meet(wanted, parts)
        mine = self._fetch([refs[self.rank] for refs in brought], f"its part of an {wanted.what}")
        summed = [self._ray.put(add_up(mine))]
        sums = self._meet(wanted._replace(what=f"{wanted.what}, second half"), summed)
        self._lent = [summed]
        return self._fetch([ref for [ref] in sums], f"the sums of an {wanted.what}")

    def broadcast(self, array: NDArray[Numbers], root: int = 0) -> NDArray[Numbers]:
        own = np.array(array)
        brought = own if self.rank == root else None
        wanted = call(f"broadcast from {root}", own)
        received: NDArray[Numbers] = self._meet(wanted, brought)[root]
        return received

    def barrier(self) -> None:
        self._meet(Call("barrier", 0, ""), None)

    def _meet(self, wanted: Call, brought: Any) -> list[Any]:
        """What all workers brought, once they have come for the same."""
        outcome, answer = self._ask(
            self._board.meet.remote(
                self.attempt, self._meetings, self.rank, wanted, brought, self._timeout
            )
        )
        self._meetings += 1
        if outcome == "late":
            raise late(self.rank, answer, wanted, self._timeout)
        if outcome == "gone":
            raise failed(self.rank, answer)
        if outcome == "refused":
            raise PeerFailedError(
                f"worker {self.rank} comes to a {wanted.what} of attempt "
                f"{self.attempt}, which is over"
            )
        check_calls([each for each, _ in answer])
        return [each for _, each in answer]

    def _ask(self, answer: Any) -> Any:
        """The board's answer; it knows itself when to give up waiting for the workers."""
        seconds = self._timeout + LAST_WORDS
        try:
            return self._ray.get(answer, timeout=seconds)
        except self._ray.exceptions.GetTimeoutError:
            raise PeerFailedError(
                f"worker {self.rank} has waited {seconds:g} seconds for the board"
            ) from None
        except self._ray.exceptions.RayActorError:
            raise PeerFailedError(f"worker {self.rank} waits for the board, which died") from None

    def _fetch(self, refs: Sequence[Any], what: str) -> list[NDArray[Any]]:
        """Arrays that the workers, in this order, have put into the object store."""
        ready, pending = self._ray.wait(refs, num_returns=len(refs), timeout=self._timeout)
        if pending:
            others = [rank for rank, ref in enumerate(refs) if ref in set(pending)]
            raise LateError(
                f"worker {self.rank} has waited {self._timeout:g} seconds for {what} from "
                f"{named(others)}",
                others,
            )
        try:
            arrays: list[NDArray[Any]] = self._ray.get(ready, timeout=self._timeout)
        except self._ray.exceptions.RayError as error:  # whoever put it there is gone
            raise PeerFailedError(
                f"worker {self.rank} waits for {what}, which is lost ({type(error).__name__})"
            ) from None
        return arrays
