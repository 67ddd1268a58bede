"""Cutting planes for the hinge and the squared hinge loss.

    min_w  ½‖w‖² + C R(w),   R(w) = Σ_i ℓ_i(w)

1-slack: R is bounded from below by planes, one per pass, each made of the most violating outputs of
all examples; the dual over the planes is a small problem with one simplex, solved by sequential
minimal optimisation (core/learning/planes.hpp). n-slack: every example holds cuts of its
own and the dual over all of them is solved before the next inference pass.

Source: Joachims, Finley & Yu 2009, "Cutting-plane training of structural SVMs" (1-slack, Algorithm
3); Tsochantaridis et al. 2005, Algorithm 1 (n-slack: as published, the dual over all cuts is solved
again after every new one; schedules that revisit a few examples in between, as OLaRank's, are not
included); Teo et al. 2010 for planes of other convex risks. The
paper's risk is (1/n) Σ ℓ_i and its C is n times ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import stored_array
from dualstruct.errors import InputError
from dualstruct.problem import Problem
from dualstruct.solvers.base import DualIterate, Iterate
from dualstruct.solvers.dcd import CPD
from dualstruct.solvers.solver import Solver

PLANE_ARRAYS: dict[str, Any] = {
    "plane_examples": np.int64,
    "plane_coefficients": np.float32,
    "plane_words": np.uint32,
    "plane_ends": np.int64,
    "plane_sizes": np.int64,
    "plane_idle": np.int64,
    "plane_numbers": np.float64,  # offset and α of each
}


class PlaneIterate(Iterate):
    """An iterate whose w is Σ α g over planes."""

    can_end = True

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self.planes = _core.PlaneStore(problem.structure.core_examples, self.w, problem.center)

    def start_averaging(self, linear: bool = False) -> None:
        raise InputError("the 1-slack cutting plane method has no steps to average over")

    def change_truth(self, examples: NDArray[np.int64], change: Callable[[], None]) -> None:
        raise InputError(
            "the 1-slack cutting plane method cannot learn from unknown labels, because its planes "
            "are made of all examples; slack='n' and the other solvers can"
        )

    def rebuild(self) -> None:
        self.planes.rebuild(self.problem.threads)

    def dual(self) -> float:
        return self.planes.dual()

    @property
    def cuts(self) -> int:  # type: ignore[override]
        return self.planes.size

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = super().state()
        return metadata, arrays | dict(zip(PLANE_ARRAYS, self.planes.save(), strict=True))

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        planes = [stored_array(arrays, name, dtype) for name, dtype in PLANE_ARRAYS.items()]
        squared = self.problem.loss.name == "squared_hinge"
        self.planes.load(planes, squared, self.problem.threads)
        super()._restore(metadata, arrays)

    def excess(self) -> float:
        numbers: NDArray[np.float64] = self.planes.save()[-1]
        return max(float(numbers[1::2].sum()) / self.problem.C - 1, 0.0)


class CuttingPlane(Solver):
    """The cutting plane method.

    Its formulas are (20, 21) of docs/mathematics.md.

    With one slack it is as published by Joachims et al. 2009, except for its end: their rule is
    ``CuttingPlane(epsilon=0.1)``. With n slacks, the default decodes all examples before it solves
    the dual over their cuts; ``CuttingPlane("n", epsilon=0.1, as_published=True)`` does so after
    each new cut, as Tsochantaridis et al. 2005 do.

    Parameters
    ----------
    slack : {"one", "n"}
        One slack variable for all examples, or one each.
    tolerance : float
        How exactly the dual over the planes is solved, relative to the optimum's size.
    patience : int
        Planes that were not used for this many passes are dropped.
    epsilon : float, optional
        Stop when the risk per example is at most this much above the planes' bound: the rule of
        Joachims et al., whose default is 0.1. It does not depend on the size of the objective, so
        by default the gap and the other stopping rules are used. With n slacks, ε of the published
        algorithm: an output becomes a cut where it violates by more than the example's slack and ε.
    as_published : bool
        n slacks, example by example (hinge loss only). It is slow: one dual for each cut.
    """

    name: ClassVar[str] = "cutting-plane"
    losses: ClassVar[tuple[str, ...]] = ("hinge", "squared_hinge")
    published: ClassVar[dict[str, dict[str, Any]]] = {
        "Joachims et al. 2009, Algorithm 3": {"epsilon": 0.1},
        "Tsochantaridis et al. 2005, Algorithm 1": {
            "slack": "n",
            "epsilon": 0.1,
            "as_published": True,
        },
    }

    def __init__(
        self,
        slack: str = "one",
        tolerance: float = 1e-5,
        patience: int = 50,
        epsilon: float | None = None,
        as_published: bool = False,
    ) -> None:
        if slack not in ("one", "n"):
            raise InputError(f"slack is {slack!r}; it must be 'one' or 'n'")
        if not tolerance > 0 or patience < 1:
            raise InputError("tolerance must be positive, patience at least 1")
        if as_published and slack != "n":
            raise InputError("as_published is for n slacks; with one, the default is as published")
        if epsilon is not None and (not epsilon > 0 or (slack == "n") != as_published):
            raise InputError(
                f"epsilon is {epsilon}; it must be positive, and slack 'one' or as_published True"
            )
        self.slack = slack
        self.tolerance = tolerance
        self.patience = patience
        self.epsilon = epsilon
        self.as_published = as_published

    def start(self, problem: Problem, seed: int) -> Iterate:
        if self.as_published and problem.loss.name != "hinge":
            raise InputError(f"as_published is for the hinge loss, not for {problem.loss.name}")
        return PlaneIterate(problem, seed) if self.slack == "one" else DualIterate(problem, seed)

    def run_pass(self, iterate: Any) -> _core.PassReport:
        if isinstance(iterate, PlaneIterate):
            return self._one_slack(iterate)
        if self.as_published:
            return self._example_by_example(iterate)
        if iterate.problem.loss.name == "squared_hinge":
            return CPD(admission=self.tolerance).run_pass(iterate)
        return self._n_slack(iterate)

    def _one_slack(self, iterate: PlaneIterate) -> _core.PassReport:
        problem = iterate.problem
        squared = problem.loss.name == "squared_hinge"
        slack = iterate.planes.slack()
        report = iterate.planes.add(squared, problem.threads)
        examples = len(problem.structure)
        iterate.inference_calls += examples
        if self.epsilon is not None and report.loss - slack <= self.epsilon * examples:
            iterate.converged = True
        tolerance = self.tolerance * max(report.loss, 1e-3)
        iterate.planes.solve(problem.C, tolerance, self.patience, problem.threads)
        return report

    def _n_slack(self, iterate: DualIterate) -> _core.PassReport:
        C = iterate.problem.C
        found = iterate.gather(_core.SMOGatherRule(C), self.tolerance)
        enough = max(0.1 * found.largest_violation, self.tolerance)
        rule = _core.SMORule(C, enough / 2)
        for _ in range(100):
            if iterate.revisit(rule).largest_violation <= enough:
                break
        return found

    def _example_by_example(self, iterate: DualIterate) -> _core.PassReport:
        rule = _core.SMORule(iterate.problem.C, self.tolerance, max_steps=1000)
        report = iterate.optimise_after_each(rule, self.epsilon or 0.1)
        iterate.converged = not report.added
        return report
