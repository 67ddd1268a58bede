"""From spans of characters to labels of tokens, and back.

A span that does not begin and end with a token is misaligned: it is moved to the tokens that it
touches, left out, or refused. Of spans that overlap only one can be labelled.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from dualstruct.errors import InputError
from dualstruct.labels.schemes import Span, are_span_labels, spans
from dualstruct.texts.documents import Document, TextSpan, named, shortened

__all__ = ["Alignment", "Misaligned", "Overlapping", "label_spans"]

Misaligned = Literal["move", "drop", "refuse"]
Overlapping = Literal["refuse", "longest"]
#: Cases that a message names.
_NAMED = 3
_ONE, _MANY = "does not begin and end with a token", "do not begin and end with a token"


@dataclass
class Alignment:
    """How spans become labels, and what had to be done for it."""

    misaligned: Misaligned = "move"
    overlapping: Overlapping = "refuse"
    total: int = 0  #: spans seen
    moved: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    shorter: list[str] = field(default_factory=list)  #: left out beside a longer one
    joined: int = 0  #: sentence ends within a span, which were taken away

    def __post_init__(self) -> None:
        for name, kind in (("misaligned", Misaligned), ("overlapping", Overlapping)):
            if getattr(self, name) not in get_args(kind):
                choice = ", ".join(get_args(kind))
                raise InputError(f"{name} is {getattr(self, name)!r}; it must be {choice}")

    def labels(self, document: Document) -> list[str]:
        """A label for each token (B-, I- and O); sentence ends within a span are taken away."""
        found = self._chosen(document)
        labels = ["O"] * len(document.places)
        for span in found:
            labels[span.start] = f"B-{span.type}"
            inside = span.end - span.start - 1
            labels[span.start + 1 : span.end] = [f"I-{span.type}"] * inside
        if document.sentences is not None:
            within = {t for span in found for t in range(span.start + 1, span.end)}
            kept = [first for first in document.sentences if first not in within]
            self.joined += len(document.sentences) - len(kept)
            document.sentences = kept
        return labels

    def _chosen(self, document: Document) -> list[Span]:
        """The spans as tokens, from left to right, none within another one."""
        starts = [start for start, _ in document.places]
        ends = [end for _, end in document.places]
        placed: list[_Placed] = []
        for span in document.spans or ():
            self.total += 1
            first, last = bisect_right(ends, span.start), bisect_left(starts, span.end)
            exact = first < last and starts[first] == span.start and ends[last - 1] == span.end
            if not exact and not self._moves(document, span, first, last):
                continue
            placed.append(_Placed(Span(span.label, first, last), span))
        placed.sort(key=lambda each: (each.tokens.start, -each.tokens.end))
        chosen: list[_Placed] = []
        for each in placed:
            if not chosen or each.tokens.start >= chosen[-1].tokens.end:
                chosen.append(each)
                continue
            other = chosen[-1]
            pair = f"{named(other.span, document.text)} and {named(each.span, document.text)}"
            if self.overlapping == "refuse":
                raise InputError(
                    f"{document.where}: the spans {pair} overlap; --overlapping longest "
                    '(overlapping="longest") keeps the longer one'
                )
            self.shorter.append(f"{document.where}, {pair}")
            if _size(each) > _size(other):
                chosen[-1] = each
        return [each.tokens for each in chosen]

    def _moves(self, document: Document, span: TextSpan, first: int, last: int) -> bool:
        """Whether a span that is not a sequence of tokens is moved; otherwise it is left out."""
        case = f"{document.where}, {named(span, document.text)}"
        if self.misaligned == "refuse":
            raise InputError(
                f"{document.where}: the span {named(span, document.text)} does not begin and end "
                "with a token; --misaligned move (or drop) takes the tokens that it touches"
            )
        if first < last and self.misaligned == "move":
            start, end = document.places[first][0], document.places[last - 1][1]
            self.moved.append(f"{case} to {start}-{end} {shortened(document.text[start:end])}")
            return True
        self.dropped.append(case)
        return False

    def notes(self) -> list[str]:
        """Sentences about what was changed."""
        return [
            f"{len(cases):,} of {self.total:,} spans {one if len(cases) == 1 else many}: "
            + _few(cases)
            for cases, one, many in (
                (self.moved, f"{_ONE}, and was moved", f"{_MANY}, and were moved"),
                (self.dropped, f"{_ONE}, and was left out", f"{_MANY}, and were left out"),
                (
                    self.shorter,
                    "overlaps a longer one, and was left out",
                    "overlap a longer one, and were left out",
                ),
            )
            if cases
        ]


class _Placed(NamedTuple):
    tokens: Span
    span: TextSpan


def _size(each: _Placed) -> int:
    return each.span.end - each.span.start


def _few(cases: list[str]) -> str:
    return "; ".join(cases[:_NAMED]) + (" …" if len(cases) > _NAMED else "")


def label_spans(document: Document, labels: Iterable[Sequence[str]]) -> list[TextSpan]:
    """The spans that labels mark, sentence by sentence, as characters of the text.

    Examples
    --------
    >>> from dualstruct.texts.documents import joined
    >>> label_spans(joined([["Ada", "Lovelace", "sings"]]), [["B-PER", "I-PER", "O"]])
    [TextSpan(start=0, end=12, label='PER', probability=None)]
    """
    places, begin, found = document.places, 0, []
    for row in labels:
        if any(label != "O" for label in row):
            for type_, first, last in spans(row):
                start, end = places[begin + first][0], places[begin + last - 1][1]
                found.append(TextSpan(start, end, type_))
        begin += len(row)
    return found


def marks_spans(names: Iterable[str]) -> bool:
    """Whether labels are of spans; those of nothing but O are."""
    known = set(names)
    return known <= {"O"} or are_span_labels(known)
