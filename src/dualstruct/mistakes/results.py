"""What is said of mistakes, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dualstruct.labels.schemes import Span


@dataclass(frozen=True)
class Mistake:
    """A wrong prediction: a span, the label of a token, an arc.

    Spans that overlap, true and predicted ones, are one mistake.
    """

    sentence: int  #: counted from 1
    kind: str  #: as :mod:`dualstruct.mistakes.kinds` names them
    gold: str  #: the type, label or relation that is true; empty where there is nothing
    predicted: str  #: and that which was predicted
    gold_spans: tuple[Span, ...]  #: the tokens that it is about, in what is true; for an arc its
    #: two ends
    predicted_spans: tuple[Span, ...]  #: and in what was predicted

    @property
    def pattern(self) -> str:
        """What was taken for what.

        >>> Mistake(1, "type", "ORG", "LOC", (), ()).pattern
        'ORG → LOC'
        """
        return pattern(self.gold, self.predicted)

    @property
    def spans(self) -> tuple[Span, ...]:
        """All of its spans."""
        return self.gold_spans + self.predicted_spans

    def to_dict(self) -> dict[str, Any]:
        """For JSON; spans are 0-based and half-open."""
        return {
            **vars(self),
            "gold_spans": [span._asdict() for span in self.gold_spans],
            "predicted_spans": [span._asdict() for span in self.predicted_spans],
        }


def pattern(gold: str, predicted: str) -> str:
    """What was taken for what; one name where that says it all."""
    if gold and predicted and gold != predicted:
        return f"{gold} → {predicted}"
    return gold or predicted


@dataclass(frozen=True)
class Slice:
    """The scores of a part of the sentences, or of their words."""

    name: str
    sentences: int | None  #: None where a part has some words of a sentence
    support: int  #: true spans, tokens or words
    scores: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return vars(self)


@dataclass(frozen=True)
class Difference:
    """A place where two predictions differ: a token, or spans that overlap."""

    start: int  #: counted from 0
    end: int
    gold: str
    one: str
    other: str


@dataclass(frozen=True)
class Confusion:
    """How often each label was confused with each other one.

    ``counts[i][j]``: how many are ``labels[i]`` and were predicted to be ``labels[j]``.

    Examples
    --------
    >>> table = Confusion(["LOC", "ORG", "O"], [[5, 1, 0], [2, 7, 1], [0, 3, 0]])
    >>> table.most_frequent(2)
    [('O', 'ORG', 3), ('ORG', 'LOC', 2)]
    """

    labels: list[str]  #: the most frequent first; what stands for nothing is last
    counts: list[list[int]]

    def most_frequent(self, most: int | None = None) -> list[tuple[str, str, int]]:
        """What is true, what was predicted instead, and how often; the most frequent first."""
        found = [
            (gold, predicted, count)
            for gold, row in zip(self.labels, self.counts, strict=True)
            for predicted, count in zip(self.labels, row, strict=True)
            if count and gold != predicted
        ]
        return sorted(found, key=lambda each: -each[2])[:most]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return vars(self)
