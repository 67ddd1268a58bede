"""How an estimator trains on several workers: each runs its fit on its own part of the data.

Where fit learns something of all the data (labels, features, the shape of trees), the ranks put
together what each of them sees; so all come to the same model, and the first one's is kept.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dualstruct.data.sources import Held, Source
from dualstruct.errors import InputError
from dualstruct.workers.communicator import Communicator
from dualstruct.workers.engines import run_on
from dualstruct.workers.merging import agree, total
from dualstruct.workers.ray import start_ray

if TYPE_CHECKING:
    from dualstruct.estimators.base import Estimator
    from dualstruct.training.loop import Callback, TracePoint

#: Seconds between two looks at how far workers elsewhere are.
LOOK_EVERY = 0.2


@dataclass
class Outcome:
    """What a rank brings home."""

    rank: int
    estimator: Any
    facts: dict[str, Any]  #: what fit found out besides the model: attributes that end in _
    warnings: list[Warning]


@dataclass
class Work:
    """An estimator's fit on one rank. It can be called anew: it starts from parameters and files.

    Parameters
    ----------
    estimator : Estimator
        With the parameters, and for ``partial_fit`` with the model to go on from.
    method : str
        ``fit`` or ``partial_fit``.
    train, dev : Source
    callbacks : list
        Called on every rank.
    watch : callable, optional
        Called on the first rank with each trace point, when the ranks are elsewhere.
    prepared : dict
        Attributes that the caller knows already.
    """

    estimator: Estimator[Any]
    method: str
    train: Source
    dev: Source | None
    callbacks: list[Callback]
    watch: Callable[[TracePoint], object] | None = None
    prepared: dict[str, Any] = field(default_factory=dict)

    def __call__(self, ranks: Communicator) -> Outcome | None:
        agree(ranks, {"dualstruct's version": _version()})
        given = self.estimator
        mine = type(given)(**given.get_params())
        if self.method != "fit":
            mine._model = given._model
        agree(ranks, {"settings": _settings(mine)})
        part = self.train.part(ranks, mine.seed)
        dev = None if self.dev is None else self.dev.part(ranks, mine.seed, needed=False)
        mine._ranks, mine._part, mine._dev_part, mine._warnings = ranks, part, dev, []
        for name, value in self.prepared.items():
            setattr(mine, name, value)
        mine.verbose = mine.verbose and ranks.rank == 0 and self.watch is None
        callbacks = list(self.callbacks)
        if self.watch is not None and ranks.rank == 0:
            callbacks.append(_Watching(self.watch))
        arguments = (part.X,) if part.y is None else (part.X, part.y)
        held_out = None
        if dev is not None:
            held_out = dev.X if dev.y is None else (dev.X, dev.y)
        learn = getattr(mine, self.method)
        learn(*arguments, dev=held_out, callbacks=callbacks, **part.weights)
        sentences, tokens = total(ranks, len(part.numbers), part.tokens)
        if ranks.rank != 0 and mine.engine != "mpi":
            return None
        found = {name: value for name, value in vars(mine).items() if name.endswith("_")}
        found.pop("result_")
        found |= {"trained_on_": (sentences, tokens), "workers_": ranks.size}
        return Outcome(ranks.rank, mine, found, mine._warnings)


class _Watching:
    """A callback that only looks."""

    def __init__(self, watch: Callable[[TracePoint], object]) -> None:
        self._watch = watch

    def __call__(self, point: TracePoint, iterate: object) -> None:
        self._watch(point)


def _version() -> str:
    from dualstruct import __version__

    return __version__


def _settings(estimator: Estimator[Any]) -> dict[str, str]:
    """What must be the same for all: not paths and screens."""
    skipped = {"checkpoint", "resume", "verbose", "address", "structure", "features", "clusters"}
    return {
        name: repr(value) for name, value in estimator.get_params().items() if name not in skipped
    }


def train_together(
    estimator: Estimator[Any],
    method: str,
    train: Source,
    dev: Source | None,
    callbacks: Iterable[Callback],
    watch: Callable[[TracePoint, object], object],
    prepared: dict[str, Any] | None = None,
) -> None:
    """Run an estimator's ``fit`` or ``partial_fit`` on its engine, and give it the model."""
    work = Work(estimator, method, train, dev, list(callbacks), prepared=prepared or {})
    engine, workers = estimator.engine, estimator.workers
    assert engine is not None
    if engine == "ray":
        assert workers is not None
        ray = start_ray(workers, estimator.address)
        if isinstance(train, Held):
            work.train = train.lend(ray, workers, estimator.seed)
        if isinstance(dev, Held):
            work.dev = dev.lend(ray, workers, estimator.seed, needed=False)
        with _watched(ray, watch if estimator.verbose else None) as work.watch:
            outcomes = run_on(engine, workers, work, address=estimator.address)
    else:
        outcomes = run_on(engine, workers, work)
    outcome = outcomes[0]
    if outcome is None:
        raise InputError("the first worker brought no model home")
    estimator._model = outcome.estimator._model
    estimator.result_ = outcome.estimator.result_
    estimator.rank_ = outcome.rank
    vars(estimator).update(outcome.facts)
    for warning in outcome.warnings:
        warnings.warn(warning, stacklevel=4)


class _Mailbox:
    """Where the first rank leaves trace points; Ray runs it as an actor."""

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
    """A way for workers elsewhere to tell ``watch`` how far they are."""
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
