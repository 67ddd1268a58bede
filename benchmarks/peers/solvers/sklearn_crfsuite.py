"""sklearn-crfsuite: CRFsuite in scikit-learn's conventions, with the settings of its tutorial."""

from __future__ import annotations

from typing import Any

import sklearn_crfsuite
from benchmark_utils.problems import Laps, Parsing, Tagging
from benchopt import BaseSolver


class Solver(BaseSolver):
    name = "sklearn-crfsuite"
    requirements = ["pip::sklearn-crfsuite"]

    def skip(self, problem: Tagging | Parsing) -> tuple[bool, str | None]:
        return (True, "a tagger") if isinstance(problem, Parsing) else (False, None)

    def set_objective(self, problem: Tagging) -> None:
        self.train, self.test = problem.strings("train"), problem.strings("test")
        self.labels = problem.train[1]

    def run(self, _: Any) -> None:
        self.laps = Laps()
        model = sklearn_crfsuite.CRF(
            algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True
        )
        model.fit(self.train, self.labels)
        self.laps.lap("train")
        self.predicted = [list(labels) for labels in model.predict(self.test)]
        self.laps.lap("test")

    def get_result(self) -> dict[str, Any]:
        return {"predicted": self.predicted, "seconds": self.laps.seconds}
