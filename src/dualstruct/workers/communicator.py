"""How workers that train together exchange numbers.

Every worker (its *rank* is 0 to size − 1) runs the same program on its own examples and calls the
same functions here in the same order. Sums are taken in rank order, so that the result does not
depend on who arrives first, and is the same on every worker, bit for bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dualstruct.errors import DualstructError, InputError
from dualstruct.printable import plural
from dualstruct.renamed import old_names
from dualstruct.workers.sparse import SparseVector

Numbers = TypeVar("Numbers", bound=np.generic)

#: The most seconds that a worker waits for another one, by default: longer than any pass.
TIMEOUT = 3600.0
#: The most workers; those of the engine "local" are threads of one process.
MOST_WORKERS = 1000

__getattr__ = old_names(__name__, {"Alone": "workers.communicator.SingleWorker"})


class CommunicationError(DualstructError):
    """A worker cannot continue, because another one failed, left, or is at another step."""


class PeerFailedError(CommunicationError):
    """Another worker failed or has ended; what went wrong is for that one to report."""


class LateError(CommunicationError):
    """Other workers did not come in time: they hang, or have more to do than was thought."""

    def __init__(self, message: str, late: Iterable[int] = ()) -> None:
        super().__init__(message)
        self.late = tuple(late)


class RecoveryWarning(UserWarning):
    """A fault in a run on several workers, which continues."""


class Communicator(Protocol):
    """One rank's connection to all the others."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def attempt(self) -> int:
        """How often the workers were restarted after a fault; they resume from the last
        checkpoint, if there is one."""

    @property
    def interrupted(self) -> bool:
        """Whether the user asked to stop; rank 0 decides."""

    def tell(self, sentence: str) -> None:
        """Tell the user, by a :class:`RecoveryWarning` where the run was started."""

    def allreduce(self, array: NDArray[Numbers]) -> NDArray[Numbers]:
        """The sum of all workers' arrays, in rank order; not to be written to."""

    def allreduce_sparse(self, vector: SparseVector, dimension: int) -> SparseVector:
        """The sum of all workers' vectors of so many numbers, each added up in rank order."""

    def broadcast(self, array: NDArray[Numbers], root: int = 0) -> NDArray[Numbers]:
        """The array that ``root`` has; the other workers' must be of its shape and type."""

    def barrier(self) -> None:
        """Wait until all workers are here."""


class InUserProcess:
    """A communicator in a process that the user sees."""

    attempt = 0

    def tell(self, sentence: str) -> None:
        warnings.warn(RecoveryWarning(sentence), stacklevel=2)


class SingleWorker(InUserProcess):
    """One worker that has all the examples.

    >>> SingleWorker().allreduce(np.ones(2))
    array([1., 1.])
    """

    rank = 0
    size = 1
    interrupted = False

    def allreduce(self, array: NDArray[Numbers]) -> NDArray[Numbers]:
        return array

    def allreduce_sparse(self, vector: SparseVector, dimension: int) -> SparseVector:
        return vector

    def broadcast(self, array: NDArray[Numbers], root: int = 0) -> NDArray[Numbers]:
        return array

    def barrier(self) -> None:
        pass


def sum_in_order(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """((a₀ + a₁) + a₂) + …, in the arrays' own type."""
    total = np.array(arrays[0])
    for array in arrays[1:]:
        total += array
    return total


class Call(NamedTuple):
    """What a worker needs from the others, and what it brings."""

    what: str
    numbers: int
    dtype: str


def call(what: str, array: NDArray[Any]) -> Call:
    return Call(what, array.size, str(array.dtype))


def sparse_call(dimension: int) -> Call:
    return Call("allreduce of what has moved", dimension, "float32")


def check_calls(calls: Sequence[Call]) -> None:
    """All workers must want the same; those that bring more or less see another problem."""
    first = calls[0]
    if any(each.what != first.what for each in calls):
        wanted = ", ".join(each.what for each in calls)
        raise CommunicationError(f"the workers do different things: {wanted}")
    for rank, each in enumerate(calls):
        if each != first:
            raise InputError(
                f"worker {rank} has {each.numbers} numbers ({each.dtype}) where worker 0 has "
                f"{first.numbers} ({first.dtype}): do all workers see the same labels, templates "
                "and hash_bits?"
            )


def check_workers(workers: int) -> None:
    if not (isinstance(workers, int) and workers >= 1):
        raise InputError(f"workers is {workers}; it must be a whole number of at least 1")
    if workers > MOST_WORKERS:
        raise InputError(f"workers is {workers}; there can be at most {MOST_WORKERS:,}")


def named(ranks: Sequence[int]) -> str:
    """
    >>> named([3]), named([0, 2, 3])
    ('worker 3', 'workers 0, 2 and 3')
    """
    if len(ranks) == 1:
        return f"worker {ranks[0]}"
    return f"workers {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def failed(rank: int, other: int) -> PeerFailedError:
    return PeerFailedError(f"worker {rank} waits for worker {other}, which failed or has ended")


def late(rank: int, others: Sequence[int], wanted: Call, seconds: float) -> LateError:
    numbers = f" of {wanted.numbers} numbers" if wanted.numbers else ""
    return LateError(
        f"worker {rank} has waited {seconds:g} seconds for {named(others)} to come to its "
        f"{wanted.what}{numbers}",
        others,
    )


def first_to_tell(errors: Mapping[int, BaseException]) -> BaseException:
    """Of several workers' errors the one to show: those that only waited come last."""

    def order(rank: int) -> tuple[bool, bool, int]:
        error = errors[rank]
        return isinstance(error, PeerFailedError), isinstance(error, LateError), rank

    return errors[min(errors, key=order)]


def check_timeout(timeout: float) -> None:
    if not timeout > 0:
        raise InputError(f"timeout is {timeout}; it must be more than 0 seconds")


def in_place_of(communicator: Communicator, number: float) -> NDArray[np.float64]:
    """Zeros but for this worker's number: summed up, they are everybody's numbers."""
    numbers = np.zeros(communicator.size)
    numbers[communicator.rank] = number
    return numbers


def partition(examples: int, workers: int, seed: int = 0) -> list[NDArray[np.int64]]:
    """The examples of each worker: shuffled by the seed, then divided into almost equal shares.

    >>> [share.tolist() for share in partition(5, 2)]
    [[2, 3, 4], [0, 1]]
    """
    if examples < workers:
        raise InputError(
            f"{plural(examples, 'example')} for {plural(workers, 'worker')}; every worker needs "
            "at least one"
        )
    order = np.random.default_rng(seed).permutation(examples)
    return [np.sort(share) for share in np.array_split(order, workers)]
