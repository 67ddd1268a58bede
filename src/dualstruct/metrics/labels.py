"""Scores of predicted labels: token accuracy, and precision, recall and F1 of spans.

Labels that mark spans (``B-LOC``) are scored as conlleval scores them: a predicted span is
correct if a true span has the same start, the same end and the same type, and the overall
precision, recall and F1 count all spans alike (micro average). Where nothing was predicted, or
nothing was there to be found, the score is 0, as in conlleval.

Labels that mark no spans (parts of speech) are scored token by token: every token counts as a
span of its own, ``O`` too if there is such a label. Overall precision, recall and F1 then all
equal the accuracy; the scores per type are those of each label.

All scores lie between 0 and 1; only the printed table shows percentages.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct.errors import InputError
from dualstruct.labels.schemes import (
    BEGINNING_PREFIXES,
    CLOSING_PREFIXES,
    are_span_labels,
    split_labels,
)
from dualstruct.metrics.counts import TypeScores, share
from dualstruct.printable import plural

__all__ = [
    "UNSEEN",
    "Scores",
    "SpanCounts",
    "evaluate",
    "evaluate_ids",
    "score_name",
    "span_counts",
]

Ids = NDArray[np.integer]
ScoreName = Literal["f1", "accuracy"]

UNSEEN = "(unseen)"
"""The type under which true labels with the id -1 are counted."""


class SpanCounts(NamedTuple):
    """How many spans of each type are true, predicted, and both."""

    types: list[str]
    support: NDArray[np.int64]  # [types]
    predicted: NDArray[np.int64]  # [types]
    correct: NDArray[np.int64]  # [types]


@dataclass(frozen=True)
class Scores:
    """What `evaluate` found; ``print`` shows it as conlleval's table.

    Attributes
    ----------
    accuracy
        The share of tokens with the right label.
    precision, recall, f1
        Over all spans; equal to the accuracy if labels mark no spans.
    per_type
        The scores of each type that occurs, sorted by its name.
    tokens, sentences
        How many there were; ``correct_tokens`` and ``correct_sentences`` of them are right, a
        sentence if all its labels are.
    support, predicted, correct
        The number of true spans, of predicted ones, and of those that are both.
    score_name
        The score that judges: ``"f1"`` for labels that mark spans, else ``"accuracy"``.
    """

    accuracy: float
    precision: float
    recall: float
    f1: float
    per_type: dict[str, TypeScores]
    tokens: int
    sentences: int
    correct_tokens: int
    correct_sentences: int
    support: int
    predicted: int
    correct: int
    score_name: ScoreName

    @property
    def score(self) -> float:
        """The one number that judges: that which ``score_name`` names."""
        return self.f1 if self.score_name == "f1" else self.accuracy

    def table(self) -> str:
        """Return conlleval's table: the overall scores, then a line for each type.

        Words and columns are conlleval's where labels mark spans, so that programs which read
        its output can read this one. The last column is the number of predicted spans.

        Examples
        --------
        >>> print(evaluate([["B-LOC", "O"], ["B-PER"]], [["B-LOC", "O"], ["O"]]).table())
        processed 3 tokens with 2 phrases; found: 1 phrases; correct: 1.
        accuracy:  66.67%; precision: 100.00%; recall:  50.00%; FB1:  66.67
                      LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
                      PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  0
        """
        accuracy = f"accuracy: {_percent(self.accuracy)}%"
        if self.score_name == "f1":
            lines = [
                f"processed {self.tokens} tokens with {self.support} phrases; "
                f"found: {self.predicted} phrases; correct: {self.correct}.",
                f"{accuracy}; {_percentages(self)}",
            ]
        else:
            lines = [f"processed {self.tokens} tokens; correct: {self.correct}.", accuracy]
        width = max([17, *map(len, self.per_type)])
        lines += [
            f"{type_:>{width}}: {_percentages(scores)}  {scores.predicted}"
            for type_, scores in self.per_type.items()
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


def _percent(share: float) -> str:
    return f"{100 * share:6.2f}"


def _percentages(scores: Scores | TypeScores) -> str:
    return (
        f"precision: {_percent(scores.precision)}%; recall: {_percent(scores.recall)}%; "
        f"FB1: {_percent(scores.f1)}"
    )


def score_name(labels: Iterable[str]) -> ScoreName:
    """Name the one score that judges predictions of these labels.

    Examples
    --------
    >>> score_name(["O", "B-LOC", "I-LOC"]), score_name(["NN", "VB"])
    ('f1', 'accuracy')
    """
    return "f1" if are_span_labels(labels) else "accuracy"


def evaluate(
    truth: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    labels: Iterable[str] | None = None,
) -> Scores:
    """Score predicted label sequences against the true ones.

    Parameters
    ----------
    truth, predicted
        The labels of each sentence.
    labels
        All labels. Needed only if truth and predictions may have too few labels to show whether
        labels mark spans, for example only ``O``.

    Raises
    ------
    InputError
        If the numbers of sentences, or of tokens in a sentence, differ.

    Examples
    --------
    >>> scores = evaluate([["B-LOC", "I-LOC", "O"]], [["B-LOC", "I-LOC", "B-PER"]])
    >>> scores.precision, scores.recall, scores.per_type["LOC"].f1
    (0.5, 1.0, 1.0)
    """
    check_same_lengths(truth, predicted)
    known = {
        label for sequences in (truth, predicted) for labels_ in sequences for label in labels_
    }
    names = sorted(known.union(labels or ()))
    ids = {label: k for k, label in enumerate(names)}
    offsets = np.cumsum([0, *map(len, truth)])

    def flatten(sequences: Sequence[Sequence[str]]) -> Ids:
        flat = (ids[label] for labels_ in sequences for label in labels_)
        return np.fromiter(flat, np.int32, count=int(offsets[-1]))

    return evaluate_ids(flatten(truth), flatten(predicted), offsets, names)


def check_same_lengths(truth: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> None:
    """Refuse labels of other numbers of sentences, or of tokens, with the place of the first."""
    if len(truth) != len(predicted):
        raise InputError(
            f"true labels of {plural(len(truth), 'sentence')}, but predicted ones of "
            f"{len(predicted):,}"
        )
    for i, (true_labels, predicted_labels) in enumerate(zip(truth, predicted, strict=True)):
        if isinstance(true_labels, str) or isinstance(predicted_labels, str):
            raise InputError(
                f"sentence {i + 1} (counted from 1) is text; expected a list of labels"
            )
        if len(true_labels) != len(predicted_labels):
            raise InputError(
                f"sentence {i + 1} (counted from 1) has {len(true_labels)} true labels but "
                f"{len(predicted_labels)} predicted ones"
            )


def cut_at_unknown(
    truth_ids: Ids, predicted_ids: Ids, sentence_offsets: Ids
) -> tuple[Ids, Ids, Ids]:
    """The tokens whose true id is not negative, with a sentence's end where some were left out.

    >>> cut = cut_at_unknown(np.array([0, -1, 2, 1]), np.array([0, 3, 2, 2]), np.array([0, 4]))
    >>> [part.tolist() for part in cut]
    [[0, 2, 1], [0, 2, 2], [0, 1, 3]]
    """
    known = truth_ids >= 0
    before = np.concatenate(([0], np.cumsum(known)))  # [tokens + 1]
    ends = np.union1d(before[sentence_offsets], before[:-1][~known])
    return truth_ids[known], predicted_ids[known], ends


def evaluate_ids(
    truth_ids: Ids, predicted_ids: Ids, sentence_offsets: Ids, labels: Sequence[str]
) -> Scores:
    """Score predictions given as label ids; cheap enough for every training pass.

    Parameters
    ----------
    truth_ids, predicted_ids, sentence_offsets, labels
        As for `span_counts`. Tokens whose true id is negative are unknown and left out; spans
        count by their known parts.

    Examples
    --------
    >>> truth, predicted = np.array([0, 1, 2]), np.array([0, 1, 1])
    >>> evaluate_ids(truth, predicted, np.array([0, 3]), ["O", "B-LOC", "I-LOC"]).accuracy
    0.6666666666666666
    """
    known = truth_ids >= 0
    everything = truth_ids, predicted_ids, sentence_offsets
    counts = span_counts(*(everything if known.all() else cut_at_unknown(*everything)), labels)
    per_type = {
        type_: TypeScores.of(int(support), int(predicted), int(correct))
        for type_, support, predicted, correct in sorted(zip(*counts, strict=True))
        if support or predicted
    }
    total = TypeScores.of(*(int(count.sum()) for count in counts[1:]))
    errors_before = np.concatenate(([0], np.cumsum(known & (truth_ids != predicted_ids))))
    errors = np.diff(errors_before[sentence_offsets])  # [sentences]
    tokens, sentences = int(known.sum()), len(errors)
    correct_tokens = tokens - int(errors.sum())
    return Scores(
        accuracy=share(correct_tokens, tokens),
        precision=total.precision,
        recall=total.recall,
        f1=total.f1,
        per_type=per_type,
        tokens=tokens,
        sentences=sentences,
        correct_tokens=correct_tokens,
        correct_sentences=sentences - int(np.count_nonzero(errors)),
        support=total.support,
        predicted=total.predicted,
        correct=total.correct,
        score_name=score_name(labels),
    )


def span_counts(
    truth_ids: Ids, predicted_ids: Ids, sentence_offsets: Ids, labels: Sequence[str]
) -> SpanCounts:
    """Count true, predicted and correct spans of each type.

    Parameters
    ----------
    truth_ids, predicted_ids
        Label ids of all tokens, one sentence after the other. A true label may have the id -1
        if it is none of `labels`; it counts as a span of one token, of the type `UNSEEN`, that
        no prediction can find.
    sentence_offsets
        ``[sentences + 1]``: sentence i holds the tokens ``offsets[i]`` to ``offsets[i+1] - 1``.
    labels
        The label of each id. If they mark no spans, each token is a span with its label as type.

    Examples
    --------
    >>> labels = ["O", "B-LOC", "I-LOC", "B-PER"]
    >>> span_counts(np.array([1, 2, 0, 3]), np.array([1, 2, 0, 1]), np.array([0, 4]), labels)
    ... # doctest: +NORMALIZE_WHITESPACE
    SpanCounts(types=['LOC', 'PER', '(unseen)'], support=array([1, 1, 0]),
               predicted=array([2, 0, 0]), correct=array([1, 0, 0]))
    """
    _check_ids(truth_ids, predicted_ids, sentence_offsets, len(labels))
    # The unseen label -1 looks up the last entry of each table.
    mark_spans = are_span_labels(labels)
    pairs = split_labels(labels) if mark_spans else [("", label) for label in labels]
    pairs.append(("", UNSEEN))
    inside_types = dict.fromkeys(type_ for prefix, type_ in pairs if prefix != "O")
    type_ids = {type_: n for n, type_ in enumerate(inside_types)}
    outside = -1
    type_of = np.array([outside if p == "O" else type_ids[type_] for p, type_ in pairs], np.int32)
    begins = np.array([prefix in BEGINNING_PREFIXES for prefix, _ in pairs])
    closes = np.array([prefix in CLOSING_PREFIXES for prefix, _ in pairs])
    first_tokens = sentence_offsets[sentence_offsets < len(truth_ids)]

    def find(ids: Ids) -> tuple[Ids, Ids, Ids]:
        """Return first token, last token and type of each span, from left to right."""
        types = type_of[ids]  # [tokens]
        # [tokens + 1]: no span continues from token t - 1 to token t
        boundary = np.ones(len(ids) + 1, bool)
        boundary[1:-1] = types[1:] != types[:-1]
        boundary[1:-1] |= begins[ids[1:]]
        boundary[1:-1] |= closes[ids[:-1]]
        boundary[first_tokens] = True
        inside = types != outside
        starts = np.flatnonzero(boundary[:-1] & inside)
        ends = np.flatnonzero(boundary[1:] & inside)
        return starts, ends, types[starts]

    truth_starts, truth_ends, truth_types = find(truth_ids)
    starts, ends, types = find(predicted_ids)
    end_of_start = np.full(len(truth_ids), -1)  # [tokens]: last token of the true span from here
    end_of_start[truth_starts] = truth_ends
    # Where both spans start at one token, that token's labels give both types.
    correct = (end_of_start[starts] == ends) & (type_of[truth_ids[starts]] == types)

    def count(span_types: Ids) -> NDArray[np.int64]:
        return np.bincount(span_types, minlength=len(type_ids))

    return SpanCounts(list(type_ids), count(truth_types), count(types), count(types[correct]))


def _check_ids(truth_ids: Ids, predicted_ids: Ids, sentence_offsets: Ids, K: int) -> None:
    tokens = len(truth_ids)
    if len(predicted_ids) != tokens:
        raise InputError(f"there are {tokens} true labels but {len(predicted_ids)} predicted ones")
    if (
        len(sentence_offsets) == 0
        or sentence_offsets[0] != 0
        or sentence_offsets[-1] != tokens
        or (np.diff(sentence_offsets) < 0).any()
    ):
        raise InputError(f"sentence_offsets must rise from 0 to the number of tokens, {tokens}")
    for name, ids, least in (("truth", truth_ids, -1), ("predicted", predicted_ids, 0)):
        if tokens and (ids.min() < least or ids.max() >= K):
            raise InputError(
                f"{name}_ids must lie between {least} and {K - 1}, the id of the last label, but "
                f"range from {ids.min()} to {ids.max()}"
            )
