"""Structures that users write: three Python methods, and every solver learns them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import Range, fit_type, stored_array
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.structures.base import Structure
from dualstruct.structures.custom_examples import (
    BadAnswerError,
    CustomExamples,
    FeatureSpace,
    from_bytes,
    name_example,
    not_features,
    note,
    to_bytes,
)
from dualstruct.structures.output_type import OutputType

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_HASH_BITS = 30


class CompiledDecoder:
    """A decoder in machine code: a C function, or a function that Numba compiled.

    It is called without the GIL, on as many threads as the solver uses, as ::

        int64_t decode(const float *w, int64_t dimension, int64_t example, float cost_weight,
                       void *data, int32_t *output, int64_t capacity);

    and writes argmax_y w·φ(x, y) + cost_weight·Δ(truth, y) for the example with this number to
    ``output``. It returns how many numbers the output has; if that is more than ``capacity`` it is
    called again with enough room. A negative number is a failure.

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


class CustomStructure(OutputType):
    """Any output that you can decode: write three methods, and every solver learns it.

    ``decode(w, x, truth=None, cost_weight=0)``
        Returns argmax_y of w·φ(x, y) + cost_weight·Δ(truth, y). ``w`` is a read-only vector; copy
        it if you keep it. Some solvers pass a positive multiple of both w and the cost weight,
        which has the same argmax. Prediction calls it with ``truth=None`` and ``cost_weight=0``.
    ``features(x, y)``
        Returns φ(x, y): a dict of names or numbers with values, a scipy sparse row, or a vector.
    ``cost(truth, y)``
        Returns Δ: at least 0, and 0 for the truth.

    Optional methods:

    ``k_best(w, x, k, truth=None, cost_weight=0)``
        The k best outputs, best first: for k-best MIRA and ``predict_k_best``.
    ``expectation(w, x, beta, gamma, truth=None)``
        ((1/β) log Σ_y exp β(w·φ + γΔ), E φ(x, y)) under p(y) ∝ exp β(w·φ + γΔ): for the losses
        ``crf`` and ``softmax_margin``.
    ``compiled_decoder(X, Y)``
        A :class:`CompiledDecoder` in place of ``decode``.

    The number of weights is the length of the feature vectors. Names are numbered in the order in
    which they occur, those of true outputs first; names that do not occur in training are ignored.
    Features by number need ``dimension``. ``features`` and ``cost`` must depend only on
    their arguments: their results are cached.

    With several threads any of them may call ``decode``, one at a time (the GIL), while
    another one updates w.

    Attributes
    ----------
    dimension : int, optional
        The number of features, if they have numbers.
    max_features : int
        The maximum number of feature names: 1,048,576 by default (4 MB of weights).
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
    #: What :meth:`learn` found.
    feature_space: FeatureSpace | None = None

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
        """The weight of a feature by its name or number; 0 for an unknown name."""
        at = self.index(feature)
        return 0.0 if at is None else float(w[at])

    def index(self, feature: str | int) -> int | None:
        """Where in w a feature is; None for an unknown name."""
        if not isinstance(feature, str):
            return int(feature)
        if self.hash_bits:
            return _core.hashed_index(feature, self.hash_bits)
        names = self._names()
        return None if names is None else names.get(feature)

    def _names(self) -> dict[str, int] | None:
        """The weights that features have by their names."""
        return None if self.feature_space is None else self.feature_space.names

    def learn(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        if self.on_error not in ("raise", "skip"):
            raise InputError(f"on_error is {self.on_error!r}; it must be 'raise' or 'skip'")
        if self.hash_bits is not None and not 1 <= self.hash_bits <= MAX_HASH_BITS:
            raise InputError(f"hash_bits is {self.hash_bits}; it must be 1 to {MAX_HASH_BITS}")
        if self.dimension is not None:
            if not 0 < self.dimension < 2**32:
                raise InputError(f"dimension is {self.dimension}; it must be at least 1")
            return self._with(FeatureSpace(self.dimension))
        if self.hash_bits:
            return self._with(FeatureSpace(2**self.hash_bits))
        return self._with(self._measure(X, Y))

    def _with(self, space: FeatureSpace) -> Self:
        known = copy.copy(self)
        known.feature_space = space
        return known

    def _measure(self, X: Sequence[Any], Y: Sequence[Any]) -> FeatureSpace:
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
                return FeatureSpace(self.max_features, {})
            if hasattr(found, "shape") and found.shape:
                return FeatureSpace(int(found.shape[-1]))
            raise BadAnswerError(f"{name_example(i, x)}: features {not_features(found)}")
        raise InputError(f"no example has any feature: look at features of {type(self).__name__}")

    def bind(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> CustomExamples:
        X = list(X)
        if Y is not None and len(X) != len(Y):
            raise InputError(f"there are {len(X)} inputs, but {len(Y)} true outputs")
        if self.feature_space is None:
            if Y is None:
                raise InputError(f"this {type(self).__name__} has learned nothing to predict with")
            return self.learn(X, Y).bind(X, Y)
        return CustomExamples(self, self.feature_space, X, Y)

    def predict(self, bound: Structure, w: _core.Weights, threads: int = 1) -> list[Any]:
        assert isinstance(bound, CustomExamples)
        return [bound.answer(w, i) for i in range(len(bound))]

    def predict_k_best(
        self, bound: Structure, w: _core.Weights, k: int
    ) -> list[list[tuple[float, Any]]]:
        assert isinstance(bound, CustomExamples)
        return [bound.k_best_answers(w, i, k) for i in range(len(bound))]

    def weights(self, w: _core.Weights) -> Any:
        """Names and weights, the strongest first; an array if features have no names."""
        names = self._names()
        if names is None:
            return w.array
        named = {name: float(w.array[at]) for name, at in names.items() if w.array[at]}
        return dict(sorted(named.items(), key=lambda pair: -abs(pair[1])))

    def state(self, w: _core.Weights) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        names = self._names()
        if names is None:
            return {"hash_bits": self.hash_bits}, {"w": w.array}
        kept = [name for name, at in names.items() if w.array[at]]
        places = np.array([names[name] for name in kept], dtype=np.int64)
        return {"hash_bits": None}, {"w": w.array[places], "names": to_bytes(kept)}

    def restore(
        self, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> tuple[Self, _core.Weights]:
        hash_bits = fit_type(_Metadata, dict(metadata), "structure").hash_bits
        w = stored_array(arrays, "w", np.float32)
        names = None
        if "names" in arrays:
            names = {name: at for at, name in enumerate(from_bytes(arrays["names"]))}
            w = w if len(w) else np.zeros(1, dtype=np.float32)
        elif self.dimension is not None and len(w) != self.dimension:
            raise InputError(
                f"it has {plural(len(w), 'weight')}, and dimension of the structure is "
                f"{self.dimension}"
            )
        known = self._with(FeatureSpace(len(w), names, frozen=True))
        known.hash_bits = hash_bits
        return known, known.bind([]).new_weights(w)


@dataclass(frozen=True)
class _Metadata:
    """What a file says of a structure, besides arrays."""

    hash_bits: Annotated[int, Range(1, 30)] | None


def _address_of(function: Any) -> int:
    if isinstance(function, int):
        return function
    if hasattr(function, "address"):  # Numba's cfunc
        return int(function.address)
    if hasattr(function, "restype"):  # a function pointer of ctypes
        import ctypes

        return ctypes.cast(function, ctypes.c_void_p).value or 0
    raise InputError("a compiled decoder is an address, a ctypes function or a Numba cfunc")
