"""How an estimator trains on several workers: each learns from its own share of the data.

Where training learns something of all the data (labels, features, the shape of trees), the workers
merge their results; so all have the same model, and the first one's is kept.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from dualstruct.data.arrays import as_json
from dualstruct.data.examples import count
from dualstruct.data.sources import InMemory, Share, Source
from dualstruct.errors import InputError
from dualstruct.training.results import FitResult, TracePoint
from dualstruct.workers.communicator import Communicator, SingleWorker
from dualstruct.workers.engines import run_on
from dualstruct.workers.merging import agree, total

if TYPE_CHECKING:
    from dualstruct.training.loop import Callback

#: Seconds between two looks at how far workers elsewhere are.
LOOK_EVERY = 0.2


@dataclass
class Job:
    """One worker's side of a training run."""

    workers: Communicator  #: all that train together
    share: Share  #: this worker's examples
    dev: Share | None  #: and its development data
    divided: bool = True  #: whether others have other shares
    shows: bool = True  #: whether this worker has a screen
    warnings: list[Warning] = field(default_factory=list)  #: for whoever called fit

    @classmethod
    def alone(cls, share: Share, dev: Share | None) -> Job:
        """One worker that has everything."""
        return cls(SingleWorker(), share, dev, divided=False)

    def warn(self, warning: Warning) -> None:
        """Warn whoever called fit; the first worker does it for all."""
        if not self.divided:
            warnings.warn(warning, stacklevel=5)
        elif self.workers.rank == 0:
            self.warnings.append(warning)


@dataclass
class Trained:
    """The result of training."""

    model: Any
    result: FitResult
    attributes: dict[str, Any]  #: those of the estimator that end in _, by name
    restore: Callable[[dict[str, Any], dict[str, Any]], Any]  #: a model from its state
    warnings: list[Warning] = field(default_factory=list)

    def __getstate__(self) -> dict[str, Any]:
        """For the way home from a worker elsewhere."""
        metadata, arrays = self.model.state()
        state = as_json(metadata), arrays
        return {**vars(self), "model": state, "result": self.result.summary()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = state["restore"](*state["model"])
        result = FitResult.from_summary(state["result"], lambda: model.w)
        vars(self).update(state, model=model, result=result)


class Trainable(Protocol):
    """What is asked of an estimator."""

    seed: int
    engine: str | None
    workers: int | None
    address: str | None

    def get_params(self) -> dict[str, Any]: ...

    def train_share(self, job: Job, start: Any, callbacks: Iterable[Callback]) -> Trained: ...


@dataclass
class Work:
    """Training on one worker. It can be called again: it starts from settings and files.

    Parameters
    ----------
    estimator : Trainable
        The settings.
    start : object
        What is known before: the model to continue from.
    train, dev : Source
    callbacks : list
        Called on every worker.
    watch : callable, optional
        Called on the first worker with each trace point, when the workers are elsewhere.
    """

    estimator: Trainable
    start: Any
    train: Source
    dev: Source | None
    callbacks: list[Callback]
    watch: Callable[[TracePoint], object] | None = None

    def __call__(self, workers: Communicator) -> Trained | None:
        agree(workers, {"dualstruct's version": _version()})
        agree(workers, {"settings": _settings(self.estimator)})
        seed = self.estimator.seed
        share = self.train.share(workers, seed)
        dev = None if self.dev is None else self.dev.share(workers, seed, needed=False)
        first = workers.rank == 0
        job = Job(workers, share, dev, shows=first and self.watch is None)
        callbacks = list(self.callbacks)
        if self.watch is not None and first:
            callbacks.append(_Watching(self.watch))
        with share.lasting():
            trained = self.estimator.train_share(job, self.start, callbacks)
        sentences, tokens = total(workers, count(share.X), share.tokens)
        if not first and self.estimator.engine != "mpi":
            return None
        found = {
            "trained_on_": (sentences, tokens),
            "workers_": workers.size,
            "rank_": workers.rank,
        }
        return replace(trained, attributes={**trained.attributes, **found}, warnings=job.warnings)


class _Watching:
    """A callback that only looks."""

    def __init__(self, watch: Callable[[TracePoint], object]) -> None:
        self._watch = watch

    def __call__(self, point: TracePoint, iterate: object) -> None:
        self._watch(point)


def _version() -> str:
    from dualstruct import __version__

    return __version__


def _settings(estimator: Trainable) -> dict[str, str]:
    """What must be the same for all: not paths and screens."""
    skipped = {"checkpoint", "resume", "verbose", "address", "structure", "features", "clusters"}
    return {
        name: repr(value) for name, value in estimator.get_params().items() if name not in skipped
    }


def train_together(
    estimator: Trainable,
    start: Any,
    train: Source,
    dev: Source | None,
    callbacks: list[Callback],
    watch: Callable[[TracePoint, object], object] | None,
) -> Trained:
    """Train on an estimator's engine; ``watch`` hears how far workers elsewhere are."""
    work = Work(estimator, start, train, dev, callbacks)
    engine, workers = estimator.engine, estimator.workers
    assert engine is not None
    if engine == "ray":
        assert workers is not None
        from dualstruct.workers.ray import start_ray

        ray = start_ray(workers, estimator.address)
        if isinstance(train, InMemory):
            work.train = train.lend(ray, workers, estimator.seed)
        if isinstance(dev, InMemory):
            work.dev = dev.lend(ray, workers, estimator.seed, needed=False)
        with _watched(ray, watch) as work.watch:
            outcomes = run_on(engine, workers, work, address=estimator.address)
    else:
        outcomes = run_on(engine, workers, work)
    trained = outcomes[0]
    if trained is None:
        raise InputError("the first worker brought no model home")
    for warning in trained.warnings:
        warnings.warn(warning, stacklevel=5)
    return trained


class _Mailbox:
    """Where the first worker leaves trace points; Ray runs it as an actor."""

    def __init__(self) -> None:
        self._points: list[Any] = []

    def leave(self, point: Any) -> None:
        self._points.append(point)

    def take(self) -> list[Any]:
        points, self._points = self._points, []
        return points


class _Post:
    """Sends trace points to the mailbox."""

    def __init__(self, mailbox: Any) -> None:
        self._mailbox = mailbox

    def __call__(self, point: TracePoint) -> None:
        self._mailbox.leave.remote(point)


@contextmanager
def _watched(
    ray: Any, watch: Callable[[TracePoint, object], object] | None
) -> Iterator[Callable[[TracePoint], object] | None]:
    """A way for workers elsewhere to inform ``watch`` how far they are."""
    if watch is None:
        yield None
        return
    mailbox = ray.remote(num_cpus=0)(_Mailbox).remote()
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(LOOK_EVERY):
            for point in ray.get(mailbox.take.remote()):
                watch(point, None)

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield _Post(mailbox)
    finally:
        ended.set()
        looking.join()
        ray.kill(mailbox)
