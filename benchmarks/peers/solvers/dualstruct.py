"""Ours."""

from __future__ import annotations

from typing import Any

from benchmark_utils.problems import Laps, Parsing, Tagging, arcs_in
from benchopt import BaseSolver

from dualstruct import DependencyParser, SequenceTagger, read_conllu

#: What "chosen" chooses from, on data that is neither trained nor tested on. Each loss goes up in C
#: until its score falls.
LOSSES, CS = ("squared_hinge", "hinge", "crf"), (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


class Solver(BaseSolver):
    name = "dualstruct"
    requirements = ["pip::dualstruct"]
    parameters = {"settings": ["default", "chosen", "crf", "second-order"]}
    test_config = {"settings": "chosen"}

    def skip(self, problem: Tagging | Parsing) -> tuple[bool, str | None]:
        if isinstance(problem, Parsing) and self.settings not in ("default", "second-order"):
            return True, "trees are learned with the defaults"
        if isinstance(problem, Tagging) and self.settings == "second-order":
            return True, "a parser"
        return False, None

    def set_objective(self, problem: Tagging | Parsing) -> None:
        self.problem = problem

    def run(self, _: Any) -> None:
        self.laps = Laps()
        if isinstance(self.problem, Parsing):
            self.predicted: Any = self.parse(self.problem)
        else:
            self.predicted = self.tag(self.problem)

    def tag(self, problem: Tagging) -> list[list[str]]:
        options: dict[str, Any] = {"loss": "crf"} if self.settings == "crf" else {}
        if self.settings == "chosen":
            options = chosen(problem)
            self.laps.lap("choose")
        tagger = SequenceTagger(features=problem.features, **options)
        tagger.fit(*problem.train)
        self.laps.lap("train")
        self.split(tagger.result_.cpu_seconds)
        predicted = tagger.predict(problem.test[0])
        self.laps.lap("test")
        return predicted

    def parse(self, problem: Parsing) -> list[tuple[int, str]]:
        parser = DependencyParser(order=2 if self.settings == "second-order" else 1)
        parser.fit(read_conllu(problem.train))
        self.laps.lap("train")
        self.split(parser.result_.cpu_seconds)
        predicted = parser.predict(read_conllu(problem.test))
        arcs = arcs_in(str(predicted))
        self.laps.lap("test")
        return arcs

    def split(self, train: float) -> None:
        """What ``fit`` took before the first pass is preparation."""
        seconds = self.laps.seconds
        seconds["prepare"], seconds["train"] = seconds["train"] - train, train

    def get_result(self) -> dict[str, Any]:
        return {"predicted": self.predicted, "seconds": self.laps.seconds}


def chosen(problem: Tagging) -> dict[str, Any]:
    tokens, labels = problem.train
    if problem.held_out is None:
        train = [(x, y) for i, (x, y) in enumerate(zip(tokens, labels, strict=True)) if i % 10]
        x, y = ([pair[part] for pair in train] for part in (0, 1))
        held_out = (tokens[::10], labels[::10])
    else:
        x, y, held_out = tokens, labels, problem.held_out
    scores: dict[tuple[str, float], float] = {}
    for loss in LOSSES:
        last = -1.0
        for C in CS:
            tagger = SequenceTagger(
                features=problem.features, loss=loss, C=C, unseen_labels="count"
            )
            found = tagger.fit(x, y).evaluate(*held_out)
            scores[loss, C] = found.f1 if problem.spans else found.accuracy
            if scores[loss, C] < last:
                break
            last = scores[loss, C]
    loss, C = max(scores, key=scores.__getitem__)
    return {"loss": loss, "C": C}
