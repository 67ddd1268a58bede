"""scikit-learn's scores over the labels of all sequences, one after the other.

Keyword arguments go to the function of scikit-learn that gives its name.

>>> truth, predicted = [["A", "B"], ["A"]], [["A", "B"], ["B"]]
>>> flat_accuracy_score(truth, predicted), sequence_accuracy_score(truth, predicted)
(0.666..., 0.5)
>>> float(flat_f1_score(truth, predicted, average="macro"))
0.666...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dualstruct.compat.sklearn_crfsuite.utils import flatten
from dualstruct.errors import InputError
from dualstruct.libraries import library

__all__ = [
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "sequence_accuracy_score",
]

Sequences = Sequence[Sequence[str]]


def _sklearn() -> Any:
    return library("sklearn.metrics", "sklearn", "this score")


def _flat(y_true: Sequences, y_pred: Sequences) -> tuple[list[str], list[str]]:
    _check_lengths(y_true, y_pred)
    for i, (true, found) in enumerate(zip(y_true, y_pred, strict=True)):
        if len(true) != len(found):
            raise InputError(f"sequence {i + 1}: {len(true)} true labels, {len(found)} predicted")
    return flatten(y_true), flatten(y_pred)


def _check_lengths(y_true: Sequences, y_pred: Sequences) -> None:
    if len(y_true) != len(y_pred):
        raise InputError(f"{len(y_true)} true sequences, but {len(y_pred)} predicted ones")


def flat_accuracy_score(y_true: Sequences, y_pred: Sequences) -> float:
    """The share of correct labels."""
    return float(_sklearn().accuracy_score(*_flat(y_true, y_pred)))


def flat_precision_score(y_true: Sequences, y_pred: Sequences, **kwargs: Any) -> Any:
    """Precision of the labels."""
    return _sklearn().precision_score(*_flat(y_true, y_pred), **kwargs)


def flat_recall_score(y_true: Sequences, y_pred: Sequences, **kwargs: Any) -> Any:
    """Recall of the labels."""
    return _sklearn().recall_score(*_flat(y_true, y_pred), **kwargs)


def flat_f1_score(y_true: Sequences, y_pred: Sequences, **kwargs: Any) -> Any:
    """F1 of the labels."""
    return _sklearn().f1_score(*_flat(y_true, y_pred), **kwargs)


def flat_fbeta_score(y_true: Sequences, y_pred: Sequences, beta: float, **kwargs: Any) -> Any:
    """F-beta of the labels."""
    return _sklearn().fbeta_score(*_flat(y_true, y_pred), beta=beta, **kwargs)


def flat_classification_report(
    y_true: Sequences, y_pred: Sequences, labels: Sequence[str] | None = None, **kwargs: Any
) -> Any:
    """A table of precision, recall and F1 by label."""
    return _sklearn().classification_report(*_flat(y_true, y_pred), labels=labels, **kwargs)


def sequence_accuracy_score(y_true: Sequences, y_pred: Sequences) -> float:
    """The share of sequences all of whose labels are right."""
    _check_lengths(y_true, y_pred)
    if not len(y_true):
        return 0.0
    right = [list(a) == list(b) for a, b in zip(y_true, y_pred, strict=True)]
    return sum(right) / len(right)
