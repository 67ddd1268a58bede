"""Noise as annotators make it: spans with a moved boundary, of another type, missed or invented,
and sentences that a weaker annotator has labelled.

Each kind changes a share of the sentences: one span in each of them, or all that the weaker
annotator gets wrong. Labels are IOB2, before and after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dualstruct import SequenceTagger
from dualstruct.labels.schemes import Span, spans

Labels = list[list[str]]


@dataclass(frozen=True)
class Corpus:
    """Words and right labels, and what annotators know of their kind."""

    X: list[list]  # [sentences][tokens]: words, or rows of columns that begin with the word
    y: Labels

    def __post_init__(self) -> None:
        found = [spans(labels) for labels in self.y]
        types = Counter(span.type for each in found for span in each)
        lengths = Counter(span.end - span.start for each in found for span in each)
        seen: Counter[str] = Counter()
        begun: Counter[str] = Counter()
        for x, each in zip(self.X, found, strict=True):
            seen.update(shape(word_of(token)) for token in x)
            begun.update(shape(word_of(x[span.start])) for span in each)
        put = object.__setattr__
        put(self, "spans", found)
        put(self, "types", types)
        put(self, "lengths", lengths)
        #: How often a word that looks like this begins a span.
        put(self, "plausible", {name: begun[name] / seen[name] for name in seen})

    spans: list[list[Span]] = None  # type: ignore[assignment]
    types: Counter[str] = None  # type: ignore[assignment]
    lengths: Counter[int] = None  # type: ignore[assignment]
    plausible: dict[str, float] = None  # type: ignore[assignment]


def word_of(token) -> str:
    return token if isinstance(token, str) else token[0]


def shape(word: str) -> str:
    """Aa, AA, aa, 0, A0, other signs: what the eye sees first."""
    kinds = {
        "A" if c.isupper() else "a" if c.islower() else "0" if c.isdigit() else "."
        for c in word[1:]
    }
    first = word[0]
    start = "A" if first.isupper() else "a" if first.islower() else "0" if first.isdigit() else "."
    return start + "".join(sorted(kinds))


def written(found: Sequence[Span], length: int) -> list[str]:
    labels = ["O"] * length
    for span in found:
        labels[span.start] = f"B-{span.type}"
        for t in range(span.start + 1, span.end):
            labels[t] = f"I-{span.type}"
    return labels


def drawn(rng: np.random.Generator, counts: Counter) -> object:
    names = sorted(counts)
    p = np.array([counts[name] for name in names], dtype=float)
    return names[int(rng.choice(len(names), p=p / p.sum()))]


def moved(rng: np.random.Generator, corpus: Corpus, i: int) -> list[str] | None:
    """One end of a span one token further in or out; a neighbour gives way."""
    length, found = len(corpus.y[i]), corpus.spans[i]
    choices = []
    for k, span in enumerate(found):
        before = found[k - 1] if k else Span("", 0, 0)
        after = found[k + 1] if k + 1 < len(found) else Span("", length, length)
        for start, end in (
            (span.start - 1, span.end),
            (span.start + 1, span.end),
            (span.start, span.end - 1),
            (span.start, span.end + 1),
        ):
            if start < 0 or end > length or start >= end:
                continue
            if (k and start <= before.start) or (k + 1 < len(found) and end >= after.end):
                continue  # nothing would be left of the neighbour
            changed = list(found)
            changed[k] = Span(span.type, start, end)
            if k and before.end > start:
                changed[k - 1] = Span(before.type, before.start, start)
            if k + 1 < len(found) and after.start < end:
                changed[k + 1] = Span(after.type, end, after.end)
            choices.append(changed)
    return written(choices[int(rng.integers(len(choices)))], length) if choices else None


def retyped(rng: np.random.Generator, corpus: Corpus, i: int) -> list[str] | None:
    """A span of another type; types are drawn as they are frequent."""
    found = list(corpus.spans[i])
    if not found or len(corpus.types) < 2:
        return None
    k = int(rng.integers(len(found)))
    others = Counter({name: n for name, n in corpus.types.items() if name != found[k].type})
    found[k] = Span(str(drawn(rng, others)), found[k].start, found[k].end)
    return written(found, len(corpus.y[i]))


def missed(rng: np.random.Generator, corpus: Corpus, i: int) -> list[str] | None:
    """One span less."""
    found = list(corpus.spans[i])
    if not found:
        return None
    found.pop(int(rng.integers(len(found))))
    return written(found, len(corpus.y[i]))


def invented(rng: np.random.Generator, corpus: Corpus, i: int) -> list[str] | None:
    """A span too many: where a word looks as if it began one, as long as spans are."""
    outside = [label == "O" for label in corpus.y[i]]
    chances = np.array(
        [
            corpus.plausible[shape(word_of(token))] * free
            for token, free in zip(corpus.X[i], outside, strict=True)
        ]
    )
    if chances.sum() == 0:
        return None
    start = int(rng.choice(len(chances), p=chances / chances.sum()))
    end = start + 1
    wanted = start + int(drawn(rng, corpus.lengths))  # type: ignore[call-overload]
    while end < min(wanted, len(outside)) and outside[end]:
        end += 1
    new = Span(str(drawn(rng, corpus.types)), start, end)
    return written(sorted([*corpus.spans[i], new], key=lambda span: span.start), len(outside))


#: Kinds of noise that change one span of a sentence, if they can.
EDITS: dict[str, Callable[[np.random.Generator, Corpus, int], list[str] | None]] = {
    "boundary": moved,
    "type": retyped,
    "missed": missed,
    "invented": invented,
}
#: What a weaker annotator has to go by, and how many sentences it has learned from.
WEAK_FEATURES = "word[0]\nshape(word[0])\nsuffix(word[0],3)\nword[-1]\n"
LEARNED = 0.1
KINDS = (*EDITS, "weaker")


def corrupted(corpus: Corpus, kind: str, share: float, seed: int) -> tuple[Labels, np.ndarray]:
    """The labels with a share of the sentences made wrong, and which they are."""
    rng = np.random.default_rng([seed, sorted(KINDS).index(kind)])
    count = len(corpus.y)
    wanted = round(share * count)
    labels = [list(each) for each in corpus.y]
    wrong = np.zeros(count, dtype=bool)
    order = rng.permutation(count)
    if kind == "weaker":
        known, order = np.split(order, [round(LEARNED * count)])
        annotator = SequenceTagger(features=WEAK_FEATURES, passes=5, unseen_labels="count")
        annotator.fit([corpus.X[i] for i in known], [corpus.y[i] for i in known])
        said = dict(
            zip(order.tolist(), annotator.predict([corpus.X[i] for i in order]), strict=True)
        )
    for i in order.tolist():
        if wrong.sum() == wanted:
            break
        new = said[i] if kind == "weaker" else EDITS[kind](rng, corpus, i)
        if new is not None and new != corpus.y[i]:
            labels[i], wrong[i] = new, True
    return labels, wrong
