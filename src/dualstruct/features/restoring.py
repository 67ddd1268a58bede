"""Features of model files."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from numpy.typing import NDArray

from dualstruct.errors import InputError
from dualstruct.features.base import FeatureExtractor

#: What model files call the ways to get features, and whose they are: what is needed is imported,
#: and no more.
KINDS = {
    "templates": ("template_extractor", "TemplateExtractor"),
    "attributes": ("attributes", "AttributeExtractor"),
    "function": ("functions", "FunctionExtractor"),
    "joined": ("joining", "JoinedExtractor"),
    "vectors": ("vectors", "VectorExtractor"),
    "document": ("context", "DocumentExtractor"),
    "word vectors": ("word_vectors", "WordVectorExtractor"),
}


def from_state(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> FeatureExtractor:
    """Make an extractor from what ``FeatureExtractor.state`` gave; the arrays may be read-only.

    Examples
    --------
    >>> from dualstruct.features import make_extractor
    >>> extractor = make_extractor("word[0]\\n")
    >>> rows = extractor.fit([["Ada", "sings"]])
    >>> from_state(*extractor.state()).names([1])
    ['word[0]=sings']
    """
    kind = settings.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"there are no features of kind {kind!r}")
    module, name = KINDS[kind]
    home = import_module(f"dualstruct.features.{module}")
    made: FeatureExtractor = getattr(home, name).from_state(settings, arrays)
    return made
