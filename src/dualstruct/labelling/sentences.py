"""Sentences, and what annotators, rules and other systems said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dualstruct.errors import InputError
from dualstruct.texts.documents import Document
from dualstruct.texts.formats.project import parsed

__all__ = [
    "Answer",
    "Draft",
    "Row",
    "Sentence",
    "answer_of",
    "checked_tokens",
    "marks_after",
    "token_weights",
]


@dataclass(frozen=True)
class Answer:
    """What an annotator said of a sentence."""

    id: int
    sentence: int
    seen: int  #: the last answer of this sentence that the annotator had seen, or 0
    annotator: str
    labels: tuple[str, ...]  #: one for each token, as its kind has them
    said: float  #: seconds since 1970
    #: Which tokens were asked about; the others are as the model had them. None: all of them.
    checked: tuple[bool, ...] | None = None


@dataclass(frozen=True)
class Draft:
    """Labels without an answer yet: of rules, or of another system."""

    labels: tuple[str, ...]
    weights: tuple[float, ...] | None = None  #: how probable each is


@dataclass
class Sentence:
    """A sentence, and what was said of it."""

    id: int
    document: str
    text: str
    tokens: list[tuple[int, int]]
    tags: list[str] | None = None  #: parts of speech, where they are known
    draft: Draft | None = None
    answers: tuple[Answer, ...] = ()  #: that were not withdrawn
    #: What it is labelled with; None without an answer, and where answers differ.
    labels: tuple[str, ...] | None = field(default=None, init=False)
    #: Which tokens of it somebody was asked about; None if that is all of them.
    checked: tuple[bool, ...] | None = field(default=None, init=False)
    in_conflict: bool = field(default=False, init=False)
    words: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.words = [self.text[a:b] for a, b in self.tokens]
        self.set_answers(self.answers)

    def set_answers(self, answers: tuple[Answer, ...]) -> None:
        """Other answers; what they come to is asked for more often than it changes."""
        self.answers = answers
        counting = self.counting
        self.checked = _checked(counting)
        found = {each.labels for each in counting}
        self.in_conflict = len(found) > 1
        self.labels = next(iter(found)) if len(found) == 1 else None

    @property
    def version(self) -> int:
        """What somebody has seen who sees it now."""
        return self.answers[-1].id if self.answers else 0

    @property
    def counting(self) -> list[Answer]:
        """The answers that no later one replaced."""
        seen = max((each.seen for each in self.answers), default=0)
        return [each for each in self.answers if each.id > seen]


def _checked(answers: list[Answer]) -> tuple[bool, ...] | None:
    several = [each.checked for each in answers]
    if not several or None in several:
        return None
    found = tuple(any(of_token) for of_token in zip(*filter(None, several), strict=True))
    return None if all(found) else found


def checked_tokens(sentence: Sentence) -> int:
    """How many tokens of an answered sentence somebody was asked about."""
    checked = sentence.checked
    return len(sentence.tokens) if checked is None else sum(checked)


def token_weights(document: Document) -> list[float]:
    """How probable the label of each token is: as the span that it is in, or as sure as can be."""
    weights = [1.0] * len(document.places)
    for span in document.spans or ():
        if span.probability is not None:
            for t, (start, end) in enumerate(document.places):
                if start < span.end and end > span.start:
                    weights[t] = min(max(float(span.probability), 0.0), 1.0)
    return weights


#: The document, the text, its tokens, their tags, their labels, and how probable those are.
Row = tuple[
    str,
    str,
    list[tuple[int, int]],
    list[str] | None,
    tuple[str, ...] | None,
    tuple[float, ...] | None,
]


def answer_of(row: Sequence[Any], where: str) -> Answer:
    """An answer as its row in the file has it."""
    number, sentence, seen, annotator, labels, said, checked = row
    given = tuple(parsed(labels, f"{where}: labels"))
    marks = None if checked is None else tuple(map(bool, parsed(checked, f"{where}: checked")))
    if marks is not None and len(marks) != len(given):
        raise InputError(f"{where}: what was checked is not one for each token")
    return Answer(number, sentence, seen, annotator, given, said, marks)


def marks_after(sentence: Sentence, checked: set[int]) -> tuple[bool, ...] | None:
    """Which tokens have been asked about by now, as answers have it."""
    if not checked <= set(range(len(sentence.tokens))):
        raise InputError(f"sentence {sentence.id} has no such tokens as were checked")
    before = sentence.checked
    if sentence.answers and before is None:
        return None
    earlier = before or (False,) * len(sentence.tokens)
    marks = tuple(t in checked or known for t, known in enumerate(earlier))
    return None if all(marks) else marks
