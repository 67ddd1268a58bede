"""Taggers as the page uses them: for spans, and for labels of tokens."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dualstruct.errors import InputError
from dualstruct.estimators import SequenceTagger
from dualstruct.labelling.models import UNCALIBRATED, Example, Maker, Model, Suggestion
from dualstruct.labels.schemes import split_label
from dualstruct.tasks.tagging.online import OnlineChain
from dualstruct.texts.alignment import marks_spans

if TYPE_CHECKING:
    from dualstruct.labelling.kinds import Kind
    from dualstruct.labelling.sentences import Sentence

__all__ = ["TaggerMaker", "TaggerModel"]

#: Passes over examples that it learns on from.
PASSES = 2
#: Stands for a label that nobody was asked about; labels have no blanks.
UNKNOWN = "not asked"


class TaggerModel(Model):
    """A tagger whose weights change in place."""

    def __init__(self, tagger: SequenceTagger, others: Sequence[Sentence] = ()) -> None:
        self._tagger = tagger
        self._others = others
        takes = OnlineChain.takes(tagger.model_) and tagger.model_.n_columns == 1
        self._online = OnlineChain(tagger.model_, [each.words for each in others] if takes else [])
        self._in_place = takes
        self._temperature = tagger.temperature_ or UNCALIBRATED

    def suggest(self, sentences: Sequence[Sentence]) -> list[Suggestion]:
        if not sentences:
            return []
        found = self._online.best([each.words for each in sentences], 1 / self._temperature)
        starts, numbers, sure = found
        labels = self._online.names(starts, numbers)
        rounded = np.round(sure.astype(np.float64), 4).tolist()
        return [
            Suggestion(tuple(row), tuple(rounded[a:b]))
            for row, a, b in zip(labels, starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        ]

    def doubts(self, sentences: Sequence[Sentence]) -> list[list[float]]:
        if not sentences:
            return []
        words = [each.words for each in sentences]
        starts, margins = self._online.margins(words, 1 / self._temperature)
        flat = (1 - margins).tolist()
        return [flat[a:b] for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]

    def learn(self, examples: Sequence[Example]) -> Model:
        X, y, _ = _rows(examples)
        if self._in_place and self._online.knows(y):
            C = self._tagger.result_.C or self._tagger.weight_of_loss()
            self._online.learn(X, y, C)
            return self
        made = copy.copy(self._tagger)
        made.passes = PASSES
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.partial_fit(X, y)
        return TaggerModel(made, self._others)

    def calibrate(self, examples: Sequence[Example]) -> None:
        X, y, _ = _rows(examples)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._tagger.calibrate(X, y)
        self._temperature = self._tagger.temperature_ or UNCALIBRATED

    def suspects(self, examples: Sequence[Example]) -> list[tuple[int, float]]:
        X, y, _ = _rows(examples)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self._tagger.suspects(X, y, top=20)
        return [(each.sentence - 1, each.score) for each in found]

    def save(self, path: Path) -> None:
        self._tagger.save(path)


class TaggerMaker(Maker):
    """Makes taggers: new ones, or from one that there is."""

    def __init__(self, kind: Kind, features: str, start: Path | None = None) -> None:
        self._kind, self._features = kind, features
        self._start = None if start is None else _loaded(start, kind)
        self._first = None if self._start is None else TaggerModel(self._start)

    @property
    def first(self) -> Model | None:
        return self._first

    @property
    def types(self) -> list[str]:
        return [] if self._start is None else self._kind.types_of(self._start.classes_.tolist())

    def new(self) -> SequenceTagger:
        """As it is trained from scratch."""
        return SequenceTagger(features=self._features, seed=1)

    def make(
        self,
        examples: Sequence[Example],
        others: Sequence[Sentence],
        is_over: Callable[[], bool],
    ) -> Model:
        made = self.new() if self._start is None else copy.copy(self._start)
        if any(each.known is not None for each in examples):
            made.unknown_label = UNKNOWN
        train = made.fit if self._start is None else made.partial_fit
        X, _, weights = _rows(examples)
        y = [_known_labels(each) for each in examples]
        plain = all(each.weights is None for each in examples)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            train(X, y, callbacks=[lambda *_: is_over()], token_weight=None if plain else weights)
        return TaggerModel(made, others)

    def load(self, path: Path, others: Sequence[Sentence]) -> Model:
        return TaggerModel(SequenceTagger.load(path), others)


def _rows(
    examples: Sequence[Example],
) -> tuple[list[list[str]], list[list[str]], list[list[float]]]:
    X = [each.sentence.words for each in examples]
    y = [list(each.labels) for each in examples]
    weights = [list(each.weights or [1.0] * len(each.labels)) for each in examples]
    return X, y, weights


def _known_labels(example: Example) -> list[str]:
    known = example.known or (True,) * len(example.labels)
    return [
        label if is_known else UNKNOWN
        for label, is_known in zip(example.labels, known, strict=True)
    ]


def _loaded(path: Path, kind: Kind) -> SequenceTagger:
    """A tagger of words whose labels are of this kind."""
    tagger = SequenceTagger.load(path)
    names = tagger.classes_.tolist()
    if tagger.n_columns_ != 1:
        raise InputError(f"{path} looks at more than words, and texts have nothing else")
    if marks_spans(names) != (kind.name == "spans"):
        raise InputError(f"{path} is not a model for a project of {kind.name}")
    if marks_spans(names) and not {split_label(name)[0] for name in names} <= {"B", "I", "O"}:
        raise InputError(f"{path} has labels of another scheme than B-, I- and O: train it in iob2")
    return tagger
