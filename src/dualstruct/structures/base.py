"""What every structure offers to problems, solvers and the training loop."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.errors import InputError


def digest_of(arrays: Iterable[NDArray[Any] | None]) -> str:
    """A fingerprint of some arrays."""
    total = hashlib.blake2b(digest_size=16)
    for array in arrays:
        if array is None:
            total.update(b"none")
        else:
            total.update(f"{array.dtype}{array.shape}".encode())
            total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


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

    @abstractmethod
    def digest(self) -> str:
        """A fingerprint of all the data: two structures that share it are the same problem."""

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turns the core's "no output" into a sentence that says where."""
        try:
            yield
        except _core.InfeasibleError as error:
            raise InputError(
                f"{self.name_example(*error.args)}: no labelling satisfies the constraints, or "
                "the scores are too large to compare"
            ) from None
