"""Estimators: models with scikit-learn's conventions."""

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names

if TYPE_CHECKING:
    from dualstruct.estimators.loading import load_model as load_model
    from dualstruct.estimators.parser import DependencyParser as DependencyParser
    from dualstruct.estimators.pipeline import ParsingPipeline as ParsingPipeline
    from dualstruct.estimators.pipeline import PipelineScores as PipelineScores
    from dualstruct.estimators.structured_svm import StructuredSVM as StructuredSVM
    from dualstruct.estimators.tagger import SequenceTagger as SequenceTagger
    from dualstruct.estimators.tokenizer import LearnedTokenizer as LearnedTokenizer

_HOMES = {
    "estimators.loading": "load_model",
    "estimators.parser": "DependencyParser",
    "estimators.pipeline": "ParsingPipeline PipelineScores",
    "estimators.structured_svm": "StructuredSVM",
    "estimators.tagger": "SequenceTagger",
    "estimators.tokenizer": "LearnedTokenizer",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
