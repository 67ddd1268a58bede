"""Examples of a structure that a user wrote, as the core learns from them.

The core (core/structures/custom/custom.cpp, core/python/custom.cpp) calls ``decode``
wherever a solver needs inference, and ``features`` and ``cost`` for the outputs that it
did not know yet. Learning itself runs without the GIL.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.data.schema import fit_type, parse_json, stored_array
from dualstruct.errors import InputError, UnsupportedError
from dualstruct.printable import plural
from dualstruct.structures.base import Structure, digest_of

if TYPE_CHECKING:
    from dualstruct.structures.custom import CustomStructure


class BadAnswerError(InputError):
    """A method of a custom structure returned what cannot be used; the message names it."""


@dataclass
class FeatureSpace:
    """Which weights there are, and which feature has which, as far as it is known."""

    size: int
    names: dict[str, int] | None = None  #: None where features have numbers, or are hashed
    frozen: bool = False  #: whether no more names are learned


class Calls:
    """What the core calls: a user's methods, and what to do about their answers.

    It must not refer to the structure in the core, which refers to it.
    """

    def __init__(
        self, output_type: CustomStructure, space: FeatureSpace, X: list[Any], Y: list[Any] | None
    ) -> None:
        self.decode = output_type.decode
        self.features = output_type.features
        self.cost = output_type.cost
        self.k_best = output_type.k_best
        self.expectation = output_type.expectation
        self.from_compiled = output_type.from_compiled
        self.X = X
        self.Y = Y
        self.names = space.names
        self.hash_bits = output_type.hash_bits or 0
        self.learns_names = Y is not None and not space.frozen
        self.skipped: Counter[int] = Counter()
        # Why an example was skipped first; an exception itself would keep all of training alive.
        self.failures: dict[int, str] = {}
        self._size = space.size
        self._go_on = output_type.on_error == "skip"
        self._weights: WeakValueDictionary[int, _core.Weights] = WeakValueDictionary()

    def lend(self, w: _core.Weights) -> None:
        """Decoders get views of these weights that keep them alive."""
        self._weights[w.array.ctypes.data] = w

    def view(self, address: int) -> NDArray[np.float32] | None:
        w = self._weights.get(address)
        return None if w is None else w.array

    def key(self, y: Any) -> Any:
        return key_of(y)

    def as_pairs(
        self, i: int, method: str, features: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The numbers and values of features that are not a dict."""
        if hasattr(features, "tocoo"):
            row = features.tocoo()
            if row.ndim == 2 and row.shape[0] != 1:
                self.wrong(
                    i, method, f"returned a matrix of {plural(row.shape[0], 'row')}, not one row"
                )
            indices, values = (row.col if row.ndim == 2 else row.coords[0]), row.data
        elif isinstance(features, np.ndarray) and features.ndim == 1:
            indices = np.flatnonzero(features)
            values = features[indices]
        else:
            self.wrong(i, method, not_features(features))
        if features.shape[-1] != self._size:
            self.wrong(i, method, f"has {plural(features.shape[-1], 'feature')}, not {self._size}")
        return indices.astype(np.int64), values.astype(np.float64)

    def wrong(self, i: int, method: str, what: str) -> NoReturn:
        raise BadAnswerError(f"{name_example(i, self.X[i])}: {method} {what}")

    def skips(self, i: int, method: str, error: BaseException) -> bool:
        """Whether to continue after an error; it gets to know where it happened."""
        if not isinstance(error, BadAnswerError):
            note(error, f"in {method}, {name_example(i, self.X[i])}")
        if self._go_on and isinstance(error, Exception):
            self.skipped[i] += 1
            self.failures.setdefault(i, described(error))
            return True
        return False


class CustomExamples(Structure):
    """Examples of a :class:`CustomStructure`.

    To the core an output is its cost and its features (:meth:`encode`); :meth:`answer` gives the
    user's own objects.
    """

    core: _core.Custom

    def __init__(
        self,
        output_type: CustomStructure,
        space: FeatureSpace,
        X: Sequence[Any],
        Y: Sequence[Any] | None,
    ) -> None:
        self.output_type = output_type
        self._space = space
        self.X = list(X)
        self.Y = None if Y is None else list(Y)
        self._calls = Calls(output_type, space, self.X, self.Y)
        self._compiled = output_type.compiled_decoder(self.X, self.Y)
        compiled = () if self._compiled is None else (self._compiled.address, self._compiled.data)
        self.core = _core.Custom(self._calls, space.size, *compiled)
        self._digest = digest_of([*self.core.true_features(), to_bytes(list(space.names or ()))])

    @property
    def kind(self) -> str:
        return type(self.output_type).__name__

    @property
    def exact(self) -> bool:
        return self.output_type.exact

    def has_exact_inference(self, sums: bool) -> bool:
        return self.output_type.exact

    @property
    def skipped(self) -> Mapping[int, int]:  # type: ignore[override]
        """How often each example was left out because one of the methods failed."""
        return self._calls.skipped

    @property
    def failures(self) -> Mapping[int, str]:
        """Why an example was left out first."""
        return self._calls.failures

    @property
    def is_compiled(self) -> bool:
        return self._compiled is not None

    def new_weights(self, values: NDArray[np.float32] | None = None) -> _core.Weights:
        w = super().new_weights(values)
        self._calls.lend(w)
        return w

    def name_example(self, i: int, part: int = 0) -> str:
        return name_example(i, self.X[i])

    def digest(self) -> str:
        return self._digest

    def decode_all(
        self, w: _core.Weights, cost_weight: float = 0.0, threads: int = 1
    ) -> NDArray[np.int32]:
        found = [self.decode(w, i, cost_weight) for i in range(len(self))]
        return np.concatenate(found) if found else np.zeros(0, dtype=np.int32)

    def checked_output(self, i: int, output: ArrayLike) -> NDArray[np.int32]:
        encoded = np.ascontiguousarray(output, dtype=np.int32)
        if (
            encoded.ndim != 1
            or not self.core.is_valid(i, encoded.view(np.uint32))
            or not len(encoded)
        ):
            raise InputError(f"{self.name_example(i)}: this is no output; encode gives them")
        return encoded

    def answer(self, w: _core.Weights, i: int, cost_weight: float = 0.0) -> Any:
        """What ``decode`` of the user's class says: an output in the form that Y has."""
        if self._compiled is None:
            return self._call("decode", i, w.array, self.X[i], self._truth(i), cost_weight)
        length, output = self.core.run_compiled(w, i, cost_weight)
        if length < 0:
            self._calls.wrong(i, "compiled_decoder", f"failed with {length}")
        return self._call("from_compiled", i, self.X[i], output)

    def k_best_answers(
        self, w: _core.Weights, i: int, k: int, cost_weight: float = 0.0
    ) -> list[tuple[float, Any]]:
        """The k best outputs and their scores, best first, in the form that Y has."""
        if k < 1:
            raise InputError(f"k is {k}; it must be at least 1")
        if self.output_type.k_best is None:
            raise UnsupportedError(f"{self.kind}: it has no method k_best")
        truth = self._truth(i)
        best = self._call("k_best", i, w.array, self.X[i], k, truth, cost_weight)
        value = [self._call("value", i, w.array, self.X[i], y, truth, cost_weight) for y in best]
        return list(zip(value, best, strict=True))

    def encode(self, i: int, output: Any) -> NDArray[np.int32]:
        """An output as the core knows it: by its cost and features."""
        return self.core.encode(i, output)

    def state(self) -> dict[str, NDArray[Any]]:
        names = self._space.names
        return {} if names is None else {"feature_names": to_bytes(list(names))}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        names = self._space.names
        if names is None:
            return
        saved = from_bytes(stored_array(arrays, "feature_names", np.uint8))
        # The features of the true outputs have their numbers already.
        if saved[: len(names)] != list(names) or len(saved) > self.core.dimension:
            raise InputError("the features are others")
        names.clear()  # the core holds this very dictionary
        names.update((name, at) for at, name in enumerate(saved))

    def _truth(self, i: int) -> Any:
        return None if self.Y is None else self.Y[i]

    def _call(self, method: str, i: int, *arguments: Any) -> Any:
        try:
            return getattr(self.output_type, method)(*arguments)
        except Exception as error:
            note(error, f"in {method}, {self.name_example(i)}")
            raise


def key_of(y: Any) -> Any:
    """What an output is known by: its content; None where only its identity can tell it.

    >>> key_of([1, [2, 3]])
    ('list', 1, ('list', 2, 3))
    >>> key_of(object()) is None
    True
    """
    if isinstance(y, np.ndarray):
        return None if y.dtype.hasobject else (y.shape, y.dtype.str, y.tobytes())
    if isinstance(y, list):
        keys = tuple(key_of(part) for part in y)
        return None if None in keys else ("list", *keys)
    if isinstance(y, set):
        return frozenset(y)
    if isinstance(y, dict):
        return key_of([list(y), list(y.values())])
    if type(y).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
        return None
    try:
        hash(y)
    except TypeError:
        return key_of(list(y)) if isinstance(y, tuple) else None
    return y


def name_example(i: int, x: Any) -> str:
    """An example for messages: its number, and its id if it has one."""
    given = x.get("id") if isinstance(x, Mapping) else getattr(x, "id", None)
    known = isinstance(given, str | int) and not isinstance(given, bool)
    return f"example {i + 1} ({given})" if known else f"example {i + 1}"


def note(error: BaseException, where: str) -> None:
    """Tell an exception where it happened; a changed w is the mistake people make most."""
    if isinstance(error, ValueError) and "read-only" in str(error):
        where += ": w cannot be changed; work on w.copy()"
    if hasattr(error, "add_note"):
        error.add_note(where)
    else:  # Python 3.10
        error.__notes__ = [*getattr(error, "__notes__", []), where]


def described(error: BaseException) -> str:
    """An exception in one line, without the example's name."""
    text = str(error)
    if isinstance(error, BadAnswerError):
        return text.split(": ", 1)[1]
    notes = [where.split(", example")[0] for where in getattr(error, "__notes__", [])]
    return " ".join([*notes[-1:], "raised", f"{type(error).__name__}: {text}"])


def not_features(found: Any) -> str:
    return (
        f"returned {type(found).__name__}; features are a dict, a scipy sparse row or a numpy "
        "vector"
    )


def to_bytes(names: list[str]) -> NDArray[np.uint8]:
    """Names as an array, for files."""
    return np.frombuffer(json.dumps(names).encode(), dtype=np.uint8)


def from_bytes(array: NDArray[np.uint8]) -> list[str]:
    return fit_type(list[str], parse_json(array.tobytes(), "the feature names"), "feature_names")
