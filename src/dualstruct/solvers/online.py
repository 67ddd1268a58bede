"""What learners without cuts share: they meet the examples one by one and keep only w.

They have no dual variables, so :meth:`Iterate.dual` is None and no gap is reported. One pass over
the examples in shuffled order runs in the core (core/learning/online.hpp); a step is one small
struct in core/learning/rules.
"""

from __future__ import annotations

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.problem import Problem
from dualstruct.solvers.base import Iterate, refuse_lacking
from dualstruct.solvers.solver import Solver


class OnlineSolver(Solver):
    """A solver whose iterate is w and nothing else."""

    def start(self, problem: Problem, seed: int) -> Iterate:
        refuse_lacking(problem, self.name)
        iterate = Iterate(problem, seed)
        if problem.center is not None:
            iterate.w = problem.structure.new_weights(problem.center.array)
        return iterate

    def meet_all(self, iterate: Iterate, step: _core.Step) -> _core.PassReport:
        """One pass over all examples with this step."""
        report = _core.online_pass(
            iterate.problem.structure.core_examples,
            iterate.w,
            iterate.average,
            step,
            iterate.next_seed(),
        )
        iterate.inference_calls += report.inferences
        return report


def refuse_center(problem: Problem, name: str) -> None:
    """For learners whose regulariser shrinks w by one factor: that leads to 0, not to a center."""
    if problem.center is not None:
        raise InputError(
            f"solver {name} shrinks the weights towards 0 and cannot continue from an earlier "
            "model; dcd, mira, dca and perceptron can"
        )


def check_count(name: str, value: int, least: int = 1) -> None:
    if not (isinstance(value, int) and value >= least):
        raise InputError(f"{name} is {value}; it must be a whole number of at least {least}")
