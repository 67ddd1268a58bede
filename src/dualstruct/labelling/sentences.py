"""Sentences, and what annotators, rules and other systems said of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from dualstruct.labels.schemes import split_label
from dualstruct.texts.documents import Document

__all__ = ["Answer", "Draft", "Kind", "Sentence", "token_weights", "types_of"]

Kind = Literal["spans", "labels"]


@dataclass(frozen=True)
class Answer:
    """What an annotator said of a sentence."""

    id: int
    sentence: int
    seen: int  #: the last answer of this sentence that the annotator had seen, or 0
    annotator: str
    labels: tuple[str, ...]  #: one for each token: B-, I- and O where labels mark spans
    said: float  #: seconds since 1970


@dataclass(frozen=True)
class Draft:
    """Labels that nobody has looked at: of rules, of another system."""

    labels: tuple[str, ...]
    weights: tuple[float, ...] | None = None  #: how probable each is


@dataclass
class Sentence:
    """A sentence, and what was said of it."""

    id: int
    document: str
    text: str
    tokens: list[tuple[int, int]]
    draft: Draft | None = None
    answers: list[Answer] = field(default_factory=list)  #: that were not withdrawn

    @property
    def words(self) -> list[str]:
        return [self.text[a:b] for a, b in self.tokens]

    @property
    def version(self) -> int:
        """What somebody has seen who sees it now."""
        return self.answers[-1].id if self.answers else 0

    @property
    def counting(self) -> list[Answer]:
        """The answers that no later one replaced."""
        seen = max((each.seen for each in self.answers), default=0)
        return [each for each in self.answers if each.id > seen]

    @property
    def labels(self) -> tuple[str, ...] | None:
        """What it is labelled with; None without an answer, and where answers differ."""
        found = {each.labels for each in self.counting}
        return found.pop() if len(found) == 1 else None

    @property
    def in_conflict(self) -> bool:
        return len({each.labels for each in self.counting}) > 1


def types_of(labels: Iterable[str], kind: Kind) -> list[str]:
    """The types of spans that labels mark, or the labels themselves."""
    if kind == "labels":
        return list(dict.fromkeys(labels))
    return list(dict.fromkeys(split_label(label)[1] for label in labels if label != "O"))


def token_weights(document: Document) -> list[float]:
    """How probable the label of each token is: as the span that it is in, or as sure as can be."""
    weights = [1.0] * len(document.places)
    for span in document.spans or ():
        if span.probability is not None:
            for t, (start, end) in enumerate(document.places):
                if start < span.end and end > span.start:
                    weights[t] = min(max(float(span.probability), 0.0), 1.0)
    return weights
