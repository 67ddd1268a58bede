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

A CQDB maps names to numbers and back: "CQDB", size, flag 0, a mark of the byte order, count, where
the way back begins; 256 hash tables (place and number of buckets); records (number, length,
name, NUL); the buckets (hash, place of the record); the places of the records by number. Places
inside it count from its beginning. Names are hashed, NUL included, by Bob Jenkins's lookup3: the
last byte of the hash chooses the table, the rest the bucket; a full bucket sends on to the next.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.files.opening import name_of, read_bytes
from dualstruct.files.writing import replace_file

__all__ = ["CRFsuiteModel", "is_crfsuite", "parse_crfsuite", "read_crfsuite", "write_crfsuite"]

HEADER = struct.Struct("<4sI4s9I")
CQDB_HEADER = struct.Struct("<4s5I")
CHUNK_HEADER = struct.Struct("<4s2I")
TABLES = 256
RECORDS_BEGIN = CQDB_HEADER.size + 8 * TABLES
VERSION = 100
BYTE_ORDER = 0x62445371
STATE, TRANSITION = 0, 1
FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
#: As many as a chain takes; transitions are a square matrix in memory.
MAX_LABELS = _core.Chain.max_labels

Numbers = NDArray[np.int32]
Words = NDArray[np.uint32]


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

    @cached_property
    def chain(self) -> _core.PreciseChain:
        """The model as something that decodes, in double precision."""
        order = np.argsort(self.state_attributes, kind="stable")
        counts = np.bincount(self.state_attributes, minlength=len(self.attributes))
        K = len(self.labels)
        transitions = np.zeros((K, K))
        transitions[self.transition_sources, self.transition_targets] = self.transition_weights
        return _core.PreciseChain(
            K,
            np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
            self.state_labels[order].astype(np.int32),
            self.state_weights[order],
            transitions,
        )

    @cached_property
    def features(self) -> _core.AttributeFeatures:
        """The numbers of the attributes, by name."""
        # No text is equal to a name that is not UTF-8; a name that nobody gives keeps its place.
        names = [
            name if is_utf8(name) else f"\0attribute {number}"
            for number, name in enumerate(self.attributes)
        ]
        table = _core.AttributeFeatures(0)
        table.restore(*joined_names(names))
        return table

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

        add(_write_names(self.labels, "label"))
        add(_write_names(self.attributes, "attribute"))
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
        header = HEADER.pack(b"lCRF", size, b"FOMC", VERSION, *counts, *begins)
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
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"lCRF"
    except OSError:
        return False


def read_crfsuite(path: str | os.PathLike[str]) -> CRFsuiteModel:
    """Read a model that CRFsuite, or :func:`write_crfsuite`, wrote."""
    return parse_crfsuite(read_bytes(path), name_of(path))


def write_crfsuite(path: str | os.PathLike[str], model: CRFsuiteModel) -> None:
    """Write a model that CRFsuite can open."""
    replace_file(path, model.to_bytes())


def parse_crfsuite(data: bytes, name: str = "the model") -> CRFsuiteModel:
    """The model in the bytes of a file; ``name`` is what messages call it."""
    return _Reader(data, name).model()


class _Reader:
    """Every place and count is checked against the size of the file before it is believed."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name

    def damaged(self, what: str) -> InputError:
        return InputError(f"{self.name} is damaged: {what}")

    def model(self) -> CRFsuiteModel:
        if self.data[:4] != b"lCRF":
            raise InputError(f"{self.name} is not a CRFsuite model")
        if len(self.data) < HEADER.size:
            raise self.damaged("it ends within its header")
        header = HEADER.unpack_from(self.data)
        _, size, kind, version, _, n_labels, n_attributes, *places = header
        if kind != b"FOMC" or version != VERSION:
            raise InputError(f"{self.name} is a CRFsuite model of an unknown kind or version")
        if size != len(self.data):
            raise self.damaged(f"it should have {size} bytes and has {len(self.data)}")
        if n_labels > MAX_LABELS:
            raise self.damaged(f"{n_labels} labels; at most {MAX_LABELS} are possible")
        features = self.features(places[0])
        labels = self.names(places[1], n_labels, "label")
        attributes = self.names(places[2], n_attributes, "attribute")
        self.check_references(places[3], b"LFRF", features, TRANSITION, n_labels, empty=2)
        self.check_references(places[4], b"AFRF", features, STATE, n_attributes)
        if (features["target"] >= n_labels).any():
            raise self.damaged("a feature points to no label")
        if not np.isfinite(features["weight"]).all():
            raise self.damaged("a weight is not a number")
        state = features[features["type"] == STATE]
        moves = features[features["type"] == TRANSITION]
        pairs = moves["source"].astype(np.int64) * n_labels + moves["target"]
        if len(np.unique(pairs)) < len(pairs):
            raise self.damaged("a transition is there twice")
        return CRFsuiteModel(
            labels,
            attributes,
            state["source"].astype(np.int32),
            state["target"].astype(np.int32),
            np.ascontiguousarray(state["weight"]),
            moves["source"].astype(np.int32),
            moves["target"].astype(np.int32),
            np.ascontiguousarray(moves["weight"]),
        )

    def array(self, dtype: Any, count: int, begin: int, what: str) -> NDArray[Any]:
        if begin + count * np.dtype(dtype).itemsize > len(self.data):
            raise self.damaged(f"it ends within the {what}")
        return np.frombuffer(self.data, dtype, count, begin)

    def chunk(self, begin: int, mark: bytes, what: str) -> int:
        """How many entries the chunk has that begins here."""
        if begin + CHUNK_HEADER.size > len(self.data):
            raise self.damaged(f"it ends before the {what}")
        found, _, count = CHUNK_HEADER.unpack_from(self.data, begin)
        if found != mark:
            raise self.damaged(f"there are no {what} where they should be")
        return int(count)

    def features(self, begin: int) -> NDArray[Any]:
        count = self.chunk(begin, b"FEAT", "features")
        return self.array(FEATURE, count, begin + CHUNK_HEADER.size, "features")

    def names(self, begin: int, count: int, what: str) -> list[str]:
        """The names in a CQDB, by their numbers."""
        data = self.data
        if begin + RECORDS_BEGIN > len(data):
            raise self.damaged(f"it ends before the {what}s")
        mark, size, _, order, found, back = CQDB_HEADER.unpack_from(data, begin)
        if mark != b"CQDB" or order != BYTE_ORDER:
            raise self.damaged(f"there are no {what}s where they should be")
        if found != count or begin + size > len(data):
            raise self.damaged(f"{found} {what}s in {size} bytes, where {count} should be")
        places = self.array("<u4", count, begin + back, f"{what}s").tolist()
        names: list[str] = []
        for number, place in enumerate(places):
            start = place + 8
            if start > size:
                raise self.damaged(f"{what} {number} lies beyond the others")
            own, length = struct.unpack_from("<2I", data, begin + place)
            text = data[begin + start : begin + min(start + length, size)]
            if own != number or not length or len(text) < length or text.find(0) != length - 1:
                raise self.damaged(f"{what} {number} has no name")
            names.append(text[:-1].decode("utf-8", "surrogateescape"))
        if len(set(names)) < count:
            raise self.damaged(f"two {what}s have the same name")
        return names

    def check_references(
        self, begin: int, mark: bytes, features: NDArray[Any], kind: int, count: int, empty: int = 0
    ) -> None:
        """The lists of features by source repeat what the features say, or the file is damaged."""
        what = "references of labels" if kind == TRANSITION else "references of attributes"
        # Older versions of CRFsuite leave out the two places of the start and the end.
        if self.chunk(begin, mark, what) not in (count, count + empty):
            raise self.damaged(f"the {what} are not {count}")
        places = self.array("<u4", count, begin + CHUNK_HEADER.size, what).astype(np.int64)
        if count and places.max() + 4 > len(self.data):
            raise self.damaged(f"it ends within the {what}")
        lengths = self.words(places).astype(np.int64)
        if lengths.sum() > len(features):
            raise self.damaged(f"the {what} have too many features")
        if count and (places + 4 + 4 * lengths).max() > len(self.data):
            raise self.damaged(f"it ends within the {what}")
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        numbers = self.words(np.repeat(places, lengths) + 4 + 4 * within)
        expected = np.flatnonzero(features["type"] == kind)
        if not np.array_equal(np.sort(numbers), expected) or not np.array_equal(
            features["source"][numbers], np.repeat(np.arange(count), lengths)
        ):
            raise self.damaged(f"the {what} contradict the features")

    def words(self, places: NDArray[np.int64]) -> Words:
        """The 32-bit numbers at these places."""
        bytes_ = np.frombuffer(self.data, np.uint8)
        four = np.ascontiguousarray(bytes_[places[:, None] + np.arange(4)])
        return four.view("<u4").ravel()


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


def _write_names(names: Sequence[str], what: str) -> bytes:
    """A CQDB."""
    keys = [_encoded(name) + b"\0" for name in names]
    for name, key in zip(names, keys, strict=True):
        if key.find(0) != len(key) - 1:
            raise InputError(f"the {what} {name!r} has a NUL in it, which CRFsuite cannot store")
    if len(set(keys)) < len(keys):
        raise InputError(f"two {what}s have the same name")
    records, places, place = [], [], RECORDS_BEGIN
    for number, key in enumerate(keys):
        records.append(struct.pack("<2I", number, len(key)) + key)
        places.append(place)
        place += len(records[-1])
    tables: list[list[tuple[int, int]]] = [[] for _ in range(TABLES)]
    for hash_, at in zip(lookup3(keys).tolist(), places, strict=True):
        tables[hash_ % TABLES].append((hash_, at))
    directory, buckets = [], []
    for entries in tables:
        size = 2 * len(entries)
        directory += [place if entries else 0, size]
        table = [(0, 0)] * size
        for entry in entries:
            slot = (entry[0] >> 8) % size
            while table[slot][1]:
                slot = (slot + 1) % size
            table[slot] = entry
        buckets += [number for entry in table for number in entry]
        place += 8 * size
    size = place + 4 * len(keys)
    if size >= 2**32:
        raise InputError(f"CRFsuite's files hold at most 4 GB; the {what}s alone need {size} bytes")
    return b"".join(
        [
            CQDB_HEADER.pack(b"CQDB", size, 0, BYTE_ORDER, len(keys), place if keys else 0),
            np.array(directory, "<u4").tobytes(),
            *records,
            np.array(buckets, "<u4").tobytes(),
            np.array(places, "<u4").tobytes(),
        ]
    )


def lookup3(keys: Sequence[bytes]) -> Words:
    """Bob Jenkins's hash of each key (hashlittle with the initial value 0).

    >>> [hex(h) for h in lookup3([b"", b"Four score and seven years ago"]).tolist()]
    ['0xdeadbeef', '0x17770551']
    """
    hashes = np.empty(len(keys), np.uint32)
    lengths = np.fromiter(map(len, keys), np.int64, len(keys))
    blocks = np.maximum((lengths + 11) // 12, 1)  # of twelve bytes, the last padded with zeros
    for count in np.unique(blocks).tolist():
        group = np.flatnonzero(blocks == count)
        padded = b"".join(keys[i].ljust(12 * count, b"\0") for i in group.tolist())
        words = np.frombuffer(padded, "<u4").reshape(len(group), count, 3).astype(np.uint32)
        a = (np.uint32(0xDEADBEEF) + lengths[group].astype(np.uint32)).astype(np.uint32)
        b, c = a.copy(), a.copy()
        for block in range(count):
            if block:
                a, b, c = _mix(a, b, c)
            a, b, c = a + words[:, block, 0], b + words[:, block, 1], c + words[:, block, 2]
        hashes[group] = np.where(lengths[group] == 0, c, _finish(a, b, c))
    return hashes


def _rotated(x: Words, bits: int) -> Words:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


def _mix(a: Words, b: Words, c: Words) -> tuple[Words, Words, Words]:
    for first, second, third in ((4, 6, 8), (16, 19, 4)):
        a = (a - c) ^ _rotated(c, first)
        c = c + b
        b = (b - a) ^ _rotated(a, second)
        a = a + c
        c = (c - b) ^ _rotated(b, third)
        b = b + a
    return a, b, c


def _finish(a: Words, b: Words, c: Words) -> Words:
    c = (c ^ b) - _rotated(b, 14)
    a = (a ^ c) - _rotated(c, 11)
    b = (b ^ a) - _rotated(a, 25)
    c = (c ^ b) - _rotated(b, 16)
    a = (a ^ c) - _rotated(c, 4)
    b = (b ^ a) - _rotated(a, 14)
    return (c ^ b) - _rotated(b, 24)
