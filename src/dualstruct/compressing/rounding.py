"""Weights with few bits: the least important ones become 0, the others one of a few levels.

A weight stays if it is worth the bits that it takes; and since the first weight of a row brings the
name of its feature with it, a row stays if what its weights are worth pays for that, too.

Levels are spaced evenly between the square roots of the smallest and the largest: small weights,
of which there are most, get finer steps than large ones. Of the powers and logarithms tried on
chunking this lost the least at equal size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Smaller arrays (transitions) stay as they are: they cost nothing, and everything depends on them.
_LEAST = 4096
#: A weight counts w²·(uses + _UNUSED)^_OF_USES: how far it moves scores, where rows that
#: development data do not use are still worth something.
_UNUSED, _OF_USES = 0.3, 2 / 3
#: Bits that a weight takes in a file, and a row (the name of a feature) besides, about.
_WEIGHT, _ROW = 7, 16


def weight_arrays(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float32]]:
    """The arrays of a state that are weights, and many."""
    return {
        name: array
        for name, array in arrays.items()
        if array.dtype == np.float32 and array.size >= _LEAST
    }


def round_weights(
    w: NDArray[np.float32], keep: float, bits: int, uses: NDArray[Any] | None = None
) -> NDArray[np.float32]:
    """The weights with a share of them kept, at so many bits each.

    Parameters
    ----------
    w : array
        Whatever its shape; its first axis are rows if it has several.
    keep : float
        The share of the weights that are not 0 which stay, about.
    bits : int
        One for the sign, the others for the level.
    uses : array, optional
        How often each row is used.

    Examples
    --------
    >>> round_weights(np.array([0.01, -4, 0.9, 1, 0], np.float32), 0.75, 2)
    array([ 0. , -4. ,  0.9,  0.9,  0. ], dtype=float32)
    """
    places = np.flatnonzero(w)
    if not len(places):
        return w
    values = w.reshape(-1)[places].astype(np.float64)
    rows = places // (w.size // len(w)) if w.ndim > 1 else None
    worth = values**2
    if uses is not None and rows is not None:
        worth *= (np.asarray(uses, np.float64)[rows] + _UNUSED) ** _OF_USES
    stays = _chosen(worth, rows, max(1, round(keep * len(places))))
    places, values = places[stays], values[stays]
    roots = np.sqrt(np.abs(values))
    low, high = roots.min(), roots.max()
    steps = 2 ** (bits - 1) - 1
    width = (high - low) / steps if high > low else 1.0
    rounded = (low + np.rint((roots - low) / width) * width) ** 2
    found = np.zeros_like(w)
    found.reshape(-1)[places] = np.copysign(rounded, values)
    return found


def _chosen(
    worth: NDArray[np.float64], rows: NDArray[np.intp] | None, most: int
) -> NDArray[np.bool_]:
    """Which weights stay: those worth the bits that they take, of rows that are worth theirs."""
    if rows is None:
        least = np.partition(worth, len(worth) - most)[len(worth) - most]
        return np.asarray(worth >= least)

    def at(price: float) -> NDArray[np.bool_]:
        gain = np.maximum(worth - _WEIGHT * price, 0)
        of_row = np.bincount(rows, gain)
        return np.asarray((worth >= _WEIGHT * price) & (of_row[rows] >= _ROW * price))

    low, high = 0.0, float(worth.sum())
    if most >= len(worth):
        return at(low)
    for _ in range(60):
        price = np.sqrt(max(low, 1e-30) * high)
        if np.count_nonzero(at(price)) > most:
            low = price
        else:
            high = price
    chosen = at(high)
    return chosen if chosen.any() else worth >= worth.max()
