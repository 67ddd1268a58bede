"""UDPipe 1: a transition-based parser with a small neural network."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmark_utils.problems import Laps, Parsing, Tagging
from benchopt import BaseSolver
from ufal.udpipe import InputFormat, Model, ProcessingError, Sentence, Sentences, Trainer

SYSTEMS = {True: "projective", False: "swap"}


class Solver(BaseSolver):
    name = "udpipe"
    requirements = ["pip::ufal.udpipe"]
    parameters = {"iterations": [3, 10]}
    test_config = {"iterations": 3, "dataset": {"name": "parsing"}}

    def skip(self, problem: Tagging | Parsing) -> tuple[bool, str | None]:
        return (True, "a parser") if isinstance(problem, Tagging) else (False, None)

    def set_objective(self, problem: Parsing) -> None:
        self.problem = problem

    def run(self, _: Any) -> None:
        self.laps = Laps()
        train, held_out = sentences(self.problem.train), Sentences()
        if self.problem.held_out:
            held_out = sentences(self.problem.held_out)
        self.laps.lap("prepare")
        projective = self.problem.projective
        error = ProcessingError()
        options = f"iterations={self.iterations};transition_system={SYSTEMS[projective]}"
        if not projective:  # a treebank of CoNLL-X, which knows many roots and no relation "root"
            options += ";single_root=0"
        model = Trainer.train("morphodita_parsito", train, held_out, "none", "none", options, error)
        if error.occurred():
            raise RuntimeError(error.message)
        self.laps.lap("train")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            path.write_bytes(model)
            parser = Model.load(str(path))
        self.predicted: list[tuple[int, str]] = []
        for sentence in sentences(self.problem.test):
            parser.parse(sentence, Model.DEFAULT)
            self.predicted += [(word.head, word.deprel) for word in list(sentence.words)[1:]]
        self.laps.lap("test")

    def get_result(self) -> dict[str, Any]:
        return {"predicted": self.predicted, "seconds": self.laps.seconds}


def sentences(path: Path) -> Sentences:
    reader, error, read = InputFormat.newConlluInputFormat(), ProcessingError(), Sentences()
    reader.setText(path.read_text(encoding="utf-8"))
    sentence = Sentence()
    while reader.nextSentence(sentence, error):
        read.push_back(sentence)
        sentence = Sentence()
    if error.occurred():
        raise RuntimeError(error.message)
    return read
