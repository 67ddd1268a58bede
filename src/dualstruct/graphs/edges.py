"""Which variables of chains, grids and complete graphs are neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def chain_edges(length: int, order: int = 2) -> NDArray[np.int32]:
    """The variables of every run of ``order`` neighbours in a chain.

    >>> chain_edges(4).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    starts = np.arange(max(length - order + 1, 0), dtype=np.int32)
    return np.stack([starts + k for k in range(order)], axis=1)


def grid_edges(height: int, width: int) -> NDArray[np.int32]:
    """Neighbours in a grid that is numbered row by row: first the horizontal, then the vertical.

    >>> grid_edges(2, 2).tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    """
    numbers = np.arange(height * width, dtype=np.int32).reshape(height, width)
    across = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    down = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    return np.concatenate([across, down])


def complete_edges(count: int) -> NDArray[np.int32]:
    """Every pair of ``count`` variables.

    >>> complete_edges(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    pairs: NDArray[np.int32] = np.stack(np.triu_indices(count, 1), axis=1).astype(np.int32)
    return pairs
