"""Estimators: models with scikit-learn's conventions."""

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names

if TYPE_CHECKING:
    from dualstruct.estimators.loading import load_model
    from dualstruct.estimators.parser import DependencyParser
    from dualstruct.estimators.pipeline import ParsingPipeline, PipelineScores
    from dualstruct.estimators.structured_svm import StructuredSVM
    from dualstruct.estimators.tagger import SequenceTagger
    from dualstruct.estimators.tokenizer import LearnedTokenizer

_HOMES = {
    "estimators.loading": "load_model",
    "estimators.parser": "DependencyParser",
    "estimators.pipeline": "ParsingPipeline PipelineScores",
    "estimators.structured_svm": "StructuredSVM",
    "estimators.tagger": "SequenceTagger",
    "estimators.tokenizer": "LearnedTokenizer",
}

__all__ = [
    "DependencyParser",
    "LearnedTokenizer",
    "ParsingPipeline",
    "PipelineScores",
    "SequenceTagger",
    "StructuredSVM",
    "load_model",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
