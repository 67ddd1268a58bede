"""Kinds of disagreement between two annotations of a sentence, for mistakes and for suspects.

One of the two is *judged* by the other: predictions by what is true, or, in the search for
suspects, what is given by what a model says.

=========  ===============================================================
missed     a span is not there, and nothing that overlaps it
invented   a span is there, and nothing of the other annotation overlaps it
type       two spans overlap and have different types
boundary   two spans of one type overlap, and begin or end differently
label      another label, where labels mark no spans
head       a word of a tree has another head
relation   it has the same head and another relation
UPOS …     it has another tag: UPOS, XPOS, FEATS (those that differ) or LEMMA
=========  ===============================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import eq

from dualstruct.labels.schemes import Span, are_span_labels, spans

#: Those of trees.
ARC_KINDS = ("head", "relation")


def span_kind(judged: Sequence[Span], reference: Sequence[Span]) -> str:
    """In what spans differ from those that they overlap, or from nothing.

    >>> span_kind([Span("PER", 0, 2)], [Span("PER", 0, 1)]), span_kind([], [Span("PER", 0, 1)])
    ('boundary', 'missed')
    """
    if not (judged and reference):
        return "invented" if judged else "missed"
    overlapping = ((a, b) for a in judged for b in reference if overlap(a, b) > 0)
    return "type" if any(a.type != b.type for a, b in overlapping) else "boundary"


def overlap(a: Span, b: Span) -> int:
    """How many tokens two spans share; not more than 0 if none."""
    return min(a.end, b.end) - max(a.start, b.start)


def kinds_of(
    judged: Sequence[str], reference: Sequence[str], mark_spans: bool | None = None
) -> list[str]:
    """In what labels differ from those that they are judged by, at each token.

    Parameters
    ----------
    judged, reference : labels of one sentence
    mark_spans : bool, optional
        Whether labels mark spans; as they look unless given.

    Examples
    --------
    >>> kinds_of(["O", "B-PER", "B-LOC", "O", "O"], ["O", "B-PER", "I-PER", "O", "B-ORG"])
    ['', '', 'type', '', 'missed']
    """
    if mark_spans is None:
        mark_spans = are_span_labels({*judged, *reference})
    if not mark_spans:
        return ["" if a == b else "label" for a, b in zip(judged, reference, strict=True)]
    ours, theirs = _covering(judged), _covering(reference)
    kinds = []
    for mine, other, same in zip(ours, theirs, map(eq, judged, reference), strict=True):
        if same:
            kinds.append("")
        elif mine is not None and other is not None:
            kinds.append(span_kind([mine], [other]))
        else:  # beside a span that overlaps it it is a matter of boundaries
            one = mine or other
            assert one is not None
            across = (theirs if mine else ours)[one.start : one.end]
            alone = span_kind([one] if mine else [], [] if mine else [one])
            kinds.append("boundary" if any(across) else alone)
    return kinds


def arc_kind(head: int, reference: int) -> str:
    """In what a word's arc differs from that which it is judged by, where it does."""
    return "relation" if head == reference else "head"


def arc_text(forms: Sequence[str], head: int, relation: str) -> str:
    """An arc in words.

    >>> arc_text(["Ada", "sings"], 2, "nsubj"), arc_text(["Ada", "sings"], 0, "root")
    ('nsubj of sings (2)', 'root of the root')
    """
    return f"{relation} of " + (f"{forms[head - 1]} ({head})" if head else "the root")


def _covering(labels: Sequence[str]) -> list[Span | None]:
    """The span that each token is in."""
    covering: list[Span | None] = [None] * len(labels)
    for span in spans(labels):
        covering[span.start : span.end] = [span] * (span.end - span.start)
    return covering
