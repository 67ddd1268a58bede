"""Probabilities of label sequences and of the spans in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.confidence import Entity, Reading, SentenceConfidence
from dualstruct.confidence.temperature import fit_temperature, summed
from dualstruct.labels.schemes import (
    BEGINNING_PREFIXES,
    CLOSING_PREFIXES,
    Span,
    are_span_labels,
    spans,
    split_labels,
)
from dualstruct.metrics import Reliability, reliability
from dualstruct.outputs import Outputs
from dualstruct.structures import Chain
from dualstruct.structures.chain import Expectation
from dualstruct.tasks.tagging.model import ChainModel

if TYPE_CHECKING:
    from dualstruct.workers.communicator import Communicator

#: Calibration looks at so many tokens at most: one number does not need more. With many labels at
#: fewer, because sums take labels² a token.
MOST_TOKENS, FEWEST_TOKENS, WORK = 30_000, 1_000, 5e7
#: Less than the smallest marginal that single precision can distinguish from 0.
FLOOR = 1e-12


def sentences_to_calibrate(lengths: NDArray[np.int64], labels: int) -> NDArray[np.intp]:
    """Evenly spaced sentences with as many tokens as calibration takes."""
    budget = min(max(WORK / labels**2, FEWEST_TOKENS), MOST_TOKENS)
    step = max(int(lengths.sum() / budget), 1)
    return np.arange(0, len(lengths), step)


def chain_temperature(
    chain: Chain,
    w: _core.Weights,
    truth: NDArray[np.int32],
    threads: int,
    workers: Communicator | None = None,
) -> float | None:
    """By the likelihood of the true labels; None if there is none among those known."""
    known = np.flatnonzero(truth < chain.labels)
    if not summed(len(known), workers):
        return None

    def surprise(beta: float) -> float:
        marginals = chain.marginals_all(w, beta, threads=threads)
        of_truth = marginals[known, truth[known]].astype(float)
        return -float(np.log(np.maximum(of_truth, FLOOR)).sum())

    return fit_temperature(surprise, workers=workers)


class Spans:
    """Which labels, and which neighbours, make a span of a type."""

    def __init__(self, labels: Sequence[str]) -> None:
        parts = split_labels(labels)
        inside = np.array([prefix != "O" for prefix, _ in parts])
        types = np.array([type_ for _, type_ in parts], dtype=object)
        begins = np.array([prefix in BEGINNING_PREFIXES for prefix, _ in parts])
        closes = np.array([prefix in CLOSING_PREFIXES for prefix, _ in parts])
        #: [labels, labels]: whether a span ends, or may start, between two labels
        self.boundary: NDArray[np.bool_] = (
            ~inside[:, None]
            | ~inside[None]
            | (types[:, None] != types[None])
            | begins[None]
            | closes[:, None]
        )
        #: The labels of each type, and those outside of spans.
        self.of_type: dict[str, NDArray[np.intp]] = {
            type_: np.flatnonzero(inside & (types == type_))
            for type_ in dict.fromkeys(t for p, t in parts if p != "O")
        }
        self.outside: NDArray[np.intp] = np.flatnonzero(~inside)
        self._number = {type_: k for k, type_ in enumerate(self.of_type)}
        # [types, labels of the largest type]: the labels of each, and which are there only to fill.
        widest = max(map(len, self.of_type.values()), default=0)
        self._mine = np.zeros((len(self.of_type), widest), dtype=np.intp)
        self._is_mine = np.zeros(self._mine.shape, dtype=np.bool_)
        for row, labels_of_it in enumerate(self.of_type.values()):
            self._mine[row, : len(labels_of_it)] = labels_of_it
            self._is_mine[row, : len(labels_of_it)] = True

    def probabilities(self, found: Expectation, wanted: Sequence[Span]) -> NDArray[np.float64]:
        """That the tokens of each are a span of its type, no longer and no shorter.

        Labellings are Markov chains under the model: what is summed are the probabilities of
        neighbouring pairs, given the label before.
        """
        if not wanted:
            return np.zeros(0)
        types = np.array([self._number[span.type] for span in wanted])
        starts = np.array([span.start for span in wanted])
        ends = np.array([span.end for span in wanted])
        mine, is_mine = self._mine[types], self._is_mine[types]
        pairs = found.pairs.astype(float)
        given = _given_first(pairs)
        # [tokens, labels]: that a span may start with a label; that it ends with it.
        first = found.labels[:1].astype(float)
        entering = np.concatenate([first, (pairs * self.boundary).sum(axis=1)])
        leaving = np.concatenate([(given * self.boundary).sum(axis=2), np.ones_like(first)])
        here = entering[starts[:, None], mine] * is_mine
        here = _walked(here, given * ~self.boundary, (mine, is_mine), starts, ends)
        total = (here * leaving[ends[:, None] - 1, mine]).sum(axis=1)
        return np.asarray(np.clip(total, 0.0, 1.0))

    def outside_probabilities(
        self, found: Expectation, starts: NDArray[np.intp], ends: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """That none of the tokens start … end − 1 is in a span."""
        mine = np.tile(self.outside, (len(starts), 1))
        here = found.labels[starts[:, None], mine].astype(float)
        given = _given_first(found.pairs.astype(float))
        here = _walked(here, given, (mine, np.ones_like(mine, dtype=np.bool_)), starts, ends)
        return np.asarray(np.clip(here.sum(axis=1), 0.0, 1.0))


def _given_first(pairs: NDArray[np.float64]) -> NDArray[np.float64]:
    """p(label of t + 1 | label of t): [tokens − 1, labels, labels]."""
    totals = pairs.sum(axis=2, keepdims=True)
    return np.asarray(pairs / np.where(totals > 0, totals, 1.0))


def _walked(
    here: NDArray[np.float64],
    steps: NDArray[np.float64],
    labels: tuple[NDArray[np.intp], NDArray[np.bool_]],
    starts: NDArray[np.intp],
    ends: NDArray[np.intp],
) -> NDArray[np.float64]:
    """From the first token of each span to its last: [spans, labels of it].

    ``steps`` are what a step from label to label takes, [tokens − 1, labels, labels]; ``labels``
    are those of each span, and which of them are there only to fill.
    """
    mine, is_mine = labels
    lengths = ends - starts
    for step in range(1, int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > step)
        at = (starts[longer] + step - 1)[:, None, None]
        own = mine[longer]
        taken = steps[at, own[:, :, None], own[:, None, :]]
        here[longer] = np.einsum("sj,sjk->sk", here[longer], taken) * is_mine[longer]
    return here


def sentence_confidence(
    model: ChainModel, X: Sequence[Any], k: int, beta: float
) -> list[SentenceConfidence]:
    """The k best labellings of each sentence, with the probabilities of the best one's parts."""
    chain = model.chain(X)
    names = model.labels.names
    marked = Spans(names) if are_span_labels(names) else None
    found: list[SentenceConfidence] = Outputs()
    for i in range(len(chain)):
        expected = chain.expectation(model.w, i, beta)
        best = [(score, y.tolist()) for score, y in chain.k_best(model.w, i, k)]
        inner = [[names[j] for j in y] for _, y in best]
        outer = model.codec.to_outer(inner)
        readings = [
            Reading(score, _probability(score, expected.log_partition, beta), labels)
            for (score, _), labels in zip(best, outer, strict=True)
        ]
        tokens = expected.labels[np.arange(len(inner[0])), best[0][1]].astype(float).tolist()
        entities = []
        if marked is not None:
            best_spans = spans(inner[0])
            sure = marked.probabilities(expected, best_spans).tolist()
            entities = [Entity(*span, p) for span, p in zip(best_spans, sure, strict=True)]
        found.append(
            SentenceConfidence(outer[0], readings[0].probability, tokens, entities, readings)
        )
    return found


def _probability(score: float, log_partition: float, beta: float) -> float:
    return float(np.exp(min(beta * (score - log_partition), 0.0)))


def sequence_reliability(
    model: ChainModel,
    X: Sequence[Any],
    y: Sequence[Sequence[str]],
    found: Sequence[SentenceConfidence],
    bins: int,
    threads: int,
) -> dict[str, Reliability]:
    """Confidence against accuracy of tokens, entities and whole sentences."""
    truth = model.codec.to_inner(y)
    chain = model.chain(X, threads=threads)
    numbers, _ = model.labels.encode_any(truth, chain.sentences)
    right = chain.decode_all(model.w, threads=threads) == numbers
    of_sentence = [bool(part.all()) for part in np.split(right, chain.sentences[1:-1])]
    diagrams = {
        "tokens": reliability("tokens", [p for each in found for p in each.marginals], right, bins)
    }
    if are_span_labels(model.labels.names):
        probabilities, correct = [], []
        for each, labels in zip(found, truth, strict=True):
            true = set(spans(labels))
            for entity in each.entities:
                probabilities.append(entity.probability)
                correct.append((entity.type, entity.start, entity.end) in true)
        diagrams["entities"] = reliability("entities", probabilities, correct, bins)
    diagrams["sentences"] = reliability(
        "sentences", [each.probability for each in found], of_sentence[: len(found)], bins
    )
    return diagrams
