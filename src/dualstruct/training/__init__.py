"""The one training loop, when it stops, and what it shows meanwhile."""

from dualstruct.training.loop import Callback, FitResult, Stopping, TracePoint, fit

__all__ = ["Callback", "FitResult", "Stopping", "TracePoint", "fit"]
