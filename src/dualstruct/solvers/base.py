"""What a solver is: it starts an iterate for a problem and runs passes on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.problem import Problem


class DualIterate:
    """Where a dual solver stands: w, the cuts with their duals, and the seed of the next pass.

    Everything random in a pass follows from ``seed`` and the number of the pass, so that an
    iterate that was saved and loaded goes on exactly as the original would have.
    """

    def __init__(self, problem: Problem, seed: int = 0) -> None:
        self.problem = problem
        self.seed = seed
        self.w = problem.structure.new_weights()
        self.duals = _core.DualState(problem.structure.core, self.w, problem.center)
        self.core_passes = 0
        self.inference_calls = 0

    def visit(self, rule: _core.Rule, delta: float) -> _core.PassReport:
        """Decode every example in random order; admit cuts that gain δ or more; apply the rule."""
        report = self.duals.visit(rule, delta, self._next_seed())
        self.inference_calls += report.inferences
        return report

    def revisit(self, rule: _core.Rule) -> _core.PassReport:
        """Apply the rule to the cuts that every example holds, in random order."""
        return self.duals.revisit(rule, self._next_seed())

    def rebuild(self) -> None:
        """w = c + Σ α δ anew: single precision drifts."""
        self.duals.rebuild()

    def dual(self) -> float:
        return self.problem.dual(self.duals, self.w)

    @property
    def cuts(self) -> int:
        return self.duals.cuts

    def _next_seed(self) -> int:
        self.core_passes += 1
        return (self.seed * 0x9E3779B97F4A7C15 + self.core_passes) % 2**64

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything that :meth:`restore` needs, as JSON and arrays."""
        words, words_of_example, sum_alpha = self.duals.save()
        counters = {
            "seed": self.seed,
            "core_passes": self.core_passes,
            "inference_calls": self.inference_calls,
        }
        arrays: dict[str, NDArray[Any]] = {
            "w": np.array(self.w.array),
            "cut_words": words,
            "cut_words_of_example": words_of_example,
            "sum_alpha": sum_alpha,
        }
        return counters, arrays

    def restore(self, counters: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        try:
            self.duals.load(
                arrays["cut_words"], arrays["cut_words_of_example"], arrays["sum_alpha"]
            )
            self.w.assign(self.problem.structure.core, arrays["w"])
            self.seed = int(counters["seed"])
            self.core_passes = int(counters["core_passes"])
            self.inference_calls = int(counters["inference_calls"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the checkpoint does not fit this problem ({error})") from None


class Solver(ABC):
    """A schedule of passes. Its constructor's parameters are its settings."""

    name: ClassVar[str]
    losses: ClassVar[tuple[str, ...]]

    def start(self, problem: Problem, seed: int) -> DualIterate:
        return DualIterate(problem, seed)

    @abstractmethod
    def run_pass(self, iterate: DualIterate) -> _core.PassReport:
        """One outer pass; the report is that of its inference pass."""

    def settings(self) -> dict[str, Any]:
        return dict(vars(self))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({inside})"
