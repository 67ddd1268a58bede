"""CRFsuite through python-crfsuite: the tool that most people use."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pycrfsuite
from benchmark_utils.problems import Laps, Parsing, Tagging
from benchopt import BaseSolver

#: The online learners improve little after ten iterations; L-BFGS and SGD run until they stop.
ITERATIONS = {"ap": 10, "pa": 10, "arow": 10}


class Solver(BaseSolver):
    name = "crfsuite"
    requirements = ["pip::python-crfsuite"]
    parameters = {"algorithm": ["ap", "pa", "arow", "lbfgs", "l2sgd"]}
    test_config = {"algorithm": "ap"}

    def skip(self, problem: Tagging | Parsing) -> tuple[bool, str | None]:
        return (True, "a tagger") if isinstance(problem, Parsing) else (False, None)

    def set_objective(self, problem: Tagging) -> None:
        self.train, self.test = problem.strings("train"), problem.strings("test")
        self.labels = problem.train[1]

    def run(self, _: Any) -> None:
        self.laps = Laps()
        trainer = pycrfsuite.Trainer(self.algorithm, verbose=False)
        if self.algorithm in ITERATIONS:
            trainer.set("max_iterations", ITERATIONS[self.algorithm])
        for x, y in zip(self.train, self.labels, strict=True):
            trainer.append(x, y)
        self.laps.lap("prepare")
        with tempfile.TemporaryDirectory() as folder:
            model = str(Path(folder) / "model")
            trainer.train(model)
            self.laps.lap("train")
            tagger = pycrfsuite.Tagger()
            tagger.open(model)
            self.predicted = [tagger.tag(x) for x in self.test]
            self.laps.lap("test")

    def get_result(self) -> dict[str, Any]:
        return {"predicted": self.predicted, "seconds": self.laps.seconds}
