"""What StructuredSVM asks of a kind of output: how a user's X and Y become a structure, and back.

A :class:`~dualstruct.structures.base.Structure` holds examples; an output type holds none. It knows
what outputs look like and what training data say about them (label names, numbers of features), and
binds any X to a structure whose weights fit those that were learned.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import stored_array
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.renamed import old_names
from dualstruct.structures.base import Structure

if TYPE_CHECKING:
    from typing_extensions import Self

__getattr__ = old_names(__name__, {"Template": "structures.output_type.OutputType"})


class OutputType(ABC):
    """A kind of output that :class:`~dualstruct.StructuredSVM` learns.

    ``StructuredSVM.fit`` calls ``known = output_type.learn(X, Y)`` and trains on
    ``known.bind(X, Y)``; ``predict`` calls ``known.predict(known.bind(X), w, threads)``.
    """

    def learn(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        """A copy that knows what the training data say: label names, how many features there are.

        The original stays as it was, so that one may serve several models.
        """
        return copy.copy(self)

    @abstractmethod
    def bind(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> Structure:
        """The examples as a structure; without Y it can only predict."""

    @abstractmethod
    def predict(self, bound: Structure, w: _core.Weights, threads: int = 1) -> list[Any]:
        """The best output of every example that was bound, in the form that Y has."""

    def predict_k_best(
        self, bound: Structure, w: _core.Weights, k: int
    ) -> list[list[tuple[float, Any]]]:
        """The k best outputs of every example with their scores, best first."""
        raise InputError(f"{type(self).__name__} has no k-best decoder")

    @abstractmethod
    def cost(self, truth: Any, y: Any) -> float:
        """Δ: what it costs to answer y; at least 0, and 0 for the truth."""

    def weights(self, w: _core.Weights) -> Any:
        """The weights as people can read them; an array unless the features have names."""
        return w.array

    def state(self, w: _core.Weights) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What :meth:`learn` learned and the weights, as JSON and arrays, for a model file."""
        return {}, {"w": w.array}

    def restore(
        self, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> tuple[Self, _core.Weights]:
        """The counterpart of :meth:`state`: a copy that knows, and the weights."""
        known = copy.copy(self)
        return known, known.bind([]).new_weights(stored_array(arrays, "w", np.float32))


def check_size(field: str, wanted: int, w: NDArray[np.float32]) -> None:
    """Refuse a file that asks for more weights than it has."""
    if wanted > len(w):
        raise InputError(
            f"{field} asks for {plural(wanted, 'weight')}, and the file has {len(w):,}"
        )
