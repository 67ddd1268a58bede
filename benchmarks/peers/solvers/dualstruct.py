"""Ours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmark_utils.problems import Laps, Parsing, Tagging, arcs_in
from benchopt import BaseSolver

from dualstruct import DependencyParser, SequenceTagger, evaluate, read_conllu, tune

#: What "chosen" chooses from, on data that is neither trained nor tested on. Each loss goes up in C
#: until its score falls, and is tried with averaged weights at its best C.
LOSSES, CS = ("squared_hinge", "hinge", "crf"), (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
PASSES = (5, 10, 15)
#: What "certified" chooses from, besides the first four C, and how close to the optimum it comes.
CERTIFIED, GAP = ("squared_hinge", "hinge"), 0.01
#: Wall seconds in which "tuned" chooses and trains.
BUDGET = 60.0
OF_PARSERS = ("default", "tuned", "second-order")
#: What needs no choice.
FIXED: dict[str, dict[str, Any]] = {"quick": {"passes": 5}, "crf": {"loss": "crf"}}
#: Each setting is judged on so many tokens or more: development data with several seeds, or several
#: tenths of the training data held out in turn, ten at most. A few thousand tokens, or one seed, do
#: not tell settings apart.
JUDGED_TOKENS = 25_000


class Solver(BaseSolver):
    name = "dualstruct"
    requirements = ["pip::dualstruct"]
    parameters = {
        "settings": ["default", "quick", "chosen", "tuned", "certified", "crf", "second-order"]
    }
    test_config = {"settings": "chosen"}

    def skip(self, problem: Tagging | Parsing) -> tuple[bool, str | None]:
        if isinstance(problem, Parsing) and self.settings not in OF_PARSERS:
            return True, "for taggers"
        if isinstance(problem, Tagging) and self.settings == "second-order":
            return True, "a parser"
        return False, None

    def set_objective(self, problem: Tagging | Parsing) -> None:
        self.problem = problem

    def run(self, _: Any) -> None:
        self.laps = Laps()
        self.choice = ""
        if isinstance(self.problem, Parsing):
            self.predicted: Any = self.parse(self.problem)
        else:
            self.predicted = self.tag(self.problem)

    def tag(self, problem: Tagging) -> list[list[str]]:
        options: dict[str, Any] = FIXED.get(self.settings, {})
        if self.settings in ("chosen", "certified"):
            options = chosen(problem) if self.settings == "chosen" else certified(problem)
            self.choice = ", ".join(f"{name} {value}" for name, value in options.items())
            self.laps.lap("choose")
        tagger = SequenceTagger(features=problem.features, **options)
        tagger = self.learned(tagger, problem.train, problem.held_out)
        predicted = tagger.predict(problem.test[0])
        self.laps.lap("test")
        return predicted

    def parse(self, problem: Parsing) -> list[tuple[int, str]]:
        parser = DependencyParser(order=2 if self.settings == "second-order" else 1)
        dev = None if problem.held_out is None else read_conllu(problem.held_out)
        parser = self.learned(parser, (read_conllu(problem.train),), dev)
        predicted = parser.predict(read_conllu(problem.test))
        arcs = arcs_in(bytes(predicted).decode())
        self.laps.lap("test")
        return arcs

    def learned(self, estimator: Any, train: tuple[Any, ...], dev: Any) -> Any:
        """A trained estimator; what ``fit`` took before the first pass is preparation."""
        if self.settings == "tuned":
            estimator = tune(estimator, *train, dev=dev, budget=BUDGET)
            chosen = estimator.settings_.items()
            self.choice = ", ".join(f"{name} {value}" for name, value in chosen) or "as given"
        else:
            estimator.fit(*train)
        self.laps.lap("train")
        seconds, passes = self.laps.seconds, estimator.result_.cpu_seconds
        before = "choose" if self.settings == "tuned" else "prepare"
        seconds[before], seconds["train"] = seconds["train"] - passes, passes
        return estimator

    def get_result(self) -> dict[str, Any]:
        return {"predicted": self.predicted, "seconds": self.laps.seconds, "choice": self.choice}


def chosen(problem: Tagging) -> dict[str, Any]:
    """The settings whose score, the mean over what was held out, is the best."""
    splits = list(splits_of(problem))

    def best_passes(**options: Any) -> tuple[float, dict[str, Any]]:
        scores = np.mean([scores_after(problem, split, options) for split in splits], axis=0)
        best = int(scores.argmax())
        return scores[best], {**options, "passes": PASSES[best]}

    found = []
    for loss in LOSSES:
        last = (-1.0, {})
        for C in CS:
            now = best_passes(loss=loss, C=C)
            if now[0] < last[0]:
                break
            last = now
        found += [last]
        if loss != "crf":  # whose solver does not average
            found += [best_passes(loss=loss, C=last[1]["C"], averaged=True)]
    return max(found, key=lambda pair: pair[0])[1]


def certified(problem: Tagging) -> dict[str, Any]:
    """The loss and the C whose score is the best, with all models trained to the same gap.

    Nothing but these two is chosen: no number of passes, no average. All tenths are held out in
    turn, or the development data is judged with several seeds.
    """
    splits = list(splits_of(problem, tenths=10))

    def score(loss: str, C: float) -> float:
        options = {"loss": loss, "C": C, "gap": GAP}
        return float(np.mean([score_at_gap(problem, split, options) for split in splits]))

    scores = {(loss, C): score(loss, C) for loss in CERTIFIED for C in CS[:4]}
    loss, C = max(scores, key=lambda each: scores[each])
    return {"loss": loss, "C": C, "gap": GAP}


def score_at_gap(
    problem: Tagging, split: tuple[Any, Any, Any, int], options: dict[str, Any]
) -> float:
    x, y, (held_x, held_y), seed = split
    tagger = SequenceTagger(features=problem.features, unseen_labels="count", seed=seed, **options)
    scores = evaluate(held_y, tagger.fit(x, y).predict(held_x))
    return scores.f1 if problem.spans else scores.accuracy


def splits_of(problem: Tagging, tenths: int | None = None) -> Iterator[tuple[Any, Any, Any, int]]:
    """Sentences and labels to learn from, both of what is held out, and a seed."""
    x, y = problem.train
    if problem.held_out is not None:
        for seed in range(rounds_over(problem.held_out[1], 1)):
            yield x, y, problem.held_out, seed
        return
    for fold in range(tenths or rounds_over(y, 10)):
        kept = [i for i in range(len(y)) if i % 10 != fold]
        yield [x[i] for i in kept], [y[i] for i in kept], (x[fold::10], y[fold::10]), fold


def rounds_over(labels: list[list[str]], parts: int) -> int:
    """How often one of so many parts of these sentences has to be judged."""
    return min(10, math.ceil(JUDGED_TOKENS * parts / sum(map(len, labels))))


def scores_after(
    problem: Tagging, split: tuple[Any, Any, Any, int], options: dict[str, Any]
) -> list[float]:
    """The score of what is held out after each number of passes."""
    x, y, held_out, seed = split
    tagger = SequenceTagger(
        features=problem.features,
        unseen_labels="count",
        seed=seed,
        passes=max(PASSES),
        patience=max(PASSES),
        **options,
    )
    trace = tagger.fit(x, y, dev=held_out).result_.trace
    return [trace[min(passes, len(trace)) - 1].dev_score for passes in PASSES]
