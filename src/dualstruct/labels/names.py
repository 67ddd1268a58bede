"""Label names and their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.columns import ColumnSentences
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.structures.chain import AllowedLabels

#: How many labels a message names.
MOST_SHOWN = 25


class Labels:
    """The labels of a model, in the order of their numbers."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._number = {name: k for k, name in enumerate(self.names)}
        if not self.names:
            raise InputError("there are no labels to learn from")
        if len(self._number) != len(self.names):
            raise InputError("the labels are not distinct")

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def learn(cls, y: Sequence[Sequence[str]]) -> Labels:
        """All labels in y, sorted."""
        return cls(sorted(label_names(y)))

    def extend(self, other: Labels) -> Labels:
        """These labels, then those of ``other`` that are new."""
        return Labels([*self.names, *(name for name in other.names if name not in self._number)])

    def encode(self, y: Sequence[Sequence[str]], sentences: NDArray[np.int64]) -> NDArray[np.int32]:
        """The numbers of all labels in y, all of which must be known."""
        numbers, names = self.encode_any(y, sentences)
        if len(names) > len(self):
            raise UnseenLabel.first(numbers, names, len(self), sentences).error()
        return numbers

    def encode_any(
        self, y: Sequence[Sequence[str]], sentences: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], list[str]]:
        """The numbers of all labels in y, and the names with those of new labels at the end."""
        self._check_lengths(y, sentences)
        numbers = dict(self._number)
        if isinstance(y, ColumnSentences):
            theirs, strings = y.encoded()
            for k in np.unique(theirs):
                numbers.setdefault(strings[k], len(numbers))
            ours = np.array([numbers.get(name, -1) for name in strings], dtype=np.int32)
            return ours[theirs] if len(ours) else theirs, list(numbers)
        for name in sorted(set(chain.from_iterable(y)) - numbers.keys()):
            numbers[name] = len(numbers)
        flat = (numbers[name] for name in chain.from_iterable(y))
        return np.fromiter(flat, np.int32, int(sentences[-1])), list(numbers)

    def _check_lengths(self, y: Sequence[Sequence[str]], sentences: NDArray[np.int64]) -> None:
        if len(y) != len(sentences) - 1:
            raise InputError(f"{plural(len(sentences) - 1, 'sentence')}, but labels for {len(y)}")
        lengths = (
            y.lengths if isinstance(y, ColumnSentences) else np.fromiter(map(len, y), np.int64)
        )
        wrong = np.flatnonzero(lengths != np.diff(sentences))
        if len(wrong):
            i = int(wrong[0])
            tokens = int(sentences[i + 1] - sentences[i])
            raise InputError(
                f"sentence {i + 1}: {plural(tokens, 'token')}, but {plural(lengths[i], 'label')}"
            )

    def decode(self, flat: NDArray[np.int32], sentences: NDArray[np.int64]) -> list[list[str]]:
        """Lists of label names, one per sentence."""
        words = np.array(self.names, dtype=object)[flat].tolist()
        bounds = sentences.tolist()
        return [words[a:b] for a, b in pairwise(bounds)]

    def encode_allowed(
        self, allowed: Sequence[Sequence[Sequence[str] | None] | None]
    ) -> AllowedLabels:
        """Label names that tokens may have, as numbers."""
        return [
            None
            if sentence is None
            else [
                None
                if names is None
                else [self.number(n, f"sentence {i}, token {t}") for n in names]
                for t, names in enumerate(sentence, 1)
            ]
            for i, sentence in enumerate(allowed, 1)
        ]

    def number(self, name: str, where: str = "the model") -> int:
        """The number of a label; an error that says where if there is none."""
        if name not in self._number:
            shown = ", ".join(self.names[:MOST_SHOWN])
            more = "" if len(self) <= MOST_SHOWN else f" … ({len(self)} in all)"
            raise InputError(f"{where}: there is no label {name!r}; there are {shown}{more}")
        return self._number[name]


def label_names(y: Sequence[Sequence[str]]) -> set[str]:
    """The different labels in y."""
    if isinstance(y, ColumnSentences):
        numbers, strings = y.encoded()
        return {strings[k] for k in np.unique(numbers)}
    names: set[Any] = set(chain.from_iterable(y))
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f"labels are strings, but {name!r} is a {type(name).__name__}: give "
                "[[names[k] for k in row] for row in y] where numbers stand for names, else str(k)"
            )
    return names


@dataclass(frozen=True)
class UnseenLabel:
    """The first label in some data that training never saw, and where it is (from 0)."""

    label: str
    sentence: int
    token: int
    where: str | None = None  #: where in which file, if that is known

    @classmethod
    def first(
        cls,
        numbers: NDArray[np.int32],
        names: Sequence[str],
        known: int,
        sentences: NDArray[np.int64],
    ) -> UnseenLabel:
        at = int(np.flatnonzero(numbers >= known)[0])
        i = int(np.searchsorted(sentences, at, side="right")) - 1
        return cls(names[numbers[at]], i, at - int(sentences[i]))

    def __str__(self) -> str:
        where = self.where or f"sentence {self.sentence + 1}, token {self.token + 1}"
        return f"{where}: the label {self.label!r} was never seen in training"

    def error(self) -> UnseenLabelError:
        return UnseenLabelError(self)


class UnseenLabelError(InputError):
    """A label that training never saw, where that is not allowed."""

    def __init__(self, found: UnseenLabel) -> None:
        super().__init__(str(found))
        self.found = found


class ManyLabelsWarning(UserWarning):
    """Nearly as many labels as tokens: the wrong column was probably taken for them."""


class UnseenLabelWarning(UserWarning):
    """A label that training never saw: its tokens count as mistakes."""

    def __init__(self, found: UnseenLabel) -> None:
        super().__init__(f"{found}; such tokens count as mistakes")
        self.found = found
