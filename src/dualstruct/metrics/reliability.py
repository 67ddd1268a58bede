"""Whether probabilities keep what they promise: of answers given with 0.8, 80 % should be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Bin", "Reliability", "reliability"]


@dataclass(frozen=True)
class Bin:
    """Answers whose probability lies above ``low`` and up to ``high``."""

    low: float
    high: float
    count: int
    confidence: float  #: their mean probability
    accuracy: float  #: the share that is right


@dataclass(frozen=True)
class Reliability:
    """Confidence against accuracy, bin by bin."""

    what: str  #: tokens, entities, sentences or heads
    bins: tuple[Bin, ...]  #: those that have answers in them

    @property
    def count(self) -> int:
        """How many answers there are."""
        return sum(each.count for each in self.bins)

    @property
    def ece(self) -> float:
        """The expected calibration error: the mean of |confidence − accuracy|."""
        gaps = sum(each.count * abs(each.confidence - each.accuracy) for each in self.bins)
        return gaps / max(self.count, 1)

    @property
    def confidence(self) -> float:
        """The mean probability of all answers."""
        return sum(each.count * each.confidence for each in self.bins) / max(self.count, 1)

    @property
    def accuracy(self) -> float:
        """The share of answers that are right."""
        return sum(each.count * each.accuracy for each in self.bins) / max(self.count, 1)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "count": self.count,
            "ece": self.ece,
            "confidence": self.confidence,
            "accuracy": self.accuracy,
            "bins": [asdict(each) for each in self.bins],
        }

    def table(self) -> str:
        """The bins as text.

        Examples
        --------
        >>> print(reliability("tokens", [0.95, 0.92, 0.55], [True, True, False]).table())
        tokens: 3, mean confidence 80.67 %, right 66.67 %, ECE 22.67 %
            confidence   count   mean %   right %
             0.5 … 0.6       1    55.00      0.00
             0.9 … 1.0       2    93.50    100.00
        """
        lines = [
            f"{self.what}: {self.count:,}, mean confidence {100 * self.confidence:.2f} %, "
            f"right {100 * self.accuracy:.2f} %, ECE {100 * self.ece:.2f} %",
            "    confidence   count   mean %   right %",
        ]
        lines += [
            f"     {b.low:.1f} … {b.high:.1f} {b.count:7,d} {100 * b.confidence:8.2f} "
            f"{100 * b.accuracy:9.2f}"
            for b in self.bins
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


def reliability(
    what: str, probabilities: Sequence[float] | ArrayLike, right: ArrayLike, bins: int = 10
) -> Reliability:
    """Sort answers into bins of equal width by their probability."""
    p = np.asarray(probabilities, dtype=float)
    ok = np.asarray(right, dtype=bool)
    number = np.clip(np.ceil(p * bins).astype(int) - 1, 0, bins - 1)
    found = []
    for k in range(bins):
        inside = number == k
        if inside.any():
            mean, share = float(p[inside].mean()), float(ok[inside].mean())
            found.append(Bin(k / bins, (k + 1) / bins, int(inside.sum()), mean, share))
    return Reliability(what, tuple(found))
