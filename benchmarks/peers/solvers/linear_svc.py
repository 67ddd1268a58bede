"""scikit-learn's LinearSVC, each token for itself: what structure must beat."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from benchmark_utils.problems import Laps, Parsing, Tagging
from benchopt import BaseSolver
from sklearn.svm import LinearSVC


class Solver(BaseSolver):
    name = "linear-svc"
    requirements = ["pip::scikit-learn", "pip::scipy"]

    def skip(self, problem: Tagging | Parsing) -> tuple[bool, str | None]:
        return (True, "a tagger") if isinstance(problem, Parsing) else (False, None)

    def set_objective(self, problem: Tagging) -> None:
        self.problem = problem
        self.train, self.test = problem.numbers("train"), problem.numbers("test")

    def run(self, _: Any) -> None:
        self.laps = Laps()
        width = len(self.problem.names)
        x = matrix(self.train, width)
        y = np.array([label for s in self.problem.train[1] for label in s])
        self.laps.lap("prepare")
        model = LinearSVC(C=0.1).fit(x, y)
        self.laps.lap("train")
        labels = iter(model.predict(matrix(self.test, width)).tolist())
        self.predicted = [[next(labels) for _ in s] for s in self.test]
        self.laps.lap("test")

    def get_result(self) -> dict[str, Any]:
        return {"predicted": self.predicted, "seconds": self.laps.seconds}


def matrix(sentences: list[list[list[int]]], width: int) -> scipy.sparse.csr_matrix:
    tokens = [token for s in sentences for token in s]
    ids = np.array([i for token in tokens for i in token])
    offsets = np.cumsum([0, *map(len, tokens)])
    return scipy.sparse.csr_matrix(
        (np.ones(len(ids), np.float32), ids, offsets), (len(tokens), width)
    )
