"""Features that tokens state themselves: dicts, lists of strings, or rows of a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.data.schema import fit_type, stored_array
from dualstruct.errors import InputError
from dualstruct.features.base import (
    FeatureExtractor,
    FeatureRows,
    FingerprintBits,
    State,
    as_ids,
    check_names,
    check_settings,
    decode_names,
    encode_names,
    keep_flags,
    number_in,
)
from dualstruct.features.matrices import CSRSequences, as_sequences, is_matrices
from dualstruct.lazy import Once
from dualstruct.printable import plural

__all__ = ["AttributeExtractor"]


class AttributeExtractor(FeatureExtractor):
    """Attributes as CRFsuite's users write them, or the columns of sparse matrices.

    In a dict, ``{"word": "Ada"}`` is the feature ``word:Ada``, ``{"length": 3}`` the feature
    ``length`` with weight 3, a bool has the weight 1 or 0, nested dicts and lists or sets of
    strings lengthen the name by ``:``. In a list or set, each string is a feature of its own. What
    the first sentences are, attributes or matrices, all later ones have to be.

    Examples
    --------
    >>> extractor = AttributeExtractor()
    >>> rows = extractor.fit([[{"word": "Ada", "length": 3, "near": {"right": "sings"}}]])
    >>> extractor.names(rows.ids), rows.values
    (['word:Ada', 'length', 'near:right:sings'], array([1., 3., 1.], dtype=float32))
    """

    def __init__(self, *, hash_bits: int | None = None, min_count: int = 1) -> None:
        check_settings(hash_bits, min_count)
        self.hash_bits = hash_bits
        self.min_count = int(min_count)
        # Hashing leaves nothing to learn, so that there is something to ask from the start.
        self._own_strings = _core.AttributeFeatures(hash_bits) if hash_bits else None
        self._columns: MatrixColumns | None = None
        self._restored = Once()
        self._size = 0  # of what is to be restored
        self._fingerprint_bits: int | None = None  # if the names were left out

    @property
    def has_names(self) -> bool:
        return not self._fingerprint_bits

    @property
    def _strings(self) -> _core.AttributeFeatures | None:
        """The attributes, with those of the file that they come from once they are asked for."""
        self._restored()
        return self._own_strings

    def fit(self, X: Any, *, threads: int = 1) -> FeatureRows:
        if is_matrices(X):
            if self.hash_bits:
                raise InputError("hash_bits has no meaning for matrices")
            if self._strings is not None:
                raise InputError("the features learned so far are attributes, not matrix columns")
            columns = self._columns or MatrixColumns()
            rows = columns.fit(as_sequences(X), self.min_count)
            self._columns = columns
            return rows
        if self._columns is not None:
            raise InputError("the features learned so far are matrix columns, not attributes")
        strings = self._strings or _core.AttributeFeatures(0)
        rows = _rows(strings, *strings.fit(X, self.min_count))
        self._own_strings = strings
        return rows

    def transform(self, X: Any, *, threads: int = 1) -> FeatureRows:
        if self._columns is not None and (is_matrices(X) or len(X) == 0):
            return self._columns.transform(as_sequences(X) if len(X) else _no_sequences())
        if self._columns is not None:
            raise InputError("the features were learned from sparse matrices; these are none")
        if is_matrices(X):
            raise InputError("the features were learned from attributes; these are sparse matrices")
        strings = self._strings or _core.AttributeFeatures(0)
        return _rows(strings, *strings.transform(X))

    @property
    def dimension(self) -> int:
        if self._columns is not None:
            return self._columns.dimension
        if self._restored.pending:
            return self._size
        if self._strings is not None:
            return self._strings.dimension
        return 0

    def names(self, ids: ArrayLike) -> list[str]:
        numbers = as_ids(ids, self.dimension)
        if self._columns is not None:
            return self._columns.names_of(numbers)
        return [self._strings.name(id) for id in numbers.tolist()] if self._strings else []

    def names_in(self, X: Any) -> list[str]:
        if not self.hash_bits:
            return super().names_in(X)
        by_name = AttributeExtractor()
        return by_name.names(by_name.fit(X).ids)

    def find(self, name: str) -> int | None:
        if self._columns is not None:
            return self._columns.find(name)
        if self.hash_bits and (number := number_in(name)) is not None:
            return number if number < self.dimension else None
        id = -1 if self._strings is None else self._strings.find(name)
        return id if id >= 0 else None

    def select(self, keep: ArrayLike) -> None:
        if self.hash_bits:
            raise InputError("hashed features cannot be dropped: their ids are fixed")
        flags = keep_flags(keep, self.dimension)
        if self._columns is not None:
            self._columns.select(flags.astype(np.bool_))
        elif self._strings is not None:
            self._strings.select(flags)

    def state(self) -> State:
        source = "matrices" if self._columns else "strings" if self._strings else "nothing yet"
        settings: dict[str, Any] = {
            "kind": "attributes",
            "source": source,
            "hash_bits": self.hash_bits,
            "min_count": self.min_count,
        }
        arrays: dict[str, NDArray[Any]] = {}
        if self._columns is not None:
            arrays["columns"] = self._columns.id_of
            if self._columns.names is not None:
                names = encode_names(self._columns.names)
                arrays["name_bytes"], arrays["name_offsets"] = names
        elif self._strings is not None and self._fingerprint_bits:
            settings["fingerprint_bits"] = self._fingerprint_bits
            arrays["fingerprints"] = self._strings.hashes().astype(np.int64)
        elif self._strings is not None and not self.hash_bits:
            arrays["name_bytes"], arrays["name_offsets"] = self._strings.all_names()
        return settings, arrays

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> AttributeExtractor:
        stored = fit_type(_Settings, dict(settings), "features")
        made = cls(hash_bits=stored.hash_bits, min_count=stored.min_count)

        def stored_names() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
            return (
                stored_array(arrays, "name_bytes", np.uint8),
                stored_array(arrays, "name_offsets", np.int64),
            )

        if stored.source == "strings":
            if made._strings is None and stored.fingerprint_bits is not None:
                bits = made._fingerprint_bits = stored.fingerprint_bits
                known = stored_array(arrays, "fingerprints", np.int64).astype(np.uint64)
                nameless = made._own_strings = _core.AttributeFeatures(0)
                made._size = len(known)
                made._restored = Once(lambda: nameless.restore_fingerprints(known, bits))
            elif made._strings is None:
                data, offsets = stored_names()
                check_names(data, offsets)
                strings = made._own_strings = _core.AttributeFeatures(0)
                made._size = len(offsets) - 1
                made._restored = Once(lambda: strings.restore(data, offsets))
        elif stored.source == "matrices":
            names = decode_names(*stored_names()) if "name_bytes" in arrays else None
            made._columns = MatrixColumns(stored_array(arrays, "columns", np.int32), names)
        return made


@dataclass(eq=False, repr=False)
class _Settings:
    """What a file says of attributes, besides arrays."""

    source: Literal["matrices", "strings", "nothing yet"]
    hash_bits: int | None = None
    min_count: int = 1
    fingerprint_bits: FingerprintBits | None = None


class MatrixColumns:
    """Which columns of a matrix are features, and with which ids."""

    def __init__(
        self, id_of: NDArray[np.int32] | None = None, names: list[str] | None = None
    ) -> None:
        self.id_of = np.zeros(0, np.int32) if id_of is None else np.array(id_of)  # [column], or -1
        self.names = names  # [column]
        kept = self.id_of[self.id_of >= 0]
        if not np.array_equal(kept, np.arange(len(kept))):
            raise InputError('the array "columns" of the features does not number them in order')
        if names is not None and len(names) != len(self.id_of):
            raise InputError(
                f"{plural(len(names), 'name')} for {plural(len(self.id_of), 'column')}"
            )

    @property
    def dimension(self) -> int:
        return int(np.count_nonzero(self.id_of >= 0))

    def fit(self, X: CSRSequences, min_count: int) -> FeatureRows:
        """Give ids to the columns not seen before, in order."""
        known = len(self.id_of)
        if X.n_columns > known:
            is_feature = np.bincount(X.ids, minlength=X.n_columns)[known:] >= min_count
            if min_count == 1:  # then all are, and ids are column numbers
                is_feature[:] = True
            added = np.where(is_feature, self.dimension - 1 + np.cumsum(is_feature), -1)
            self.id_of = np.concatenate([self.id_of, added.astype(np.int32)])
            if X.names is not None:
                self.names = X.names
            elif self.names is not None:
                self.names = [*self.names, *(f"#{c}" for c in range(known, X.n_columns))]
        return self.transform(X)

    def transform(self, X: CSRSequences) -> FeatureRows:
        ids = np.full(len(X.ids), -1, np.int32)
        known = X.ids < len(self.id_of)
        ids[known] = self.id_of[X.ids[known]]
        kept = ids >= 0
        offsets = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])[X.offsets]
        values = X.values[kept]
        all_ones = bool((values == 1).all())
        return FeatureRows(
            offsets, ids[kept], None if all_ones else values, X.sentences, self.dimension
        )

    def names_of(self, ids: NDArray[np.int32]) -> list[str]:
        columns = np.flatnonzero(self.id_of >= 0)[ids].tolist()
        return [f"#{column}" if self.names is None else self.names[column] for column in columns]

    def find(self, name: str) -> int | None:
        if self.names is not None:
            column = self.names.index(name) if name in self.names else None
        else:
            column = number_in(name)
        if column is None or column >= len(self.id_of) or self.id_of[column] < 0:
            return None
        return int(self.id_of[column])

    def select(self, keep: NDArray[np.bool_]) -> None:
        renamed = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        self.id_of = np.where(self.id_of >= 0, renamed[self.id_of], -1).astype(np.int32)


def _no_sequences() -> CSRSequences:
    return CSRSequences(np.zeros((0, 0)), [])


def _rows(
    strings: _core.AttributeFeatures,
    sentences: NDArray[np.int64],
    offsets: NDArray[np.int64],
    ids: NDArray[np.int32],
    values: NDArray[np.float64] | None,
) -> FeatureRows:
    single = None if values is None else values.astype(np.float32)
    return FeatureRows(offsets, ids, single, sentences, strings.dimension)
