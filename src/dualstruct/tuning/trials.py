"""One trial: settings, trained on the examples of a fold, judged on those that it leaves out.

A run shows several ways to end it: after 10 or 20 passes, with the last weights or with their
average. So these cost nothing to choose.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.sources import Share
from dualstruct.errors import InputError
from dualstruct.estimators.base import Estimator
from dualstruct.metrics.comparing import Score, score_of
from dualstruct.solvers import Iterate
from dualstruct.tasks.base import Known
from dualstruct.training.results import FitResult, SummedScore, TracePoint
from dualstruct.training.settings import Training, untrained

#: After how many passes weights are judged, where the number of passes is to be chosen.
PASSES = (10, 20)
#: Settings of a run that trials do without.
OF_A_TRIAL = {
    "verbose": False,
    "checkpoint": None,
    "resume": False,
    "engine": None,
    "workers": None,
    "address": None,
    "threads": 1,
}
#: Settings that do not change what is learned before training: trials that differ in them share
#: the features.
OF_TRAINING = {each.name for each in fields(Training)}


@dataclass(frozen=True)
class Way:
    """How a run ends: after how many passes (None: as its settings say), averaged or not."""

    passes: int | None
    averaged: bool

    def settings(self) -> dict[str, Any]:
        """To train in this way."""
        passes = {} if self.passes is None else {"passes": self.passes}
        return {**passes, "averaged": self.averaged}


@dataclass(frozen=True, eq=False)
class Fold:
    """Examples to train on, as some settings see them, and what judges weights on the others."""

    known: Known[Any]
    judges: list[SummedScore]

    def counts(self, w: _core.Weights) -> NDArray[np.float64]:
        """[blocks, numbers]"""
        return np.array([judge.count(w) for judge in self.judges], dtype=np.float64)


@dataclass(eq=False)
class Trial:
    """Settings that are tried, and how they did on the folds that they were tried on."""

    settings: dict[str, Any]  #: what differs from the estimator that was given
    counts: dict[Way, dict[int, NDArray[np.float64]]] = field(default_factory=dict)
    seconds: float = 0.0  #: of all runs
    runs: int = 0
    gap: float | None = None  #: of the last run
    certified: bool = False
    refused: str | None = None  #: why these settings cannot be tried

    def on(self, way: Way, folds: Iterable[int]) -> NDArray[np.float64] | None:
        """The counts of some folds together, if it was tried on all of them."""
        found = self.counts.get(way, {})
        if any(k not in found for k in folds):
            return None
        return np.concatenate([found[k] for k in folds])

    @property
    def folds(self) -> list[int]:
        """Those that it has run on to the end, in some way."""
        found = [sorted(folds) for folds in self.counts.values()]
        return max(found, key=len, default=[])

    def best(self, folds: list[int], score: Score) -> tuple[Way, float] | None:
        """The way that did best on some folds, the cheapest of those that did as well."""
        scored = [
            (score_of(counts, score), way)
            for way in self.counts
            if (counts := self.on(way, folds)) is not None
        ]
        if not scored:
            return None
        value, way = max(scored, key=lambda each: (each[0], -(each[1].passes or 0)))
        return way, value

    def at_best(self, folds: list[int], score: Score) -> NDArray[np.float64]:
        """The counts of some folds in the way that did best on them."""
        best = self.best(folds, score)
        counts = None if best is None else self.on(best[0], folds)
        assert counts is not None  # it has run on these
        return counts


class Folds:
    """The data divided into folds; features are made when settings ask for them.

    Parameters
    ----------
    estimator : Estimator
    train : Share
    dev : Share, optional
        Then there is one fold, with everything to train on.
    count, blocks : int
        How many folds there are, and in how many blocks all that is left out is judged.
    metric : str, optional
    seed : int
    """

    def __init__(
        self,
        estimator: Estimator[Any],
        train: Share,
        dev: Share | None,
        *,
        count: int,
        blocks: int,
        metric: str | None,
        seed: int,
    ) -> None:
        self._estimator, self._metric = estimator, metric
        rng = np.random.default_rng(seed % 2**63)
        order = rng.permutation(len(train.numbers))
        self._train = train
        if dev is None:
            self._held, self.count = train, count
            parts = np.array_split(order, count)
            self._kept = [np.sort(np.concatenate(parts[:k] + parts[k + 1 :])) for k in range(count)]
            self._judged = [np.array_split(part, max(blocks // count, 1)) for part in parts]
        else:
            self._held, self.count = dev, 1
            self._kept = [np.arange(len(order))]
            self._judged = [np.array_split(rng.permutation(len(dev.numbers)), blocks)]
        self._judged = [[part for part in some if len(part)] for some in self._judged]
        # Which examples stay when there are too many: an order that knows nothing of the folds.
        self._rank = rng.permutation(len(order))
        self._bound: dict[tuple[str, int], Fold] = {}

    def thin_out(self, share: float) -> None:
        """Train on a share of each fold's examples only, the same ones for all."""
        for k, kept in enumerate(self._kept):
            few = max(int(share * len(kept)), 1)
            self._kept[k] = np.sort(kept[np.argsort(self._rank[kept])[:few]])
        self._bound.clear()

    @property
    def trained_on(self) -> float:
        """The share of all examples that a run has."""
        return float(np.mean([len(kept) for kept in self._kept])) / len(self._train.numbers)

    def bind(self, settings: dict[str, Any], k: int) -> Fold:
        """A fold as some settings see it."""
        of_data = {name: value for name, value in settings.items() if name not in OF_TRAINING}
        key = repr(sorted(of_data.items())), k
        if key not in self._bound:
            estimator = self.estimator(of_data)
            known = estimator.bind(self._train.chosen(self._kept[k]))
            judges = [
                known.judge(self._held.chosen(np.sort(part)), self._metric)
                for part in self._judged[k]
            ]
            self._bound[key] = Fold(known, judges)
        return self._bound[key]

    def forget(self, keep: Iterable[dict[str, Any]] = ()) -> None:
        """Drop the features that no settings of these ask for."""
        wanted = {
            repr(sorted((name, value) for name, value in each.items() if name not in OF_TRAINING))
            for each in keep
        }
        self._bound = {key: fold for key, fold in self._bound.items() if key[0] in wanted}

    def estimator(self, settings: dict[str, Any]) -> Estimator[Any]:
        """The estimator of a trial."""
        made: Estimator[Any] = untrained(self._estimator)
        of_trials = OF_A_TRIAL | self._estimator.trial_settings
        made.set_params(**of_trials, **settings)
        return made


def run_trial(
    trial: Trial,
    k: int,
    folds: Folds,
    passes: tuple[int, ...],
    averages: bool,
    stop: Callable[[], bool],
    start: Iterate | None = None,
) -> Iterate | None:
    """Train on a fold, and judge on the way; where the run ended, if it came to its end.

    Parameters
    ----------
    trial : Trial
        Gets what was found.
    k : int
        The fold.
    folds : Folds
        They must be bound already for these settings.
    passes : tuple of int
        After which to judge; none if the settings say when training ends.
    averages : bool
        Judge averaged weights as well as the last ones.
    stop : callable
        Asked after each pass whether to give up.
    start : Iterate, optional
        Where a run with another C ended.
    """
    started = time.perf_counter()
    fold = folds.bind(trial.settings, k)
    estimator = folds.estimator(trial.settings)
    own = estimator.averaged
    if averages:
        estimator.set_params(averaged=True)
    if passes:
        estimator.set_params(passes=passes[-1])

    def judge(at: int | None, last: _core.Weights, answer: _core.Weights) -> None:
        both = ((False, last), (True, answer)) if averages else ((own, answer),)
        for averaged, w in both:
            trial.counts.setdefault(Way(at, averaged), {})[k] = fold.counts(w)

    judged: list[int] = []
    at_end: Iterate | None = None

    def look(point: TracePoint, iterate: Iterate) -> bool:
        nonlocal at_end
        at_end = iterate
        if point.passes in passes:
            judge(point.passes, iterate.w, iterate.answer())
            judged.append(point.passes)
        return stop()

    result: FitResult = estimator.optimise(fold.known, [look], start)
    ended = result.stopped_by not in ("callback", "interrupt")
    if ended:
        if not passes:
            judge(None, result.w, result.w)
        for at in passes[len(judged) :]:  # it has converged before
            judge(at, result.w, result.w)
    trial.gap, trial.certified = result.gap, result.certified
    trial.seconds += time.perf_counter() - started
    trial.runs += 1
    return at_end if ended else None


def refusal(problem: InputError) -> str:
    """Why settings cannot be tried, in one line."""
    return str(problem).splitlines()[0]
