"""The problems that all tools get: sentences, the same attributes for each, and who judges."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dualstruct import evaluate
from dualstruct.features import make_extractor

Labels = list[list[str]]


@dataclass(frozen=True)
class Tagging:
    """Sentences with a label for each token."""

    features: str  # templates, in dualstruct's words
    train: tuple[Any, Labels]
    held_out: tuple[Any, Labels] | None  # to choose settings on; None: a tenth of the training data
    test: tuple[Any, Labels]
    spans: bool  # judged by F1 of spans, otherwise by the tokens that are right

    def score(self, predicted: Labels) -> dict[str, float]:
        scores = evaluate(self.test[1], predicted)
        return {"score": 100 * (scores.f1 if self.spans else scores.accuracy)}

    @cached_property
    def names(self) -> list[str]:
        """The name of each attribute; ``numbers`` refers to them."""
        return self._extracted[0]

    def numbers(self, part: str) -> list[list[list[int]]]:
        """The attributes of each token of "train" or "test"."""
        return self._extracted[1 if part == "train" else 2]

    def strings(self, part: str) -> list[list[list[str]]]:
        """The same as strings."""
        names = self.names
        return [[[names[i] for i in token] for token in s] for s in self.numbers(part)]

    @cached_property
    def _extracted(self) -> tuple[list[str], Any, Any]:
        extractor = make_extractor(self.features)
        train, test = (extractor.fit(tokens) for tokens, _ in (self.train, self.test))
        names = extractor.names(np.arange(extractor.dimension))
        return names, nested(train), nested(test)


def nested(rows: Any) -> list[list[list[int]]]:
    ids, offsets, sentences = rows.ids.tolist(), rows.offsets.tolist(), rows.sentences.tolist()
    tokens = [ids[a:b] for a, b in pairwise(offsets)]
    return [tokens[a:b] for a, b in pairwise(sentences)]


@dataclass(frozen=True)
class Parsing:
    """Trees with gold words, lemmas, tags and morphology, as CoNLL-U files."""

    train: Path
    held_out: Path | None
    test: Path
    projective: bool

    def score(self, predicted: Sequence[tuple[int, str]]) -> dict[str, float]:
        """Of one (head, relation) for each word; every word counts, punctuation too."""
        gold = arcs_of(self.test)
        if len(gold) != len(predicted):
            raise ValueError(f"{len(predicted)} arcs for {len(gold)} words")
        pairs = list(zip(gold, predicted, strict=True))
        heads = sum(a[0] == b[0] for a, b in pairs)
        return {
            "score": 100 * sum(a == b for a, b in pairs) / len(pairs),
            "uas": 100 * heads / len(pairs),
        }


def arcs_of(path: Path) -> list[tuple[int, str]]:
    return arcs_in(path.read_text(encoding="utf-8"))


def arcs_in(text: str) -> list[tuple[int, str]]:
    rows = (line.split("\t") for line in text.split("\n") if line and line[0] != "#")
    return [(int(row[6]), row[7]) for row in rows if row[0].isdigit()]


class Laps:
    """CPU seconds by what they were spent on."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.process_time()

    def lap(self, name: str) -> None:
        now = time.process_time()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now
