"""Estimators: models with scikit-learn's manners."""

from dualstruct.estimators.structured_svm import StructuredSVM
from dualstruct.estimators.tagger import SequenceTagger

__all__ = ["SequenceTagger", "StructuredSVM"]
