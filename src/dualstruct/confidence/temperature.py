"""One number that turns scores into probabilities.

    p(y | x) ∝ exp(w·φ(x, y) / T)

Losses that are likelihoods (crf) bring their own T = 1. A margin loss cares for the order of
outputs and not for the scale of scores; its T is chosen by maximum likelihood on development data,
the likelihood of each true label (or head) under its marginal. Scores keep their order, so
predictions stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dualstruct.errors import InputError

if TYPE_CHECKING:
    from dualstruct.workers.communicator import Communicator

_GOLDEN = (math.sqrt(5) - 1) / 2

CURE = (
    "calibrate it on development data (calibrate, or dualstruct calibrate MODEL DEV), or train "
    "with dev data, which does it"
)


@dataclass(frozen=True)
class Search:
    """Where temperatures are looked for (those of a separable problem would be 0), and how."""

    coldest: float = 1e-3
    hottest: float = 1e3
    grid: int = 13  #: points that are tried first
    steps: int = 14  #: of golden section around the best of them


def summed(number: float, workers: Communicator | None) -> float:
    """Over all workers."""
    return number if workers is None else float(workers.allreduce(np.array([float(number)]))[0])


class UncalibratedWarning(UserWarning):
    """Marginals of a margin loss without a temperature: they rank, but are not probabilities."""


def uncalibrated(loss: str) -> str:
    """What to say of a model whose scores are not probabilities."""
    return (
        f"the loss {loss} does not make scores probabilities, and this model was never calibrated: "
        f"{CURE}"
    )


def fit_temperature(
    surprise: Callable[[float], float],
    search: Search | None = None,
    workers: Communicator | None = None,
) -> float:
    """The temperature at which −log likelihood, a function of β = 1/T, is least.

    Where each of several workers has a part of the data, all of them must call this together.

    >>> round(fit_temperature(lambda beta: (math.log(beta) - math.log(4.0)) ** 2), 3)
    0.25
    """
    how = search or Search()
    known: dict[float, float] = {}

    def at(log_beta: float) -> float:
        if log_beta not in known:
            known[log_beta] = summed(surprise(math.exp(log_beta)), workers)
        return known[log_beta]

    grid = np.linspace(-math.log(how.hottest), -math.log(how.coldest), how.grid).tolist()
    best = min(range(how.grid), key=lambda k: at(grid[k]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, how.grid - 1)]
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    for _ in range(how.steps):
        if at(a) < at(b):
            high, b = b, a
            a = high - _GOLDEN * (high - low)
        else:
            low, a = a, b
            b = low + _GOLDEN * (high - low)
    return math.exp(-min(known, key=lambda each: known[each]))


def checked_temperature(stored: object) -> float | None:
    """A temperature from a model file."""
    if stored is None:
        return None
    if not isinstance(stored, int | float) or not 0 < stored < math.inf:
        raise InputError(f"the temperature is {stored!r}, not a positive number")
    return float(stored)
