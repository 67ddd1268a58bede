"""Vowpal Wabbit's learning to search, for sequences."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmark_utils.problems import Laps, Parsing, Tagging
from benchopt import BaseSolver
from vowpalwabbit import Workspace


class Solver(BaseSolver):
    name = "vowpal-wabbit"
    requirements = ["pip::vowpalwabbit"]

    def skip(self, problem: Tagging | Parsing) -> tuple[bool, str | None]:
        return (True, "a tagger") if isinstance(problem, Parsing) else (False, None)

    def set_objective(self, problem: Tagging) -> None:
        self.labels = sorted({label for s in problem.train[1] for label in s})
        number = {label: k + 1 for k, label in enumerate(self.labels)}
        self.folder = Path(tempfile.mkdtemp(prefix="vw-"))
        train = [[str(number[label]) for label in s] for s in problem.train[1]]
        test = [["1"] * len(s) for s in problem.test[1]]  # the truth is not given
        self.lengths = [len(s) for s in test]
        for part, labels in (("train", train), ("test", test)):
            with (self.folder / part).open("w") as file:
                for sentence, gold in zip(problem.numbers(part), labels, strict=True):
                    for token, label in zip(sentence, gold, strict=True):
                        print(f"{label} |f {' '.join(map(str, token))}", file=file)
                    print(file=file)

    def run(self, _: Any) -> None:
        self.laps = Laps()
        at = self.folder
        run(
            f"-d {at}/train -c --cache_file {at}/cache -k --passes 5 -b 24 -f {at}/model "
            f"--search {len(self.labels)} --search_task sequence --search_history_length 2 "
            "--search_rollin policy --search_rollout none --search_alpha 1e-8"
        )
        self.laps.lap("train")
        run(f"-t -d {at}/test -i {at}/model -p {at}/predicted")
        numbers = map(int, (at / "predicted").read_text().split())
        labels = iter(self.labels[n - 1] for n in numbers)
        self.predicted = [[next(labels) for _ in range(n)] for n in self.lengths]
        self.laps.lap("test")

    def get_result(self) -> dict[str, Any]:
        return {"predicted": self.predicted, "seconds": self.laps.seconds}


def run(arguments: str) -> None:
    Workspace(f"{arguments} --quiet").finish()
