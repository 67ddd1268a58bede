"""Features that come as sparse matrices, one row per token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct.errors import InputError
from dualstruct.features.base import places_of
from dualstruct.libraries import library
from dualstruct.printable import plural
from dualstruct.sparse import SparseRows, is_sparse, rows_of

if TYPE_CHECKING:
    import scipy.sparse

__all__ = ["CSRSequences", "as_sequences", "is_matrices"]


class CSRSequences:
    """A sparse matrix with one row per token, and how many rows each sentence has.

    Parameters
    ----------
    matrix : scipy sparse matrix or array, or a dense array
        Its columns are the features.
    lengths : sequence of int
        They add up to the number of rows.
    names : sequence of str, optional
        Names of the columns.

    Examples
    --------
    >>> sequences = CSRSequences(np.eye(3), [2, 1])
    >>> len(sequences), sequences.n_columns
    (2, 3)
    """

    def __init__(
        self, matrix: Any, lengths: ArrayLike, *, names: Sequence[str] | None = None
    ) -> None:
        try:
            found = rows_of(matrix)
            counts = np.asarray(lengths, dtype=np.int64).reshape(-1)
        except (TypeError, ValueError) as problem:
            raise InputError(
                f"a sparse matrix and a list of lengths are expected: {problem}"
            ) from None
        if np.iscomplexobj(found.values):
            raise InputError("Complex data not supported: the matrix has complex numbers")
        rows, self.n_columns = found.shape
        if (counts < 0).any() or int(counts.sum()) != rows:
            raise InputError(
                f"the lengths add up to {int(counts.sum())}, but the matrix has "
                f"{plural(rows, 'row')}"
            )
        if self.n_columns > np.iinfo(np.int32).max:
            raise InputError(f"{self.n_columns} columns are too many")
        if names is not None and len(names) != self.n_columns:
            raise InputError(f"{plural(len(names), 'name')} for {plural(self.n_columns, 'column')}")
        self.sentences: NDArray[np.int64] = np.concatenate([[0], np.cumsum(counts)])
        self.offsets: NDArray[np.int64] = found.offsets
        self.ids: NDArray[np.int32] = found.ids
        self.values: NDArray[np.float32] = found.values.astype(np.float32)
        self.names = None if names is None else list(names)
        self._check_values()

    def _check_values(self) -> None:
        bad = np.flatnonzero(~np.isfinite(self.values))
        if not bad.size:
            return
        row = int(np.searchsorted(self.offsets, bad[0], side="right")) - 1
        sentence = int(np.searchsorted(self.sentences, row, side="right")) - 1
        raise InputError(
            f"sentence {sentence + 1}, token {row - int(self.sentences[sentence]) + 1}:"
            f" the value in column {self.ids[bad[0]]} is {self.values[bad[0]]}"
        )

    def __len__(self) -> int:
        return len(self.sentences) - 1

    def select(self, chosen: ArrayLike) -> CSRSequences:
        """Some of the sentences, by their numbers (from 0)."""
        numbers = np.asarray(chosen, dtype=np.int64)
        rows = places_of(self.sentences, numbers)
        cells = places_of(self.offsets, rows)
        offsets = np.concatenate([[0], np.cumsum(np.diff(self.offsets)[rows])])
        some = SparseRows((len(rows), self.n_columns), offsets, self.ids[cells], self.values[cells])
        return CSRSequences(some, np.diff(self.sentences)[numbers], names=self.names)

    def __getitem__(self, index: int) -> scipy.sparse.csr_matrix:
        """The rows of one sentence, as a matrix of scipy's."""
        sparse = library("scipy.sparse", "scipy", "a sentence's rows as a matrix")
        sentence = range(len(self))[index]
        first, last = self.sentences[sentence], self.sentences[sentence + 1]
        begin, end = self.offsets[first], self.offsets[last]
        return sparse.csr_matrix(
            (self.values[begin:end], self.ids[begin:end], self.offsets[first : last + 1] - begin),
            shape=(int(last - first), self.n_columns),
        )


def is_matrices(X: Any) -> bool:
    """Whether X is :class:`CSRSequences`, or a list of matrices, sparse or dense, per sentence."""
    return isinstance(X, CSRSequences) or (
        (isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 3)
        and len(X) > 0
        and (is_sparse(X[0]) or is_dense(X[0]))
    )


def is_dense(matrix: Any) -> bool:
    """Whether this is a two-dimensional array of numbers, of numpy or like it."""
    if getattr(matrix, "ndim", 0) != 2 or not hasattr(matrix, "dtype") or is_sparse(matrix):
        return False
    return np.asarray(matrix[:1]).dtype.kind in "fiub"


def as_sequences(X: Any) -> CSRSequences:
    """Put a list with one matrix per sentence, sparse or dense, into one."""
    if isinstance(X, CSRSequences):
        return X
    width = X[0].shape[1]
    for number, matrix in enumerate(X, 1):
        if not is_sparse(matrix) and not is_dense(matrix):
            raise InputError(
                f"sentence {number}: a matrix of numbers with a row for each token is expected, as "
                f"sentence 1 is, not a {type(matrix).__name__}"
            )
        if matrix.shape[1] != width:
            raise InputError(
                f"sentence {number}: {plural(matrix.shape[1], 'column')}, but sentence 1 has "
                f"{width}"
            )
    parts = [rows_of(m) for m in X]
    lengths = [part.shape[0] for part in parts]
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    whole = SparseRows(
        (sum(lengths), width),
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.values for part in parts]),
    )
    return CSRSequences(whole, lengths)
