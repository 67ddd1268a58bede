"""CRFsuite's model files, read and written.

All numbers are little-endian, 32 bits wide but for the weights, which are doubles:

    header    "lCRF", size of the file, "FOMC", version 100, 0, labels, attributes, and where
              the five chunks below begin
    features  "FEAT", size, count, then type (0 state, 1 transition), source, target, weight each
    labels    a CQDB of their names
    attributes  another one
    references of labels      "LFRF", size, count, where the list of each label begins; a list
              is a count and the numbers of the features that have this source; two empty
              places for the start and the end come last
    references of attributes  "AFRF", the same without the two places

A CQDB maps names to numbers and back; core/crfsuite/name_table.hpp describes it. Files are read in
the core (core/crfsuite/model_file.hpp).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.opening import begins_with, name_of, read_bytes
from dualstruct.data.writing import replace_file
from dualstruct.errors import InputError

__all__ = ["CRFsuiteModel", "is_crfsuite", "parse_crfsuite", "read_crfsuite", "write_crfsuite"]

MAGIC = b"lCRF"
HEADER = struct.Struct("<4sI4s9I")
CHUNK_HEADER = struct.Struct("<4s2I")
VERSION = 100
STATE, TRANSITION = 0, 1
FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
#: As many as a chain takes; transitions are a square matrix in memory.
MAX_LABELS = _core.Chain.max_labels

Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CRFsuiteModel:
    """What a CRFsuite model file says.

    Names that are not UTF-8 hold their bytes as surrogate escapes.

    Examples
    --------
    >>> model = CRFsuiteModel(
    ...     labels=["N", "V"], attributes=["word:dog", "word:barks"],
    ...     state_attributes=np.array([0, 1]), state_labels=np.array([0, 1]),
    ...     state_weights=np.array([1.0, 0.5]),
    ...     transition_sources=np.array([0]), transition_targets=np.array([1]),
    ...     transition_weights=np.array([0.25]))
    >>> parse_crfsuite(model.to_bytes()).attributes
    ['word:dog', 'word:barks']
    """

    labels: list[str]
    attributes: list[str]
    state_attributes: Numbers
    state_labels: Numbers
    state_weights: NDArray[np.float64]
    transition_sources: Numbers
    transition_targets: Numbers
    transition_weights: NDArray[np.float64]

    def to_bytes(self) -> bytes:
        """The file that CRFsuite would have written."""
        # CRFsuite numbers features by their source, those of attributes first.
        state = np.argsort(self.state_attributes, kind="stable")
        moves = np.argsort(self.transition_sources, kind="stable")
        features = np.zeros(len(state) + len(moves), FEATURE)
        features["type"][len(state) :] = TRANSITION
        for name, ours, theirs in (
            ("source", self.state_attributes, self.transition_sources),
            ("target", self.state_labels, self.transition_targets),
            ("weight", self.state_weights, self.transition_weights),
        ):
            features[name] = np.concatenate([ours[state], theirs[moves]])
        size = CHUNK_HEADER.size + features.nbytes
        parts = [CHUNK_HEADER.pack(b"FEAT", size, len(features)) + features.tobytes()]
        begins = [HEADER.size]

        def add(part: bytes) -> None:
            begins.append(begins[-1] + len(parts[-1]))
            parts.append(part)

        add(_core.write_crfsuite_names(self.labels, "label"))
        add(_core.write_crfsuite_names(self.attributes, "attribute"))
        parts[-1] += bytes(-(begins[-1] + len(parts[-1])) % 4)
        sources = features["source"]
        lists = np.bincount(sources[len(state) :], minlength=len(self.labels))
        begin = begins[-1] + len(parts[-1])
        add(_write_references(b"LFRF", begin, lists, len(state), empty=2))
        lists = np.bincount(sources[: len(state)], minlength=len(self.attributes))
        begin = begins[-1] + len(parts[-1])
        add(_write_references(b"AFRF", begin, lists, 0))
        size = begins[-1] + len(parts[-1])
        if size >= 2**32:
            raise InputError(f"CRFsuite's files hold at most 4 GB; this model needs {size} bytes")
        counts = (0, len(self.labels), len(self.attributes))
        header = HEADER.pack(MAGIC, size, b"FOMC", VERSION, *counts, *begins)
        return b"".join([header, *parts])


def is_utf8(name: str) -> bool:
    """Whether a name was UTF-8 in its file, and has no bytes held as surrogate escapes."""
    return name.isascii() or not any("\ud800" <= c <= "\udfff" for c in name)


def joined_names(names: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Names one after the other, and where each begins."""
    encoded = [_encoded(name) for name in names]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def is_crfsuite(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as CRFsuite's model files do."""
    return begins_with(path, MAGIC)


def read_crfsuite(path: str | os.PathLike[str]) -> CRFsuiteModel:
    """Read a model that CRFsuite, or :func:`write_crfsuite`, wrote."""
    return parse_crfsuite(read_bytes(path), name_of(path))


def write_crfsuite(path: str | os.PathLike[str], model: CRFsuiteModel) -> None:
    """Write a model that CRFsuite can open."""
    replace_file(path, model.to_bytes())


def parse_crfsuite(data: bytes, name: str = "the model") -> CRFsuiteModel:
    """The model in the bytes of a file; ``name`` is what messages call it."""
    file = open_crfsuite(data, name)
    file.check()
    return CRFsuiteModel(
        file.labels, file.attributes, *file.state_features(), *file.transition_features()
    )


def open_crfsuite(data: bytes, name: str = "the model") -> _core.CRFsuiteFile:
    """The bytes of a file as something that labels; what is needed is read when it is needed.

    Damage is found where it is met. ``check`` looks for it everywhere.
    """
    return _core.CRFsuiteFile(data, name, MAX_LABELS)


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _write_references(
    mark: bytes, begin: int, lengths: NDArray[np.int64], first: int, empty: int = 0
) -> bytes:
    """Lists of consecutive features, numbered from ``first``, for a chunk that begins here."""
    count = len(lengths) + empty
    lists_begin = begin + CHUNK_HEADER.size + 4 * count
    starts = np.cumsum(lengths) - lengths
    words = np.zeros(count + len(lengths) + int(lengths.sum()), "<u4")
    words[: len(lengths)] = lists_begin + 4 * (np.arange(len(lengths)) + starts)
    heads = count + np.arange(len(lengths)) + starts
    words[heads] = lengths
    is_number = np.ones(len(words), np.bool_)
    is_number[:count] = is_number[heads] = False
    words[is_number] = first + np.arange(int(lengths.sum()))
    return CHUNK_HEADER.pack(mark, CHUNK_HEADER.size + words.nbytes, count) + words.tobytes()
