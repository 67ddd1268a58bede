"""How sure a model is: temperatures, and probabilities of sequences, entities and trees."""

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names

if TYPE_CHECKING:
    from dualstruct.confidence.results import (
        Entity,
        Reading,
        SentenceConfidence,
        TreeConfidence,
    )
    from dualstruct.confidence.temperature import UncalibratedWarning

_HOMES = {
    "confidence.results": "Entity Reading SentenceConfidence TreeConfidence",
    "confidence.temperature": "UncalibratedWarning",
}

__all__ = ["Entity", "Reading", "SentenceConfidence", "TreeConfidence", "UncalibratedWarning"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
