"""Training sentences that fight the model: probably annotated wrongly."""

from dualstruct.suspecting.results import Doubt, Suspect

__all__ = ["Doubt", "Suspect"]
