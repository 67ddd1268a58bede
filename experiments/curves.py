"""Training with a score at each pass: what every figure and table is made of.

Times are CPU seconds of training on one thread. The clock stands still while weights are judged, so
that a curve costs a learner nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import Problem, Stopping, fit
from dualstruct.losses import Loss, find_loss
from dualstruct.solvers import Iterate, Solver
from dualstruct.structures.base import Structure
from dualstruct.training.results import TracePoint

from .store import Store
from .tasks import Score, Task

#: Passes of a curve that only time ends.
ENDLESS = 1_000_000
#: ``every`` of curves with hundreds of passes: a score whenever there are a tenth more of them.
GROWING = 0


@dataclass(frozen=True)
class Point:
    """Where training stood after a pass."""

    passes: int
    seconds: float
    score: float | None = None
    primal: float | None = None
    dual: float | None = None


@dataclass(frozen=True)
class Run:
    """One training: settings and curve."""

    label: str  #: as in the figures
    task: str
    solver: str
    loss: str
    C: float
    points: list[Point]
    dev: float | None = None  #: of the last weights, where settings were chosen by it
    kept: dict[str, Any] = field(default_factory=dict)  #: what else was asked of the last iterate

    @property
    def score(self) -> float:
        """The score at the end."""
        return self.points[-1].score or 0.0

    @property
    def seconds(self) -> float:
        return self.points[-1].seconds

    def summary(self) -> dict[str, Any]:
        """For a JSON file."""
        return asdict(self)


Until = Callable[[Point, Iterate], bool]
Keep = Callable[[Iterate], dict[str, Any]]


def read_run(record: dict[str, Any]) -> Run:
    """The run of which :meth:`Run.summary` was written."""
    return Run(**{**record, "points": [Point(**point) for point in record["points"]]})


#: Where trainings of the experiment under way are kept.
STORE: ContextVar[Store | None] = ContextVar("STORE", default=None)
#: And those that settings are chosen by, which serve all seeds.
CHOICES: ContextVar[Store | None] = ContextVar("CHOICES", default=None)


def learn(
    task: Task,
    label: str,
    loss: str | Loss,
    C: float,
    solver: Solver,
    *,
    passes: int = ENDLESS,
    seconds: float | None = None,
    seed: int = 0,
    score: Score | None = None,
    every: int = 1,
    primal: bool = False,
    structure: Structure | None = None,
    dev: Score | None = None,
    until: Until | None = None,
    keep: Keep | None = None,
) -> Run:
    """Train on a task and score the weights after each pass; or take it from the store.

    Parameters
    ----------
    passes, seconds
        The maximum numbers of passes and of CPU seconds; whichever comes first.
    score : callable, optional
        By default the task's test score.
    every : int
        Score after every n passes, and the first; or ``GROWING``.
    primal : bool
        Compute the primal objective as well.
    structure : optional
        What to learn from instead of the task's training sentences.
    dev : callable, optional
        Judges the weights at the end, too.
    until : callable, optional
        Ends training when it returns True.
    keep : callable, optional
        What to keep of the last iterate besides, as JSON has it.
    """
    structure = task.structure if structure is None else structure

    def train() -> Run:
        return _learn(task, label, loss, C, solver, passes, seconds, seed, score or task.test,
                      every, primal, structure, dev, until, keep)  # fmt: skip

    store = STORE.get()
    if store is None:
        return train()
    what = [
        task.name, structure.digest(), label, repr(find_loss(loss)), C, repr(solver), passes,
        seconds, seed, every, primal,
        "test" if score is None else "dev" if score is task.dev else "other",
        [part is not None for part in (dev, until, keep)],
    ]  # fmt: skip
    return store.run(what, train)


def _learn(
    task: Task,
    label: str,
    loss: str | Loss,
    C: float,
    solver: Solver,
    passes: int,
    seconds: float | None,
    seed: int,
    judge: Score,
    every: int,
    primal: bool,
    structure: Structure,
    dev: Score | None,
    until: Until | None,
    keep: Keep | None,
) -> Run:
    problem = Problem(structure, find_loss(loss), C)
    kept: dict[str, Any] = {}
    points: list[Point] = []
    last_dev: float | None = None
    aside = 0.0
    last_judged = 0
    started = time.process_time()

    def watch(trace: TracePoint, iterate: Iterate) -> bool:
        nonlocal aside, last_dev, last_judged
        now = time.process_time()
        spent = now - started - aside
        over = seconds is not None and spent >= seconds
        ends = over or trace.passes >= passes or iterate.converged
        judged = ends or is_due(trace.passes, last_judged, every)
        last_judged = trace.passes if judged else last_judged
        w = iterate.answer() if judged else None  # an average is as long as w
        point = Point(
            trace.passes,
            spent,
            None if w is None else judge(w),
            problem.primal(w) if primal and w is not None else None,
            trace.dual,
        )
        points.append(point)
        stop = over or (until is not None and until(point, iterate))
        if stop and w is None:
            w = iterate.answer()
            points[-1] = Point(point.passes, spent, judge(w), None, trace.dual)
        if dev is not None and w is not None and (stop or ends):
            last_dev = dev(w)
        if keep is not None and (stop or ends):
            kept.update(keep(iterate))
        aside += time.process_time() - now
        return stop

    result = fit(problem, solver, Stopping(passes=passes), seed=seed, callbacks=[watch])
    if result.stopped_by == "interrupt":
        raise KeyboardInterrupt
    return Run(label, task.name, repr(solver), repr(problem.loss), C, points, last_dev, kept)


def is_due(passes: int, last: int, every: int) -> bool:
    """Whether there is to be a score after this pass, if the last one was after that.

    >>> [n for n in range(1, 30) if is_due(n, n - 1, 4)]
    [1, 4, 8, 12, 16, 20, 24, 28]
    >>> is_due(20, 19, GROWING), is_due(21, 19, GROWING)
    (False, True)
    """
    if every == GROWING:
        return 10 * passes >= 11 * last
    return passes == 1 or passes % every == 0


def trainer(task: Task, keep: Callable[[Run], None], **common: Any) -> Callable[..., Run]:
    """:func:`learn` on one task with settings in common; every run is kept."""

    def train(label: str, loss: str | Loss, C: float, solver: Solver, **settings: Any) -> Run:
        found = learn(task, label, loss, C, solver, **{**common, **settings})
        keep(found)
        return found

    return train


def attempt(
    task: Task, label: str, loss: str | Loss, C: float, solver: Solver, *, part: str = "",
    **settings: Any,
) -> Run:  # fmt: skip
    """A training that a setting is chosen by: on the sentences for that, judged by the others.

    Of several runs with different seeds the first makes it; the others take it from there, whatever
    sentences they have drawn. ``part`` says of which part of a task it is, if there are several.
    """

    def train() -> Run:
        token = STORE.set(None)
        try:
            return learn(
                task, label, loss, C, solver, score=task.dev, structure=task.choosing, **settings
            )
        finally:
            STORE.reset(token)

    store = CHOICES.get()
    if store is None:
        return train()
    given = {name: value for name, value in settings.items() if name != "seed"}
    what = [
        task.name, task.metadata["features"], len(task.choosing), part, label,
        repr(find_loss(loss)), C, repr(solver), sorted(given.items()),
    ]  # fmt: skip
    return store.run(what, train)


def choose(
    task: Task,
    label: str,
    loss: str | Loss,
    Cs: Iterable[float],
    solver: Solver,
    *,
    passes: int,
    seconds: float | None = None,
    seed: int = 0,
) -> tuple[float, dict[float, float]]:
    """The C with the best development score after n passes, and all those scores."""
    common: dict[str, Any] = {"passes": passes, "seconds": seconds, "seed": seed, "every": passes}
    scores = {C: attempt(task, label, loss, C, solver, **common).score for C in Cs}
    return max(scores, key=lambda C: (scores[C], -C)), scores


def seconds_to(run: Run, score: float) -> float | None:
    """When a run first reached a score; None if never."""
    reached = [p.seconds for p in run.points if p.score is not None and p.score >= score]
    return reached[0] if reached else None


def seconds_to_primal(run: Run, primal: float) -> float | None:
    """When a run's primal objective first fell to a value; None if never."""
    reached = [p.seconds for p in run.points if p.primal is not None and p.primal <= primal]
    return reached[0] if reached else None


def lead(run: Run, other: Run) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times, evenly from the first score to the end of the shorter run, and how far one is ahead.

    Between two passes a run is where the line of a figure is; before its first score nowhere, which
    counts as 0.
    """
    curves = [scored(each) for each in (run, other)]
    begin = min(seconds[0] for seconds, _ in curves)
    times = np.linspace(begin, min(run.seconds, other.seconds), 1000)
    mine, theirs = (np.interp(times, seconds, scores, left=0.0) for seconds, scores in curves)
    return times, mine - theirs


def scored(run: Run) -> tuple[Sequence[float], Sequence[float]]:
    """Seconds and scores (per cent) of the passes that have one."""
    points = [p for p in run.points if p.score is not None]
    return [p.seconds for p in points], [100 * (p.score or 0.0) for p in points]
