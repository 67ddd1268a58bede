"""Label sequences."""

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_modules

if TYPE_CHECKING:
    from dualstruct.tasks.tagging import confidence as confidence
    from dualstruct.tasks.tagging import explaining as explaining
    from dualstruct.tasks.tagging import large as large
    from dualstruct.tasks.tagging import learning as learning
    from dualstruct.tasks.tagging import partial as partial
    from dualstruct.tasks.tagging import suspecting as suspecting
    from dualstruct.tasks.tagging import weights as weights

#: Predictions need none of these.
__getattr__ = lazy_modules(
    __name__, "confidence explaining large learning partial suspecting weights"
)
