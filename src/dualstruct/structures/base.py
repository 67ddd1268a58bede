"""What every structure offers to problems, solvers and the training loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.errors import InputError, UnsupportedError
from dualstruct.printable import plural
from dualstruct.renamed import OldAttribute

#: Weights of examples stay below this: sums of single precision are multiplied by them.
MAX_WEIGHT = 1e12
#: Of the best outputs of an example; what finds them takes time and memory in proportion.
MOST_OUTPUTS = 10_000


def digest_of(arrays: Iterable[NDArray[Any] | None]) -> str:
    """A fingerprint of some arrays."""
    import hashlib

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
    #: How often each example was left out because decoding it failed and errors are skipped.
    skipped: Mapping[int, int] = {}
    #: How many answers of decode were not proven the best so far; 0 where decoding is exact.
    unproven: int = 0
    #: How much each example counts; None: all 1. :meth:`set_example_weights` sets it.
    example_weights: NDArray[np.float64] | None = None
    #: Which examples of a larger structure these are; None if they are of none.
    examples: NDArray[np.int64] | None = None

    @cached_property
    def core_examples(self) -> _core.Examples:
        """What learners go through: every example, with its weight."""
        return _core.Examples(self.core)

    def __len__(self) -> int:
        return self.core_examples.size

    def new_weights(self, values: NDArray[np.float32] | None = None) -> _core.Weights:
        """Weights in this structure's layout: zeros, or a copy of ``values``."""
        w = _core.Weights(self.core)
        if values is not None:
            if values.shape != (self.core.dimension,):
                raise InputError(
                    f"the weights have {plural(values.size, 'entry')}, the structure "
                    f"{self.core.dimension}"
                )
            if not np.isfinite(values).all():
                raise InputError("the weights hold NaN or infinite values")
            w.assign(self.core, np.ascontiguousarray(values, dtype=np.float32))
        return w

    @property
    def feature_mass(self) -> float:
        """Σ x² of a feature over all examples, on average; 0 where that is not known."""
        return 0.0

    @property
    def has_unknown_truth(self) -> bool:
        """Whether parts of the true outputs are unknown and have to be guessed."""
        return False

    def set_example_weights(self, weights: ArrayLike | None) -> None:
        """Multiply C by a weight of each example: 2 is as if the example were there twice.

        Set it before a subset is made of the structure.
        """
        if weights is None:
            return
        given = np.ascontiguousarray(weights, dtype=np.float64)
        if given.shape != (len(self),):
            raise InputError(
                f"{plural(given.size, 'weight')} for {plural(len(self), 'example')}; give one "
                "for each"
            )
        good = (given >= 0) & (given < MAX_WEIGHT)  # false for NaN
        if not good.all():
            i = int(np.flatnonzero(~good)[0])
            raise InputError(
                f"the weight of example {i + 1} is {given[i]}; it must be at least 0 and finite"
            )
        if len(given) and not given.any():
            raise InputError("the weights of all examples are zero: there is nothing to learn from")
        self.core_examples.set_weights(given)
        self.example_weights = given

    completes = OldAttribute("has_unknown_truth")
    weigh = OldAttribute("set_example_weights")
    explained = OldAttribute("translating_errors")

    @property
    def has_expectations(self) -> bool:
        """Whether it sums over all outputs, as the losses crf and softmax_margin need it."""
        return self.core.has_expectations

    @property
    def has_parts(self) -> bool:
        """Whether outputs come in parts with scores and marginals, as solver eg needs them."""
        return self.core.has_parts

    def has_exact_inference(self, sums: bool) -> bool:
        """Whether sums over all outputs, or the best output, are never approximate.

        Best outputs of which some are proven and some are not are counted in :attr:`unproven`.
        """
        return True

    @property
    def has_many_parts(self) -> bool:
        """Whether parts are so many that keeping numbers for each of them is a burden."""
        return False

    @property
    def kind(self) -> str:
        """What users know the structure by, for messages."""
        return type(self).__name__

    def decode(self, w: _core.Weights, i: int, cost_weight: float = 0.0) -> NDArray[np.int32]:
        """argmax_y w·φ_i(y) + cost_weight·Δ_i(y)."""
        with self.translating_errors():
            return self.core.decode(w, self._example(i, cost_weight), cost_weight)

    def decode_all(
        self, w: _core.Weights, cost_weight: float = 0.0, threads: int = 1
    ) -> NDArray[np.int32]:
        """The best output of every example, one after the other."""
        self._needs_truth(cost_weight)
        with self.translating_errors():
            return self.core_examples.decode_all(w, cost_weight, threads)

    def k_best(
        self, w: _core.Weights, i: int, k: int, cost_weight: float = 0.0
    ) -> list[tuple[float, NDArray[np.int32]]]:
        """The k best outputs and their scores, best first; fewer when fewer exist."""
        if not 1 <= k <= MOST_OUTPUTS:
            raise InputError(f"k is {k}; it must be 1 to {MOST_OUTPUTS:,}")
        with self.translating_errors():
            return self.core.k_best(w, self._example(i, cost_weight), k, cost_weight)

    def cost(self, i: int, output: ArrayLike) -> float:
        """Δ_i(y)."""
        return self.core.cost(self._example(i, 1), self.checked_output(i, output))

    def score(self, w: _core.Weights, i: int, output: ArrayLike) -> float:
        """w·φ_i(y)."""
        return self.core.score(w, self._example(i), self.checked_output(i, output))

    def add_features(self, w: _core.Weights, i: int, output: ArrayLike, step: float) -> None:
        """w += step·φ_i(y)."""
        self.core.add_features(w, self._example(i), self.checked_output(i, output), step)

    @abstractmethod
    def checked_output(self, i: int, output: ArrayLike) -> NDArray[np.int32]:
        """An output of example ``i`` as the core takes it; an error if it is none."""

    @abstractmethod
    def name_example(self, i: int, part: int) -> str:
        """Where in the data part ``part`` of example ``i`` is, for messages."""

    @abstractmethod
    def digest(self) -> str:
        """A fingerprint of all the data: two structures that share it are the same problem."""

    def state(self) -> dict[str, NDArray[Any]]:
        """What the structure learned during training besides the weights, for checkpoints."""
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:  # noqa: B027
        """The counterpart of :meth:`state`."""

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Turns the core's "no output" and "cannot" into sentences that say where and what."""
        try:
            yield
        except _core.InfeasibleError as error:
            raise InputError(
                f"{self.name_example(*error.args)}: no labelling satisfies the constraints, or "
                "the scores are too large to compare"
            ) from None
        except _core.UnsupportedError as error:
            raise UnsupportedError(f"{self.kind}: {error}") from None

    def _example(self, i: int, cost_weight: float = 0.0) -> int:
        if not 0 <= i < len(self):
            raise IndexError(f"example {i} of {len(self)}")
        self._needs_truth(cost_weight)
        return i

    def _needs_truth(self, cost_weight: float) -> None:
        if cost_weight and not self.core.has_truth:
            raise InputError("costs need the true outputs, and this structure has none")


def check_beta(beta: float) -> None:
    """The inverse temperature of a distribution over outputs."""
    if not 0 < beta < 1e30:
        raise InputError(f"beta is {beta}; it must be positive and finite")
