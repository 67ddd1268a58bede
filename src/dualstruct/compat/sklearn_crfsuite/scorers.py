"""Scorers for scikit-learn's searches: called with an estimator, sequences and their labels."""

from __future__ import annotations

from typing import Any

from dualstruct.compat.sklearn_crfsuite.metrics import flat_accuracy_score, sequence_accuracy_score

__all__ = ["flat_accuracy", "sequence_accuracy"]


def flat_accuracy(estimator: Any, X: Any, y: Any) -> float:
    """The share of correct labels."""
    return flat_accuracy_score(y, estimator.predict(X))


def sequence_accuracy(estimator: Any, X: Any, y: Any) -> float:
    """The share of sequences all of whose labels are right."""
    return sequence_accuracy_score(y, estimator.predict(X))
