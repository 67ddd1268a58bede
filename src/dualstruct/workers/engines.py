"""One way in to all back ends: the same work on threads, on a Ray cluster, or in an MPI job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dualstruct.errors import InputError
from dualstruct.workers.communicator import TIMEOUT, Communicator, check_workers

Result = TypeVar("Result")

ENGINES = ("local", "ray", "mpi")


def check_engine(engine: str | None, workers: int | None, address: str | None = None) -> None:
    """Refuse what cannot be meant; without engine and workers one worker is meant.

    >>> check_engine("ray", None)
    Traceback (most recent call last):
    ...
    dualstruct.errors.InputError: engine is 'ray', but the number of workers is missing
    """
    if engine is not None and engine not in ENGINES:
        raise InputError(
            f"engine is {engine!r}; it must be {', '.join(ENGINES[:-1])} or {ENGINES[-1]}"
        )
    if workers is not None:
        check_workers(workers)
        if engine is None:
            raise InputError(
                f"workers is {workers}, but there is no engine: give one (local, ray or mpi)"
            )
    elif engine in ("local", "ray"):
        raise InputError(f"engine is {engine!r}, but the number of workers is missing")
    if address is not None and engine != "ray":
        raise InputError(f"address is {address!r}, but only the engine ray has one")


def run_on(
    engine: str,
    workers: int | None,
    work: Callable[[Communicator], Result],
    *,
    address: str | None = None,
    timeout: float = TIMEOUT,
) -> list[Result]:
    """What ``work`` returns on the workers that this process sees: all, or in an MPI job its own.

    Parameters
    ----------
    engine : {"local", "ray", "mpi"}
    workers : int or None
        How many workers. An MPI job was started with so many; None takes them as they are.
    work : callable
        Called with a communicator on every worker, and called again after a fault: it reads its own
        share of the data, and resumes from the checkpoint of its run.
    address : str, optional
        A running Ray cluster; by default one is started here.
    timeout : float
        The maximum time in seconds to wait for another worker, which then counts as hanging.

    Examples
    --------
    >>> run_on("local", 2, lambda workers: workers.rank)
    [0, 1]
    """
    check_engine(engine, workers, address)
    # Each back end is imported where it is used: most programs train on one worker.
    if engine == "mpi":
        from dualstruct.workers.mpi import run_mpi

        return [run_mpi(_of_this_size(workers, work), timeout=timeout)]
    assert workers is not None
    if engine == "ray":
        from dualstruct.workers.ray import run_ray

        return run_ray(workers, work, address=address, timeout=timeout)
    from dualstruct.workers.local import run_local

    return run_local(workers, work, timeout=timeout)


def _of_this_size(
    workers: int | None, work: Callable[[Communicator], Result]
) -> Callable[[Communicator], Result]:
    """The same work, but only in a job of so many processes."""

    def checked(communicator: Communicator) -> Result:
        if workers is not None and workers != communicator.size:
            raise InputError(
                f"workers is {workers}, but this MPI job has {communicator.size}: start it with "
                f"mpiexec -n {workers}"
            )
        return work(communicator)

    return checked
