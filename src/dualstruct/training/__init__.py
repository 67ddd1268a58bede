"""The one training loop, its settings, when it stops, and what it shows meanwhile."""

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names

if TYPE_CHECKING:
    from dualstruct.training.loop import Callback as Callback
    from dualstruct.training.loop import fit as fit
    from dualstruct.training.results import FitResult as FitResult
    from dualstruct.training.results import TracePoint as TracePoint
    from dualstruct.training.settings import Training as Training
    from dualstruct.training.stopping import Stopping as Stopping

_HOMES = {
    "training.loop": "Callback fit",
    "training.results": "FitResult TracePoint",
    "training.settings": "Training",
    "training.stopping": "Stopping",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
