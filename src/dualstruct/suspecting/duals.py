"""What training left of each sentence: its dual mass, in a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.arrays import read_arrays
from dualstruct.data.schema import stored_array
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.training.resuming import CHECKPOINT_FORMAT

#: Σ α of a sentence counts as at its bound from this share of it on.
NEARLY = 0.999


@dataclass(frozen=True)
class Duals:
    """What training left in a checkpoint, for each example."""

    mass: NDArray[np.float64]
    bound: float | None
    given_up: NDArray[np.bool_] | None

    def scores(self, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Dual mass per token; those that were given up come before all others."""
        found: NDArray[np.float64] = self.mass / np.maximum(sizes, 1)
        if self.given_up is not None and len(found):
            found = found + self.given_up * (found.max() + 1)
        return found


def read_duals(path: str | Path, examples: int, loss: str, C: float) -> Duals:
    """The duals in a checkpoint of a run on these examples."""
    _, arrays = read_arrays(path, CHECKPOINT_FORMAT)
    if "sum_alpha" not in arrays:
        raise InputError(
            f"{path} holds no duals: only the solvers that keep cuts have them (dcd, sdm, "
            "frank-wolfe, ramp-sdm and others); suspects can be found without --duals, too"
        )
    mass = stored_array(arrays, "sum_alpha", np.float64)
    if len(mass) != examples:
        raise InputError(
            f"{path} is of a run on {plural(len(mass), 'sentence')}, and there are {examples:,} "
            "here"
        )
    given_up = None
    if "given_up" in arrays:
        given_up = np.isin(np.arange(examples), arrays["given_up"])
    return Duals(mass, C if loss in ("hinge", "ramp", "ramp_uncosted") else None, given_up)


def dual_facts(duals: Duals | None, i: int) -> dict[str, Any]:
    """What a suspect says of its duals."""
    if duals is None:
        return {}
    return {
        "dual_mass": float(duals.mass[i]),
        "at_bound": None if duals.bound is None else bool(duals.mass[i] >= NEARLY * duals.bound),
        "given_up": None if duals.given_up is None else bool(duals.given_up[i]),
    }
