"""What the strategies share: an iterate on every worker, around one of a single worker.

A *local* problem is one that a single-worker solver can work on without talking to anybody: this
rank's examples, with a C and a center of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import arguments_of, fit_type, inner_arrays
from dualstruct.errors import InputError
from dualstruct.problem import Problem
from dualstruct.solvers import (
    SOLVERS,
    Averaged,
    DualIterate,
    DualSolver,
    Iterate,
    Solver,
    auto_solver,
)
from dualstruct.solvers.base import distance
from dualstruct.solvers.ramp import RampSDM
from dualstruct.solvers.solver import PassResult
from dualstruct.workers.communicator import Communicator, SingleWorker


class Report(NamedTuple):
    """What a pass of all workers reports to the training loop."""

    loss: float  #: Σ_i ℓ_i as the examples were met, of all workers


def communicator_of(problem: Problem) -> Communicator:
    return SingleWorker() if problem.communicator is None else problem.communicator


def local_problem(problem: Problem, C: float, center: _core.Weights | None) -> Problem:
    """This worker's examples by themselves."""
    return Problem(problem.structure, problem.loss, C, center=center, threads=problem.threads)


def at_center(problem: Problem) -> _core.Weights:
    """New weights at c."""
    center = problem.center
    return problem.structure.new_weights(None if center is None else center.array)


def local_seed(problem: Problem, seed: int) -> int:
    """Ranks shuffle differently."""
    return seed + communicator_of(problem).rank


def scaled(factor: float, array: NDArray[np.float32]) -> NDArray[np.float32]:
    """factor·array in single precision."""
    product: NDArray[np.float32] = np.multiply(np.float32(factor), array)
    return product


@dataclass(frozen=True)
class _Inner:
    """What settings say of the solver inside a strategy."""

    solver: str | None = None
    solver_settings: dict[str, Any] = field(default_factory=dict)
    solver_averaged: bool = False


class Strategy(Solver):
    """A solver for all workers, around one for a single worker."""

    distributed = True
    solver: Solver

    def settings(self) -> dict[str, Any]:
        settings = super().settings()
        inner: Solver | None = settings.pop("solver")
        if inner is None:
            return settings
        inner_settings: dict[str, Any] = {"solver": inner.name, "solver_settings": inner.settings()}
        if isinstance(inner, Averaged):
            inner_settings["solver_averaged"] = True
        return {**settings, **inner_settings}

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> Strategy:
        where = "the solver's settings"
        inner = fit_type(_Inner, settings, where)
        own = {name: value for name, value in settings.items() if name not in vars(inner)}
        found = arguments_of(cls, own, where)
        if inner.solver is None:
            return cls(**found)
        if inner.solver not in SOLVERS:
            raise InputError(f"{where}: there is no solver {inner.solver!r}")
        solver = SOLVERS[inner.solver].from_settings(inner.solver_settings)
        found["solver"] = Averaged(solver) if inner.solver_averaged else solver
        return cls(**found)


class DualStrategy(Strategy):
    """A strategy whose local solver holds cuts.

    With ``solver=None`` that is :class:`DCD` for the squared hinge and :class:`SDM` for the hinge.
    """

    def __init__(self, solver: Solver | None, local_passes: int) -> None:
        if solver is not None and (
            not isinstance(solver, DualSolver) or isinstance(solver, RampSDM)
        ):
            raise InputError(
                f"{self.name} needs a local solver with cuts (dcd, dcd-light, cpd, sdm or "
                f"frank-wolfe), not {solver.name}"
            )
        if local_passes < 1:
            raise InputError(f"local_passes is {local_passes}; it must be at least 1")
        self.solver = solver  # type: ignore[assignment]
        self.local_passes = local_passes
        self.losses = ("squared_hinge", "hinge") if solver is None else solver.losses  # type: ignore[misc]

    def local_solver(self, problem: Problem) -> DualSolver:
        if isinstance(self.solver, DualSolver):
            return self.solver
        solver = auto_solver(problem.loss.name, inside_strategy=True)
        assert isinstance(solver, DualSolver)
        return solver

    def run_local(self, iterate: DualShareIterate) -> PassResult:
        """Passes over the local problem; what came of the last one."""
        solver = self.local_solver(iterate.problem)
        for _ in range(self.local_passes):
            report = solver.run_pass(iterate.local)
        return report


class DualShareIterate(Iterate):
    """An iterate of which every worker holds the cuts of its own examples.

    The local problem's duals are θα: its C is θC. So that of all workers

        w = c + (1/θ) Σ_workers Σ (θα) δ.
    """

    can_end = True

    def __init__(
        self, problem: Problem, seed: int, theta: float, center: _core.Weights | None
    ) -> None:
        """``center`` is the local problem's."""
        super().__init__(problem, seed)
        self.communicator = communicator_of(problem)
        self.theta = theta
        self.local = DualIterate(
            local_problem(problem, theta * problem.C, center), local_seed(problem, seed)
        )

    def start_averaging(self, linear: bool = False) -> None:
        raise InputError("steps that several machines make at a time have no average")

    @property
    def cuts(self) -> int:  # type: ignore[override]
        """Of all workers, as of the last pass."""
        return int(self.memory.get("cuts", 0))

    def count(self, totals: NDArray[np.float64]) -> None:
        """Take over what :meth:`counts` of all workers add up to."""
        self.memory["cuts"] = int(totals[0])
        self.inference_calls, self.beaten = int(totals[1]), int(totals[2])

    def counts(self) -> list[float]:
        return [self.local.cuts, self.local.inference_calls, self.local.beaten]

    def own_share(self) -> NDArray[np.float32]:
        """Σ α δ of this worker, without the rounding that w has gathered."""
        out = self.problem.structure.new_weights()
        self.local.duals.write(out, self.problem.threads)
        return scaled(1 / self.theta, out.array)

    def whole(self, own_share: NDArray[np.float32]) -> NDArray[np.float32]:
        """c + Σ α δ of all workers."""
        total = self.communicator.allreduce(own_share)
        return total if self.problem.center is None else total + self.problem.center.array

    def summed(self) -> _core.Weights:
        """c + Σ α δ of all workers, as it was added up from pass to pass."""
        return self.w

    def drift(self) -> float:
        exact = self.problem.structure.new_weights(self.whole(self.own_share()))
        return distance(self.summed(), exact, self.problem.C)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = super().state()
        local_metadata, local_arrays = self.local.state()
        arrays |= {f"local.{name}": array for name, array in local_arrays.items()}
        return {**metadata, "local": local_metadata}, arrays

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        self.local._restore(metadata.get("local"), inner_arrays(arrays, "local"))
        super()._restore(metadata, arrays)

    def excess(self) -> float:
        return self.local.excess()
