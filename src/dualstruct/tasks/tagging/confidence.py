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

    def probability(self, found: Expectation, type_: str, start: int, end: int) -> float:
        """That tokens start … end − 1 are a span of the type, no longer and no shorter.

        Labellings are Markov chains under the model: what is summed are the probabilities of
        neighbouring pairs, given the label before.
        """
        mine = self.of_type[type_]
        if start == 0:
            here = found.labels[0, mine].astype(float)
        else:
            before = found.pairs[start - 1][:, mine].astype(float) * self.boundary[:, mine]
            here = before.sum(axis=0)
        inner = ~self.boundary[np.ix_(mine, mine)]
        for t in range(start, end - 1):
            here = here @ (_given_first(found, t, mine)[:, mine] * inner)
        if end < len(found.labels):
            here = here @ (_given_first(found, end - 1, mine) * self.boundary[mine])
        return float(min(max(here.sum(), 0.0), 1.0))

    def outside_probability(self, found: Expectation, start: int, end: int) -> float:
        """That none of the tokens start … end − 1 is in a span."""
        here = found.labels[start, self.outside].astype(float)
        for t in range(start, end - 1):
            here = here @ _given_first(found, t, self.outside)[:, self.outside]
        return float(min(max(here.sum(), 0.0), 1.0))


def _given_first(found: Expectation, t: int, mine: NDArray[np.intp]) -> NDArray[np.float64]:
    """p(label of t + 1 | label of t) for some labels of t: [mine, labels]."""
    pairs = found.pairs[t][mine].astype(float)
    totals = pairs.sum(axis=1, keepdims=True)
    given: NDArray[np.float64] = pairs / np.where(totals > 0, totals, 1.0)
    return given


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
            entities = [
                Entity(*span, marked.probability(expected, *span)) for span in spans(inner[0])
            ]
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
    chain = model.chain(X)
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
