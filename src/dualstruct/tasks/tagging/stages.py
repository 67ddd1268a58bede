"""A second stage: a tagger that sees what a first one predicts, here and elsewhere in the document.

The second stage learns from predictions of models that have not seen the sentence: the sentences
are divided into folds, whole documents together, and each fold is predicted by a model of the
others. New sentences are predicted by a model of all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct.data.beside import Beside
from dualstruct.data.in_documents import documents_of, seen, words_of
from dualstruct.data.schema import inner_arrays
from dualstruct.data.sources import Share, choose
from dualstruct.errors import InputError
from dualstruct.features import FeatureRows, Function
from dualstruct.features.base import State
from dualstruct.features.context import Attributes, ContextExtractor
from dualstruct.tasks.tagging.model import ChainModel

__all__ = ["FirstStage", "StageExtractor", "WithLabels", "label_attributes"]

#: How many models predict the sentences that the second stage learns from.
FOLDS = 5

#: Trains a model on some sentences: (sentences, whether they are all).
Train = Callable[[Share, bool], ChainModel]


class WithLabels(Beside):
    """Sentences together with the labels that a first stage gave them."""

    def __init__(self, tokens: Any, labels: Sequence[Sequence[str]], first: ChainModel) -> None:
        super().__init__(tokens)
        self.labels, self.first = labels, first

    def select(self, chosen: ArrayLike) -> WithLabels:
        """Some of the sentences, by their numbers (from 0)."""
        numbers = np.asarray(chosen, dtype=np.int64)
        labels = [self.labels[i] for i in numbers.tolist()]
        return WithLabels(choose(self.tokens, numbers), labels, self.first)


class FirstStage:
    """What the first stage says of the sentences that the second one learns from."""

    def __init__(self, train: Train, seed: int) -> None:
        self._train, self._seed = train, seed

    def labelled(self, share: Share) -> WithLabels:
        """The sentences with labels of models that have not seen them."""
        fold_of = folds(documents_of(share.X), self._seed)
        model = self._train(share, True)
        labels: list[list[str]] = [[] for _ in fold_of]
        for fold in range(int(fold_of.max()) + 1):
            others, own = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
            judge = self._train(share.chosen(others), False)
            for i, found in zip(own.tolist(), judge.best(choose(share.X, own)), strict=True):
                labels[i] = found
        return WithLabels(share.X, labels, model)


def folds(documents: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """The fold of each sentence: documents are not divided, unless there is only one.

    >>> folds(np.array([0, 0, 1, 1, 2]), seed=0).tolist()
    [2, 2, 0, 0, 1]
    """
    if len(documents) < 2:
        raise InputError("two stages need at least two sentences to learn from")
    _, numbers = np.unique(documents, return_inverse=True)
    if numbers.max() == 0:
        numbers = np.arange(len(documents))
    count = int(numbers.max()) + 1
    order = np.random.default_rng(seed).permutation(count)
    chosen: NDArray[np.int64] = (order * min(FOLDS, count) // count)[numbers]
    return chosen


class StageExtractor(ContextExtractor):
    """Another extractor's features, and the labels that a first stage gives."""

    kind = "stage"
    no_parts = ()
    first: ChainModel | None = None

    def fit(self, X: WithLabels, *, threads: int = 1) -> FeatureRows:
        self.first = X.first
        return super().fit(X, threads=threads)

    def views(self, X: Any) -> tuple[Any, Attributes]:
        tokens, labels = (X.tokens, X.labels) if isinstance(X, WithLabels) else (X, self._best(X))
        found = label_attributes(words_of(tokens), labels, documents_of(tokens))
        return seen(tokens, self.parts[0].uses_documents), found

    def _best(self, X: Any) -> list[list[str]]:
        return [] if self.first is None or not len(X) else self.first.best(X)

    def give_functions(self, functions: Mapping[str, Function]) -> None:
        super().give_functions(functions)
        if self.first is not None:
            self.first.extractor.give_functions(functions)

    def look_in(self, folder: Path) -> None:
        super().look_in(folder)
        if self.first is not None:
            self.first.extractor.look_in(folder)

    def state(self) -> State:
        settings, arrays = super().state()
        assert self.first is not None
        first, first_arrays = self.first.state()
        arrays |= {f"first.{name}": array for name, array in first_arrays.items()}
        return {**settings, "first": first}, arrays

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> StageExtractor:
        first = settings.get("first")
        if not isinstance(first, dict) or kind_of(first.get("features")) in (None, cls.kind):
            raise InputError("features.first: this is not a first stage")
        made = super().from_state({"kind": cls.kind, "parts": settings.get("parts")}, arrays)
        made.first = ChainModel.from_state(first, inner_arrays(arrays, "first"))
        return made


def kind_of(features: Any) -> str | None:
    """What a model file calls its features."""
    return features.get("kind") if isinstance(features, dict) else None


def label_attributes(
    words: Sequence[Sequence[str]],
    labels: Sequence[Sequence[str]],
    documents: NDArray[np.int64],
) -> Attributes:
    """The labels of each token and its neighbours, and the usual one of the word elsewhere.

    Examples
    --------
    >>> words, labels = [["Turin", "wins"], ["in", "Turin"]], [["O", "O"], ["O", "B-LOC"]]
    >>> for strings in label_attributes(words, labels, np.array([0, 0]))[0]:
    ...     print(*strings)
    label[0]=O label[1]=O label[0,1]=O,O usual=LOC usual,label[0]=LOC,O
    label[-1]=O label[0]=O label[-1,0]=O,O
    """
    kinds: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for sentence, found, document in zip(words, labels, documents.tolist(), strict=True):
        for word, label in zip(sentence, found, strict=True):
            kinds[document, word.lower()][_kind(label)] += 1
    out: Attributes = []
    for sentence, found, document in zip(words, labels, documents.tolist(), strict=True):
        rows = []
        for t, (word, label) in enumerate(zip(sentence, found, strict=True)):
            strings = [f"label[-1]={found[t - 1]}"] if t else []
            strings.append(f"label[0]={label}")
            if t + 1 < len(found):
                strings += [f"label[1]={found[t + 1]}", f"label[0,1]={label},{found[t + 1]}"]
            if t:
                strings.append(f"label[-1,0]={found[t - 1]},{label}")
            usual = _usual(kinds[document, word.lower()], _kind(label)) if word else None
            if usual is not None:
                strings += [f"usual={usual}", f"usual,label[0]={usual},{label}"]
            rows.append(strings)
        out.append(rows)
    return out


def _kind(label: str) -> str:
    """A label without what it says of the beginning and end of a span."""
    return label[2:] if label[1:2] == "-" else label


def _usual(counts: Counter[str], own: str) -> str | None:
    """The most frequent kind, without one of this; the first by name of equally frequent ones."""
    others = {kind: count - (kind == own) for kind, count in counts.items()}
    most = max(others.values(), default=0)
    return min(kind for kind, count in others.items() if count == most) if most else None
