"""Training sentences with which a model disagrees that has not seen them."""

from dualstruct.suspecting.results import FOLDS, Doubt, Suspect

__all__ = ["FOLDS", "Doubt", "Suspect"]
