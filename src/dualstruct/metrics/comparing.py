"""Scores of predictions, and whether some are better than others.

Held-out examples are divided into blocks. A score (F1, accuracy, LAS) is a function of counts that
are summed over blocks; leaving out one block after the other (the jackknife) says how much it
depends on which examples happened to be held out:

    se² = (m − 1)/m Σ_j (s_j − s̄)²,     s_j: the score without block j, of m

The difference of two candidates on the same blocks has its spread in the same way, and it is much
smaller than that of either: what is hard is hard for both.

Whether a difference is more than chance is what `exchange_test` says: if it were chance, then it
would not matter which of the two outputs of an example is whose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dualstruct.metrics.counts import Ratio

#: Random exchanges, and up to how many examples that differ all exchanges are tried instead.
ROUNDS, FEW = 10_000, 12
#: Numbers held at a time.
BLOCK = 4_000_000
#: Differences of scores that are smaller are rounding.
ROUNDING = 1e-12

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


def by_luck(
    differences: NDArray[np.float64], luck: float, rounds: int = ROUNDS, seed: int = 0
) -> float:
    """How many standard errors the best of several candidates is often ahead by chance.

    The more candidates there are, the better the best of them looks by chance, but those that do
    nearly the same count as one. So the differences of blocks from their mean get random signs and
    sizes, the same for all candidates (a multiplier bootstrap), and the largest of all gains in
    standard errors is looked at: White's reality check, 2000.

    Parameters
    ----------
    differences : [candidates, blocks]
        By how much each is better than what it is compared with, without one block after the other;
        NaN for blocks that it was not tried on.
    luck : float
        How probable it is that the best is ahead by more although none is better.
    rounds, seed : int
        How many draws, and which.

    Examples
    --------
    >>> one = np.random.default_rng(0).normal(size=(1, 20))
    >>> many = np.random.default_rng(0).normal(size=(30, 20))
    >>> [round(by_luck(each, 0.2), 1) for each in (one, np.repeat(one, 30, axis=0), many)]
    [0.8, 0.8, 2.4]
    """
    means = np.nanmean(differences, axis=1, keepdims=True)
    centred = np.nan_to_num(differences - means, nan=0.0)
    sizes = np.sqrt((centred**2).sum(axis=1))
    centred = centred[sizes > ROUNDING] / sizes[sizes > ROUNDING, None]
    if not len(centred):
        return 0.0
    draws = np.random.default_rng(seed).normal(size=(rounds, centred.shape[1]))
    return float(np.quantile((draws @ centred.T).max(axis=1), 1 - luck))


def with_few_blocks(errors: float, blocks: int) -> float:
    """As many standard errors, where the standard error itself is from so few blocks.

    Signs that are drawn for the blocks change it, too: z/√((1 − z²/m) m/(m − 1)), nearly the
    quantile of Student's distribution.

    >>> [round(with_few_blocks(2.0, m), 2) for m in (5, 8, 20, 1000)]
    [4.0, 2.65, 2.18, 2.0]
    """
    left = (1 - errors**2 / blocks) * blocks / max(blocks - 1, 1)
    return errors / left**0.5 if left > 0 else float("inf")


def exchange_test(
    one: NDArray[np.float64],
    other: NDArray[np.float64],
    score: Ratio,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> float:
    """How probable a difference of two scores is that is at least so large, if it were chance.

    The outputs of each example are exchanged at random (approximate randomisation, an exact test
    where few examples differ), and the differences that come out are compared with the one that
    was seen, in both directions.

    Parameters
    ----------
    one, other : [examples, numbers]
        The counts of the same examples by two models.
    score : Ratio
    rounds, seed : int
        How many exchanges to draw, and how.

    Examples
    --------
    Three sentences, each better by one: of eight exchanges two are as extreme.

    >>> accuracy = Ratio("accuracy", (1, 0), (0, 1))
    >>> better, worse = np.array([[9.0, 10]] * 3), np.array([[8.0, 10]] * 3)
    >>> exchange_test(better, worse, accuracy)
    0.25
    """
    differ = (one != other).any(axis=1)
    change = (other - one)[differ]  # [examples that differ, numbers]
    totals = one.sum(axis=0), other.sum(axis=0)
    seen = abs(score.each(totals[0]) - score.each(totals[1])) - ROUNDING

    def as_extreme(exchanged: NDArray[np.bool_]) -> int:
        moved = exchanged.astype(float) @ change  # [rounds, numbers]
        differences = score.each(totals[0] + moved) - score.each(totals[1] - moved)
        return int(np.count_nonzero(np.abs(differences) >= seen))

    count = len(change)
    if count <= FEW:
        everything = (np.arange(1 << count)[:, None] >> np.arange(count)) & 1 == 1
        return as_extreme(everything) / len(everything)
    rng = np.random.default_rng(seed)
    found, left = 1, rounds  # what was seen is one of them
    while left > 0:
        some = min(left, max(BLOCK // count, 1))
        found += as_extreme(rng.integers(0, 2, (some, count), dtype=np.int8) == 1)
        left -= some
    return found / (rounds + 1)
