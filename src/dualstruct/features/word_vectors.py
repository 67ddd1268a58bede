"""Vectors of words from a file: each token has the entries of its word and of its neighbours.

Files are text, a word and its numbers per line (GloVe, and word2vec, whose first line says how many
words and numbers there are), word2vec's binary files, or ``.npy`` with the words in a text file of
the same name (``vectors.npy``, ``vectors.txt``), a word per line.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.data.columns import ColumnSentences
from dualstruct.data.opening import in_file, lines_of, read_bytes, read_text
from dualstruct.data.schema import Range, fit_type, stored_array
from dualstruct.errors import InputError
from dualstruct.features.base import (
    FeatureExtractor,
    FeatureRows,
    State,
    as_ids,
    decode_names,
    keep_flags,
)
from dualstruct.printable import plural

__all__ = ["WordVectorExtractor", "WordVectors", "read_vectors"]

#: Where the words are whose vectors a token has, from the token.
OFFSETS = (-1, 0, 1)
#: Numbers that a vector may have.
WIDEST = 10_000


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors."""

    words: list[str]
    matrix: NDArray[np.float32]  # [words, width]

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix):
            shape = "×".join(map(str, self.matrix.shape))
            raise InputError(
                f"{plural(len(self.words), 'word')}, but the vectors are {shape} numbers"
            )
        if not 1 <= self.matrix.shape[1] <= WIDEST or not self.words:
            raise InputError(f"there must be words, and from 1 to {WIDEST:,} numbers for each")
        bad = np.flatnonzero(~np.isfinite(self.matrix).all(axis=1))
        if len(bad):
            raise _RowError(int(bad[0]), "a number is infinite or NaN")

    @property
    def width(self) -> int:
        return int(self.matrix.shape[1])

    def index(self) -> dict[str, int]:
        """Where each word is; its first place, if it is there twice."""
        return {word: place for place, word in reversed(list(enumerate(self.words)))}


class _RowError(InputError):
    """What is wrong with a row, counted from 0."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(reason)
        self.row, self.reason = row, reason


def read_vectors(path: str | Path) -> WordVectors:
    """Read a file of word vectors: text, word2vec's binary form, or .npy with a list of words.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "vectors.txt"
    ...     _ = file.write_text("Turin 0.5 1\\nRome 0.25 -1\\n")
    ...     read_vectors(file).words
    ['Turin', 'Rome']
    """
    path = Path(path)
    if path.suffix == ".npy":
        return _from_numpy(path)
    data = read_bytes(path)
    head, _, rest = data.partition(b"\n")
    sizes = head.split()
    header = len(sizes) == 2 and all(size.isdigit() and len(size) < 12 for size in sizes)
    try:
        if header:
            count, width = int(sizes[0]), int(sizes[1])
            if not 1 <= width <= WIDEST:
                raise InputError(f"line 1: vectors of {width} numbers; there may be {WIDEST:,}")
            if _is_binary(rest, width):
                return _from_binary(rest, count, width)
        return _from_text(data.decode(), header)
    except UnicodeDecodeError:
        raise InputError(f"{path.name}: this is neither UTF-8 text nor word2vec's form") from None
    except _RowError as problem:
        at = f"line {problem.row + 1 + header}"
        raise InputError(f"{path.name}, {at}: {problem.reason}") from None
    except InputError as problem:
        raise InputError(in_file(path.name, problem)) from None


def _from_numpy(path: Path) -> WordVectors:
    data = read_bytes(path)
    try:
        matrix = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception:  # a header is parsed as Python, which raises whatever it likes
        raise InputError(f"{path.name} is not an array written by numpy.save") from None
    if not isinstance(matrix, np.ndarray) or matrix.dtype.kind not in "fiu":
        raise InputError(f"{path.name} has no numbers")
    words = path.with_suffix(".txt")
    if not words.is_file():
        raise InputError(f"{path.name} needs its words, a word per line, in {words.name} beside it")
    try:
        with np.errstate(over="ignore"):
            return WordVectors(_lines(read_text(words)), matrix.astype(np.float32))
    except _RowError as problem:
        raise InputError(f"{path.name}, row {problem.row + 1}: {problem.reason}") from None
    except InputError as problem:
        raise InputError(f"{path.name}: {problem}") from None


def _is_binary(rest: bytes, width: int) -> bool:
    """Whether what follows the first line is not a line of text with so many numbers."""
    line = rest.partition(b"\n")[0].split()
    try:
        return len([float(each) for each in line[-width:]]) != width
    except ValueError:
        return not _is_text(rest[:1000])


def _is_text(data: bytes) -> bool:
    return not any(byte < 9 or 13 < byte < 32 for byte in data)


def _from_binary(data: bytes, count: int, width: int) -> WordVectors:
    size = 4 * width
    words: list[str] = []
    rows: list[bytes] = []
    at = 0
    while len(words) < count:
        end = data.find(b" ", at, at + 4096)
        if end < 0 or end + 1 + size > len(data):
            raise InputError(
                f"it should have {plural(count, 'word')}, and ends after {len(words):,}"
            )
        words.append(data[at:end].lstrip(b"\n").decode(errors="replace"))
        rows.append(data[end + 1 : end + 1 + size])
        at = end + 1 + size
    if data[at:].strip(b"\n"):
        raise InputError(
            f"there is more after its {plural(count, 'word')} of {plural(width, 'number')}"
        )
    matrix = np.frombuffer(b"".join(rows), "<f4").reshape(len(words), width)
    try:
        return WordVectors(words, matrix.astype(np.float32))
    except _RowError as problem:
        raise InputError(
            f"word {problem.row + 1} ({words[problem.row]!r}): {problem.reason}"
        ) from None


def _from_text(text: str, header: bool) -> WordVectors:
    lines = _lines(text)
    width = None
    if header:
        count, width = map(int, lines[0].split())
        if len(lines) - 1 != count:
            raise InputError(
                f"line 1 promises {plural(count, 'word')}, and {len(lines) - 1:,} follow"
            )
        lines = lines[1:]
    words: list[str] = []
    matrix = np.zeros((0, 0), np.float32)
    for number, line in enumerate(lines):
        cells = line.rstrip().split(" ") if "\t" not in line else line.rstrip().split("\t")
        if width is None:
            width = len(cells) - 1
            if not 1 <= width <= WIDEST:
                raise _RowError(number, f"a word and 1 to {WIDEST:,} numbers are expected")
        if len(matrix) == 0:
            matrix = np.empty((len(lines), width), np.float32)
        if len(cells) <= width:
            raise _RowError(
                number,
                f"a word and {plural(width, 'number')} are expected, not "
                f"{plural(len(cells), 'cell')}",
            )
        try:
            matrix[number] = cells[-width:]
        except ValueError:
            raise _RowError(number, f"the last {width} cells have to be numbers") from None
        if number and len(cells) > width + 1 and _all_numbers(cells[1:]):
            raise _RowError(number, f"{len(cells) - 1} numbers; those before have {width}")
        words.append(" ".join(cells[:-width]))
    return WordVectors(words, matrix)


def _lines(text: str) -> list[str]:
    lines = lines_of(text)
    return lines if lines[-1:] != [""] else lines[:-1]


def _all_numbers(cells: list[str]) -> bool:
    try:
        return bool([float(cell) for cell in cells])
    except ValueError:
        return False


class WordVectorExtractor(FeatureExtractor):
    """The entries of the vectors of a token's word and its neighbours, as features.

    Words are looked for as they are, then in lower case. Vectors are scaled by their mean length.

    Parameters
    ----------
    path : path
    keep : {"inside", "beside"}
        Whether a model file holds the vectors, or the name of their file, which then has to lie
        beside the model file or where it was.
    """

    def __init__(self, path: str | os.PathLike[str], keep: str = "inside") -> None:
        if keep not in ("inside", "beside"):
            raise InputError(f"keep_vectors is {keep!r}, neither inside nor beside")
        self.keep = keep
        self.path = Path(path)
        self._digest = ""
        self._width = 0
        self._folder: Path | None = None
        self._vectors: WordVectors | None = None
        self._set(read_vectors(self.path))
        if keep == "beside":
            self._digest = digest(self.path)
        self._numbers = np.arange(len(OFFSETS) * self._width, dtype=np.int32)  # [feature] or −1

    def _set(self, vectors: WordVectors) -> None:
        self._vectors, self._width = vectors, vectors.width
        self._index: dict[str, int] = vectors.index()
        lengths = np.sqrt((vectors.matrix.astype(np.float64) ** 2).sum(axis=1))
        self._scale = np.float32(1 / max(float(lengths.mean()), 1e-30))

    def share_files(self, other: FeatureExtractor) -> None:
        assert isinstance(other, WordVectorExtractor)
        self._folder = other._folder
        if other._vectors is not None:
            self._set(other._vectors)

    def look_in(self, folder: Path) -> None:
        """Say where the model file is, beside which the vectors are."""
        self._folder = folder

    def _read(self) -> WordVectors:
        if self._vectors is None:
            places = (
                [self.path] if self._folder is None else [self._folder / self.path.name, self.path]
            )
            found = next((place for place in places if place.is_file()), None)
            if found is None:
                raise InputError(
                    f"the model's vectors are in {self.path.name}, which is not beside the model"
                )
            if digest(found) != self._digest:
                raise InputError(f"{found} has other vectors than those of the model")
            vectors = read_vectors(found)
            if len(OFFSETS) * vectors.width != len(self._numbers):
                raise InputError(f"{found} has vectors of {vectors.width} numbers: not the model's")
            self._set(vectors)
        assert self._vectors is not None
        return self._vectors

    def fit(self, X: Any, *, threads: int = 1) -> FeatureRows:
        return self.transform(X)

    def transform(self, X: Any, *, threads: int = 1) -> FeatureRows:
        table = _table_of(X)
        sentences, places = np.array(table.sentences), self._places(table)
        tokens = len(places)
        seen = np.full((tokens, len(OFFSETS)), -1, np.int64)  # whose vector, −1 for none
        begins = np.repeat(sentences[:-1], np.diff(sentences))
        ends = np.repeat(sentences[1:], np.diff(sentences))
        for k, offset in enumerate(OFFSETS):
            at = np.arange(tokens) + offset
            inside = (at >= begins) & (at < ends)
            seen[inside, k] = places[at[inside]]
        token, column = np.nonzero(seen >= 0)
        numbers = self._numbers.reshape(len(OFFSETS), self._width)[column]
        values = self._read().matrix[seen[token, column]] * self._scale
        kept = numbers >= 0
        counts = np.bincount(token, kept.sum(axis=1), minlength=tokens).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        return FeatureRows(offsets, numbers[kept], values[kept], sentences, self.dimension)

    def _places(self, table: _core.TokenTable) -> NDArray[np.int64]:
        """Where each token's vector is, −1 if it has none."""
        self._read()
        if table.n_tokens == 0:
            return np.zeros(0, np.int64)
        index = self._index
        found = [index.get(word, index.get(word.lower(), -1)) for word in table.strings(0)]
        return np.array(found, np.int64)[table.ids(0)]

    def coverage(self, X: Any) -> dict[str, float]:
        known = self._places(_table_of(X)) >= 0
        return {f"vectors {self.path.name}": float(known.mean()) if len(known) else 0.0}

    @property
    def dimension(self) -> int:
        return int((self._numbers >= 0).sum())

    def names(self, ids: ArrayLike) -> list[str]:
        kept = np.flatnonzero(self._numbers >= 0)[as_ids(ids, self.dimension)]
        width = self._width
        return [f"vector(word[{OFFSETS[k // width]}])[{k % width}]" for k in kept.tolist()]

    def find(self, name: str) -> int | None:
        names = self.names(range(self.dimension)) if name.startswith("vector(") else []
        return names.index(name) if name in names else None

    def select(self, keep: ArrayLike) -> None:
        flags = keep_flags(keep, self.dimension).view(np.bool_)
        old = np.flatnonzero(self._numbers >= 0)
        self._numbers = np.full(len(self._numbers), -1, np.int32)
        self._numbers[old[flags]] = np.arange(int(flags.sum()), dtype=np.int32)

    def state(self) -> State:
        settings = {"kind": "word vectors", "file": str(self.path), "keep": self.keep}
        arrays: dict[str, NDArray[Any]] = {"numbers": self._numbers}
        if self.keep == "beside":
            return {**settings, "sha256": self._digest, "width": self._width}, arrays
        vectors = self._read()
        words = [word.encode() for word in vectors.words]
        arrays["word_bytes"] = np.frombuffer(b"".join(words), np.uint8)
        arrays["word_offsets"] = np.cumsum([0, *map(len, words)], dtype=np.int64)
        arrays["matrix"] = vectors.matrix
        return {**settings, "width": self._width}, arrays

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> WordVectorExtractor:
        stored = fit_type(_Settings, dict(settings), "features")
        made = cls.__new__(cls)
        made.path, made.keep, made._digest = Path(stored.file), stored.keep, stored.sha256
        made._folder, made._vectors, made._width = None, None, stored.width
        made._numbers = np.array(stored_array(arrays, "numbers", np.int32))
        kept = made._numbers[made._numbers >= 0]
        if len(made._numbers) != len(OFFSETS) * stored.width or not np.array_equal(
            kept, np.arange(len(kept))
        ):
            raise InputError("features: the entries of vectors are not numbered in order")
        if stored.keep == "inside":
            names = decode_names(
                stored_array(arrays, "word_bytes", np.uint8),
                stored_array(arrays, "word_offsets", np.int64),
            )
            made._set(WordVectors(names, stored_array(arrays, "matrix", np.float32, 2)))
            if made._width != stored.width:
                raise InputError(f"features: vectors of {made._width} numbers, not {stored.width}")
        return made


@dataclass(frozen=True)
class _Settings:
    """What a file says of word vectors, besides arrays."""

    file: str
    keep: Literal["inside", "beside"]
    width: Annotated[int, Range(1, WIDEST)]
    sha256: str = ""


def digest(path: Path) -> str:
    """A hash of a file."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def _table_of(X: Any) -> _core.TokenTable:
    return X.table() if isinstance(X, ColumnSentences) else _core.TokenTable.from_sentences(X)
