"""Who judges: the same problem for every tool, what it predicts for the test data, and CPU time."""

from __future__ import annotations

from typing import Any

from benchmark_utils.problems import Parsing, Tagging
from benchopt import BaseObjective


class Objective(BaseObjective):
    name = "Structured prediction"
    min_benchopt_version = "1.7"
    requirements = ["pip::dualstruct"]
    sampling_strategy = "run_once"
    test_dataset_name = "generated"

    def set_data(self, problem: Tagging | Parsing) -> None:
        self.problem = problem

    def get_objective(self) -> dict[str, Any]:
        return {"problem": self.problem}

    def evaluate_result(
        self, predicted: Any, seconds: dict[str, float], choice: str = ""
    ) -> dict[str, Any]:
        times = {f"{step}_seconds": value for step, value in seconds.items()}
        return {**self.problem.score(predicted), **times, "choice": choice}

    def get_one_result(self) -> dict[str, Any]:
        assert isinstance(self.problem, Tagging)
        return {"predicted": self.problem.test[1], "seconds": {}}
