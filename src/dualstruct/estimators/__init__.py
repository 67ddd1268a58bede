"""Estimators: models with scikit-learn's conventions."""

from dualstruct.estimators.loading import load_model
from dualstruct.estimators.parser import DependencyParser
from dualstruct.estimators.pipeline import ParsingPipeline, PipelineScores
from dualstruct.estimators.structured_svm import StructuredSVM
from dualstruct.estimators.tagger import SequenceTagger

__all__ = [
    "DependencyParser",
    "ParsingPipeline",
    "PipelineScores",
    "SequenceTagger",
    "StructuredSVM",
    "load_model",
]
