"""What training data say about words: the labels that they had, and which of them are frequent.

``labels(word[0])`` is the labels of the word in training, ``known(word[0],2)`` the word if training
has it twice or more. A training token must not see its own label: such a feature would tell the
answer in training and nothing afterwards. So the sentences are divided into blocks, and a token
sees the labels that its word had in all other blocks. Sentences nearby, which often repeat a word
with its label, do not tell it either, and a word that no other block has looks as new words will.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import fit_type, stored_array
from dualstruct.errors import InputError

__all__ = ["BLOCKS", "LEARNED", "LearnedColumn"]

#: Into how many blocks the training sentences are divided.
BLOCKS = 10
#: Of the labels of a word as many are listed, the most frequent first, if they have this share.
MOST_LABELS, LEAST_SHARE = 3, 0.05
#: The value of a word without a label in training, and of a word that is not frequent.
NO_LABEL, RARE = "<none>", "<rare>"

#: A column for the core: each token's string, and the strings.
Cells = tuple[NDArray[np.int32], list[str]]


class LearnedColumn(ABC):
    """A column that is worked out from what training says of the values of a term.

    Parameters
    ----------
    term : tuple
        The template of the term, as the core takes it.
    clusters : optional
    argument : int
        What stands after the term.
    """

    def __init__(
        self, term: _core.TemplateTuple, clusters: _core.Clusters | None, argument: int
    ) -> None:
        self._core = _core.TemplateFeatures([term], clusters, [], 0)
        self._start = term[1][0]  # what the names of values begin with
        self._argument = argument
        self._set(Counts.none(), [])

    def _set(self, counts: Counts, names: Sequence[str]) -> None:
        self._counts, self._names = counts, list(names)

    @abstractmethod
    def _relevant(self, truth: NDArray[np.int32]) -> NDArray[np.int32]:
        """What is counted of true labels, −1 for what is not."""

    @abstractmethod
    def _column(self, counts: Counts, groups: int, keys: NDArray[np.int32]) -> Cells:
        """A string for each of some groups of counts, whose values are ``keys``."""

    def learn(
        self, table: _core.TokenTable, truth: NDArray[np.int32], names: Sequence[str]
    ) -> Cells:
        """Count the labels of training sentences; the column as these sentences may see it.

        Labels that were there before keep their numbers.
        """
        if list(names[: len(self._names)]) != self._names:
            raise InputError("the labels learned before have other numbers now")
        keys = _one_per_token(*self._core.fit(table, 1))
        counted = self._relevant(truth)
        self._set(self._counts.plus(Counts.of(keys, counted)), names)
        return self._without_own_block(table, keys, counted)

    def held_out(self, table: _core.TokenTable, truth: NDArray[np.int32]) -> Cells:
        """The column of sentences that were learned from, as they saw it."""
        keys = _one_per_token(*self._core.transform(table))
        return self._without_own_block(table, keys, self._relevant(truth))

    def _without_own_block(
        self, table: _core.TokenTable, keys: NDArray[np.int32], counted: NDArray[np.int32]
    ) -> Cells:
        lengths = np.diff(table.sentences)
        sentence = np.repeat(np.arange(len(lengths)), lengths)
        block = sentence * BLOCKS // max(len(lengths), 1)
        pair = np.where(keys < 0, -1, block * np.int64(self._core.dimension) + keys)
        found, group = np.unique(pair, return_inverse=True)  # a word in a block
        own = Counts.of(group.astype(np.int64), counted)
        values = np.where(found < 0, -1, found % max(self._core.dimension, 1)).astype(np.int32)
        others = self._counts.by(values).minus(own)
        ids, strings = self._column(others, len(found), values)
        return ids[group].astype(np.int32), strings

    def look_up(self, table: _core.TokenTable) -> Cells:
        """The column of new sentences."""
        keys = _one_per_token(*self._core.transform(table))
        values, group = np.unique(keys, return_inverse=True)
        ids, strings = self._column(self._counts.by(values), len(values), values)
        return ids[group].astype(np.int32), strings

    def answers(self) -> tuple[NDArray[np.uint64], list[str]]:
        """The hashes of all values that training had, and the column's string for each; one more
        string for values that it did not have."""
        keys = np.append(np.arange(self._core.dimension), -1).astype(np.int32)
        ids, strings = self._column(self._counts.by(keys), len(keys), keys)
        return self._core.hashes(), [strings[id] for id in ids.tolist()]

    def _strings(self, keys: NDArray[np.int32]) -> list[str]:
        return [name.removeprefix(self._start) for name in self._core.names(keys)]

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """JSON and arrays."""
        names, offsets = self._core.all_names()
        arrays: dict[str, NDArray[Any]] = {
            "hashes": self._core.hashes(),
            "name_bytes": names,
            "name_offsets": offsets,
            "keys": self._counts.groups.astype(np.int32),
            "labels": self._counts.labels,
            "counts": self._counts.counts,
        }
        return {"labels": self._names}, arrays

    def restore(self, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """The counterpart of :meth:`state`."""
        stored = fit_type(_Settings, dict(settings), "features.learned")
        self._core.restore(
            stored_array(arrays, "hashes", np.uint64),
            stored_array(arrays, "name_bytes", np.uint8),
            stored_array(arrays, "name_offsets", np.int64),
        )
        counts = Counts(
            stored_array(arrays, "keys", np.int32).astype(np.int64),
            stored_array(arrays, "labels", np.int32),
            stored_array(arrays, "counts", np.int64),
        )
        counts.check(self._core.dimension, max(len(stored.labels), 1))
        self._set(counts, stored.labels)


class LabelsColumn(LearnedColumn):
    """The labels that words had: ``NN|VB``, the most frequent first."""

    def _relevant(self, truth: NDArray[np.int32]) -> NDArray[np.int32]:
        return truth

    def _column(self, counts: Counts, groups: int, keys: NDArray[np.int32]) -> Cells:
        codes = counts.most_frequent(groups, len(self._names))
        found, ids = np.unique(codes, return_inverse=True)
        return ids.astype(np.int32), [self._listed(int(code)) for code in found]

    def _listed(self, code: int) -> str:
        names = []
        while code:
            code, label = divmod(code, len(self._names) + 1)
            names.append(self._names[label - 1])
        return "|".join(reversed(names)) or NO_LABEL


class KnownColumn(LearnedColumn):
    """Words that training has often enough; the others are masked."""

    def _relevant(self, truth: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.zeros(len(truth), np.int32)

    def _without_own_block(
        self, table: _core.TokenTable, keys: NDArray[np.int32], counted: NDArray[np.int32]
    ) -> Cells:
        return self.look_up(table)  # no label is given, and a rare word is rare for itself, too

    def _column(self, counts: Counts, groups: int, keys: NDArray[np.int32]) -> Cells:
        frequent = counts.totals(groups) >= self._argument
        names = self._strings(keys[frequent])
        strings = list(dict.fromkeys([RARE, *names]))
        places = {name: place for place, name in enumerate(strings)}
        ids = np.zeros(groups, np.int32)
        ids[frequent] = [places[name] for name in names]
        return ids, strings


#: By what templates call them.
LEARNED: dict[str, type[LearnedColumn]] = {"labels": LabelsColumn, "known": KnownColumn}


@dataclass(frozen=True)
class Counts:
    """How often groups of tokens had labels: sorted by group, then by label; none is 0."""

    groups: NDArray[np.int64]
    labels: NDArray[np.int32]
    counts: NDArray[np.int64]

    @classmethod
    def none(cls) -> Counts:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))

    @classmethod
    def of(cls, groups: NDArray[Any], labels: NDArray[np.int32]) -> Counts:
        """Count tokens; those with a group or label below 0 do not count."""
        known = (groups >= 0) & (labels >= 0)
        return cls._summed(groups[known], labels[known], np.ones(int(known.sum()), np.int64))

    @classmethod
    def _summed(
        cls, groups: NDArray[Any], labels: NDArray[np.int32], counts: NDArray[np.int64]
    ) -> Counts:
        order = np.lexsort((labels, groups))
        groups, labels, counts = groups[order].astype(np.int64), labels[order], counts[order]
        first = np.ones(len(groups), np.bool_)
        first[1:] = (np.diff(groups) != 0) | (np.diff(labels) != 0)
        sums = np.bincount(np.cumsum(first) - 1, counts, minlength=int(first.sum()))
        return cls(groups[first], labels[first], sums.astype(np.int64))._positive()

    def _positive(self) -> Counts:
        keep = self.counts > 0
        return Counts(self.groups[keep], self.labels[keep], self.counts[keep])

    def plus(self, other: Counts, sign: int = 1) -> Counts:
        return self._summed(
            np.concatenate([self.groups, other.groups]),
            np.concatenate([self.labels, other.labels]),
            np.concatenate([self.counts, sign * other.counts]),
        )

    def minus(self, other: Counts) -> Counts:
        return self.plus(other, -1)

    def by(self, chosen: NDArray[np.int32]) -> Counts:
        """The counts of the group ``chosen[i]`` as those of group i."""
        begins = np.searchsorted(self.groups, chosen)
        lengths = np.searchsorted(self.groups, chosen, side="right") - begins
        group = np.repeat(np.arange(len(chosen), dtype=np.int64), lengths)
        before = np.cumsum(lengths) - lengths
        rows = np.repeat(begins - before, lengths) + np.arange(lengths.sum())
        return Counts(group, self.labels[rows], self.counts[rows])

    def totals(self, groups: int) -> NDArray[np.int64]:
        return np.bincount(self.groups, self.counts, minlength=groups).astype(np.int64)

    def most_frequent(self, groups: int, labels: int) -> NDArray[np.int64]:
        """A number for each group that tells its most frequent labels, 0 if it has none."""
        enough = self.counts >= LEAST_SHARE * self.totals(groups)[self.groups]
        group, label, count = self.groups[enough], self.labels[enough], self.counts[enough]
        order = np.lexsort((label, -count, group))
        group, label = group[order], label[order]
        place = np.arange(len(group)) - np.searchsorted(group, group)
        codes = np.zeros(groups, np.int64)
        for rank in range(MOST_LABELS):
            here = place == rank
            codes[group[here]] = codes[group[here]] * (labels + 1) + label[here] + 1
        return codes

    def check(self, groups: int, labels: int) -> None:
        """Refuse what a file may hold and :meth:`of` never makes."""
        same = len(self.groups) == len(self.labels) == len(self.counts)
        if not same or (
            len(self.groups)
            and (
                self.groups.min() < 0
                or self.groups.max() >= groups
                or self.labels.min() < 0
                or self.labels.max() >= labels
                or self.counts.min() < 1
                or self.counts.max() >= 1 << 50
                or (np.diff(self.groups * labels + self.labels) <= 0).any()
            )
        ):
            raise InputError("features.learned: the counts of labels do not fit the words")


@dataclass(eq=False, repr=False)
class _Settings:
    """What a file says of a learned column, besides arrays."""

    labels: list[str]


def _one_per_token(offsets: NDArray[np.int64], ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """The id of each token's value, −1 if it has none."""
    has = np.diff(offsets) > 0
    found = np.full(len(has), -1, np.int32)
    found[has] = ids
    return found
