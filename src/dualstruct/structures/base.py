"""What every structure offers to problems, solvers and the training loop."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.errors import InputError


class Structure(ABC):
    """Examples together with their outputs, features and costs.

    The work is done by ``core``; solvers pass it to the core's own loops and never look inside.
    """

    core: _core.Structure

    def __len__(self) -> int:
        return self.core.size

    def new_weights(self, values: NDArray[np.float32] | None = None) -> _core.Weights:
        """Weights in this structure's layout: zeros, or a copy of ``values``."""
        w = _core.Weights(self.core)
        if values is not None:
            if values.shape != (self.core.dimension,):
                raise InputError(
                    f"the weights have {values.size} entries, the structure {self.core.dimension}"
                )
            if not np.isfinite(values).all():
                raise InputError("the weights hold NaN or infinite values")
            w.assign(self.core, np.ascontiguousarray(values, dtype=np.float32))
        return w

    @abstractmethod
    def name_example(self, i: int, part: int) -> str:
        """Where in the data part ``part`` of example ``i`` is, for messages."""
