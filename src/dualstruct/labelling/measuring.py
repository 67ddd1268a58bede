"""How well a project is going: the learning curve with a band, and how far annotators agree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.schema import fit_type
from dualstruct.labelling.kinds import Kind
from dualstruct.labelling.sentences import Sentence

__all__ = ["LEAST", "Agreement", "Point", "agreement", "forecast", "measure"]

#: Measured sentences with which the curve begins, and from which on it says what will come.
LEAST, RELIABLE = 5, 30
#: Samples with replacement of which the band is made.
SAMPLES = 200
#: How often the true value lies within the band.
BAND = 0.9


@dataclass(frozen=True)
class Point:
    """A point of the learning curve."""

    sentences: int  #: that were trained on
    tokens: int
    measured: int  #: sentences that judged
    score: float  #: F1 of parts: of spans; of labels it is the accuracy, of arcs LAS
    low: float
    high: float
    by_label: dict[str, list[float]] = field(default_factory=dict)  #: F1, and how many there are

    @classmethod
    def of(cls, data: dict[str, Any]) -> Point:
        return fit_type(cls, data, "point")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(
    kind: Kind,
    truth: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    sentences: int,
    tokens: int,
) -> Point:
    """Scores of some sentences, with a band from samples of them."""
    counts, by_type = _compared(kind, zip(truth, predicted, strict=True))
    low, high = _band(counts)
    by_label = {
        name: [round(_f1(*by_type[name]), 4), by_type[name][0]] for name in sorted(by_type) if name
    }
    score = _f1(*counts.sum(axis=0).tolist())
    return Point(
        sentences, tokens, len(truth), round(score, 4), round(low, 4), round(high, 4), by_label
    )


def _compared(
    kind: Kind, pairs: Iterable[tuple[Sequence[str], Sequence[str]]]
) -> tuple[NDArray[np.int64], dict[str, list[int]]]:
    """True parts, predicted ones, and those that are both: of each sentence, and of each type."""
    rows: list[list[int]] = []
    by_type: dict[str, list[int]] = {}
    for truth, predicted in pairs:
        one, other = set(kind.parts(truth)), set(kind.parts(predicted))
        both = one & other
        rows.append([len(one), len(other), len(both)])
        for place, parts in enumerate((one, other, both)):
            for part in parts:
                by_type.setdefault(part[0], [0, 0, 0])[place] += 1
    return np.array(rows, dtype=np.int64).reshape(-1, 3), by_type


def _f1(true: int, predicted: int, both: int) -> float:
    return 2 * both / max(true + predicted, 1)


def _band(counts: NDArray[np.int64]) -> tuple[float, float]:
    drawn = np.random.default_rng(0).integers(len(counts), size=(SAMPLES, len(counts)))
    sums = counts[drawn].sum(axis=1)  # [samples, 3]
    f1 = 2 * sums[:, 2] / np.maximum(sums[:, 0] + sums[:, 1], 1)
    low, high = np.quantile(f1, [(1 - BAND) / 2, (1 + BAND) / 2])
    return float(low), float(high)


def forecast(points: Sequence[Point], gain: float = 0.01) -> int | None:
    """About how many more sentences raise the score by so much; None if that cannot be said.

    Errors fall as a·n^−b on most learning curves; a and b are fitted to the points, those with more
    measured sentences counting more.

    Examples
    --------
    >>> points = [Point(n, 0, 100, 1 - n**-0.5, 0, 1) for n in (50, 100, 200, 400)]
    >>> forecast(points)  # 1 − 0.95 = 0.05 = 400**−0.5, and 0.04 = 625**−0.5
    225
    """
    usable = [each for each in points if each.measured >= RELIABLE and 0 < each.score < 1]
    if len(usable) < 4 or usable[-1].sentences < 2 * usable[0].sentences:
        return None
    x = np.log([each.sentences for each in usable])
    y = np.log([1 - each.score for each in usable])
    weights = np.sqrt([each.measured for each in usable])
    slope, start = np.polyfit(x, y, 1, w=weights)
    n = usable[-1].sentences
    error = math.exp(start + slope * math.log(n))
    if slope > -0.02 or error <= 2 * gain:
        return None
    wanted = math.exp((math.log(error - gain) - start) / slope)
    return round(wanted - n) if wanted < 1000 * n else None


@dataclass(frozen=True)
class Agreement:
    """How far two annotators say the same, of sentences that both answered on their own."""

    sentences: int
    kappa: float  #: Cohen's, of the labels of tokens
    f1: float  #: of parts, the one taken for the truth: spans, labels or arcs


def agreement(kind: Kind, sentences: Iterable[Sentence]) -> Agreement | None:
    """Of answers that were given without having seen another one."""
    pairs: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    count = 0
    for sentence in sentences:
        if len(sentence.answers) < 2:
            continue
        own: dict[str, tuple[str, ...]] = {}
        for answer in sentence.answers:
            if answer.seen == 0:
                own[answer.annotator] = answer.labels
        pairs += combinations(own.values(), 2)
        count += len(own) > 1
    if not pairs:
        return None
    counts, _ = _compared(kind, pairs)
    f1 = _f1(*counts.sum(axis=0).tolist())
    return Agreement(count, round(kappa(pairs), 4), round(f1, 4))


def kappa(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> float:
    """(p − e) / (1 − e): p is how often labels are the same, e how often by chance.

    Examples
    --------
    >>> kappa([(["A", "A", "B", "B"], ["A", "A", "B", "A"])])
    0.5
    """
    joined = [labels for a, b in pairs for labels in zip(a, b, strict=True)]
    if not joined:
        return 1.0
    n = len(joined)
    same = sum(a == b for a, b in joined) / n
    names = {label for pair in joined for label in pair}
    chance = sum(
        sum(a == name for a, _ in joined) * sum(b == name for _, b in joined) for name in names
    ) / (n * n)
    return 1.0 if chance == 1 else (same - chance) / (1 - chance)
