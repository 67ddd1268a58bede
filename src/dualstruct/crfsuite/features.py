"""CRFsuite's features: which there are, and where they stand in our weights.

They are the (attribute, label) pairs and the transitions that occur in the training data, as
the parameters ``feature.*`` say; there are none for the start and the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.crfsuite.files import CRFsuiteModel
from dualstruct.crfsuite.items import Rows

Params = Mapping[str, Any]
Weights = NDArray[np.float64]
REFERENCES = ("transitions", "attributes")


@dataclass
class Sequences:
    """Sequences as numbers, in the order in which they were given."""

    rows: list[Rows] = field(default_factory=list)
    labels: list[NDArray[np.int32]] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)

    def select(self, chosen: Callable[[int], bool]) -> Sequences:
        """The sequences of some groups."""
        kept = [i for i, group in enumerate(self.groups) if chosen(group)]
        return Sequences(
            [self.rows[i] for i in kept],
            [self.labels[i] for i in kept],
            [self.groups[i] for i in kept],
        )


class Joined:
    """Sequences one after the other, as the core takes them."""

    def __init__(self, data: Sequences) -> None:
        lengths = [len(labels) for labels in data.labels]
        self.sentences = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        counts = [np.diff(offsets) for offsets, _, _ in data.rows]
        self.offsets = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
        self.ids = np.concatenate([ids for _, ids, _ in data.rows]).astype(np.int32)
        self.values: Weights | None = None
        if any(values is not None for _, _, values in data.rows):
            self.values = np.concatenate(
                [np.ones(len(ids)) if v is None else v for _, ids, v in data.rows]
            )
        self.truth = np.concatenate(data.labels).astype(np.int32)


class Features:
    """What is learned: pairs of attributes and labels, then transitions."""

    def __init__(self, data: Joined, attributes: int, labels: int, params: Params):
        self.n_labels = labels
        self.n_attributes = attributes
        of_token = np.repeat(data.truth, np.diff(data.offsets)).astype(np.int64)
        pairs, where = np.unique(data.ids.astype(np.int64) * labels + of_token, return_inverse=True)
        frequency = np.bincount(where, data.values, minlength=len(pairs)).astype(float)
        if params["feature.possible_states"]:
            every = (np.unique(data.ids)[:, None].astype(np.int64) * labels) + np.arange(labels)
            pairs, frequency = _fill(every.ravel(), pairs, frequency)
        inner = np.ones(len(data.truth), np.bool_)
        inner[data.sentences[:-1][np.diff(data.sentences) > 0]] = False
        to = np.flatnonzero(inner)
        moves, counts = np.unique(
            data.truth[to - 1].astype(np.int64) * labels + data.truth[to], return_counts=True
        )
        if params["feature.possible_transitions"]:
            moves, counts = _fill(np.arange(labels * labels), moves, counts)
        pairs = pairs[frequency >= params["feature.minfreq"]]
        moves = moves[counts >= params["feature.minfreq"]]
        self.attributes, self.targets = np.divmod(pairs, labels)
        self.before, self.after = np.divmod(moves, labels)

    def __len__(self) -> int:
        return len(self.attributes) + len(self.before)

    def learner(self, data: Joined) -> _core.PreciseLearner:
        """Something that learns them in double precision."""
        counts = np.bincount(self.attributes, minlength=self.n_attributes)
        moves = np.full((self.n_labels, self.n_labels), -1, np.int32)
        moves[self.before, self.after] = np.arange(len(self.attributes), len(self))
        return _core.PreciseLearner(
            self.n_labels,
            data.sentences,
            data.offsets,
            data.ids,
            data.values,
            data.truth,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            self.targets.astype(np.int32),
            moves,
            len(self),
        )

    def model(self, w: Weights, labels: list[str], attributes: list[str]) -> CRFsuiteModel:
        """The weights that are not 0, and the attributes that have some."""
        n = len(self.attributes)
        state, moves = w[:n] != 0, w[n:] != 0
        active, numbers = np.unique(self.attributes[state], return_inverse=True)
        return CRFsuiteModel(
            labels,
            [attributes[i] for i in active],
            numbers.astype(np.int32),
            self.targets[state].astype(np.int32),
            w[:n][state],
            self.before[moves].astype(np.int32),
            self.after[moves].astype(np.int32),
            w[n:][moves],
        )

    def chain(self, w: Weights) -> _core.PreciseChain:
        """The weights as something that decodes."""
        n = len(self.attributes)
        transitions = np.zeros((self.n_labels, self.n_labels))
        transitions[self.before, self.after] = w[n:]
        counts = np.bincount(self.attributes, minlength=self.n_attributes)
        return _core.PreciseChain(
            self.n_labels,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            self.targets.astype(np.int32),
            np.ascontiguousarray(w[:n]),
            transitions,
        )


def _fill(
    every: NDArray[np.int64], some: NDArray[np.int64], counts: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Counts for all numbers, 0 for those that are not among some."""
    filled = np.zeros(len(every), counts.dtype)
    filled[np.searchsorted(every, some)] = counts
    return every, filled
