"""How much each training sentence fights the model.

A model that has seen a sentence has learned its mistakes by heart; what tells them is a model that
has not. So sentences are divided into folds, and each is judged by a quick model of the others: by
its margin loss a token,

    max_y (Δ(y) − w·δ(y)) / tokens.

Without folds the judge is one model for all; with the duals of training (a checkpoint) it is the
dual mass a token, Σ_y α_y / tokens, those first that the ramp loss has given up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.files.arrays import read_arrays
from dualstruct.fit import CHECKPOINT_FORMAT, Stopping, fit
from dualstruct.problem import Problem
from dualstruct.solvers import DCD
from dualstruct.structures import Structure, Subset

#: What weights make of each example.
Speaker = Callable[[_core.Weights], Callable[[int], NDArray[np.int32]]]

#: Passes of the models that judge: they need not be perfect.
PASSES = 3
#: Σ α of a sentence counts as at its bound from this share of it on.
NEARLY = 0.999


@dataclass(frozen=True)
class Judgement:
    """What a judge found: a score and an output for each example."""

    scores: NDArray[np.float64]  # [examples]
    outputs: list[NDArray[np.int32]]  # what the judge would have said


@dataclass(frozen=True)
class Duals:
    """What training left in a checkpoint, for each example."""

    mass: NDArray[np.float64]
    bound: float | None
    given_up: NDArray[np.bool_] | None

    def scores(self, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Dual mass a token; those that were given up come before all others."""
        found: NDArray[np.float64] = self.mass / np.maximum(sizes, 1)
        if self.given_up is not None and len(found):
            found = found + self.given_up * (found.max() + 1)
        return found


def cross_judge(
    structure: Structure,
    sizes: NDArray[np.int64],
    speaker: Speaker,
    *,
    C: float,
    folds: int,
    seed: int,
    threads: int,
) -> Judgement:
    """Each example judged by a model of the other folds.

    ``speaker(w)`` says what weights w make of each example.
    """
    count = len(structure)
    if folds < 2:
        raise InputError(f"folds is {folds}; at least 2 are needed, or 0 for the model itself")
    if count < folds:
        raise InputError(f"{count} sentences cannot be divided into {folds} folds")
    fold_of = np.random.default_rng(seed).permutation(count) % folds
    scores = np.zeros(count)
    outputs: list[NDArray[np.int32]] = [np.zeros(0, dtype=np.int32)] * count
    for fold in range(folds):
        others = Subset(structure, np.flatnonzero(fold_of != fold))
        problem = Problem(others, "squared_hinge", C, threads=threads)
        result = fit(problem, DCD(inner_passes=1), Stopping(passes=PASSES), seed=seed)
        if result.stopped_by == "interrupt":  # half a judgement is none
            raise KeyboardInterrupt
        mine = np.flatnonzero(fold_of == fold)
        for i, score, output in judge(structure, sizes, speaker, result.w, mine, threads):
            scores[i], outputs[i] = score, output
    return Judgement(scores, outputs)


def judge_all(
    structure: Structure,
    sizes: NDArray[np.int64],
    speaker: Speaker,
    w: _core.Weights,
    threads: int,
) -> Judgement:
    """All examples judged by one model."""
    found = judge(structure, sizes, speaker, w, np.arange(len(structure)), threads)
    return Judgement(np.array([score for _, score, _ in found]), [output for *_, output in found])


def judge(
    structure: Structure,
    sizes: NDArray[np.int64],
    speaker: Speaker,
    w: _core.Weights,
    examples: NDArray[np.intp],
    threads: int,
) -> list[tuple[int, float, NDArray[np.int32]]]:
    """The margin loss a token of some examples, and what the model would have said of them."""
    losses = _core.largest_violations(Subset(structure, examples).core, w, 1.0, threads)
    say = speaker(w)
    return [
        (int(i), float(loss) / max(int(sizes[i]), 1), say(int(i)))
        for i, loss in zip(examples, losses, strict=True)
    ]


def read_duals(path: str | Path, examples: int, loss: str, C: float) -> Duals:
    """The duals in a checkpoint of a run on these examples."""
    _, arrays = read_arrays(path, CHECKPOINT_FORMAT)
    if "sum_alpha" not in arrays:
        raise InputError(
            f"{path} holds no duals: only the solvers that keep cuts have them (dcd, sdm, "
            "frank-wolfe, ramp-sdm and their kin); without --duals suspects are found all the same"
        )
    mass = np.asarray(arrays["sum_alpha"], dtype=float)
    if len(mass) != examples:
        raise InputError(
            f"{path} is of a run on {len(mass):,} sentences, and there are {examples:,} here"
        )
    given_up = None
    if "given_up" in arrays:
        given_up = np.isin(np.arange(examples), arrays["given_up"])
    return Duals(mass, C if loss in ("hinge", "ramp") else None, given_up)


def order_of(scores: NDArray[np.float64], top: int | None) -> NDArray[np.intp]:
    """The examples, the most suspect first."""
    return np.argsort(-scores, kind="stable")[:top]


def dual_facts(duals: Duals | None, i: int) -> dict[str, Any]:
    """What a suspect is told of its duals."""
    if duals is None:
        return {}
    return {
        "dual_mass": float(duals.mass[i]),
        "at_bound": None if duals.bound is None else bool(duals.mass[i] >= NEARLY * duals.bound),
        "given_up": None if duals.given_up is None else bool(duals.given_up[i]),
    }
