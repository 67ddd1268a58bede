"""The features of all workers' sentences: dictionaries are merged once, before training.

Worker by worker, each sends what those before it did not have, so that no more is sent and held
than the merged dictionary.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.errors import InputError
from dualstruct.features.attributes import AttributeExtractor
from dualstruct.features.base import FeatureExtractor, FeatureRows
from dualstruct.features.joining import JoinedExtractor
from dualstruct.features.matrices import is_matrices
from dualstruct.features.restoring import from_state
from dualstruct.workers.communicator import Communicator

#: A sentence after all others.
_NEVER = np.int64(2**62)


def fit_features(
    workers: Communicator,
    extractor: FeatureExtractor,
    X: Any,
    numbers: NDArray[np.int64],
    threads: int = 1,
) -> tuple[FeatureExtractor, FeatureRows]:
    """``extractor.fit(X)`` where every worker has some of the sentences: the same ids on all.

    Features that the extractor had already keep their ids; the others come in the order in which
    all sentences have them first, by their ``numbers`` among all workers': so the ids do not depend
    on how sentences are divided. Those that are rare in all sentences together are left out.
    """
    hashed = bool(getattr(extractor, "hash_bits", None))
    if workers.size == 1 or hashed:
        return extractor, extractor.fit(X, threads=threads)
    if extractor.learns_from_labels:
        raise InputError('templates with "labels" or "known" are for one machine: leave out engine')
    if isinstance(extractor, JoinedExtractor) or extractor.functions():
        raise InputError("functions and vectors are for one machine: leave out engine")
    if extractor.pairs is not None:
        raise InputError("features of pairs of labels (B templates) need hash_bits on workers")
    least = int(getattr(extractor, "min_count", 1))
    if is_matrices(X):
        if least > 1:
            raise InputError("min_count counts on one machine only where features are matrices")
        return extractor, extractor.fit(X, threads=threads)
    known = extractor.dimension
    extractor.min_count = 1  # type: ignore[attr-defined]  # what is rare here may not be elsewhere
    rows = extractor.fit(X, threads=threads)
    extractor.min_count = least  # type: ignore[attr-defined]
    settings, arrays = extractor.state()
    own = _Names.of(extractor, arrays)
    merged = own.first(known)
    for root in range(workers.size):
        new = own.chosen(~np.isin(own.keys, merged.keys)) if root == workers.rank else _Names.none()
        merged = merged.followed_by(new.sent(workers, root))
    order = np.argsort(merged.keys)
    new_ids = order[np.searchsorted(merged.keys, own.keys, sorter=order)]
    order = _by_first_use(workers, _first_uses(rows, len(own.keys), numbers), new_ids, known)
    merged = merged.ordered(order)
    new_ids = np.argsort(order)[new_ids]
    if least > 1:
        counts = np.zeros(len(merged.keys), dtype=np.int64)
        counts[new_ids] = np.bincount(rows.ids, minlength=len(own.keys))
        keep = workers.allreduce(counts) >= least
        keep[:known] = True
        merged = merged.chosen(keep)
        new_ids = np.where(keep, np.cumsum(keep) - 1, -1)[new_ids]
    made = from_state(settings, {**arrays, **merged.arrays(settings["kind"] == "templates")})
    return made, _renumbered(rows, new_ids, made.dimension)


def _first_uses(rows: FeatureRows, features: int, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of the first sentence that has each feature. [features]"""
    token_of = np.repeat(np.arange(rows.n_tokens), np.diff(rows.offsets))
    sentence_of = np.searchsorted(rows.sentences, token_of, side="right") - 1
    first = np.full(features, _NEVER)
    first[rows.ids[::-1]] = numbers[sentence_of][::-1]  # of several the last one stays
    return first


def _by_first_use(
    workers: Communicator, own: NDArray[np.int64], ids: NDArray[np.int64], known: int
) -> NDArray[np.int64]:
    """All features, after the known ones, in the order in which sentences have them first.

    ``own`` are the sentences that this worker has its features in, ``ids`` these features among
    all. Within a sentence they are in the order of the worker that has it.
    """
    first: NDArray[np.int64] = np.full(0, _NEVER)
    rank = np.zeros(0, np.int64)
    for root in range(workers.size):
        [size] = workers.broadcast(np.array([len(ids)]), root).tolist()
        mine = workers.rank == root
        theirs = workers.broadcast(ids if mine else np.zeros(size, np.int64), root)
        used = workers.broadcast(own if mine else np.zeros(size, np.int64), root)
        longer = max(int(theirs.max(initial=-1)) + 1 - len(first), 0)
        first = np.concatenate([first, np.full(longer, _NEVER)])
        rank = np.concatenate([rank, np.zeros(longer, np.int64)])
        sooner = used < first[theirs]
        first[theirs[sooner]] = used[sooner]
        rank[theirs[sooner]] = np.flatnonzero(sooner)
    first[:known], rank[:known] = -1, np.arange(known)
    return np.lexsort((rank, first))


def _renumbered(rows: FeatureRows, new_ids: NDArray[np.int64], dimension: int) -> FeatureRows:
    ids = new_ids[rows.ids].astype(np.int32)
    kept = ids >= 0
    if kept.all():
        return FeatureRows(rows.offsets, ids, rows.values, rows.sentences, dimension)
    offsets = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])[rows.offsets]
    values = None if rows.values is None else rows.values[kept]
    return FeatureRows(offsets, ids[kept], values, rows.sentences, dimension)


class _Names:
    """The names of features laid end to end, and a 64-bit hash of each."""

    def __init__(
        self, keys: NDArray[np.uint64], data: NDArray[np.uint8], lengths: NDArray[np.int64]
    ) -> None:
        self.keys = keys  # [features]
        self.data = data
        self.lengths = lengths  # [features]

    @classmethod
    def of(cls, extractor: FeatureExtractor, arrays: Mapping[str, NDArray[Any]]) -> _Names:
        data, lengths = arrays["name_bytes"], np.diff(arrays["name_offsets"])
        if not isinstance(extractor, AttributeExtractor):
            return cls(arrays["hashes"], data, lengths)
        text, ends = data.tobytes(), np.cumsum(lengths).tolist()
        begins = [0, *ends[:-1]] if ends else []
        hashes = (
            hashlib.blake2b(text[begin:end], digest_size=8).digest()
            for begin, end in zip(begins, ends, strict=True)
        )
        return cls(np.frombuffer(b"".join(hashes), np.uint64), data, lengths)

    @classmethod
    def none(cls) -> _Names:
        return cls(np.zeros(0, np.uint64), np.zeros(0, np.uint8), np.zeros(0, np.int64))

    def first(self, count: int) -> _Names:
        return _Names(
            self.keys[:count], self.data[: int(self.lengths[:count].sum())], self.lengths[:count]
        )

    def chosen(self, keep: NDArray[np.bool_]) -> _Names:
        return _Names(self.keys[keep], self.data[np.repeat(keep, self.lengths)], self.lengths[keep])

    def ordered(self, order: NDArray[np.int64]) -> _Names:
        begins = np.concatenate([[0], np.cumsum(self.lengths)])[order]
        lengths = self.lengths[order]
        # Where each byte comes from: the beginning of its name, and how far it is into that.
        passed = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(order) else lengths
        places = np.repeat(begins - passed, lengths) + np.arange(int(lengths.sum()))
        return _Names(self.keys[order], self.data[places], lengths)

    def followed_by(self, other: _Names) -> _Names:
        return _Names(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.data, other.data]),
            np.concatenate([self.lengths, other.lengths]),
        )

    def sent(self, workers: Communicator, root: int) -> _Names:
        """What ``root`` has."""
        sizes = workers.broadcast(np.array([len(self.keys), len(self.data)]), root)
        keys, data, lengths = self.keys, self.data, self.lengths
        if workers.rank != root:
            keys, data = np.zeros(int(sizes[0]), np.uint64), np.zeros(int(sizes[1]), np.uint8)
            lengths = np.zeros(int(sizes[0]), np.int64)
        return _Names(
            workers.broadcast(keys, root),
            workers.broadcast(data, root),
            workers.broadcast(lengths, root),
        )

    def arrays(self, with_hashes: bool) -> dict[str, NDArray[Any]]:
        """As the state of an extractor has them."""
        offsets = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        arrays: dict[str, NDArray[Any]] = {"name_bytes": self.data, "name_offsets": offsets}
        return {**arrays, "hashes": self.keys} if with_hashes else arrays
