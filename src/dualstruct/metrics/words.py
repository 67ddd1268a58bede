"""Two files can be compared if they have the same words."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.columns import ColumnSentences
from dualstruct.errors import InputError
from dualstruct.printable import plural

__all__ = ["check_same_words", "same_words"]


class Worded(Protocol):
    """Sentences of a file: of a treebank, or of a column file."""

    @property
    def name(self) -> str: ...
    @property
    def lengths(self) -> NDArray[np.int64]: ...
    @property
    def forms(self) -> ColumnSentences: ...
    def __len__(self) -> int: ...
    def where(self, i: int, word: int, /) -> str: ...


def check_same_words(truth: Worded, predicted: Worded) -> None:
    """Refuse two files of other sentences, or of other words, with the place of the first."""
    if len(truth) != len(predicted):
        raise InputError(
            f"{truth.name} has {plural(len(truth), 'sentence')}, but {predicted.name} has "
            f"{len(predicted):,}; scores need the same sentences in both"
        )
    different = np.flatnonzero(truth.lengths != predicted.lengths)
    if len(different):
        i = int(different[0])
        raise InputError(
            f"{truth.where(i, 0)}: the sentence has {plural(truth.lengths[i], 'word')}, but "
            f"{predicted.lengths[i]} in {predicted.where(i, 0)}"
        )
    ours, names = truth.forms.encoded()
    theirs, their_names = predicted.forms.encoded()
    number = {name: k for k, name in enumerate(names)}
    same = np.array([number.get(name, -1) for name in their_names])[theirs] == ours
    if not same.all():
        word = int(np.flatnonzero(~same)[0])
        ends = np.cumsum(truth.lengths)
        i = int(np.searchsorted(ends, word, side="right"))
        at = word - int(ends[i] - truth.lengths[i])
        raise InputError(
            f"{truth.where(i, at)}: the word is {names[ours[word]]!r}, "
            f"but {their_names[theirs[word]]!r} in {predicted.where(i, at)}"
        )


def same_words(truth: Worded, predicted: Worded) -> bool:
    """Whether two files have the same sentences of the same words."""
    try:
        check_same_words(truth, predicted)
    except InputError:
        return False
    return True
