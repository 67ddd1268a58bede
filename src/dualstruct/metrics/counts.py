"""Precision, recall and F1 from counts."""

from __future__ import annotations

from dataclasses import dataclass


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
