"""The losses: what one example costs given its violations, and their terms in the dual.

With H_i(y; w) = Δ_i(y) − w·δ_i(y) and P(w) = ½‖w‖² + C Σ_i ℓ_i(w):

| loss          | ℓ_i(w)           | dual                                          |
| ------------- | ---------------- | --------------------------------------------- |
| squared_hinge | (max_y H_i(y))²  | α ≥ 0, and the penalty (1/4C) Σ_i (Σ_y α_iy)² |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dualstruct.errors import InputError


class Loss(Protocol):
    """A loss that is a function of each example's largest violation."""

    name: ClassVar[str]

    def total(self, violations: NDArray[np.float64]) -> float:
        """Σ_i ℓ_i of max_y H_i(y; w)."""

    def dual_penalty(self, sum_alpha: NDArray[np.float64], C: float) -> float:
        """What the dual takes away besides ½‖w‖²."""


@dataclass(frozen=True)
class SquaredHinge:
    """ℓ_i(w) = (max_y H_i(y; w))²."""

    name: ClassVar[str] = "squared_hinge"

    def total(self, violations: NDArray[np.float64]) -> float:
        return float(violations @ violations)

    def dual_penalty(self, sum_alpha: NDArray[np.float64], C: float) -> float:
        return float(sum_alpha @ sum_alpha) / (4 * C)


LOSSES: dict[str, Loss] = {loss.name: loss for loss in (SquaredHinge(),)}


def find_loss(name: str | Loss) -> Loss:
    """The loss of this name; hyphens and underscores are alike.

    >>> find_loss("squared-hinge")
    SquaredHinge()
    """
    if not isinstance(name, str):
        return name
    loss = LOSSES.get(name.replace("-", "_"))
    if loss is None:
        raise InputError(f"unknown loss {name!r}; there is {', '.join(LOSSES)}")
    return loss
