"""The log of a training run in CRFsuite's words, and what can be read from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

__all__ = ["LabelScore", "TrainLogParser", "performance"]


class LabelScore(NamedTuple):
    """How well a label was found in the held-out group; None where nothing is to be divided."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


_SECONDS = re.compile(r"Seconds required: ([\d.]+)")
_FEATURES = re.compile(r"Number of features: (\d+)")
_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}")
_TRAINED = re.compile(r"Total seconds required for training: ([\d.]+)")
_VALUES: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("loss", r"Loss: (\S+)", float),
    ("improvement_ratio", r"Improvement ratio: (\S+)", float),
    ("feature_norm", r"Feature (?:L2-)?norm: (\S+)", float),
    ("error_norm", r"Error norm: (\S+)", float),
    ("active_features", r"Active features: (\d+)", int),
    ("linesearch_trials", r"Line search trials: (\d+)", int),
    ("linesearch_step", r"Line search step: (\S+)", float),
    ("learning_rate", r"Learning rate \(eta\): (\S+)", float),
    ("feature_updates", r"Total number of feature updates: (\d+)", int),
    ("time", r"Seconds required for this iteration: (\S+)", float),
)
_VALUE_PATTERNS = [(key, re.compile(pattern), kind) for key, pattern, kind in _VALUES]
_MACRO = re.compile(r"Macro-average precision, recall, F1: \((\S+), (\S+), (\S+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_LABEL = re.compile(r"    (.+): \((\d+), (\d+), (\d+)\) \((\S+), (\S+), (\S+)\)\s*$")


class TrainLogParser:
    """Takes the messages of a run one by one and gathers what they say.

    Examples
    --------
    >>> parser = TrainLogParser()
    >>> for line in ("Feature generation", "Number of features: 3", "Seconds required: 0.1",
    ...              "***** Iteration #1 *****", "Loss: 2.5"):
    ...     event = parser.feed(f"{line}\\n")
    >>> parser.featgen_num_features, parser.last_iteration
    (3, {'num': 1, 'scores': {}, 'loss': 2.5})
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    @property
    def last_log(self) -> str:
        """The messages of the last event."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def feed(self, line: str) -> str | None:
        """Take a message; the name of the event that it completes, if it does."""
        self.log.append(line)
        if self.state is None:
            self.state = "FEATGEN"
            event: str | None = "start"
        else:
            event = getattr(self, f"_{self.state.lower()}")(line)
        if event is not None:
            start = self.events[-1][2] if self.events else 0
            # The head of an iteration belongs to it, not to what was prepared.
            end = len(self.log) - (event == "prepared")
            self.events.append((event, start, end))
        return event

    def _featgen(self, line: str) -> str | None:
        if re.fullmatch(r"\.|\d+", line):
            self.featgen_percent += 2
            return "featgen_progress"
        if found := _FEATURES.match(line):
            self.featgen_num_features = int(found[1])
        elif found := _SECONDS.match(line):
            self.featgen_seconds = float(found[1])
            self.state = "PREPARING"
            return "featgen_end"
        return None

    def _preparing(self, line: str) -> str | None:
        if _HEAD.match(line):
            self.state = "ITERATION"
            self._iteration(line)
            return "prepared"
        if "terminated" in line.lower():
            self.state = "BETWEEN"
            return "prepare_error"
        return None

    def _iteration(self, line: str) -> str | None:
        if found := _HEAD.match(line):
            self.last_iteration = {"num": int(found[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
            return None
        assert self.last_iteration is not None
        iteration = self.last_iteration
        if line == "\n":
            self.state = "BETWEEN"
            return "iteration"
        for key, pattern, kind in _VALUE_PATTERNS:
            if found := pattern.match(line):
                iteration[key] = kind(found[1])
                return None
        if found := _MACRO.match(line):
            iteration["avg_precision"], iteration["avg_recall"], iteration["avg_f1"] = map(
                float, found.groups()
            )
        elif found := _ACCURACY.match(line):
            share = Fraction(int(found[2]), max(int(found[3]), 1))
            key = f"{found[1].lower()}_accuracy"
            iteration[key], iteration[f"{key}_float"] = share, float(share)
        elif found := _LABEL.match(line):
            scores = [None if text == "******" else float(text) for text in found.groups()[4:]]
            counts = [int(number) for number in found.groups()[1:4]]
            iteration["scores"][found[1]] = LabelScore(*counts, *scores)
        return None

    def _between(self, line: str) -> str | None:
        if _HEAD.match(line):
            self.state = "ITERATION"
            return self._iteration(line)
        if found := _TRAINED.match(line):
            self.training_seconds = float(found[1])
        elif line == "\n" and self.training_seconds is not None:
            self.state = "STORING"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        if found := _SECONDS.match(line):
            self.storing_seconds = float(found[1])
        elif line == "\n":
            return "end"
        return None


def performance(
    labels: Sequence[str], truth: Sequence[Sequence[int]], predicted: Sequence[Sequence[int]]
) -> list[str]:
    """The lines that CRFsuite writes of a held-out group."""
    match, model, ref = ([0] * len(labels) for _ in range(3))
    right_sentences = 0
    for true, found in zip(truth, predicted, strict=True):
        right_sentences += list(true) == list(found)
        for a, b in zip(true, found, strict=True):
            match[a] += a == b
            model[b] += 1
            ref[a] += 1
    lines = ["Performance by label (#match, #model, #ref) (precision, recall, F1):\n"]
    total = [0.0, 0.0, 0.0]
    for k, name in enumerate(labels):
        counts = f"    {name}: ({match[k]}, {model[k]}, {ref[k]})"
        if not ref[k]:
            lines.append(f"{counts} (******, ******, ******)\n")
            continue
        precision = match[k] / model[k] if model[k] else 0.0
        recall = match[k] / ref[k]
        f1 = 2 * precision * recall / (precision + recall) if match[k] else 0.0
        lines.append(f"{counts} ({precision:.4f}, {recall:.4f}, {f1:.4f})\n")
        total = [a + b for a, b in zip(total, (precision, recall, f1), strict=True)]
    macro = ", ".join(f"{value / len(labels):f}" for value in total)
    lines.append(f"Macro-average precision, recall, F1: ({macro})\n")
    for what, right, all_ in (
        ("Item", sum(match), sum(ref)),
        ("Instance", right_sentences, len(truth)),
    ):
        lines.append(f"{what} accuracy: {right} / {all_} ({right / max(all_, 1):.4f})\n")
    return lines


def settings_lines(params: Mapping[str, Any]) -> list[str]:
    """Parameters as CRFsuite shows them before it starts."""
    return [
        f"{name}: {value:f}\n" if isinstance(value, float) else f"{name}: {_shown(value)}\n"
        for name, value in params.items()
    ]


def _shown(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value
