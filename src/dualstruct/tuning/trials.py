"""One trial: settings, trained on the examples of a fold, judged on those that it leaves out.

A run shows several ways to end it: after 5 or 10 passes, with the last weights or with their
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

#: What a score is made of, by block of examples.
Counts = dict[int, NDArray[np.float64]]
#: After how many passes weights are judged, where the number of passes is to be chosen.
PASSES = (5, 10)
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
    judges: dict[int, SummedScore]  #: of each block that is left out

    def counts(self, w: _core.Weights) -> Counts:
        return {
            block: np.array(judge.count(w), dtype=np.float64)
            for block, judge in self.judges.items()
        }


@dataclass(eq=False)
class Trial:
    """Settings that are tried, and how they did on the folds that they were tried on."""

    settings: dict[str, Any]  #: what differs from the estimator that was given
    counts: dict[Way, dict[int, Counts]] = field(default_factory=dict)  #: by way and fold
    seconds: float = 0.0  #: of all runs
    runs: int = 0
    passes: int = 0  #: of all runs
    in_passes: float = 0.0  #: seconds of these, without what judging took
    gap: float | None = None  #: of the last run
    certified: bool = False
    refused: str | None = None  #: why these settings cannot be tried

    def on(self, way: Way, folds: Iterable[int]) -> NDArray[np.float64] | None:
        """The counts of some folds together, if it was tried on all of them: [blocks, numbers]."""
        found = self.by_block(way, folds)
        return None if found is None else np.array([found[block] for block in sorted(found)])

    def by_block(self, way: Way, folds: Iterable[int]) -> Counts | None:
        """The same by block: what was judged several times is summed up."""
        runs, total = self.counts.get(way, {}), Counts()
        for k in folds:
            if k not in runs:
                return None
            for block, counts in runs[k].items():
                total[block] = total[block] + counts if block in total else counts
        return total

    def seconds_on(self, share: float, way: Way) -> float | None:
        """How long training takes on so many times the examples of a run, as far as is known."""
        if not self.passes:
            return None
        passes = self.passes / self.runs if way.passes is None else way.passes
        return share * passes * self.in_passes / self.passes

    @property
    def folds(self) -> list[int]:
        """Those that it has run on to the end, in some way."""
        return max((self.folds_in(way) for way in self.counts), key=len, default=[])

    def folds_in(self, way: Way) -> list[int]:
        """Those that it was judged on in one way."""
        return sorted(self.counts.get(way, ()))

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

    def does_as(self, other: Trial, folds: list[int]) -> bool:
        """Whether it did exactly as another in all ways: it may be the same in other words, such as
        a label scheme that the labels have already."""
        pairs = [(self.on(way, folds), other.on(way, folds)) for way in self.counts]
        return all(
            one is not None and two is not None and np.array_equal(one, two) for one, two in pairs
        )

    def at_best(self, folds: list[int], score: Score) -> NDArray[np.float64]:
        """The counts of some folds in the way that did best on them."""
        best = self.best(folds, score)
        counts = None if best is None else self.on(best[0], folds)
        assert counts is not None  # it has run on these
        return counts


class Folds:
    """The data divided into folds; features are made when settings ask for them.

    Examples to judge on are in blocks. Folds 0 to ``count`` - 1 leave out some of these each, and
    together all; the following ones are the same with the blocks divided in another way, and so on.

    Parameters
    ----------
    estimator : Estimator
    train : Share
    dev : Share, optional
        Then every fold has everything to train on, and all blocks of these to judge on.
    count, blocks : int
        How many folds a division has, and in how many blocks all that is left out is judged.
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
        self._rng = np.random.default_rng(seed % 2**63)
        order = self._rng.permutation(len(train.numbers))
        self._train, self._all = train, np.arange(len(order))
        self._from_dev = dev is not None
        if dev is None:
            self._held, self.count = train, count
            parts = [
                np.array_split(p, max(blocks // count, 1)) for p in np.array_split(order, count)
            ]
        else:
            self._held, self.count = dev, 1
            parts = [np.array_split(self._rng.permutation(len(dev.numbers)), blocks)]
        parts = [[block for block in some if len(block)] for some in parts]
        self._blocks = [block for some in parts for block in some]
        numbers = np.split(np.arange(len(self._blocks)), np.cumsum([len(s) for s in parts])[:-1])
        self._left_out = list(numbers)  # by fold
        # Which examples stay when there are too many: an order that knows nothing of the folds.
        self._rank, self._share = self._rng.permutation(len(order)), 1.0
        self._bound: dict[tuple[str, int], Fold] = {}

    def thin_out(self, share: float) -> None:
        """Train on a share of each fold's examples only, the same ones for all."""
        self._share = share
        self._bound.clear()

    def division(self, k: int) -> int:
        """How often everything was divided before this fold."""
        return k // self.count

    @property
    def trained_on(self) -> float:
        """The share of all examples that a run has."""
        kept = [len(self._kept(k)) for k in range(self.count)]
        return float(np.mean(kept)) / len(self._all)

    def _blocks_of(self, k: int) -> list[int]:
        """Those that a fold leaves out."""
        while k >= len(self._left_out):
            again = self._rng.permutation(len(self._blocks))
            self._left_out += np.array_split(again, self.count)
        return [int(block) for block in self._left_out[k]]

    def _kept(self, k: int) -> NDArray[np.int64]:
        """What a fold trains on."""
        kept = self._all
        if not self._from_dev:
            left_out = [self._blocks[block] for block in self._blocks_of(k)]
            kept = np.setdiff1d(kept, np.concatenate(left_out))
        if self._share == 1.0:
            return kept
        few = max(int(self._share * len(kept)), 1)
        return np.sort(kept[np.argsort(self._rank[kept])[:few]])

    def bind(self, settings: dict[str, Any], k: int) -> Fold:
        """A fold as some settings see it."""
        of_data = {name: value for name, value in settings.items() if name not in OF_TRAINING}
        key = repr(sorted(of_data.items())), k
        if key not in self._bound:
            estimator = self.estimator(of_data)
            known = estimator.bind(self._train.chosen(self._kept(k)))
            judges = {
                block: known.judge(self._held.chosen(np.sort(self._blocks[block])), self._metric)
                for block in self._blocks_of(k)
            }
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
    # Another division, another order of the examples: what a seed is lucky with is not chosen.
    estimator.set_params(seed=(estimator.seed + folds.division(k)) % 2**63)
    own = estimator.averaged
    if averages:
        estimator.set_params(averaged=True)
    if passes:
        estimator.set_params(passes=passes[-1])

    judging = 0.0

    def judge(at: int | None, last: _core.Weights, answer: _core.Weights) -> None:
        nonlocal judging
        since = time.perf_counter()
        both = ((False, last), (True, answer)) if averages else ((own, answer),)
        for averaged, w in both:
            trial.counts.setdefault(Way(at, averaged), {})[k] = fold.counts(w)
        judging += time.perf_counter() - since

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
    seconds = time.perf_counter() - started
    trial.seconds += seconds
    trial.in_passes += seconds - judging
    trial.passes += result.passes
    trial.runs += 1
    return at_end if ended else None


def seconds_of_a_pass(
    estimator: Estimator[Any], known: Known[Any], enough: float
) -> tuple[float, float]:
    """CPU and wall time of the last pass of a run, which ends early after this many seconds."""
    clocks = [(time.thread_time(), time.perf_counter())]

    def look(*_: Any) -> bool:
        clocks.append((time.thread_time(), time.perf_counter()))
        return clocks[-1][1] - clocks[0][1] > enough

    estimator.optimise(known, [look])
    (cpu, wall), (cpu_after, wall_after) = clocks[-2:]
    return cpu_after - cpu, wall_after - wall


def refusal(problem: InputError) -> str:
    """Why settings cannot be tried, in one line."""
    return str(problem).splitlines()[0]
