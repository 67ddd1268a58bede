"""Ranks that are actors of a Ray cluster.

When an actor dies or hangs, the others stop, a new one takes its rank, and all of them start on the
work again: the next *attempt*.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.workers.communicator import (
    TIMEOUT,
    CommunicationError,
    Communicator,
    LateError,
    PeerFailedError,
    RecoveryWarning,
    check_timeout,
    check_workers,
    failed,
    first_to_tell,
    named,
)
from dualstruct.workers.interrupts import hearing_ctrl_c
from dualstruct.workers.ray_board import LAST_WORDS, LOOK, Board, DiedError, RayCommunicator

Result = TypeVar("Result")

#: Seconds that a cluster gets to let us in: where the machine is very busy, starting takes minutes.
CONNECTING = 300.0
#: Seconds that a cluster gets to start the actors; one that grows on demand needs minutes.
STARTING = 600.0
#: The address of the cluster that was started by this process, and the workers it has room for.
_started: tuple[str, int] | None = None


class _Worker:
    """One rank; Ray runs it as an actor."""

    def ready(self) -> None:
        """Answers as soon as there is a process."""

    def run(self, work: Callable[[Communicator], Result], *place: Any) -> Result:
        return work(RayCommunicator(*place))


class _Cluster:
    """The board and the workers' actors, as the one who started them sees them."""

    def __init__(self, ray: Any, workers: int, timeout: float, presses: Callable[[], int]) -> None:
        self._ray = ray
        self._workers = workers
        self._timeout = timeout
        self._presses = presses
        self._board: Any = None
        self._actors: dict[int, Any] = {}

    def start(self, attempt: int) -> None:
        """An actor for every worker that has none."""
        # Nothing is done again behind our back: an actor that dies is gone, and so is its work.
        once = {"max_restarts": 0, "max_task_retries": 0}
        if self._board is None:
            board = self._ray.remote(num_cpus=0, max_concurrency=4 * self._workers + 10, **once)
            self._board = board(Board).remote(self._workers)
        # A cluster of our own is as large as this machine, whoever used it first.
        cpus = 0 if _OURS in self._ray.cluster_resources() else 1
        worker = self._ray.remote(num_cpus=cpus, **once)(_Worker)
        new = [rank for rank in range(self._workers) if rank not in self._actors]
        for rank in new:
            self._actors[rank] = worker.remote()
        expected = {self._actors[rank].ready.remote(): named([rank]) for rank in new}
        expected[self._board.begin.remote(attempt)] = "the board"
        pending, deadline = list(expected), time.monotonic() + STARTING
        while pending:
            _, pending = self._ray.wait(pending, num_returns=len(pending), timeout=LOOK)
            self._stop_at_once_if_asked()
            if pending and time.monotonic() > deadline:
                there = self._ray.cluster_resources().get("CPU", 0)
                raise CommunicationError(
                    f"the cluster was asked for {plural(self._workers, 'worker')} with a CPU "
                    "each and has "
                    f"{there:g} CPUs; after {STARTING:g} seconds it has not started "
                    f"{', '.join(expected[each] for each in pending)}"
                )

    def run(self, attempt: int, work: Any) -> tuple[dict[int, Any], dict[int, BaseException]]:
        """What the workers return, and what they raise."""
        ray = self._ray
        tasks = {
            actor.run.remote(work, self._board, attempt, rank, self._workers, self._timeout): rank
            for rank, actor in self._actors.items()
        }
        results: dict[int, Any] = {}
        errors: dict[int, BaseException] = {}
        hanging: set[int] = set()
        waiting, deadline, informed = list(tasks), float("inf"), False
        while {tasks[task] for task in waiting} - hanging and time.monotonic() < deadline:
            ended, waiting = ray.wait(waiting, num_returns=1, timeout=LOOK)
            for task in ended:
                rank = tasks[task]
                try:
                    results[rank] = ray.get(task)
                except ray.exceptions.RayTaskError as error:
                    errors[rank] = error
                    if isinstance(error.cause, Exception):
                        errors[rank] = error.cause
                        error.cause.__cause__ = error  # it knows where
                except ray.exceptions.OutOfMemoryError:
                    errors[rank] = DiedError(f"worker {rank} was killed for lack of memory")
                except (
                    ray.exceptions.RayActorError,
                    ray.exceptions.WorkerCrashedError,
                    ray.exceptions.ObjectLostError,
                ):
                    errors[rank] = DiedError(f"worker {rank} died")
                self._board.leave.remote(attempt, rank)
            self._stop_at_once_if_asked()
            if self._presses() and not informed:
                self._board.interrupt.remote()
                informed = True
            silence = self._pass_on_news()
            if silence > self._timeout + LAST_WORDS and not errors:
                others = sorted(tasks[each] for each in waiting)
                errors[others[0]] = LateError(
                    f"{named(others)} {'has' if len(others) == 1 else 'have'} not said a word for "
                    f"{silence:.0f} seconds",
                    others,
                )
            if errors:
                deadline = min(deadline, time.monotonic() + LAST_WORDS)
            for each in errors.values():
                hanging.update(each.late if isinstance(each, LateError) else ())
        self._pass_on_news()
        for task in waiting:  # they hang, or have long passes before them
            errors.setdefault(tasks[task], failed(tasks[task], min(errors)))
            self._end(tasks[task])
        return results, errors

    def clear(self, errors: dict[int, BaseException]) -> None:
        """Away with actors that died or hang, and with a board that failed all of the workers."""
        for rank, error in errors.items():
            if isinstance(error, DiedError):
                self._end(rank)
            if isinstance(error, LateError):
                for other in error.late:
                    self._end(other)
        if all(isinstance(error, PeerFailedError) for error in errors.values()):
            self._ray.kill(self._board)
            self._board = None

    def end(self) -> None:
        for rank in list(self._actors):
            self._end(rank)
        if self._board is not None:
            self._ray.kill(self._board)

    def _end(self, rank: int) -> None:
        actor = self._actors.pop(rank, None)
        if actor is not None:
            self._ray.kill(actor)

    def _pass_on_news(self) -> float:
        """Warn of what the workers report; for how many seconds they have said nothing."""
        try:
            reports, silence = self._ray.get(self._board.news.remote(), timeout=LAST_WORDS)
        except self._ray.exceptions.RayError:  # the workers will notice, too
            return 0.0
        for sentence in reports:
            warnings.warn(RecoveryWarning(sentence), stacklevel=4)
        return float(silence)

    def _stop_at_once_if_asked(self) -> None:
        if self._presses() > 1:
            raise KeyboardInterrupt


#: Set in a cluster that was started here.
_OURS = "dualstruct"


def start_ray(workers: int, address: str | None = None) -> Any:
    """Ray's module, connected to the cluster at ``address``; else to one that is started here.

    A cluster started here listens on the loopback interface only, asks for a token, reports no
    usage statistics and shows no dashboard.
    """
    if find_spec("ray") is None:
        raise InputError("training with Ray needs the package ray: pip install 'dualstruct[ray]'")
    if address is not None:
        _check_reachable(address)
    # All this must be set before Ray is first imported. A worker's death is for us to report.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "A worker died or was killed while")
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Ray gives way to all other programs by default; who trains here wants it done.
        os.environ.setdefault("RAY_worker_niceness", "0")
        # Ray's switch for machines that shall listen on the loopback interface only.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        if "RAY_AUTH_MODE" not in os.environ:
            os.environ["RAY_AUTH_MODE"] = "token"
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    import ray

    global _started
    if ray.is_initialized():
        here = ray.get_runtime_context().gcs_address
        if address is not None or _started is None or _started[0] != here or _started[1] >= workers:
            return ray
        ray.shutdown()  # it is ours, and more workers would never be started
    if address is None:
        if ray.util.get_node_ip_address() != "127.0.0.1":
            raise InputError(
                "Ray was imported before it could be configured to stay off the network: import it "
                "after dualstruct.distributed.run_ray was called, or set "
                "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0, or give the address of a running cluster"
            )
        _start(ray, workers)
        _started = ray.get_runtime_context().gcs_address, workers
        return ray
    _connect(ray, address)
    return ray


def _start(ray: Any, workers: int) -> None:
    """Ray itself gives up after half a minute, too short on a busy machine."""
    deadline = time.monotonic() + CONNECTING
    while True:
        try:
            ray.init(
                address="local",  # not that of RAY_ADDRESS or of `ray start`, nor a look for one
                num_cpus=workers,
                resources={_OURS: 1},
                include_dashboard=False,
                log_to_driver=False,
                logging_level="error",
                _node_ip_address="127.0.0.1",
            )
            return
        except Exception as error:
            if "timed out during startup" not in str(error) or time.monotonic() > deadline:
                raise


def _check_reachable(address: str) -> None:
    """At once: Ray itself would try for half a minute."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():  # "auto", or a name that Ray may know
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"there is no Ray cluster at {address!r} ({error})") from None


def _connect(ray: Any, address: str) -> None:
    """Ray itself may try without end."""
    outcome: SimpleQueue[Exception | None] = SimpleQueue()

    def connect() -> None:
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error")
            outcome.put(None)
        except Exception as error:
            outcome.put(error)

    threading.Thread(target=connect, daemon=True).start()
    try:
        error = outcome.get(timeout=CONNECTING)
    except Empty:
        raise InputError(
            f"the Ray cluster at {address!r} has not let us in for {CONNECTING:g} seconds: does "
            "this machine have its token (RAY_AUTH_MODE=token, RAY_AUTH_TOKEN_PATH), and Ray in "
            "the same version?"
        ) from None
    if error is not None:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"there is no Ray cluster for us at {address!r} ({first})") from None


def run_ray(
    workers: int,
    work: Callable[[Communicator], Result],
    *,
    address: str | None = None,
    timeout: float = TIMEOUT,
    restarts: int = 3,
) -> list[Result]:
    """What ``work`` returns for each of so many workers, each an actor with its own CPU.

    ``work`` and what it returns are pickled: let it read its share of the data itself and return
    arrays (``np.array(result.w.array)``, ``result.summary()``) rather than structures and weights.
    If a worker raises, the others stop at their next message, and the exception is raised here.
    If a worker dies or hangs, another actor takes its place and ``work`` is called again
    on all of them; :func:`dualstruct.fit` then resumes from the last checkpoint. The first Ctrl-C
    asks all workers to stop after the pass they are in, the second one stops them at once.

    Parameters
    ----------
    workers : int
    work : callable
        Called with a communicator on every worker.
    address : str, optional
        A running cluster ("auto" finds the one of this machine); by default one is started here.
    timeout : float
        The maximum time in seconds to wait for another worker, which then counts as hanging.
    restarts : int
        The maximum number of restarts.

    Examples
    --------
    >>> run_ray(2, lambda workers: workers.rank)  # doctest: +SKIP
    [0, 1]
    """
    check_workers(workers)
    check_timeout(timeout)
    if restarts < 0:
        raise InputError(f"restarts is {restarts}; it must be at least 0")
    ray = start_ray(workers, address)
    with hearing_ctrl_c(lambda presses: None) as presses:
        cluster = _Cluster(ray, workers, timeout, presses)
        try:
            sent = ray.put(work)
            for attempt in range(restarts + 1):
                cluster.start(attempt)
                results, errors = cluster.run(attempt, sent)
                if not errors:
                    return [results[rank] for rank in range(workers)]
                fault = first_to_tell(errors)
                if not isinstance(fault, (DiedError, LateError, PeerFailedError)):
                    raise fault
                if presses() or attempt == restarts:
                    break
                cluster.clear(errors)
                warnings.warn(
                    RecoveryWarning(
                        f"{fault}; the workers are restarted (restart {attempt + 1} of at most "
                        f"{restarts})"
                    ),
                    stacklevel=2,
                )
        finally:
            cluster.end()
    if restarts and not presses():
        raise CommunicationError(
            f"{fault}, and restarts is {restarts}: they are used up; with resume training "
            "continues from the last checkpoint"
        )
    raise CommunicationError(str(fault))
