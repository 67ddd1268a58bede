"""Feature rows on disk: written block by block, then mapped into memory and read where needed.

Four bytes per feature and twelve per token. What is mapped is the operating system's to keep in
memory or not: training needs no more of its own than weights and cuts.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.errors import InputError
from dualstruct.features.base import FeatureRows

#: Labels renumbered, or values written, at a time.
_PIECE = 1 << 22


class RowsOnDisk:
    """Rows of features and true labels, added block by block.

    Parameters
    ----------
    folder : path
        Where to put the files; it has to exist.

    Examples
    --------
    >>> import tempfile
    >>> block = FeatureRows(np.array([0, 2, 3]), np.array([4, 5, 4]), None, np.array([0, 2]), 6)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with RowsOnDisk(folder) as disk:
    ...         disk.add(block, np.array([0, 1]))
    ...         disk.add(block, np.array([1, 1]))
    ...     rows, truth = disk.mapped(6)
    ...     rows.sentences.tolist(), rows.offsets.tolist(), truth.tolist()
    ([0, 2, 4], [0, 2, 3, 5, 6], [0, 1, 1, 1])
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.sentences = self.tokens = self.features = 0
        self._files: dict[str, IO[bytes]] = {}
        self._has_values = False
        self._write("sentences", np.zeros(1, np.int64))
        self._write("offsets", np.zeros(1, np.int64))

    def __enter__(self) -> RowsOnDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()

    def add(self, rows: FeatureRows, truth: NDArray[np.int32]) -> None:
        """Append some sentences."""
        if rows.pairs is not None:
            raise InputError("features of pairs of labels (B lines) need all data in memory")
        if rows.values is not None and not self._has_values:  # until now all were 1
            self._has_values = True
            self._write_ones(self.features)
        self._write("sentences", rows.sentences[1:].astype(np.int64) + self.tokens)
        self._write("offsets", rows.offsets[1:].astype(np.int64) + self.features)
        self._write("ids", rows.ids.astype(np.int32))
        self._write("truth", truth.astype(np.int32))
        if rows.values is not None:
            self._write("values", rows.values.astype(np.float32))
        elif self._has_values:
            self._write_ones(len(rows.ids))
        self.sentences += len(rows.sentences) - 1
        self.tokens += rows.n_tokens
        self.features += len(rows.ids)

    def renumber(self, labels: NDArray[np.int32]) -> None:
        """Give every true label k the number labels[k]. Nothing can be added any more."""
        self.relabel(lambda truth, _: labels[truth])

    def relabel(
        self, change: Callable[[NDArray[np.int32], NDArray[np.int64]], NDArray[np.int32]]
    ) -> None:
        """Replace the true labels by what ``change`` makes of some sentences' labels at a time.

        It gets the labels and where the sentences begin among them. Nothing can be added any more.
        """
        truth = self._map("truth", np.int32, "r+")
        sentences = self._map("sentences", np.int64)
        first = 0
        while first < self.sentences:
            most = int(sentences[first]) + _PIECE
            last = max(int(np.searchsorted(sentences, most, side="right")) - 1, first + 1)
            begin, end = int(sentences[first]), int(sentences[last])
            truth[begin:end] = change(truth[begin:end], sentences[first : last + 1] - begin)
            first = last
        if isinstance(truth, np.memmap):
            truth.flush()

    def mapped(self, dimension: int) -> tuple[FeatureRows, NDArray[np.int32]]:
        """All that was added, mapped into memory."""
        rows = FeatureRows(
            offsets=self._map("offsets", np.int64),
            ids=self._map("ids", np.int32),
            values=self._map("values", np.float32) if self._has_values else None,
            sentences=self._map("sentences", np.int64),
            dimension=dimension,
        )
        return rows, self._map("truth", np.int32)

    def _write(self, name: str, array: NDArray[Any]) -> None:
        if name not in self._files:
            self._files[name] = open(self._path(name), "wb")  # noqa: SIM115
        try:
            self._files[name].write(np.ascontiguousarray(array).data)
        except OSError as problem:
            raise InputError(
                f"{self.folder}: the features cannot be written ({problem.strerror or problem})"
            ) from None

    def _write_ones(self, count: int) -> None:
        self._write("values", np.zeros(0, np.float32))
        for first in range(0, count, _PIECE):
            self._write("values", np.ones(min(_PIECE, count - first), np.float32))

    def _finish(self) -> None:
        try:
            with ExitStack() as closing:  # all of them, though one cannot write what it still holds
                for file in self._files.values():
                    closing.callback(file.close)
        except OSError as problem:
            raise InputError(
                f"{self.folder}: the features cannot be written ({problem.strerror or problem})"
            ) from None

    def _map(self, name: str, dtype: Any, mode: Any = "r") -> NDArray[Any]:
        path = self._path(name)
        if not path.exists() or not path.stat().st_size:
            return np.zeros(0, dtype)
        return np.memmap(path, dtype, mode)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.bin"
