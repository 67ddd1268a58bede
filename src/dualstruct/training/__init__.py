"""The one training loop, its settings, when it stops, and what it shows meanwhile."""

from dualstruct.training.loop import Callback, FitResult, Stopping, TracePoint, fit
from dualstruct.training.settings import Training

__all__ = ["Callback", "FitResult", "Stopping", "TracePoint", "Training", "fit"]
