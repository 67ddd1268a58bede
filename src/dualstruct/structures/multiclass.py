"""Multiclass classification: one label per example.

    w·φ(x, y) = Σ_f x_f W[f, y]

Features are read where they lie, dense or sparse; the core
(core/structures/multiclass/multiclass.cpp) needs nothing of a cut but its label and ‖x‖².
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.data.schema import Range, fit_type, stored_array
from dualstruct.errors import InputError
from dualstruct.graphs import MAX_VALUE
from dualstruct.printable import plural
from dualstruct.sparse import SparseRows, is_sparse, rows_of
from dualstruct.structures.base import Structure, digest_of
from dualstruct.structures.chain import cost_matrix
from dualstruct.structures.output_type import OutputType, check_size

if TYPE_CHECKING:
    from typing_extensions import Self


class MulticlassExamples(Structure):
    """Rows of features with a label each.

    Parameters
    ----------
    X : array [examples, features] or scipy sparse matrix
    labels : int
        How many labels there are.
    truth : int array [examples], optional
    cost : array [labels] or [labels, labels], optional
        1 for every wrong label by default; otherwise as for :class:`Chain`.

    Examples
    --------
    >>> examples = MulticlassExamples([[1.0, 0.0], [0.0, 2.0]], labels=3, truth=[2, 0])
    >>> w = examples.new_weights()
    >>> examples.add_features(w, 0, [2], 1.0)
    >>> examples.weights(w)
    array([[0., 0., 1.],
           [0., 0., 0.]], dtype=float32)
    >>> examples.decode(w, 0).tolist()
    [2]
    """

    core: _core.Multiclass

    def __init__(
        self,
        X: ArrayLike | Any,
        labels: int,
        truth: ArrayLike | None = None,
        *,
        cost: ArrayLike | None = None,
    ) -> None:
        if labels < 1:
            raise InputError(f"{plural(labels, 'label')}: there must be at least one")
        self.labels = labels
        self.X = feature_matrix(X)
        examples, self.features = self.X.shape
        if truth is not None:
            truth = np.ascontiguousarray(truth, dtype=np.int32)
            if truth.shape != (examples,):
                raise InputError(
                    f"{plural(examples, 'example')}, but {plural(truth.size, 'label')}"
                )
            bad = np.flatnonzero((truth < 0) | (truth >= labels))
            if bad.size:
                raise InputError(f"example {int(bad[0]) + 1}: a label not among the {labels}")
        self.truth = truth
        offsets = ids = None
        values = self.X
        if isinstance(self.X, SparseRows):
            _, offsets, ids, values = self.X
        self.cost_matrix = cost_matrix(cost, labels)
        self._arrays = (values, offsets, ids, truth, self.cost_matrix)
        self.core = _core.Multiclass(
            examples, self.features, labels, values.ravel(), offsets, ids, truth, self.cost_matrix
        )

    def weights(self, w: _core.Weights) -> NDArray[np.float32]:
        """A view of W: [features, labels]."""
        rows = w.array.reshape(-1, self.core.stride)
        return (
            rows[:, : self.labels] if isinstance(self.X, SparseRows) else rows[:, : self.features].T
        )

    def scores(self, w: _core.Weights) -> NDArray[np.float32]:
        """The score of every label: [examples, labels]."""
        return self.core.scores(w)

    def checked_output(self, i: int, output: ArrayLike) -> NDArray[np.int32]:
        values = np.ascontiguousarray(output, dtype=np.int32)
        if values.shape != (1,) or not 0 <= values[0] < self.labels:
            raise InputError(
                f"example {i + 1}: {values.tolist()} is not one of {plural(self.labels, 'label')}"
            )
        return values

    def name_example(self, i: int, part: int) -> str:
        return f"example {i + 1}"

    def digest(self) -> str:
        return digest_of(self._arrays)


class Multiclass(OutputType):
    """One label per example, for :class:`~dualstruct.StructuredSVM`.

    X is an array [examples, features], a scipy sparse matrix or a list of vectors; Y holds a label
    for each, of any type that can be compared.

    Parameters
    ----------
    cost : array [labels] or [labels, labels], optional
        In the order of the sorted labels; 1 for every wrong label by default.
    intercept : bool
        Whether every label has a weight of its own besides those of the features.

    Examples
    --------
    >>> from dualstruct import StructuredSVM
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> svm = StructuredSVM(Multiclass(), C=10.0).fit(X, ["red", "green", "blue"])
    >>> svm.predict(X)
    ['red', 'green', 'blue']
    """

    labels_: list[Any]
    features_: int
    sparse_: bool  # weights lie otherwise for sparse features: predictions take the same form

    def __init__(self, cost: ArrayLike | None = None, intercept: bool = True) -> None:
        self.cost_values = cost
        self.intercept = intercept

    def learn(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        known = copy.copy(self)
        known.labels_ = find_labels(Y)
        known.features_ = feature_matrix(X).shape[1]
        known.sparse_ = is_sparse(X)
        return known

    def bind(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> MulticlassExamples:
        rows = feature_matrix(X, self.features_)
        if self.intercept:
            ones = np.ones((rows.shape[0], 1), dtype=np.float32)
            rows = _with_column(rows, ones)
        if isinstance(rows, SparseRows) and not self.sparse_:
            rows = rows.dense()
        elif self.sparse_:
            rows = rows_of(rows)
        truth = None if Y is None else number_labels(Y, self.labels_, "example")
        return MulticlassExamples(rows, len(self.labels_), truth, cost=self.cost_values)

    def predict(self, bound: Structure, w: _core.Weights, threads: int = 1) -> list[Any]:
        return [self.labels_[k] for k in bound.decode_all(w, 0.0, threads)]

    def predict_k_best(
        self, bound: Structure, w: _core.Weights, k: int
    ) -> list[list[tuple[float, Any]]]:
        return [
            [(score, self.labels_[y[0]]) for score, y in bound.k_best(w, i, k)]
            for i in range(len(bound))
        ]

    def cost(self, truth: Any, y: Any) -> float:
        if self.cost_values is None:
            return float(truth != y)
        if truth == y:
            return 0.0
        if truth not in self.labels_:
            raise InputError(
                f"the label {truth!r} was not in the training data: what it costs is unknown"
            )
        table = cost_matrix(self.cost_values, len(self.labels_))
        return float(table[self.labels_.index(truth), self.labels_.index(y)])

    def weights(self, w: _core.Weights) -> NDArray[np.float32]:
        """[features, labels]; the last row is the intercept, if there is one."""
        return self.bind([]).weights(w)

    def state(self, w: _core.Weights) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        sizes = {"features": self.features_, "sparse": self.sparse_}
        return {"labels": pack_labels(self.labels_), **sizes}, {"w": w.array}

    def restore(
        self, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> tuple[Self, _core.Weights]:
        known = copy.copy(self)
        stored = fit_type(_Metadata, dict(metadata), "structure")
        known.labels_, known.features_ = stored.labels, stored.features
        known.sparse_ = stored.sparse
        w = stored_array(arrays, "w", np.float32)
        check_size("structure.features", stored.features * len(stored.labels), w)
        return known, known.bind([]).new_weights(w)


@dataclass(frozen=True)
class _Metadata:
    """What a file says of classes, besides arrays."""

    labels: list[str | int | float | bool]
    features: Annotated[int, Range(0, 2**31)]
    sparse: bool


def _with_column(rows: Any, column: NDArray[np.float32]) -> Any:
    if isinstance(rows, SparseRows):
        return rows.with_column(column[:, 0])
    return np.hstack([rows, column])


def feature_matrix(X: Any, features: int | None = None) -> Any:
    """X as float32 [examples, features], dense or sparse; what is wrong is named by its example."""
    matrix: Any
    if hasattr(X, "dtype") and np.iscomplexobj(X):
        raise InputError("Complex data not supported: X has complex numbers")
    if is_sparse(X):
        csr = X.tocsr().astype(np.float32)
        csr.sum_duplicates()
        X = rows_of(csr)
    if isinstance(X, SparseRows):
        matrix = X
        bad = np.flatnonzero(~(np.abs(matrix.values) <= MAX_VALUE))
        wrong = np.searchsorted(matrix.offsets, bad[:1], side="right") - 1
    else:
        if features is not None and not len(X):
            return np.empty((0, features), dtype=np.float32)
        try:
            matrix = np.ascontiguousarray(X, dtype=np.float32)
        except (ValueError, TypeError) as problem:
            lengths = [np.shape(x) for x in X]
            odd = next((i for i, shape in enumerate(lengths) if shape != lengths[0]), None)
            if odd is None:
                raise InputError(f"the features in X are not numbers: {problem}") from None
            raise InputError(
                f"example {odd + 1}: features of shape {lengths[odd]}, in the first {lengths[0]}"
            ) from None
        if matrix.ndim != 2:
            raise InputError(f"X has {matrix.ndim} axes; it takes [examples, features]")
        wrong = np.flatnonzero(~(np.abs(matrix) <= MAX_VALUE).all(axis=1))[:1]
    if wrong.size:
        raise InputError(f"example {int(wrong[0]) + 1}: a feature is NaN or too large")
    if features is not None and matrix.shape[1] != features:
        raise InputError(f"X has {plural(matrix.shape[1], 'feature')}; the model has {features}")
    return matrix


def plain(label: Any) -> Any:
    """A label without numpy's type, as JSON takes it."""
    return label.item() if isinstance(label, np.generic) else label


def find_labels(labels: Iterable[Hashable]) -> list[Any]:
    """The different labels, sorted."""
    found: set[Any] = set()
    for i, label in enumerate(labels):
        try:
            found.add(plain(label))
        except TypeError:
            raise InputError(
                f"example {i + 1}: its label is a {type(label).__name__}, not one value"
            ) from None
    try:
        return sorted(found)
    except TypeError:
        raise InputError(
            "labels of types that cannot be compared; let all be of one type"
        ) from None


def number_labels(labels: Iterable[Any], known: Sequence[Any], what: str) -> NDArray[np.int32]:
    """The number of each label among the known ones."""
    numbers = {label: k for k, label in enumerate(known)}
    found = []
    for i, label in enumerate(labels):
        if plain(label) not in numbers:
            raise InputError(f"{what} {i + 1}: the label {plain(label)!r} is not known")
        found.append(numbers[plain(label)])
    return np.array(found, dtype=np.int32)


def pack_labels(labels: Sequence[Any]) -> list[Any]:
    """Labels for a model file."""
    for label in labels:
        if not isinstance(label, (str, int, float, bool)):
            raise InputError(f"the label {label!r} cannot be written to a file; use strings")
    return list(labels)
