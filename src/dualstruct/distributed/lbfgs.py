"""L-BFGS on the smooth losses of several workers: gradients are summed, everything else is shared.

    P(w) = ½‖w − c‖² + C Σ_k Σ_{i∈k} ℓ_i(w),   ∇P(w) = w − c − C Σ_k Σ_{i∈k} E_i δ_i

Every worker has the same w and the same history. A pass over its own examples gives its part of the
losses and of their gradient; both are summed (an allreduce of the weights and of one number), and
all take the same step. Numbers on which a decision rests are the first worker's: another processor
may round differently. So it is the algorithm of one machine, with its optimum and its certificate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct.distributed.base import Strategy, communicator_of
from dualstruct.errors import InputError
from dualstruct.problem import Problem
from dualstruct.solvers import LBFGS, Solver
from dualstruct.solvers.base import Part
from dualstruct.solvers.lbfgs import LBFGSIterate, Point


class SharedLBFGSIterate(LBFGSIterate):
    """The same on every worker, but for the examples that gradients come from."""

    def __init__(self, problem: Problem, seed: int, solver: LBFGS) -> None:
        self._communicator = communicator_of(problem)
        super().__init__(problem, seed, solver)

    def redealt(self, parts: Iterator[Part]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """All workers know the same; values and gradients are computed again."""
        known: tuple[dict[str, Any], dict[str, NDArray[Any]]] | None = None
        for metadata, arrays, *_ in parts:
            known = known or (metadata, arrays)
        assert known is not None
        return known

    def of_all_examples(self, own: NDArray[Any]) -> NDArray[Any]:
        return np.array(self._communicator.allreduce(own))

    def agreed(self, found: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array(self._communicator.broadcast(found))

    def _descend(self) -> tuple[float, int]:
        own, calls = super()._descend()
        loss, made = self._communicator.allreduce(np.array([own, calls])).tolist()
        whole = self._communicator.allreduce(self.descent.array)
        self.descent.assign(self.problem.structure.core, whole)
        return loss, int(made)


class DistributedLBFGS(Strategy):
    """L-BFGS whose gradient is summed over all workers: the optimum of one machine.

    Its formulas are (15, 23) of docs/mathematics.md. The recursion is as published.

    Parameters
    ----------
    solver : LBFGS, optional
        Its settings.

    Examples
    --------
    >>> DistributedLBFGS(LBFGS(states="observed")).losses
    ('crf', 'softmax_margin')
    """

    name: ClassVar[str] = "distributed-lbfgs"
    losses: ClassVar[tuple[str, ...]] = LBFGS.losses
    published: ClassVar[dict[str, dict[str, Any]]] = LBFGS.published
    usual_end: ClassVar[tuple[float | None, int] | None] = LBFGS.usual_end
    passes_per_round = LBFGS.passes_per_round

    def __init__(self, solver: Solver | None = None) -> None:
        solver = LBFGS() if solver is None else solver
        if not isinstance(solver, LBFGS):
            raise InputError(f"{self.name} is around lbfgs, not {solver.name}")
        self.solver: LBFGS = solver

    def start(self, problem: Problem, seed: int) -> SharedLBFGSIterate:
        self.solver.check(problem)
        return SharedLBFGSIterate(problem, seed, self.solver)

    def run_pass(self, iterate: SharedLBFGSIterate) -> Point:
        return self.solver.run_pass(iterate)
