"""Scores of candidates, and whether one is better than another.

Held-out examples are divided into blocks. A score (F1, accuracy, LAS) is a function of counts that
are summed over blocks; leaving out one block after the other (the jackknife) says how much it
depends on which examples happened to be held out:

    se² = (m − 1)/m Σ_j (s_j − s̄)²,     s_j: the score without block j, of m

The difference of two candidates on the same blocks has its spread in the same way, and it is much
smaller than that of either: what is hard is hard for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Score = Callable[[Sequence[float]], float]


def score_of(counts: NDArray[np.float64], score: Score) -> float:
    """Of all blocks together: counts are [blocks, numbers]."""
    return score(counts.sum(axis=0).tolist())


def without_each(counts: NDArray[np.float64], score: Score) -> NDArray[np.float64]:
    """The scores without one block: [blocks]."""
    return np.array([score(row.tolist()) for row in counts.sum(axis=0) - counts])


def spread_of(values: NDArray[np.float64]) -> float:
    """The standard error that the values without each block come to.

    >>> accuracy = lambda n: n[0] / n[1]
    >>> blocks = np.array([[8.0, 10], [9, 10], [7, 10], [8, 10]])
    >>> round(spread_of(without_each(blocks, accuracy)), 4)
    0.0408
    """
    m = len(values)
    if m < 2:
        return float("inf")
    return float(np.sqrt((m - 1) / m * np.sum((values - values.mean()) ** 2)))


def compared(
    one: NDArray[np.float64], other: NDArray[np.float64], score: Score
) -> tuple[float, float]:
    """By how much one is better than the other on the same blocks, and the standard error.

    >>> accuracy = lambda n: n[0] / n[1]
    >>> better = np.array([[8.0, 10], [10, 10]])
    >>> worse = np.array([[7.0, 10], [9, 10]])
    >>> gain, error = compared(better, worse, accuracy)
    >>> round(gain, 6), round(error, 6)
    (0.1, 0.0)
    """
    gain = score_of(one, score) - score_of(other, score)
    return gain, spread_of(without_each(one, score) - without_each(other, score))
