"""Sentences with what is true and what was predicted: labels, or trees.

Each kind of output says what it counts, what its mistakes are, what was taken for what, and where
two predictions differ. Everything else is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.treebank import Treebank
from dualstruct.errors import InputError
from dualstruct.explaining.sentences import forms_of
from dualstruct.labels.names import label_names
from dualstruct.labels.schemes import Span, are_span_labels, spans
from dualstruct.metrics.counts import Ratio
from dualstruct.metrics.labels import check_same_lengths
from dualstruct.metrics.words import check_same_words
from dualstruct.mistakes.kinds import arc_kind, arc_text, overlap, span_kind
from dualstruct.mistakes.results import Difference, Mistake
from dualstruct.printable import plural

#: Which spans (first token, one behind the last) are to be counted.
Chosen = Callable[[int, int], bool]

#: What spans without a type, as in ``B I O``, are called.
NO_TYPE = "span"

SPAN_MEASURES = (
    Ratio("precision", (0, 0, 1), (0, 1, 0)),  # of true, predicted and correct spans
    Ratio("recall", (0, 0, 1), (1, 0, 0)),
    Ratio("F1", (0, 0, 2), (1, 1, 0)),
)
TOKEN_MEASURES = (Ratio("accuracy", (0, 1), (1, 0)),)
TREE_MEASURES = (Ratio("UAS", (0, 1, 0), (1, 0, 0)), Ratio("LAS", (0, 0, 1), (1, 0, 0)))


class Pairs(Protocol):
    """Sentences with what is true and what was predicted."""

    @property
    def what(self) -> str:
        """What confusions are about: types, labels or relations."""

    @property
    def unit(self) -> str:
        """What is counted: spans, tokens or words."""

    @property
    def nothing(self) -> str:
        """What stands for nothing in confusions."""

    @property
    def measures(self) -> tuple[Ratio, ...]:
        """The scores; the last one judges."""

    def __len__(self) -> int: ...

    def size(self, i: int) -> int:
        """How many tokens a sentence has."""

    def forms(self, i: int) -> list[str]: ...

    def counts(self, i: int, chosen: Chosen | None = None) -> list[int]:
        """What the measures are computed from; the first is the number of true ones."""

    def mistakes(self, i: int) -> list[Mistake]: ...

    def confusions(self, i: int) -> Iterator[tuple[str, str]]:
        """What is true and what was predicted, right ones included."""

    def check_same_truth(self, other: Any) -> None:
        """Refuse to compare with predictions for something else."""

    def differences(self, i: int, other: Any) -> list[Difference]:
        """Where another prediction differs."""


class LabelPairs:
    """Labels of tokens, with the spans that they mark if they do.

    Parameters
    ----------
    tokens : sentences
        Words, or whatever a tagger takes.
    gold, predicted : sequences of labels
    labels : iterable of str, optional
        All labels, if the data may have too few to show whether they mark spans.
    unknown : str, optional
        The mark of tokens whose true label nobody knows; they are left out.
    """

    def __init__(
        self,
        tokens: Sequence[Any],
        gold: Sequence[Sequence[str]],
        predicted: Sequence[Sequence[str]],
        labels: Iterable[str] = (),
        unknown: str | None = None,
    ) -> None:
        check_same_lengths(gold, predicted)
        if len(tokens) != len(gold):
            raise InputError(f"{plural(len(tokens), 'sentence')}, but labels for {len(gold)}")
        self._tokens, self._gold, self._predicted = tokens, gold, predicted
        self._unknown = unknown
        known = (label_names(gold) | label_names(predicted)).union(labels) - {unknown}
        self._mark_spans = are_span_labels(known)
        self.what = "types" if self._mark_spans else "labels"
        self.unit = "spans" if self._mark_spans else "tokens"
        self.nothing = "O" if self._mark_spans else ""
        self.measures = SPAN_MEASURES if self._mark_spans else TOKEN_MEASURES

    def __len__(self) -> int:
        return len(self._gold)

    def size(self, i: int) -> int:
        return len(self._gold[i])

    def forms(self, i: int) -> list[str]:
        return forms_of(self._tokens[i], self.size(i))

    def counts(self, i: int, chosen: Chosen | None = None) -> list[int]:
        gold, predicted = (
            {span for span in side if chosen is None or chosen(span.start, span.end)}
            for side in (self._spans(i, self._gold), self._spans(i, self._predicted))
        )
        right = len(gold & predicted)
        return [len(gold), len(predicted), right] if self._mark_spans else [len(gold), right]

    def mistakes(self, i: int) -> list[Mistake]:
        gold, predicted = self._spans(i, self._gold), self._spans(i, self._predicted)
        wrong = set(gold) ^ set(predicted)
        if not wrong:
            return []
        found = []
        for group in overlapping(wrong):
            ours = tuple(span for span in gold if span in group)
            theirs = tuple(span for span in predicted if span in group)
            kind = span_kind(theirs, ours) if self._mark_spans else "label"
            types = [" ".join(span.type for span in side) for side in (ours, theirs)]
            found.append(Mistake(i + 1, kind, types[0], types[1], ours, theirs))
        return found

    def confusions(self, i: int) -> Iterator[tuple[str, str]]:
        gold, predicted = self._spans(i, self._gold), self._spans(i, self._predicted)
        right = set(gold) & set(predicted)
        yield from ((span.type, span.type) for span in right)
        left = set(gold) - right, set(predicted) - right
        while pairs := [(a, b) for a in left[0] for b in left[1] if overlap(a, b) > 0]:
            best = max(pairs, key=lambda p: (overlap(*p), p[0].type == p[1].type, -p[0].start))
            yield best[0].type, best[1].type
            left[0].remove(best[0])
            left[1].remove(best[1])
        yield from ((span.type, self.nothing) for span in left[0])
        yield from ((self.nothing, span.type) for span in left[1])

    def check_same_truth(self, other: LabelPairs) -> None:
        check_same_lengths(self._gold, other._gold)
        for i in range(len(self)):
            if list(self._gold[i]) != list(other._gold[i]):
                raise InputError(f"sentence {i + 1} has other true labels in the two to compare")

    def differences(self, i: int, other: LabelPairs) -> list[Difference]:
        one, two = self._spans(i, self._predicted), other._spans(i, other._predicted)
        gold = self._spans(i, self._gold)
        found = []
        for group in overlapping(set(one) ^ set(two)):
            start, end = min(span.start for span in group), max(span.end for span in group)
            around = [span for span in gold if span.start < end and start < span.end]
            begin = min([start, *(span.start for span in around)])
            end = max([end, *(span.end for span in around)])
            here = Span("", begin, end)
            texts = (
                self._text(i, [span for span in side if overlap(span, here) > 0], here)
                for side in (gold, one, two)
            )
            found.append(Difference(begin, end, *texts))
        return found

    def _text(self, i: int, found: Sequence[Span], here: Span) -> str:
        """What spans are, and their words unless they are all that is here."""
        if len(found) == 1 and found[0][1:] == here[1:]:
            return found[0].type
        forms = self.forms(i)
        texts = [f"{s.type} ({' '.join(forms[s.start : s.end])})" for s in found]
        return ", ".join(texts) or self.nothing

    def _spans(self, i: int, side: Sequence[Sequence[str]]) -> list[Span]:
        """Those of a sentence; where true labels are unknown, spans are cut."""
        labels = side[i]
        if self._unknown is None or self._unknown not in self._gold[i]:
            return self._read(labels, 0)
        found: list[Span] = []
        at = 0
        for unknown, run in groupby(label == self._unknown for label in self._gold[i]):
            size = len(list(run))
            found += [] if unknown else self._read(labels[at : at + size], at)
            at += size
        return found

    def _read(self, labels: Sequence[str], first: int) -> list[Span]:
        if not self._mark_spans:
            return [Span(label, t, t + 1) for t, label in enumerate(labels, first)]
        return [Span(s.type or NO_TYPE, s.start + first, s.end + first) for s in spans(labels)]


def overlapping(found: Iterable[Span]) -> Iterator[set[Span]]:
    """Spans in groups, each of which overlaps another one of its group.

    >>> groups = overlapping([Span("A", 0, 2), Span("B", 1, 3), Span("C", 3, 4)])
    >>> [sorted(span.type for span in group) for group in groups]
    [['A', 'B'], ['C']]
    """
    group: set[Span] = set()
    end = 0
    for span in sorted(found, key=lambda span: (span.start, span.end)):
        if group and span.start >= end:
            yield group
            group = set()
        end = max(end, span.end) if group else span.end
        group.add(span)
    if group:
        yield group


#: The columns of tags whose mistakes are told beside those of trees, and what kind they are.
TAGS = {"upos": "UPOS", "xpos": "XPOS", "feats": "FEATS", "lemmas": "LEMMA"}


class TreePairs:
    """Trees over the same words, and the tags that both have; scores are those of trees."""

    what: ClassVar[str] = "relations"
    unit: ClassVar[str] = "words"
    nothing: ClassVar[str] = ""
    measures: ClassVar[tuple[Ratio, ...]] = TREE_MEASURES

    def __init__(self, gold: Treebank, predicted: Treebank) -> None:
        check_same_words(gold, predicted)
        for treebank in (gold, predicted):
            treebank.check_trees()
        self._gold, self._predicted = gold, predicted
        self._tags = [name for name in TAGS if _has(gold, name) and _has(predicted, name)]

    def __len__(self) -> int:
        return len(self._gold)

    def size(self, i: int) -> int:
        return int(self._gold.lengths[i])

    def forms(self, i: int) -> list[str]:
        return [str(form) for form in self._gold.forms[i]]

    def counts(self, i: int, chosen: Chosen | None = None) -> list[int]:
        gold, predicted = _arcs(self._gold, i), _arcs(self._predicted, i)
        words = [t for t in range(len(gold)) if chosen is None or chosen(t, t + 1)]
        heads = sum(gold[t][0] == predicted[t][0] for t in words)
        return [len(words), heads, sum(gold[t] == predicted[t] for t in words)]

    def mistakes(self, i: int) -> list[Mistake]:
        arcs = zip(_arcs(self._gold, i), _arcs(self._predicted, i), strict=True)
        found = [
            Mistake(
                i + 1,
                arc_kind(theirs[0], ours[0]),
                ours[1],
                theirs[1],
                _ends(t, *ours),
                _ends(t, *theirs),
            )
            for t, (ours, theirs) in enumerate(arcs)
            if ours != theirs
        ]
        for name in self._tags:
            cells = zip(
                getattr(self._gold, name)[i], getattr(self._predicted, name)[i], strict=True
            )
            for t, pair in enumerate(cells):
                tags = _apart(*pair) if name == "feats" else pair
                if tags[0] != tags[1]:
                    spans = ((Span(tag, t, t + 1),) for tag in tags)
                    found.append(Mistake(i + 1, TAGS[name], *tags, *spans))
        return found

    def confusions(self, i: int) -> Iterator[tuple[str, str]]:
        arcs = zip(_arcs(self._gold, i), _arcs(self._predicted, i), strict=True)
        return ((ours[1], theirs[1]) for ours, theirs in arcs)

    def check_same_truth(self, other: TreePairs) -> None:
        check_same_words(self._gold, other._gold)
        same = bool((self._gold.heads == other._gold.heads).all())
        if not same or self._gold.relations != other._gold.relations:
            raise InputError("the two to compare were scored against different trees")

    def differences(self, i: int, other: TreePairs) -> list[Difference]:
        forms = self.forms(i)
        sides = (_arcs(each, i) for each in (self._gold, self._predicted, other._predicted))
        return [
            Difference(t, t + 1, *(arc_text(forms, *arc) for arc in arcs))
            for t, arcs in enumerate(zip(*sides, strict=True))
            if arcs[1] != arcs[2]
        ]


def _arcs(treebank: Treebank, i: int) -> list[tuple[int, str]]:
    heads: NDArray[np.int32] = treebank.heads[slice(*treebank.sentences[i : i + 2])]
    return list(zip(heads.tolist(), map(str, treebank.relations[i]), strict=True))


def _has(treebank: Treebank, name: str) -> bool:
    """Whether a column is filled."""
    return bool(set(getattr(treebank, name).encoded()[1]) - {"_"})


def _apart(gold: str, predicted: str) -> tuple[str, str]:
    """The features that only one of two words has.

    >>> _apart("Case=Nom|Number=Sing", "Case=Acc|Number=Sing")
    ('Case=Nom', 'Case=Acc')
    """
    sides = [each.split("|") for each in (gold, predicted)]
    ours, theirs = (
        "|".join(each for each in mine if each not in other and each != "_") or "_"
        for mine, other in (sides, reversed(sides))
    )
    return ours, theirs


def _ends(word: int, head: int, relation: str) -> tuple[Span, ...]:
    """A word under its relation, and its head unless that is the root."""
    here = Span(relation, word, word + 1)
    return (here, Span("head", head - 1, head)) if head else (here,)
