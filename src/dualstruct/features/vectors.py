"""Dense vectors, embeddings for instance, beside whatever other features tokens have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct.data.beside import Beside
from dualstruct.data.schema import fit_type, inner_arrays, stored_array
from dualstruct.errors import InputError
from dualstruct.features.base import FeatureExtractor, FeatureRows, State, TruthOf, as_ids
from dualstruct.printable import plural

__all__ = ["VectorExtractor", "WithVectors"]


class WithVectors(Beside):
    """Sentences with a vector for every token; use it wherever sentences are expected.

    Parameters
    ----------
    tokens : sentences
        Lists of words, tuples, dicts …, or ``read_columns(...).tokens``.
    vectors : list of arrays [tokens, width], or one array [all tokens, width]
        One array per sentence, or all of them stacked.

    Examples
    --------
    >>> from dualstruct import SequenceTagger
    >>> X = WithVectors([["Ada", "sings"], ["Bo"]], [np.eye(2), np.eye(2)[:1]])
    >>> tagger = SequenceTagger(features="word[0]\\n").fit(X, [["A", "B"], ["A"]])
    >>> tagger.predict(WithVectors([["Cy", "hums"]], [np.eye(2)]))
    [['A', 'B']]
    """

    def __init__(self, tokens: Any, vectors: Any) -> None:
        super().__init__(tokens)
        self._arrays: NDArray[np.float32] | list[NDArray[np.float32]]
        if isinstance(vectors, np.ndarray) and vectors.ndim == 2:
            self._arrays = np.ascontiguousarray(vectors, dtype=np.float32)
            return
        self._arrays = [np.asarray(array, dtype=np.float32) for array in vectors]
        if len(self._arrays) != len(self.tokens):
            raise InputError(
                f"{plural(len(self.tokens), 'sentence')}, but vectors for {len(self._arrays)}"
            )
        width = next((array.shape[1] for array in self._arrays if array.ndim == 2), 0)
        for number, array in enumerate(self._arrays, 1):
            if array.ndim != 2 or array.shape[1] != width:
                raise InputError(
                    f"sentence {number}: the vectors have shape {array.shape}, "
                    f"not (tokens, {width}) as those before"
                )

    def select(self, chosen: ArrayLike) -> WithVectors:
        """Some of the sentences, by their numbers (from 0)."""
        numbers = np.asarray(chosen).tolist()
        arrays = self._arrays
        if isinstance(arrays, np.ndarray):
            arrays = np.split(arrays, np.cumsum([len(sentence) for sentence in self.tokens])[:-1])
        return WithVectors([self.tokens[i] for i in numbers], [arrays[i] for i in numbers])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tokens)

    def matrix(self, sentences: NDArray[np.int64]) -> NDArray[np.float32]:
        """All vectors, [tokens, width], checked against where the sentences are."""
        lengths = np.diff(sentences)
        if isinstance(self._arrays, np.ndarray):
            if len(self._arrays) != sentences[-1]:
                raise InputError(
                    f"{plural(len(self._arrays), 'vector')} for the "
                    f"{plural(sentences[-1], 'token')} of all sentences"
                )
            matrix = self._arrays
        else:
            given = np.array([len(array) for array in self._arrays], dtype=np.int64)
            wrong = np.flatnonzero(given != lengths)
            if len(wrong):
                i = int(wrong[0])
                raise InputError(
                    f"sentence {i + 1}: {plural(lengths[i], 'token')}, but "
                    f"{plural(given[i], 'vector')}"
                )
            matrix = np.vstack(self._arrays) if len(given) else np.zeros((0, 0), np.float32)
        bad = ~np.isfinite(matrix).all(axis=1)
        if bad.any():
            token = int(np.flatnonzero(bad)[0])
            i = int(np.searchsorted(sentences, token, side="right")) - 1
            column = int(np.flatnonzero(~np.isfinite(matrix[token]))[0])
            raise InputError(
                f"sentence {i + 1}, token {token - int(sentences[i]) + 1}: entry {column} of its "
                f"vector is {matrix[token, column]}"
            )
        return matrix


class VectorExtractor(FeatureExtractor):
    """Another extractor's features after the entries of the vectors."""

    def __init__(self, inner: FeatureExtractor, columns: NDArray[np.int32] | None = None) -> None:
        self.inner = inner
        self._columns = columns  # the entries that are features; None before the first fit

    @property
    def hash_bits(self) -> int | None:
        return getattr(self.inner, "hash_bits", None)

    def coverage(self, X: Any) -> dict[str, float]:
        return self.inner.coverage(X)

    def share_files(self, other: FeatureExtractor) -> None:
        assert isinstance(other, VectorExtractor)
        self.inner.share_files(other.inner)

    def look_in(self, folder: Path) -> None:
        self.inner.look_in(folder)

    def groups(self) -> list[str]:
        return ["vectors", *self.inner.groups()]

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.inner.column_names

    @property
    def pairs(self) -> FeatureExtractor | None:
        return self.inner.pairs

    @property
    def uses_documents(self) -> bool:
        return self.inner.uses_documents

    @property
    def learns_from_labels(self) -> bool:
        return self.inner.learns_from_labels

    def learn(self, X: Any, truth: TruthOf, names: Sequence[str]) -> None:
        self.inner.learn(_checked(X).tokens, truth, names)

    def transform_training(self, X: Any, truth: TruthOf) -> FeatureRows:
        return self._joined(X, self.inner.transform_training(_checked(X).tokens, truth))

    def fit(self, X: Any, *, threads: int = 1) -> FeatureRows:
        return self._joined(X, self.inner.fit(_checked(X).tokens, threads=threads))

    def transform(self, X: Any, *, threads: int = 1) -> FeatureRows:
        if len(X) == 0 and not isinstance(X, WithVectors):
            rows = self.inner.transform(X)
            return replace(rows, dimension=self.dimension)
        return self._joined(X, self.inner.transform(_checked(X).tokens, threads=threads))

    def _joined(self, X: WithVectors, rows: FeatureRows) -> FeatureRows:
        matrix = X.matrix(rows.sentences)
        if self._columns is None:
            self._columns = np.arange(matrix.shape[1], dtype=np.int32)
        if len(matrix) and len(self._columns) and matrix.shape[1] <= self._columns.max():
            raise InputError(
                f"the vectors have {plural(matrix.shape[1], 'entry')}, and the model needs more"
            )
        matrix = matrix[:, self._columns] if len(matrix) else matrix
        tokens, width = rows.n_tokens, len(self._columns)
        offsets = rows.offsets + width * np.arange(tokens + 1)
        ids = np.empty(len(rows.ids) + tokens * width, dtype=np.int32)
        values = np.empty(len(ids), dtype=np.float32)
        places = offsets[:-1, None] + np.arange(width)
        others = np.ones(len(ids), dtype=np.bool_)
        others[places] = False
        ids[places], values[places] = np.arange(width, dtype=np.int32), matrix
        ids[others] = rows.ids + width
        values[others] = 1 if rows.values is None else rows.values
        return FeatureRows(offsets, ids, values, rows.sentences, self.dimension, rows.pairs)

    @property
    def _entries(self) -> int:
        return 0 if self._columns is None else len(self._columns)

    @property
    def dimension(self) -> int:
        return self._entries + self.inner.dimension

    def names(self, ids: ArrayLike) -> list[str]:
        numbers = as_ids(ids, self.dimension).tolist()
        entries = [] if self._columns is None else self._columns.tolist()
        others = iter(self.inner.names([k - len(entries) for k in numbers if k >= len(entries)]))
        return [f"vector[{entries[k]}]" if k < len(entries) else next(others) for k in numbers]

    def find(self, name: str) -> int | None:
        if name.startswith("vector[") and name[7:-1].isdecimal() and self._columns is not None:
            at = np.flatnonzero(self._columns == int(name[7:-1]))
            return int(at[0]) if len(at) else None
        id = self.inner.find(name)
        return None if id is None else id + self._entries

    def select(self, keep: ArrayLike) -> None:
        flags = np.asarray(keep)
        if self._columns is not None:
            self.inner.select(flags[self._entries :])
            self._columns = self._columns[flags[: self._entries]]

    def functions(self) -> dict[str, Any]:
        return self.inner.functions()

    def give_functions(self, functions: Mapping[str, Any]) -> None:
        self.inner.give_functions(functions)

    def state(self) -> State:
        settings, arrays = self.inner.state()
        columns = np.zeros(0, np.int32) if self._columns is None else self._columns
        own = {f"inner.{name}": array for name, array in arrays.items()}
        return {"kind": "vectors", "inner": settings}, {**own, "vector_columns": columns}

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> VectorExtractor:
        from dualstruct.features.restoring import from_state

        stored = fit_type(_Settings, dict(settings), "features")
        if stored.inner.get("kind") == "vectors":
            raise InputError("features.inner: there are no vectors beside vectors")
        columns = stored_array(arrays, "vector_columns", np.int32)
        return cls(from_state(stored.inner, inner_arrays(arrays, "inner")), columns)


@dataclass(frozen=True)
class _Settings:
    """What a file says of vectors and the other features, besides arrays."""

    inner: dict[str, Any]


def _checked(X: Any) -> WithVectors:
    if not isinstance(X, WithVectors):
        raise InputError(
            "the model was trained with vectors: give WithVectors(sentences, vectors) here, too"
        )
    return X
