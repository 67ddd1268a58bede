"""What is chosen of everything that was tried, and what the table says of each candidate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dualstruct.metrics.comparing import (
    Score,
    by_luck,
    compared,
    score_of,
    spread_of,
    with_few_blocks,
    without_each,
)
from dualstruct.tuning.candidates import Candidate
from dualstruct.tuning.trials import Trial, Way

#: How probable it may be that a candidate is preferred to what was given although none is better.
LUCK = 0.2
#: Why what was given has no score.
NO_TIME = "the budget was over before it was judged"


class Verdict:
    """Trials compared with the settings that were given, on the examples that both were judged on.

    Parameters
    ----------
    trials : list of Trial
    given : Trial
        One of these.
    default : Way
        How a run of the settings given ends.
    score : callable
        Of counts.
    """

    def __init__(self, trials: list[Trial], given: Trial, default: Way, score: Score) -> None:
        self._trials, self._given, self._default, self._score = trials, given, default, score

    def settings(self, trial: Trial, way: Way) -> dict[str, Any]:
        """What differs from the estimator that was given."""
        usual = self._default.settings()
        ends = {name: value for name, value in way.settings().items() if value != usual.get(name)}
        return {**trial.settings, **ends}

    def gain(self, trial: Trial) -> float | None:
        """Over what was given, on the folds that it has run on."""
        folds = trial.folds
        base = self._given.on(self._default, folds) if folds else None
        best = trial.best(folds, self._score) if folds else None
        if base is None or best is None:
            return None
        return best[1] - score_of(base, self._score)

    def chosen(
        self, folds: list[int], fits: Callable[[Trial, Way], bool] = lambda _, __: True
    ) -> tuple[Trial, Way]:
        """The one that is surely best: by its gain over what was given, less its standard error.

        ``fits`` says whether there is time to train in a way.
        """
        base, most = self._given.on(self._default, folds), 0.0
        chosen, way, certain = self._given, self._default, self.certain(folds)
        for trial in self._trials:
            for each in trial.counts:
                counts = trial.on(each, folds)
                if base is None or counts is None or not fits(trial, each):
                    continue
                gain, error = compared(counts, base, self._score)
                if gain > certain * error and gain - error > most:
                    chosen, way, most = trial, each, gain - error
        return chosen, way

    def certain(self, folds: list[int]) -> float:
        """How many standard errors better on these folds than what was given a candidate must be.

        All that was tried counts, also what was dropped: the best of many is ahead by chance.
        """
        judged = self._given.by_block(self._default, folds)
        return with_few_blocks(self._luckiest(), len(judged)) if judged else 0.0

    def _luckiest(self) -> float:
        found: list[dict[int, float]] = []
        for trial in self._trials:
            for way, runs in trial.counts.items():
                folds = [k for k in runs if self._given.on(self._default, [k]) is not None]
                one, other = trial.on(way, folds), self._given.on(self._default, folds)
                if not folds or one is None or other is None:
                    continue
                blocks = sorted(trial.by_block(way, folds) or ())
                differences = without_each(one, self._score) - without_each(other, self._score)
                found.append(dict(zip(blocks, differences.tolist(), strict=True)))
        every = sorted({block for each in found for block in each})
        rows = np.array([[each.get(block, np.nan) for block in every] for each in found])
        return by_luck(rows, LUCK) if len(rows) else 0.0

    def rows(self, chosen: Trial, way: Way) -> list[Candidate]:
        """Every trial in the way that did best, the one chosen in its own."""
        found = []
        for trial in self._trials:
            best = trial.best(trial.folds, self._score) if trial.folds else None
            mine = None if best is None else best[0]
            if trial is chosen:
                mine = way
            elif trial is self._given:
                mine = self._default
            # A run that was cut short was judged after its first passes only: ways differ in folds.
            folds = trial.folds_in(mine) if mine is not None else []
            counts = trial.on(mine, folds) if mine is not None and folds else None
            if mine is None or counts is None:
                note = trial.refused or (NO_TIME if trial is chosen else None)
                if note is not None:
                    refused = Candidate.refused(trial.settings, trial.seconds, note)
                    found.append(replace(refused, chosen=trial is chosen))
                continue
            base = self._given.on(self._default, folds)
            gain, error = None, None
            if base is not None:
                gain, error = compared(counts, base, self._score)
            found.append(
                Candidate(
                    self.settings(trial, mine),
                    score_of(counts, self._score),
                    spread_of(without_each(counts, self._score)),
                    gain,
                    error,
                    len(folds),
                    trial.seconds,
                    trial.gap,
                    trial.certified,
                    chosen=trial is chosen,
                )
            )
        return found
