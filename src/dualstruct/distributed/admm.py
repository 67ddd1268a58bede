"""The alternating direction method of multipliers, in consensus form.

    min  ½‖z − c‖² + Σ_k C Σ_{i∈k} ℓ_i(w_k)   subject to  w_k = z on every worker k

    w_k ← argmin  C Σ_{i∈k} ℓ_i(w_k) + (ρ/2)‖w_k − (z − u_k)‖²
    z   ← (c + ρ Σ_k (w_k + u_k)) / (1 + ρK)
    u_k ← u_k + w_k − z

Divided by ρ, the first line is one worker's problem with C/ρ and the center z − u_k; its solver
starts from the duals it had and need not be exact. ρ times those duals are feasible for the problem
of all examples; so they bound its optimum, at

    c + Σ α δ = c + ρ Σ_k (w_k − (z − u_k))

Source: Boyd et al. 2011, "Distributed Optimization and Statistical Learning via the Alternating
Direction Method of Multipliers", §7.1.1; a peer of Lee et al. 2015.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import stored_array
from dualstruct.distributed.base import (
    DualShareIterate,
    DualStrategy,
    Report,
    at_center,
    communicator_of,
    scaled,
)
from dualstruct.errors import InputError
from dualstruct.problem import Problem
from dualstruct.solvers import Solver


class ADMMIterate(DualShareIterate):
    """z is what all workers share; w_k is the local problem's."""

    def __init__(self, problem: Problem, seed: int, rho: float) -> None:
        self.center = at_center(problem)  # z − u
        super().__init__(problem, seed, 1 / rho, self.center)
        self.rho = rho
        self.w = at_center(problem)  # z
        self.bound = at_center(problem)  # c + Σ α δ
        self.multiplier = np.zeros_like(self.w.array)  # u

    def own_share(self) -> NDArray[np.float32]:
        core, center = self.problem.structure.core, np.array(self.center.array)
        self.center.assign(core, np.zeros_like(center))
        share = super().own_share()
        self.center.assign(core, center)
        return share

    def dual(self) -> float:
        return self.problem.dual(self.local.duals, self.bound, self.theta)

    def rebuild(self) -> None:
        """z is recomputed in every round; only c + Σ α δ and the sums of α drift."""
        self.local.rebuild()
        self.bound.assign(self.problem.structure.core, self.whole(self.own_share()))

    def settled(self) -> tuple[_core.Weights, float]:
        exact = self.problem.structure.new_weights(self.whole(self.own_share()))
        return self.w, self.problem.dual(self.local.duals, exact, self.theta)

    def summed(self) -> _core.Weights:
        return self.bound

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = super().state()
        arrays["center"] = np.array(self.center.array)
        arrays["bound"] = np.array(self.bound.array)
        arrays["multiplier"] = self.multiplier
        return metadata, arrays

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        bound = stored_array(arrays, "bound", np.float32)
        multiplier = stored_array(arrays, "multiplier", np.float32)
        if multiplier.shape != self.multiplier.shape:
            raise InputError("its multipliers are of another number of weights")
        self.bound.assign(self.problem.structure.core, bound)
        self.center.assign(self.problem.structure.core, stored_array(arrays, "center", np.float32))
        self.multiplier = multiplier
        super()._restore(metadata, arrays)


class ADMM(DualStrategy):
    """Consensus ADMM, as published.

    Its formula is (32) of docs/mathematics.md.

    Parameters
    ----------
    solver : Solver, optional
        The solver of the local problems, as in :class:`BQO`.
    rho : float, optional
        ρ: how strongly the workers are pulled together; by default 1/K, so that a worker's
        problem weighs its losses as if they were those of all.
    local_passes : int
        Passes of the local solver in each round.

    Examples
    --------
    >>> ADMM(rho=0.5).losses
    ('squared_hinge', 'hinge')
    """

    name: ClassVar[str] = "admm"
    losses: ClassVar[tuple[str, ...]] = ("squared_hinge", "hinge")
    published: ClassVar[dict[str, dict[str, Any]]] = {"Boyd et al. 2011, §7.1.1": {}}

    def __init__(
        self, solver: Solver | None = None, rho: float | None = None, local_passes: int = 1
    ) -> None:
        super().__init__(solver, local_passes)
        if rho is not None and not 0 < rho < float("inf"):
            raise InputError(f"rho is {rho}; it must be positive and finite")
        self.rho = rho

    def start(self, problem: Problem, seed: int) -> ADMMIterate:
        rho = 1 / communicator_of(problem).size if self.rho is None else self.rho
        return ADMMIterate(problem, seed, rho)

    def run_pass(self, iterate: ADMMIterate) -> Report:
        core, K = iterate.problem.structure.core, iterate.communicator.size
        rho, center = iterate.rho, iterate.problem.center
        old = np.array(iterate.w.array)
        c = np.zeros_like(old) if center is None else center.array

        report = self.run_local(iterate)

        own = iterate.local.w.array + iterate.multiplier
        total = iterate.communicator.allreduce(own)
        z = scaled(1 / (1 + rho * K), c + scaled(rho, total))
        iterate.bound.assign(core, c + scaled(rho, total - scaled(K, old)))
        iterate.multiplier = own - z
        iterate.w.assign(core, z)
        iterate.center.assign(core, z - iterate.multiplier)
        iterate.local.rebuild()  # its w follows the center

        totals = iterate.communicator.allreduce(np.array([report.loss, *iterate.counts()]))
        iterate.count(totals[1:])
        return Report(float(totals[0]))
