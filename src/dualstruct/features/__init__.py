"""Features: from text, attributes or matrices to rows of integer ids."""

from dualstruct.features.base import FeatureExtractor, FeatureRows
from dualstruct.features.extractor import from_state, make_extractor
from dualstruct.features.functions import Function, functions_among, give_again
from dualstruct.features.matrices import CSRSequences
from dualstruct.features.patterns import parse_patterns
from dualstruct.features.templates import PRESETS, Templates, parse_templates
from dualstruct.features.vectors import VectorExtractor, WithVectors
from dualstruct.features.word_vectors import WordVectorExtractor

__all__ = [
    "PRESETS",
    "CSRSequences",
    "FeatureExtractor",
    "FeatureRows",
    "Function",
    "Templates",
    "VectorExtractor",
    "WithVectors",
    "WordVectorExtractor",
    "from_state",
    "functions_among",
    "give_again",
    "make_extractor",
    "parse_patterns",
    "parse_templates",
]
