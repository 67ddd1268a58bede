"""Suspects among dependency trees.

The annotation is read by arc: a slip gives a word another head, another relation, or both. A wrong
head is any other word or the root; a wrong relation is as frequent as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.conllu import Treebank
from dualstruct.mistakes.kinds import arc_kind, arc_text
from dualstruct.solvers import auto_solver
from dualstruct.structures import Tree
from dualstruct.suspecting.channel import Evidence
from dualstruct.suspecting.results import Doubt
from dualstruct.suspecting.search import FLOOR, SHARPER, SURE, Findings, Opinion, Quick, surprise
from dualstruct.tasks.parsing.confidence import sentences_to_calibrate

#: Sums over trees are slow, and a margin loss does without them while it learns.
LOSS, PASSES = "squared_hinge", 3


def quick_settings(C: float) -> Quick:
    """For the models of the folds."""
    return Quick(LOSS, C, auto_solver(LOSS, slow_revisits=True), PASSES)


@dataclass(frozen=True)
class TreeCase:
    """Sentences and their trees.

    Parameters
    ----------
    tree : Tree
        With the given heads and relations as truth.
    names : sequence of str
        The relations that the tree knows.
    treebank : Treebank
    quick : Quick
    own : callable
        Gives the weights of the trained model.
    """

    tree: Tree
    names: Sequence[str]
    treebank: Treebank
    numbers: NDArray[np.int32]
    quick: Quick
    own: Callable[[], _core.Weights]

    @property
    def structure(self) -> Tree:
        return self.tree

    @property
    def sizes(self) -> NDArray[np.int64]:
        return self.treebank.lengths

    @cached_property
    def calibrated_on(self) -> NDArray[np.intp]:
        return sentences_to_calibrate(self.sizes, len(self.names), first_order=True)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """How frequent the relations are."""
        counts = np.bincount(self.numbers, minlength=len(self.names)) + 1.0
        return np.asarray(counts / counts.sum())

    def given(self, i: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Heads and relations of a sentence."""
        here = slice(*self.tree.sentences[i : i + 2].tolist())
        return self.treebank.heads[here], self.numbers[here]

    def own_weights(self) -> _core.Weights:
        return self.own()

    def reading(self, w: _core.Weights, examples: NDArray[np.intp]) -> TreeReading:
        return TreeReading(self, w, examples)

    def forms(self, i: int) -> tuple[str, ...]:
        return tuple(self.treebank[i].forms)

    def doubts(self, i: int, opinion: Opinion) -> tuple[Doubt, ...]:
        sentence, n = self.treebank[i], int(self.sizes[i])
        said = [self.names[k] for k in opinion.output[n:].tolist()]
        rows = zip(
            sentence.heads, sentence.relations, opinion.output[:n].tolist(), said, strict=True
        )
        return tuple(
            Doubt(
                m + 1,
                sentence.forms[m],
                arc_text(sentence.forms, head, relation),
                arc_text(sentence.forms, other, new),
                arc_kind(head, other),
                float(opinion.given[m]),
                float(opinion.predicted[m]),
            )
            for m, (head, relation, other, new) in enumerate(rows)
            if (head, relation) != (other, new)
        )


class TreeReading:
    """Sentences, and the weights of a model that judges them."""

    def __init__(self, case: TreeCase, w: _core.Weights, examples: NDArray[np.intp]) -> None:
        self._case = case
        self._w = w
        self._examples = examples
        self._sample = np.intersect1d(examples, case.calibrated_on).tolist()

    def _arcs(self, i: int, beta: float) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """p(head, relation) of each word: [words, words + 1, relations]; and the words."""
        found = self._case.tree.expectation(self._w, i, beta).labels[:, 1:].astype(float)
        return np.moveaxis(found, 1, 0), np.arange(found.shape[1])

    def surprise(self, beta: float) -> float:
        total = 0.0
        for i in self._sample:
            arcs, words = self._arcs(i, beta)
            total += float(surprise(arcs[(words, *self._case.given(i))]).sum())
        return total

    def evidence(self, beta: float) -> Findings:
        shares = self._case.shares
        sentence, given, slips, at_random, words_seen = [], [], [], [], 0
        for i in self._examples.tolist():
            arcs, words = self._arcs(i, SHARPER * beta)
            heads, relations = self._case.given(i)
            of_arc = arcs[words, heads, relations]
            doubtful = np.flatnonzero(of_arc < SURE)
            words_seen += len(words)
            choices = arcs[0].size if len(words) else 1
            at_random.append(float((surprise(of_arc) - np.log(choices)).sum()))
            same_head = arcs[doubtful, heads[doubtful]]  # [doubtful, relations]
            drawn = shares[relations[doubtful]]
            mine = of_arc[doubtful]
            relation = ((same_head / (1 - shares)).sum(axis=1) - mine / (1 - drawn)) * drawn
            same_relation = arcs[doubtful, :, relations[doubtful]].sum(axis=1)
            head = (same_relation - mine) / max(len(words) - 1, 1)
            neither = 1 - same_head.sum(axis=1) - same_relation + mine
            both = neither * drawn / max(len(words) - 1, 1)
            sentence.append(np.full(len(doubtful), i))
            given.append(np.maximum(mine, FLOOR))
            slips.append(np.maximum(np.stack([head, relation, both], axis=1), 0.0))
        by_arc = Evidence(
            np.concatenate(sentence),
            np.concatenate(given),
            np.concatenate(slips),
            np.full(3, float(words_seen)),
        )
        return Findings(by_arc, np.array(at_random))

    def opinion(self, i: int, beta: float) -> Opinion:
        tree = self._case.tree
        output = tree.decode(self._w, i)
        arcs, words = self._arcs(i, beta)
        n = len(words)
        return Opinion(
            output, arcs[(words, *self._case.given(i))], arcs[words, output[:n], output[n:]]
        )
