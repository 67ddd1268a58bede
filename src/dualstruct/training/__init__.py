"""The one training loop, its settings, when it stops, and what it shows meanwhile."""

from dualstruct.training.loop import Callback, fit
from dualstruct.training.results import FitResult, TracePoint
from dualstruct.training.settings import Training
from dualstruct.training.stopping import Stopping

__all__ = ["Callback", "FitResult", "Stopping", "TracePoint", "Training", "fit"]
