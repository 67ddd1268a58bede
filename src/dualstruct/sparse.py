"""scipy's sparse matrices, without scipy: its objects are taken as they are, and rows of our own
stand for them.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

__all__ = ["SparseRows", "is_sparse", "rows_of"]


def is_sparse(value: Any) -> TypeGuard[Any]:
    """Whether this is a sparse matrix or array of scipy."""
    # There are none where scipy.sparse was never imported.
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(value))


class SparseRows(NamedTuple):
    """A matrix of which most is 0: of each row the columns that are not, and their values."""

    shape: tuple[int, int]
    offsets: NDArray[np.int64]  # [rows + 1]
    ids: NDArray[np.int32]  # [offsets[-1]]
    values: NDArray[Any]  # [offsets[-1]]

    def with_column(self, column: NDArray[Any]) -> SparseRows:
        """The same with one more column on the right."""
        rows, columns = self.shape
        return SparseRows(
            (rows, columns + 1),
            self.offsets + np.arange(rows + 1),
            np.insert(self.ids, self.offsets[1:], columns),
            np.insert(self.values, self.offsets[1:], column),
        )

    def dense(self) -> NDArray[Any]:
        """The same with zeros."""
        found = np.zeros(self.shape, self.values.dtype)
        np.add.at(found, (np.repeat(np.arange(self.shape[0]), np.diff(self.offsets)), self.ids),
                  self.values)  # fmt: skip
        return found


def rows_of(matrix: Any) -> SparseRows:
    """A matrix, scipy's or dense, row by row; what is not a matrix of numbers raises a ValueError.

    >>> rows_of([[0.0, 2.0], [1.0, 3.0]]).ids.tolist()
    [1, 0, 1]
    """
    if isinstance(matrix, SparseRows):
        return matrix
    if is_sparse(matrix):
        csr = matrix.tocsr()
        if len(csr.shape) != 2:
            raise ValueError(f"a matrix has two axes, not {len(csr.shape)}")
        rows, columns = (int(size) for size in csr.shape)
        offsets, ids, values = csr.indptr, csr.indices, csr.data
    else:
        dense = np.atleast_2d(np.asarray(matrix))
        if dense.ndim != 2 or dense.dtype.kind not in "fiubc":
            raise ValueError(
                f"{dense.ndim} axes of type {dense.dtype} are not numbers with a row for each token"
            )
        rows, columns = dense.shape
        places, ids = np.nonzero(dense)
        values = dense[places, ids]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=rows))])
    small = ids.astype(np.int32) if columns <= np.iinfo(np.int32).max else ids
    return SparseRows((rows, columns), offsets.astype(np.int64), small, values)
