"""The one training loop, its settings, when it stops, and what it shows meanwhile."""

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names

if TYPE_CHECKING:
    from dualstruct.training.loop import Callback, fit
    from dualstruct.training.results import FitResult, TracePoint
    from dualstruct.training.settings import Training
    from dualstruct.training.stopping import Stopping

_HOMES = {
    "training.loop": "Callback fit",
    "training.results": "FitResult TracePoint",
    "training.settings": "Training",
    "training.stopping": "Stopping",
}

__all__ = ["Callback", "FitResult", "Stopping", "TracePoint", "Training", "fit"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
