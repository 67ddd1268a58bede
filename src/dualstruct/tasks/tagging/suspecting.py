"""Suspects among label sequences.

Where labels mark spans (``B-LOC``), the annotation is read by span: one may be of another type, one
token longer or shorter at one end, invented, or missed where ``O`` is given, counted apart beside a
given span, where it is a matter of its boundary. Labels that mark no spans are read by token, and
have one kind of slip: another label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.explaining.sentences import forms_of
from dualstruct.features.base import places_of
from dualstruct.labels.names import Labels
from dualstruct.labels.schemes import Span, are_span_labels, spans
from dualstruct.mistakes.kinds import kinds_of
from dualstruct.solvers import auto_solver
from dualstruct.structures import Chain
from dualstruct.structures.chain import Expectation
from dualstruct.suspecting.channel import Evidence
from dualstruct.suspecting.results import Doubt
from dualstruct.suspecting.search import (
    SHARPER,
    SURE,
    Findings,
    Opinion,
    Quick,
    sharpened,
    surprise,
)
from dualstruct.tasks.tagging.confidence import Spans, sentences_to_calibrate
from dualstruct.tasks.tagging.model import ChainModel

#: A likelihood: its scores are nearly probabilities.
LOSS, PASSES = "crf", 10
#: Long spans may be less probable than single precision can distinguish from 0.
SMALLEST = 1e-15
#: Rivals of a span that have less than this share of its probability say nothing against it.
NEGLIGIBLE = 1e-3
#: A span that is at least so probable is no suspect.
SURE_OF_SPAN = 0.98


def quick_settings(chain: Chain, C: float) -> Quick:
    """For the models of the folds."""
    return Quick(LOSS, C, auto_solver(LOSS, chain), PASSES)


@dataclass(frozen=True)
class ChainCase:
    """Sentences and their labels.

    Parameters
    ----------
    chain : Chain
        With the given labels as truth. It has no constraints: what is wrong may also be what
        cannot be.
    names : list of str
        Those of the labels that the chain knows.
    transitions : bool array, optional
        Which label may follow which in what the model says.
    quick : Quick
    own : callable
        Gives the weights of the trained model.
    words : callable
        Gives the forms of a sentence.
    given : sequence of sequences of str
        The labels as the user gave them.
    to_outer : callable
        Turns what the model says into labels such as the user's.
    """

    chain: Chain
    names: Sequence[str]
    transitions: NDArray[np.bool_] | None
    quick: Quick
    own: Callable[[], _core.Weights]
    words: Callable[[int], Sequence[str]]
    given: Sequence[Sequence[str]]
    to_outer: Callable[[list[str]], list[str]]

    @classmethod
    def of(
        cls, model: ChainModel, X: Sequence[Any], y: Sequence[Sequence[str]], C: float
    ) -> ChainCase:
        """Sentences with their labels, which may be others than the model knows."""
        inner = model.codec.to_inner(y)
        labels = model.labels.extend(Labels.learn(inner))
        rows = model.extractor.transform_training(X, lambda s: labels.encode(inner, s))
        chain = Chain(rows, len(labels), labels.encode(inner, rows.sentences))
        known = len(labels) == len(model.labels)
        return cls(
            chain,
            labels.names,
            model.transitions if known else None,
            quick_settings(chain, C),
            own=lambda: chain.pack(*model.grown_weights(rows, labels)),
            words=lambda i: forms_of(list(X[i]), chain.tokens(i)),
            given=y,
            to_outer=lambda said: model.codec.to_outer([said])[0] if known else said,
        )

    @property
    def structure(self) -> Chain:
        return self.chain

    @property
    def truth(self) -> NDArray[np.int32]:
        assert self.chain.truth is not None
        return self.chain.truth

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.chain.sentences)

    @cached_property
    def valid(self) -> Chain:
        """The chain that says only what may be said."""
        if self.transitions is None:
            return self.chain
        return Chain(self.chain.rows, len(self.names), transitions=self.transitions)

    @cached_property
    def calibrated_on(self) -> NDArray[np.intp]:
        return sentences_to_calibrate(self.sizes, len(self.names))

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """How frequent the labels are."""
        shares = np.bincount(self.truth, minlength=len(self.names)) + 1.0
        return np.asarray(shares / shares.sum())

    @cached_property
    def spans(self) -> list[list[Span]]:
        """Those that are given, of each sentence."""
        labels = [self.names[k] for k in self.truth.tolist()]
        return [spans(labels[a:b]) for a, b in pairwise(self.chain.sentences.tolist())]

    @cached_property
    def span_slips(self) -> SpanSlips | None:
        return SpanSlips(self.names, self.spans) if are_span_labels(self.names) else None

    def own_weights(self) -> _core.Weights:
        return self.own()

    def reading(self, w: _core.Weights, examples: NDArray[np.intp]) -> ChainReading:
        return ChainReading(self, w, examples)

    def forms(self, i: int) -> tuple[str, ...]:
        return tuple(self.words(i))

    def doubts(self, i: int, opinion: Opinion) -> tuple[Doubt, ...]:
        given = list(self.given[i])
        said = self.to_outer([self.names[k] for k in opinion.output.tolist()])
        kinds = kinds_of(given, said, are_span_labels(self.names))
        return tuple(
            Doubt(t + 1, form, given[t], said[t], kind, float(opinion.given[t]), float(p))
            for t, (form, kind, p) in enumerate(
                zip(self.forms(i), kinds, opinion.predicted, strict=True)
            )
            if given[t] != said[t]
        )


class ChainReading:
    """Sentences, and the weights of a model that judges them."""

    def __init__(self, case: ChainCase, w: _core.Weights, examples: NDArray[np.intp]) -> None:
        self._case = case
        self._w = w
        self._examples = examples

    def surprise(self, beta: float) -> float:
        if self._sample is None:
            return 0.0
        chain, w, truth = self._sample
        marginals = chain.marginals_all(w, beta)
        return float(surprise(marginals[np.arange(len(truth)), truth]).sum())

    @cached_property
    def _sample(self) -> tuple[Chain, _core.Weights, NDArray[np.int32]] | None:
        some = np.intersect1d(self._examples, self._case.calibrated_on)
        return self._part(some) if len(some) else None

    def _part(self, examples: NDArray[np.intp]) -> tuple[Chain, _core.Weights, NDArray[np.int32]]:
        """Some of the sentences as a chain of their own, its weights, and their labels."""
        whole = self._case.chain
        part = Chain(whole.rows.select(examples), whole.labels)
        truth = self._case.truth[places_of(whole.sentences, examples)]
        return part, _repacked(whole, part, self._w), truth

    def marginals(self, beta: float) -> list[NDArray[np.float32]]:
        """The probabilities of the labels of each sentence, in the order of the examples."""
        part, w, _ = self._part(self._examples)
        return np.split(part.marginals_all(w, beta), part.sentences[1:-1])

    def evidence(self, beta: float) -> Findings:
        case = self._case
        part, w, truth = self._part(self._examples)
        marginals = part.marginals_all(w, beta)
        given = marginals[np.arange(len(truth)), truth]
        surprises = np.concatenate([[0.0], np.cumsum(surprise(given) - np.log(part.labels))])
        at_random = np.diff(surprises[part.sentences])
        doubtful = given < SURE
        tokens = Tokens(
            sentence=np.repeat(self._examples, np.diff(part.sentences))[doubtful],
            truth=truth[doubtful],
            probabilities=sharpened(marginals[doubtful].astype(float)),
            expected=marginals.sum(axis=0, dtype=float),
        )
        if case.span_slips is None:
            return Findings(label_slips(tokens, case.shares), at_random)
        by_span = [np.zeros((0, 5))]
        for n, i in enumerate(self._examples.tolist()):
            here = doubtful[part.sentences[n] : part.sentences[n + 1]]
            doubted = [each for each in case.spans[i] if here[each.start : each.end].any()]
            if doubted:
                expected = part.expectation(w, n, SHARPER * beta)
                found = case.span_slips.of_spans(expected, doubted)
                by_span.append(np.column_stack([np.full(len(found), float(i)), found]))
        count = sum(len(case.spans[i]) for i in self._examples.tolist())
        beside = case.span_slips.beside(truth, part.sentences)[doubtful]
        table = np.concatenate(by_span)
        return Findings(case.span_slips.evidence(table, count, tokens, beside), at_random)

    @cached_property
    def _predictor(self) -> _core.Weights:
        return _repacked(self._case.chain, self._case.valid, self._w)

    def opinion(self, i: int, beta: float) -> Opinion:
        case = self._case
        output = case.valid.decode(self._predictor, i)
        begin, end = case.chain.sentences[i : i + 2].tolist()
        marginals = case.chain.expectation(self._w, i, beta).labels.astype(float)
        at = np.arange(end - begin)
        return Opinion(output, marginals[at, case.truth[begin:end]], marginals[at, output])


@dataclass(frozen=True)
class Tokens:
    """Tokens whose given labels are not what a model is sure of."""

    sentence: NDArray[np.intp]  #: [tokens] from 0
    truth: NDArray[np.int32]  #: [tokens] the given labels
    probabilities: NDArray[np.float64]  #: [tokens, labels]
    expected: NDArray[np.float64]  #: [labels] how many there are of each, of all tokens


def label_slips(tokens: Tokens, shares: NDArray[np.float64]) -> Evidence:
    """Of labels that mark no spans: another label was given, one as frequent (``shares``) as it is.

    a = share(given) Σ_truth p(truth) / (1 − share(truth)), of all truths but the given label.
    """
    at = np.arange(len(tokens.truth))
    given = tokens.probabilities[at, tokens.truth]
    others = (tokens.probabilities / (1 - shares)).sum(axis=1) - given / (1 - shares[tokens.truth])
    slips = np.maximum(shares[tokens.truth] * others, 0.0)
    return Evidence(tokens.sentence, given, slips[:, None], tokens.expected.sum(keepdims=True))


class SpanSlips:
    """The kinds of slips of spans: of another type, a boundary moved, invented, missed.

    Parameters
    ----------
    names : sequence of str
        The labels.
    given : sequence of lists of Span
        The spans of each sentence.
    """

    def __init__(self, names: Sequence[str], given: Sequence[Sequence[Span]]) -> None:
        self._marked = Spans(names)
        #: The label O; −1 where there is none.
        self._outside = list(names).index("O") if "O" in names else -1
        types = Counter(span.type for each in given for span in each)
        lengths = Counter(span.end - span.start for each in given for span in each)
        count = types.total()
        self._type_share = {type_: types[type_] / max(count, 1) for type_ in self._marked.of_type}
        # Half a span of every length, because the next one may be longer than all.
        self._length_share = {n: (times + 0.5) / count for n, times in lengths.items()}

    def beside(self, truth: NDArray[np.int32], sentences: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which tokens have a neighbour in a given span."""
        beside = np.zeros(len(truth), dtype=np.bool_)
        inside = truth != self._outside
        neighbours = np.ones(max(len(truth) - 1, 0), dtype=np.bool_)
        neighbours[sentences[1:-1] - 1] = False
        beside[1:] |= inside[:-1] & neighbours
        beside[:-1] |= inside[1:] & neighbours
        return beside

    def of_spans(self, expected: Expectation, given: Sequence[Span]) -> NDArray[np.float64]:
        """p(span) of each, and what slips of the three kinds make of the rest: [spans, 4].

        A rival cannot be more probable than that each of its tokens has a label of its type: where
        even that is far below p(span), it is left out.
        """
        table = np.zeros((len(given), 4))
        table[:, 0] = self._marked.probabilities(expected, given)
        starts = np.array([span.start for span in given])
        ends = np.array([span.end for span in given])
        mine = np.array([self._type_share[span.type] for span in given])
        lengths = np.array([self._length_share[span.end - span.start] for span in given])
        table[:, 3] = self._marked.outside_probabilities(expected, starts, ends) * mine * lengths
        types = list(self._marked.of_type)
        # [tokens, types]: that the label of a token is of a type
        typed = np.stack([expected.labels[:, m].sum(1) for m in self._marked.of_type.values()], 1)
        rivals: list[Span] = []
        places: list[tuple[int, int, float]] = []  # the row and column of each, and what it counts
        for row, (type_, start, end) in enumerate(given):
            least = NEGLIGIBLE * table[row, 0]
            for k in np.flatnonzero(typed[start:end].min(axis=0) >= least).tolist():
                if types[k] != type_:
                    rivals.append(Span(types[k], start, end))
                    places.append((row, 1, mine[row] / (1 - self._type_share[types[k]])))
            here = typed[:, types.index(type_)]
            for a, b in ((start - 1, end), (start + 1, end), (start, end - 1), (start, end + 1)):
                if 0 <= a < b <= len(here) and here[a:b].min() >= least:
                    rivals.append(Span(type_, a, b))
                    places.append((row, 2, 0.25))
        for (row, column, counts), p in zip(
            places, self._marked.probabilities(expected, rivals).tolist(), strict=True
        ):
            table[row, column] += counts * p
        table[table[:, 0] > SURE_OF_SPAN, 1:] = 0.0
        return table

    def evidence(
        self,
        table: NDArray[np.float64],
        count: int,
        tokens: Tokens,
        beside: NDArray[np.bool_],
    ) -> Evidence:
        """Of the spans that are doubted, and of the tokens outside of them.

        Parameters
        ----------
        table : array [spans, 5]
            Sentences, and what :meth:`of_spans` says of their spans.
        count : int
            How many spans are given, doubted or not.
        tokens : Tokens
            Those that are doubted.
        beside : bool array [tokens]
            Whether a neighbour is in a given span.
        """
        here = tokens.truth == self._outside
        outside = tokens.probabilities[here, self._outside]
        slips = np.zeros((len(table) + len(outside), 5))
        slips[: len(table), :3] = table[:, 2:]
        slips[len(table) :, 3] = (1 - outside) * ~beside[here]
        slips[len(table) :, 4] = (1 - outside) * beside[here]
        # Where a span could have been invented: tokens outside.
        places = float(tokens.expected[self._outside]) if self._outside >= 0 else 0.0
        return Evidence(
            np.concatenate([table[:, 0].astype(np.intp), tokens.sentence[here]]),
            np.concatenate([np.maximum(table[:, 1], SMALLEST), outside]),
            slips,
            np.array([count, count, places, count, count], dtype=float),
        )


def _repacked(whole: Chain, part: Chain, w: _core.Weights) -> _core.Weights:
    """The weights of a chain for another one with the same features and labels."""
    pairs = whole.pair_weights(w) if whole.pair_dimension else None
    return part.pack(whole.emission_weights(w), whole.transition_weights(w), pairs)
