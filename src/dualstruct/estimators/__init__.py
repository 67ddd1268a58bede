"""Estimators: models with scikit-learn's manners."""

from dualstruct.estimators.tagger import SequenceTagger

__all__ = ["SequenceTagger"]
