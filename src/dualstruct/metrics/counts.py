"""Precision, recall and F1 from counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class TypeScores:
    """The scores of one type: of span, of label if labels mark no spans, of relation.

    ``support`` is the number of true ones, ``predicted`` that of predicted ones, ``correct``
    that of those which are both.
    """

    precision: float
    recall: float
    f1: float
    support: int
    predicted: int
    correct: int

    @classmethod
    def of(cls, support: int, predicted: int, correct: int) -> TypeScores:
        """Where nothing was predicted, or nothing was there to be found, the score is 0."""
        return cls(
            precision=share(correct, predicted),
            recall=share(correct, support),
            # 2PR / (P + R), without its division by zero
            f1=share(2 * correct, support + predicted),
            support=support,
            predicted=predicted,
            correct=correct,
        )


def share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


@dataclass(frozen=True)
class Ratio:
    """A score that is a ratio of two weighted sums of counts; 0 where there is nothing to count.

    >>> f1 = Ratio("F1", over=(0, 0, 2), under=(1, 1, 0))  # of true, predicted and correct spans
    >>> f1([4, 6, 3])
    0.6
    >>> f1.each(np.array([[4, 6, 3], [0, 0, 0]])).tolist()
    [0.6, 0.0]
    """

    name: str
    over: tuple[float, ...]
    under: tuple[float, ...]

    def __call__(self, counts: Sequence[float]) -> float:
        """The score of some counts."""
        return float(self.each(np.asarray(counts, dtype=float)))

    def each(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of many: [..., numbers] gives [...]."""
        over, under = counts @ np.array(self.over, float), counts @ np.array(self.under, float)
        return np.asarray(np.divide(over, under, out=np.zeros_like(over), where=under > 0))
