"""Labels that mark spans of tokens (dualstruct.labels.schemes)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

BEGINNING = ("B", "S", "U", "")
CLOSING = ("E", "L", "S", "U", "")
#: First of several, inside, last of several, only token.
PREFIXES = {
    "iob1": ("B", "I", "I", "B"),
    "iob2": ("B", "I", "I", "B"),
    "bilou": ("B", "I", "L", "U"),
    "bioes": ("B", "I", "E", "S"),
}


class Span(NamedTuple):
    """A span of a sentence's tokens: those from ``start`` to ``end - 1``."""

    label: str
    start: int
    end: int
    probability: float | None = None


def split_labels(labels: Sequence[str], fields: bool | None = None) -> list[tuple[str, str]]:
    """The prefix and the type of each label; are they GROBID's fields? They are if all may be."""
    found = [split_field(label) for label in labels]
    if fields or (fields is None and None not in found):
        return [pair or split_prefix(label) for pair, label in zip(found, labels, strict=True)]
    return [split_prefix(label) for label in labels]


def split_field(label: str) -> tuple[str, str] | None:
    """The same of a label that may be one of GROBID's."""
    if not (label.startswith(("<", "I-<")) and label.endswith(">")):
        return None
    field = label.removeprefix("I-")
    return ("O", "") if field == "<other>" else ("I" if field == label else "B", field)


def split_prefix(label: str) -> tuple[str, str]:
    """The same of any other label."""
    if label == "O":
        return "O", ""
    prefix, hyphen, kind = label.partition("-")
    if prefix in ("B", "I", "E", "S", "L", "U") and bool(hyphen) == bool(kind):
        return prefix, kind
    return "", label


def are_span_labels(labels: Sequence[str]) -> bool:
    """Whether labels mark spans."""
    prefixes = {prefix for prefix, _ in split_labels(labels)}
    return "" not in prefixes and bool(prefixes - {"O"})


def parts(before: tuple[str, str], after: tuple[str, str]) -> bool:
    """Whether a span ends, or may start, between two labels, given as prefix and type."""
    return (
        "O" in (before[0], after[0])
        or before[1] != after[1]
        or after[0] in BEGINNING
        or before[0] in CLOSING
    )


def find_spans(labels: Sequence[str], fields: bool | None = None) -> list[Span]:
    """The spans of one sentence's labels, by conlleval's rules."""
    found: list[Span] = []
    before, start = ("O", ""), 0
    for token, here in enumerate([*split_labels(labels, fields), ("O", "")]):
        if parts(before, here):
            if before[0] != "O":
                found.append(Span(before[1], start, token))
            start = token
        before = here
    return found


def convert(labels: list[str], source: str, to: str) -> list[str]:
    """The labels of one sentence in another scheme."""
    written = ["O"] * len(labels)
    end, last = -1, ""
    for kind, start, stop, _ in find_spans(labels, source == "grobid"):
        size = stop - start
        if (source == "grobid") != (to == "grobid"):
            kind = f"<{kind}>" if to == "grobid" else kind[1:-1]
        if to == "grobid":
            written[start:stop] = [f"I-{kind}", *[kind] * (size - 1)]
        else:
            first, inside, closing, only = PREFIXES[to]
            if to == "iob1" and not (end == start and last == kind):
                first = only = inside
            prefixes = [only] if size == 1 else [first, *[inside] * (size - 2), closing]
            written[start:stop] = [p + (f"-{kind}" if kind else "") for p in prefixes]
        end, last = stop, kind
    if to == "grobid":
        for t, label in enumerate(written):
            if label == "O":
                outside = t > 0 and written[t - 1].endswith("<other>")
                written[t] = "<other>" if outside else "I-<other>"
    return written
