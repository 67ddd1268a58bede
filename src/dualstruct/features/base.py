"""What all ways to get features have in common, and the checks that they share."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct.data.schema import Range
from dualstruct.errors import InputError
from dualstruct.libraries import library

if TYPE_CHECKING:
    import scipy.sparse

__all__ = ["FeatureExtractor", "FeatureRows", "State", "TruthOf"]

#: From where sentences begin to the number of each token's label.
TruthOf = Callable[[NDArray[np.int64]], NDArray[np.int32]]
State = tuple[dict[str, Any], dict[str, NDArray[Any]]]

#: Larger than any count, and what the core can take.
MOST_COUNT = 2**63 - 1


@dataclass(frozen=True)
class FeatureRows:
    """The features of tokens, row by row. A row may hold an id twice; its values then add up."""

    offsets: NDArray[np.int64]  # [tokens + 1]
    ids: NDArray[np.int32]  # [offsets[-1]]
    values: NDArray[np.float32] | None  # [offsets[-1]]; None when all are 1
    sentences: NDArray[np.int64]  # [sentences + 1] first token of each
    dimension: int
    #: Features of a token together with its label and the one before it, with ids of their own.
    pairs: FeatureRows | None = None

    @property
    def n_tokens(self) -> int:
        """The number of rows."""
        return len(self.offsets) - 1

    def select(self, examples: ArrayLike) -> FeatureRows:
        """The rows of some sentences, in this order."""
        rows = places_of(self.sentences, examples)
        cells = places_of(self.offsets, rows)
        lengths = np.diff(self.sentences)[np.asarray(examples, dtype=np.intp)]
        return replace(
            self,
            offsets=np.concatenate([[0], np.cumsum(np.diff(self.offsets)[rows])]),
            ids=self.ids[cells],
            values=None if self.values is None else self.values[cells],
            sentences=np.concatenate([[0], np.cumsum(lengths)]),
            pairs=None if self.pairs is None else self.pairs.select(examples),
        )

    def matrix(self) -> scipy.sparse.csr_matrix:
        """The rows as a sparse matrix, for other libraries."""
        sparse = library("scipy.sparse", "scipy", "a sparse matrix")
        values = np.ones(len(self.ids), np.float32) if self.values is None else self.values
        shape = (self.n_tokens, self.dimension)
        return sparse.csr_matrix((values, self.ids, self.offsets), shape)


def places_of(offsets: NDArray[np.int64], blocks: ArrayLike) -> NDArray[np.int64]:
    """The places that some of the blocks between offsets take, block after block.

    >>> places_of(np.array([0, 2, 3, 6]), [2, 0]).tolist()
    [3, 4, 5, 0, 1]
    """
    chosen = np.asarray(blocks, dtype=np.intp)
    lengths = np.diff(offsets)[chosen]
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.repeat(offsets[chosen] - before, lengths) + np.arange(lengths.sum()))


class FeatureExtractor(ABC):
    """Learns which features there are, and turns sentences into rows of feature ids.

    :func:`make_extractor` makes them. They can be pickled, and kept in files by ``state``.
    """

    @property
    def learns_from_labels(self) -> bool:
        """Whether :meth:`learn` has to be called before the first :meth:`fit`."""
        return False

    def learn(self, X: Any, truth: TruthOf, names: Sequence[str]) -> None:  # noqa: B027
        """Learn what labels say of words, before X is fitted: most extractors do not.

        ``truth`` gives the number of each token's label (−1 if it is unknown), called with where
        sentences begin; ``names`` are the labels.
        """

    def transform_training(self, X: Any, truth: TruthOf) -> FeatureRows:
        """The rows of X as if X had been trained on: tokens do not see their own labels."""
        return self.transform(X)

    @abstractmethod
    def fit(self, X: Any, *, threads: int = 1) -> FeatureRows:
        """Give ids to the features of X; called again, it adds to those it has.

        Templates work on several threads; the ids are the same with any number.
        """

    @abstractmethod
    def transform(self, X: Any, *, threads: int = 1) -> FeatureRows:
        """The rows of X; features without an id are left out. Changes nothing."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many ids there are."""

    @abstractmethod
    def names(self, ids: ArrayLike) -> list[str]:
        """The names of features."""

    def name(self, id: int) -> str:
        """The name of a feature."""
        return self.names([id])[0]

    def names_in(self, X: Any) -> list[str]:
        """The name of every feature in the rows of X, in their order.

        Hashed features, which have no names of their own, get those that X gives them.
        """
        return self.names(self.transform(X).ids)

    @abstractmethod
    def find(self, name: str) -> int | None:
        """The id of the feature with this name, if there is one."""

    @abstractmethod
    def select(self, keep: ArrayLike) -> None:
        """Keep the features whose flag is true, and number them again in the same order."""

    def coverage(self, X: Any) -> dict[str, float]:
        """The share of the tokens that each file of clusters, names or vectors knows; X are words
        or tuples."""
        return {}

    def share_files(self, other: FeatureExtractor) -> None:  # noqa: B027  # most have none
        """Take what a copy reads from files beside the model from the one it is a copy of."""

    def look_in(self, folder: Path) -> None:  # noqa: B027  # most need no files
        """Say where the model file is, beside which others may be."""

    @property
    def column_names(self) -> tuple[str, ...]:
        """What the columns of tokens are called, as far as somebody named them."""
        return ()

    def groups(self) -> list[str]:
        """Groups of features that can be left out (features/groups.py)."""
        return []

    @property
    def pairs(self) -> FeatureExtractor | None:
        """The features of a token and a pair of labels, if there are any."""
        return None

    @property
    def uses_documents(self) -> bool:
        """Whether features depend on other sentences of the document."""
        return False

    @abstractmethod
    def state(self) -> State:
        """Settings for a JSON file and arrays: all that is needed to tag new text."""

    @property
    def has_names(self) -> bool:
        """Whether features are known by their names, or by fingerprints alone."""
        return True

    def compact(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Arrays of ``state``, with what follows from the others left out."""
        return dict(arrays)

    @classmethod
    @abstractmethod
    def from_state(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> FeatureExtractor:
        """Make an extractor from what ``state`` gave; the arrays may be read-only."""

    def functions(self) -> dict[str, Callable[[Any], Iterable[Any]] | None]:
        """Functions of users that it calls, by their names; None where they must be given again."""
        return {}

    def give_functions(  # noqa: B027  # most have none
        self, functions: Mapping[str, Callable[[Any], Iterable[Any]]]
    ) -> None:
        """Give functions again, which ``state`` does not hold."""

    def copy(self) -> FeatureExtractor:
        """Another one that knows the same."""
        made = type(self).from_state(*self.state())
        made.give_functions({name: f for name, f in self.functions().items() if f is not None})
        made.share_files(self)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_state, self.state()


def check_names(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
    """Refuse bytes and offsets of a file that do not belong together.

    The core looks at each of them, when the names are first used.
    """
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(data):
        raise InputError("features: the names do not fill the bytes that they are in")


#: How many there may be.
FingerprintBits = Annotated[int, Range(8, 62)]
#: The low bits of its hash that a feature without a name is known by: so many more than it takes to
#: number all of them. A feature that was never seen is then taken for another one once in 4,096.
_MORE_BITS = 12


def fingerprinted(
    hashes: NDArray[np.uint64], worth: NDArray[Any]
) -> tuple[int, NDArray[np.uint64], NDArray[np.intp]]:
    """Bits, fingerprints in order, and the features that they are of.

    Of features with one fingerprint that with the largest worth stays.

    >>> fingerprinted(np.array([5, 2**40 + 3, 9, 2**41 + 3], np.uint64), np.array([1, 2, 1, 3]))
    (14, array([3, 5, 9], dtype=uint64), array([3, 0, 2]))
    """
    bits = max(len(hashes), 2).bit_length() - 1 + _MORE_BITS
    short = hashes & np.uint64(2**bits - 1)
    order = np.lexsort((-worth, short))
    first = np.append(True, np.diff(short[order]) != 0) if len(order) else np.zeros(0, np.bool_)
    return bits, short[order][first], order[first]


def check_settings(hash_bits: Any, min_count: Any) -> None:
    """Refuse settings that make no sense."""
    if hash_bits is not None and (type(hash_bits) is not int or not 1 <= hash_bits <= 30):
        raise InputError(f"hash_bits has to be a number from 1 to 30, not {hash_bits!r}")
    if not isinstance(min_count, int | np.integer) or not 1 <= min_count <= MOST_COUNT:
        raise InputError(
            f"min_count has to be a whole number from 1 to {MOST_COUNT:,}, not {min_count!r}"
        )
    if hash_bits is not None and min_count > 1:
        raise InputError(
            "min_count cannot be combined with hash_bits: hashed features have no table"
        )


def keep_flags(keep: ArrayLike, dimension: int) -> NDArray[np.uint8]:
    """Flags for `select`, one for each feature."""
    flags = np.asarray(keep)
    if flags.dtype != np.bool_ or flags.shape != (dimension,):
        raise InputError(f"{dimension} booleans are expected, one for each feature")
    return np.ascontiguousarray(flags).view(np.uint8)


def as_ids(ids: ArrayLike, dimension: int) -> NDArray[np.int32]:
    """Feature ids, checked."""
    numbers: NDArray[Any] = np.asarray(ids).reshape(-1)
    if numbers.size == 0:
        return np.zeros(0, np.int32)
    if not np.issubdtype(numbers.dtype, np.integer):
        raise InputError("feature ids are whole numbers")
    if numbers.min() < 0 or numbers.max() >= dimension:
        bad = numbers[(numbers < 0) | (numbers >= dimension)][0]
        raise InputError(f"there is no feature {bad}; there are {dimension}")
    return np.ascontiguousarray(numbers, dtype=np.int32)


def number_in(name: str) -> int | None:
    """The id in a made-up name such as ``#12``."""
    return int(name[1:]) if name[:1] == "#" and name[1:].isdecimal() else None


def encode_names(names: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Strings as their bytes laid end to end, and where each begins."""
    encoded = [name.encode() for name in names]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def decode_names(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """Strings from their bytes laid end to end."""
    if (
        len(offsets) == 0
        or offsets[0] != 0
        or offsets[-1] != len(data)
        or (np.diff(offsets) < 0).any()
    ):
        raise InputError("the offsets of stored strings do not fit their bytes")
    blob = data.tobytes()
    try:
        return [blob[begin:end].decode() for begin, end in itertools.pairwise(offsets.tolist())]
    except UnicodeDecodeError:
        raise InputError("a stored string is not UTF-8 text") from None
