"""Features: from text, attributes or matrices to rows of integer ids."""

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names

if TYPE_CHECKING:
    from dualstruct.features.base import FeatureExtractor as FeatureExtractor
    from dualstruct.features.base import FeatureRows as FeatureRows
    from dualstruct.features.extractor import make_extractor as make_extractor
    from dualstruct.features.functions import Function as Function
    from dualstruct.features.functions import functions_among as functions_among
    from dualstruct.features.functions import give_again as give_again
    from dualstruct.features.matrices import CSRSequences as CSRSequences
    from dualstruct.features.patterns import parse_patterns as parse_patterns
    from dualstruct.features.restoring import from_state as from_state
    from dualstruct.features.templates import PRESETS as PRESETS
    from dualstruct.features.templates import Templates as Templates
    from dualstruct.features.templates import parse_templates as parse_templates
    from dualstruct.features.vectors import VectorExtractor as VectorExtractor
    from dualstruct.features.vectors import WithVectors as WithVectors
    from dualstruct.features.word_vectors import WordVectorExtractor as WordVectorExtractor

_HOMES = {
    "features.base": "FeatureExtractor FeatureRows",
    "features.extractor": "make_extractor",
    "features.functions": "Function functions_among give_again",
    "features.matrices": "CSRSequences",
    "features.patterns": "parse_patterns",
    "features.restoring": "from_state",
    "features.templates": "PRESETS Templates parse_templates",
    "features.vectors": "VectorExtractor WithVectors",
    "features.word_vectors": "WordVectorExtractor",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
