"""Training sentences with which a model disagrees that has not seen them."""

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names

if TYPE_CHECKING:
    from dualstruct.suspecting.results import Doubt as Doubt
    from dualstruct.suspecting.results import Suspect as Suspect

#: Into how many folds sentences are divided by default.
FOLDS = 5

__getattr__, __dir__, __all__ = lazy_names(__name__, {"suspecting.results": "Doubt Suspect"})
