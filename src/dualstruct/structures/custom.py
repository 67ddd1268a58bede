"""Structures that users write: three Python methods, and every solver learns them.

The core (core/structures/custom/custom.cpp, core/python/custom.cpp) calls ``decode``
wherever a solver needs inference, and ``features`` and ``cost`` for the outputs that it
did not know yet. Learning itself runs without the GIL.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.data.schema import Range, fit_type, parse_json, stored_array
from dualstruct.errors import InputError, UnsupportedError
from dualstruct.structures.base import Structure, digest_of
from dualstruct.structures.template import Template

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_HASH_BITS = 30


class BadAnswerError(InputError):
    """A method of a custom structure returned what cannot be used; the message names it."""


class CompiledDecoder:
    """A decoder in machine code: a C function, or a function that Numba compiled.

    It is called without the GIL, on as many threads as the solver uses, as ::

        int64_t decode(const float *w, int64_t dimension, int64_t example, float cost_weight,
                       void *data, int32_t *output, int64_t capacity);

    and writes argmax_y w·φ(x, y) + cost_weight·Δ(truth, y) for the example with this number to
    ``output``. It returns how many numbers the output has; if that is more than ``capacity`` it is
    called again with room enough. A negative number is a failure.

    Parameters
    ----------
    function
        Its address, a ctypes function pointer, or a Numba ``@cfunc``.
    data : array or address, optional
        What ``data`` points to.
    keep : optional
        Anything that has to stay alive as long as the decoder is used.
    """

    def __init__(self, function: Any, data: NDArray[Any] | int = 0, keep: Any = None) -> None:
        self.address = _address_of(function)
        self.data = data.ctypes.data if isinstance(data, np.ndarray) else int(data)
        self._keep = (function, data, keep)


class CustomStructure(Template):
    """Any output that you can decode: write three methods, and every solver learns it.

    ``decode(w, x, truth=None, cost_weight=0)``
        argmax_y of w·φ(x, y) + cost_weight·Δ(truth, y). ``w`` is a read-only vector; copy it if you
        keep it. Some solvers hand over a positive multiple of both w and the cost weight, which
        has the same argmax. Predictions ask with ``truth=None`` and ``cost_weight=0``.
    ``features(x, y)``
        φ(x, y): a dict of names or numbers and values, a scipy sparse row, or a numpy vector.
    ``cost(truth, y)``
        Δ: at least 0, and 0 for the truth.

    and if you like

    ``k_best(w, x, k, truth=None, cost_weight=0)``
        The k best outputs, best first: for k-best MIRA and ``predict_k_best``.
    ``expectation(w, x, beta, gamma, truth=None)``
        ((1/β) log Σ_y exp β(w·φ + γΔ), E φ(x, y)) under p(y) ∝ exp β(w·φ + γΔ): for the losses
        ``crf`` and ``softmax_margin``.
    ``compiled_decoder(X, Y)``
        A :class:`CompiledDecoder` in place of ``decode``.

    Feature vectors tell how many weights there are. Names get their numbers in the order in which
    they are met, in true outputs first; names that training never met count for nothing later.
    Features by number need ``dimension``. ``features`` and ``cost`` must depend on nothing but
    their arguments: what they said of an output is remembered.

    With several threads ``decode`` may be called by any of them, one at a time (the GIL), while
    another one is moving w.

    Attributes
    ----------
    dimension : int, optional
        How many features there are, where they have numbers.
    max_features : int
        The most feature names: 1,048,576 by default (4 MB of weights).
    hash_bits : int, optional
        Hash feature names into 2**hash_bits weights instead of keeping a dictionary.
    exact : bool
        Whether ``decode`` always finds the maximum. If it does not, learning still works,
        ``check_structure`` accepts it, and the gap is an estimate.

    Examples
    --------
    >>> class Sign(CustomStructure):
    ...     def decode(self, w, x, truth=None, cost_weight=0):
    ...         return max("+-", key=lambda y: self.value(w, x, y, truth, cost_weight))
    ...     def features(self, x, y):
    ...         return {f"{word}/{y}": 1.0 for word in x.split()}
    ...     def cost(self, truth, y):
    ...         return float(y != truth)
    >>> from dualstruct import StructuredSVM
    >>> svm = StructuredSVM(Sign(), C=10.0).fit(["good film", "bad film"], ["+", "-"])
    >>> svm.predict(["a good one", "bad bad bad"])
    ['+', '-']
    """

    dimension: int | None = None
    max_features: int = 2**20
    hash_bits: int | None = None
    exact: bool = True
    on_error: str = "raise"  #: or "skip"; StructuredSVM sets it

    #: Optional methods; None where a subclass has none.
    k_best: Any = None
    expectation: Any = None

    _names: dict[str, int] | None = None  # feature name → weight
    _size: int | None = None  # how many weights there are
    _frozen = False  # whether no more names are learned

    def decode(self, w: Any, x: Any, truth: Any = None, cost_weight: float = 0.0) -> Any:
        """argmax_y w·φ(x, y) + cost_weight·Δ(truth, y)."""
        raise InputError(f"{type(self).__name__} has no method decode")

    def features(self, x: Any, y: Any) -> Any:
        """φ(x, y): a dict, a scipy sparse row, or a numpy vector."""
        raise InputError(f"{type(self).__name__} has no method features")

    def cost(self, truth: Any, y: Any) -> float:
        raise InputError(f"{type(self).__name__} has no method cost")

    def compiled_decoder(self, X: Sequence[Any], Y: Sequence[Any] | None) -> CompiledDecoder | None:
        """A decoder in machine code for these examples; None: ``decode`` is called."""
        return None

    def from_compiled(self, x: Any, output: NDArray[np.int32]) -> Any:
        """The output that a compiled decoder wrote, in the form that Y has."""
        return output

    def score(self, w: NDArray[np.float32], x: Any, y: Any) -> float:
        """w·φ(x, y)."""
        features = self.features(x, y)
        if isinstance(features, Mapping):
            return float(sum(value * self.weight(w, name) for name, value in features.items()))
        if hasattr(features, "tocoo"):
            return float(np.asarray(features @ w).item())
        return float(np.dot(features, w))

    def value(
        self, w: NDArray[np.float32], x: Any, y: Any, truth: Any = None, cost_weight: float = 0.0
    ) -> float:
        """w·φ(x, y) + cost_weight·Δ(truth, y): what ``decode`` maximises."""
        score = self.score(w, x, y)
        return score + cost_weight * self.cost(truth, y) if cost_weight else score

    def weight(self, w: NDArray[np.float32], feature: str | int) -> float:
        """The weight of a feature by its name or number; 0 for a name that was never met."""
        at = self.index(feature)
        return 0.0 if at is None else float(w[at])

    def index(self, feature: str | int) -> int | None:
        """Where in w a feature is; None for a name that was never met."""
        if not isinstance(feature, str):
            return int(feature)
        if self.hash_bits:
            return _core.hashed_index(feature, self.hash_bits)
        return None if self._names is None else self._names.get(feature)

    def learn(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        known = copy.copy(self)
        known._names, known._size, known._frozen = None, None, False
        if self.on_error not in ("raise", "skip"):
            raise InputError(f"on_error is {self.on_error!r}; it is 'raise' or 'skip'")
        if self.hash_bits is not None and not 1 <= self.hash_bits <= MAX_HASH_BITS:
            raise InputError(f"hash_bits is {self.hash_bits}; it must be 1 to {MAX_HASH_BITS}")
        if self.dimension is not None:
            if not 0 < self.dimension < 2**32:
                raise InputError(f"dimension is {self.dimension}; it must be at least 1")
            known._size = self.dimension
        elif self.hash_bits:
            known._size = 2**self.hash_bits
        else:
            known._measure(X, Y)
        return known

    def _measure(self, X: Sequence[Any], Y: Sequence[Any]) -> None:
        """Names, or the length of the first feature vector."""
        for i, (x, truth) in enumerate(zip(X, Y, strict=True)):
            try:
                found = self.features(x, truth)
            except Exception as error:
                if self.on_error == "skip":
                    continue
                note(error, f"in features, {name_example(i, x)}")
                raise
            if isinstance(found, Mapping):
                if not found:
                    continue
                if not isinstance(next(iter(found)), str):
                    raise InputError(
                        f"features of {type(self).__name__} have numbers: set dimension, the "
                        "number of features there are"
                    )
                self._names, self._size = {}, self.max_features
            elif hasattr(found, "shape") and found.shape:
                self._size = int(found.shape[-1])
            else:
                raise BadAnswerError(f"{name_example(i, x)}: features {not_features(found)}")
            return
        raise InputError(f"no example has any feature: look at features of {type(self).__name__}")

    def bind(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> CustomExamples:
        X = list(X)
        if Y is not None and len(X) != len(Y):
            raise InputError(f"there are {len(X)} inputs, but {len(Y)} true outputs")
        if self._size is None:
            if Y is None:
                raise InputError(f"this {type(self).__name__} has learned nothing to predict with")
            return self.learn(X, Y).bind(X, Y)
        return CustomExamples(self, X, Y)

    def predict(self, bound: Structure, w: _core.Weights, threads: int = 1) -> list[Any]:
        assert isinstance(bound, CustomExamples)
        return [bound.answer(w, i) for i in range(len(bound))]

    def predict_k_best(
        self, bound: Structure, w: _core.Weights, k: int
    ) -> list[list[tuple[float, Any]]]:
        assert isinstance(bound, CustomExamples)
        return [bound.k_best_answers(w, i, k) for i in range(len(bound))]

    def weights(self, w: _core.Weights) -> Any:
        """Names and weights, the strongest first; an array where features have no names."""
        if self._names is None:
            return w.array
        named = {name: float(w.array[at]) for name, at in self._names.items() if w.array[at]}
        return dict(sorted(named.items(), key=lambda pair: -abs(pair[1])))

    def state(self, w: _core.Weights) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        if self._names is None:
            return {"hash_bits": self.hash_bits}, {"w": w.array}
        kept = [name for name, at in self._names.items() if w.array[at]]
        places = np.array([self._names[name] for name in kept], dtype=np.int64)
        return {"hash_bits": None}, {"w": w.array[places], "names": to_bytes(kept)}

    def restore(
        self, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> tuple[Self, _core.Weights]:
        known = copy.copy(self)
        known.hash_bits = fit_type(_Facts, dict(facts), "structure").hash_bits
        known._frozen = True
        w = stored_array(arrays, "w", np.float32)
        known._names = None
        if "names" in arrays:
            known._names = {name: at for at, name in enumerate(from_bytes(arrays["names"]))}
            w = w if len(w) else np.zeros(1, dtype=np.float32)
        elif self.dimension is not None and len(w) != self.dimension:
            raise InputError(
                f"it has {len(w)} weights, and dimension of the structure is {self.dimension}"
            )
        known._size = len(w)
        return known, known.bind([]).new_weights(w)


@dataclass(frozen=True)
class _Facts:
    """What a file says of a structure, besides arrays."""

    hash_bits: Annotated[int, Range(1, 30)] | None


class Calls:
    """What the core calls: a user's methods, and what to do about their answers.

    It must not refer to the structure in the core, which refers to it.
    """

    def __init__(self, template: CustomStructure, X: list[Any], Y: list[Any] | None) -> None:
        self.decode = template.decode
        self.features = template.features
        self.cost = template.cost
        self.k_best = template.k_best
        self.expectation = template.expectation
        self.from_compiled = template.from_compiled
        self.X = X
        self.Y = Y
        self.names = template._names
        self.hash_bits = template.hash_bits or 0
        self.learns_names = Y is not None and not template._frozen
        self.skipped: Counter[int] = Counter()
        # Why an example was skipped first; an exception itself would keep all of training alive.
        self.failures: dict[int, str] = {}
        self._size = template._size
        self._go_on = template.on_error == "skip"
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
                self.wrong(i, method, f"returned a matrix of {row.shape[0]} rows, not one row")
            indices, values = (row.col if row.ndim == 2 else row.coords[0]), row.data
        elif isinstance(features, np.ndarray) and features.ndim == 1:
            indices = np.flatnonzero(features)
            values = features[indices]
        else:
            self.wrong(i, method, not_features(features))
        if features.shape[-1] != self._size:
            self.wrong(i, method, f"has {features.shape[-1]} features, not {self._size}")
        return indices.astype(np.int64), values.astype(np.float64)

    def wrong(self, i: int, method: str, what: str) -> NoReturn:
        raise BadAnswerError(f"{name_example(i, self.X[i])}: {method} {what}")

    def skips(self, i: int, method: str, error: BaseException) -> bool:
        """Whether to go on after an error; it gets to know where it happened."""
        if not isinstance(error, BadAnswerError):
            note(error, f"in {method}, {name_example(i, self.X[i])}")
        if self._go_on and isinstance(error, Exception):
            self.skipped[i] += 1
            self.failures.setdefault(i, told(error))
            return True
        return False


class CustomExamples(Structure):
    """Examples of a :class:`CustomStructure`.

    To the core an output is its cost and its features (:meth:`encode`); :meth:`answer` gives the
    user's own objects.
    """

    core: _core.Custom

    def __init__(
        self, template: CustomStructure, X: Sequence[Any], Y: Sequence[Any] | None
    ) -> None:
        assert template._size is not None
        self.template = template
        self.X = list(X)
        self.Y = None if Y is None else list(Y)
        self._calls = Calls(template, self.X, self.Y)
        self._compiled = template.compiled_decoder(self.X, self.Y)
        if self._compiled is None:
            self.core = _core.Custom(self._calls, template._size)
        else:
            self.core = _core.Custom(
                self._calls, template._size, self._compiled.address, self._compiled.data
            )
        names = [] if template._names is None else list(template._names)
        self._digest = digest_of([*self.core.true_features(), to_bytes(names)])

    @property
    def kind(self) -> str:
        return type(self.template).__name__

    @property
    def exact(self) -> bool:
        return self.template.exact

    def has_exact_inference(self, sums: bool) -> bool:
        return self.template.exact

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
        if self.template.k_best is None:
            raise UnsupportedError(f"{self.kind}: it has no method k_best")
        truth = self._truth(i)
        best = self._call("k_best", i, w.array, self.X[i], k, truth, cost_weight)
        value = [self._call("value", i, w.array, self.X[i], y, truth, cost_weight) for y in best]
        return list(zip(value, best, strict=True))

    def encode(self, i: int, output: Any) -> NDArray[np.int32]:
        """An output as the core knows it: by its cost and features."""
        return self.core.encode(i, output)

    def state(self) -> dict[str, NDArray[Any]]:
        names = self.template._names
        return {} if names is None else {"feature_names": to_bytes(list(names))}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        names = self.template._names
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
            return getattr(self.template, method)(*arguments)
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


def told(error: BaseException) -> str:
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


def _address_of(function: Any) -> int:
    if isinstance(function, int):
        return function
    if hasattr(function, "address"):  # Numba's cfunc
        return int(function.address)
    if hasattr(function, "restype"):  # a function pointer of ctypes
        import ctypes

        return ctypes.cast(function, ctypes.c_void_p).value or 0
    raise InputError("a compiled decoder is an address, a ctypes function or a Numba cfunc")
