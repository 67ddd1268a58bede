"""Some of the examples of a structure, as a structure of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.structures.base import Structure, digest_of


class Subset(Structure):
    """Examples of another structure; nothing is copied, and weights fit both.

    Parameters
    ----------
    whole : Structure
    examples : array of int
        Which of its examples, in which order.

    Examples
    --------
    >>> from dualstruct.datasets import make_chains
    >>> len(Subset(make_chains(sentences=10).structure(), [2, 3, 5]))
    3
    """

    def __init__(self, whole: Structure, examples: ArrayLike) -> None:
        self.whole = whole
        chosen = np.ascontiguousarray(examples, dtype=np.int64)
        if chosen.size and not (chosen.min() >= 0 and chosen.max() < len(whole)):
            raise InputError(f"examples must be numbers from 0 to {len(whole) - 1}")
        self.examples: NDArray[np.int64] = chosen
        self.core = whole.core
        self.core_examples = _core.Examples(whole.core, self.examples)
        if whole.example_weights is not None:
            self.example_weights = whole.example_weights[self.examples]
            self.core_examples.set_weights(self.example_weights)

    @property
    def kind(self) -> str:
        return self.whole.kind

    @property
    def skipped(self) -> Mapping[int, int]:  # type: ignore[override]
        counts = self.whole.skipped
        return {i: counts[k] for i, k in enumerate(self.examples.tolist()) if k in counts}

    @property
    def unproven(self) -> int:  # type: ignore[override]
        """Of the whole structure: it counts them, and does not know who asked."""
        return self.whole.unproven

    def has_exact_inference(self, sums: bool) -> bool:
        return self.whole.has_exact_inference(sums)

    def new_weights(self, values: NDArray[np.float32] | None = None) -> _core.Weights:
        return self.whole.new_weights(values)

    def checked_output(self, i: int, output: ArrayLike) -> NDArray[np.int32]:
        return self.whole.checked_output(int(self.examples[i]), output)

    def name_example(self, i: int, part: int) -> str:
        return self.whole.name_example(int(self.examples[i]), part)

    def digest(self) -> str:
        return f"{self.whole.digest()} {digest_of([self.examples])}"

    def state(self) -> dict[str, NDArray[Any]]:
        return self.whole.state()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.whole.restore(arrays)

    def _example(self, i: int, cost_weight: float = 0.0) -> int:
        return int(self.examples[super()._example(i, cost_weight)])

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """The core names the example as the whole structure numbers it."""
        with self.whole.translating_errors():
            yield
