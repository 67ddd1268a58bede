"""How sure a model is: temperatures, and probabilities of sequences, entities and trees."""

from dualstruct.confidence.results import (
    Entity,
    Reading,
    SentenceConfidence,
    TreeConfidence,
)
from dualstruct.confidence.temperature import UncalibratedWarning

__all__ = ["Entity", "Reading", "SentenceConfidence", "TreeConfidence", "UncalibratedWarning"]
