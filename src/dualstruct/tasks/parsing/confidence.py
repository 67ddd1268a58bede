"""Probabilities of trees and of their arcs.

    p(tree) = p(heads) Π_m p(relation of m | its head)

with p(heads) ∝ Σ_relations exp(score / T), and a temperature of its own for relations: a wrong
relation costs less than a wrong head, so their scores have another scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.confidence.results import TreeConfidence
from dualstruct.confidence.temperature import Search, fit_temperature, summed
from dualstruct.structures import Tree
from dualstruct.structures.base import check_beta
from dualstruct.structures.second_order_tree import SecondOrderTree

if TYPE_CHECKING:
    from dualstruct.workers.communicator import Communicator

#: Calibration looks at so many sentences (at order 2, where sums are slow), and at so many scores
#: of labelled arcs, at most.
MOST_SENTENCES, MOST_AT_ORDER_2, MOST_SCORES = 300, 40, 2e7
FLOOR = 1e-12
#: Loopy sums converge slowly at low temperatures.
QUICK = Search(coldest=0.05, hottest=10, grid=5, steps=8)


def sentences_to_calibrate(
    lengths: NDArray[np.int64], labels: int, first_order: bool
) -> NDArray[np.intp]:
    """Evenly spaced sentences, as many as calibration takes."""
    scores = np.square(lengths + 1.0) * labels
    most = MOST_SENTENCES if first_order else MOST_AT_ORDER_2
    step = max(-(-len(lengths) // most), int(scores.sum() / MOST_SCORES), 1)
    return np.arange(0, len(lengths), step)


def arc_marginals(
    structure: Tree | SecondOrderTree, w: _core.Weights, beta: float
) -> Iterator[NDArray[np.float32]]:
    """p(head → modifier) of each sentence: [words + 1, words + 1]."""
    if isinstance(structure, Tree):
        for i in range(len(structure)):
            yield structure.expectation(w, i, beta).arcs
    else:
        check_beta(beta)
        sharp = structure.new_weights(w.array * np.float32(beta))
        for i in range(len(structure)):
            yield structure.marginals(sharp, i).arcs


def tree_temperature(
    tree: Tree,
    w: _core.Weights,
    heads: NDArray[np.int32],
    workers: Communicator | None = None,
) -> float | None:
    """By the likelihood of the true heads; None without words. Scores are computed once."""
    scores = [tree.core.part_scores(w, i, 0.0) for i in range(len(tree))]

    def arcs(beta: float) -> Iterator[NDArray[np.float32]]:
        for i, of_sentence in enumerate(scores):
            nodes = tree.words(i) + 1
            _, found = tree.core.part_marginals(i, of_sentence * np.float32(beta))
            yield found.reshape(nodes, nodes, tree.n_labels).sum(axis=2)

    return marginal_temperature(arcs, heads, tree.sentences, workers=workers)


def marginal_temperature(
    arcs: Callable[[float], Iterable[NDArray[np.float32]]],
    heads: NDArray[np.int32],
    sentences: NDArray[np.int64],
    search: Search | None = None,
    workers: Communicator | None = None,
) -> float | None:
    """By the likelihood of the true heads under marginals at β; None without words."""
    if not summed(len(heads), workers):
        return None
    truth = [heads[begin:end] for begin, end in pairwise(sentences.tolist())]

    def surprise(beta: float) -> float:
        total = 0.0
        for true, found in zip(truth, arcs(beta), strict=True):
            of_truth = found[true, np.arange(1, len(true) + 1)].astype(float)
            total -= float(np.log(np.maximum(of_truth, FLOOR)).sum())
        return total

    return fit_temperature(surprise, search, workers)


def relation_temperature(
    tree: Tree,
    w: _core.Weights,
    heads: NDArray[np.int32],
    labels: NDArray[np.int32],
    workers: Communicator | None = None,
) -> float | None:
    """By the likelihood of the true relations, given the true heads; None if none is known."""
    rows, known = [np.zeros((0, tree.n_labels))], [np.zeros(0, dtype=np.int32)]
    for i in range(len(tree)):
        here = slice(int(tree.sentences[i]), int(tree.sentences[i + 1]))
        seen = np.flatnonzero(labels[here] < tree.n_labels)
        rows.append(_labelled_scores(tree, w, i)[heads[here][seen], seen + 1])
        known.append(labels[here][seen])
    scores, truth = np.concatenate(rows), np.concatenate(known)
    if not summed(len(truth), workers):
        return None
    at = np.arange(len(truth))

    def surprise(beta: float) -> float:
        return -float(_log_softmax(beta * scores)[at, truth].sum())

    return fit_temperature(surprise, workers=workers)


def _labelled_scores(tree: Tree, w: _core.Weights, i: int) -> NDArray[np.float64]:
    """[words + 1, words + 1, labels]: (head, modifier, label)."""
    nodes = tree.words(i) + 1
    return tree.core.part_scores(w, i, 0.0).reshape(nodes, nodes, tree.n_labels).astype(float)


def _log_sum(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    top = scores.max(axis=-1, keepdims=True)
    return np.asarray(top + np.log(np.exp(scores - top).sum(axis=-1, keepdims=True)))


def _log_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(scores - _log_sum(scores))


def tree_confidence(
    structure: Tree | SecondOrderTree,
    w: _core.Weights,
    beta: float,
    relation_beta: float,
    heads: NDArray[np.int32],
    labels: NDArray[np.int32],
) -> Iterator[TreeConfidence]:
    """The probabilities of one tree for each sentence."""
    if isinstance(structure, SecondOrderTree):
        sentences = structure.first.sentences
        for i, arcs in enumerate(arc_marginals(structure, w, beta)):
            of_sentence = heads[sentences[i] : sentences[i + 1]]
            words = np.arange(1, len(of_sentence) + 1)
            yield TreeConfidence(None, arcs[of_sentence, words].astype(float).tolist(), None)
        return
    for i in range(len(structure)):
        here = slice(int(structure.sentences[i]), int(structure.sentences[i + 1]))
        found = structure.expectation(w, i, beta)
        words = np.arange(1, here.stop - here.start + 1)
        scores = _labelled_scores(structure, w, i)[heads[here], words]
        of_heads = float(_log_sum(beta * scores).sum()) - beta * found.log_partition
        of_relations = _log_softmax(relation_beta * scores)[words - 1, labels[here]]
        arcs = found.arcs[heads[here], words].astype(float)
        yield TreeConfidence(
            float(np.exp(min(of_heads, 0.0) + of_relations.sum())),
            arcs.tolist(),
            (arcs * np.exp(of_relations)).tolist(),
        )
