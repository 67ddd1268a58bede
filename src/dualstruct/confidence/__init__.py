"""How sure a model is: temperatures, and probabilities of sequences, entities and trees."""

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names

if TYPE_CHECKING:
    from dualstruct.confidence.results import Entity as Entity
    from dualstruct.confidence.results import Reading as Reading
    from dualstruct.confidence.results import SentenceConfidence as SentenceConfidence
    from dualstruct.confidence.results import TreeConfidence as TreeConfidence
    from dualstruct.confidence.temperature import UncalibratedWarning as UncalibratedWarning

_HOMES = {
    "confidence.results": "Entity Reading SentenceConfidence TreeConfidence",
    "confidence.temperature": "UncalibratedWarning",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
