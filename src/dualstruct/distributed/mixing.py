"""Workers that learn on their own and mix what they have learned.

Iterative parameter mixing: in every epoch each worker k starts from the same w, passes once over
its own examples, and

    w ← Σ_k μ_k w_k,   μ_k = 1/K,  or in proportion to the examples that moved w_k (weighted)

For the perceptron either choice keeps the convergence proof, because the weights sum to 1 and a
worker that was never wrong has not moved. The average that predicts is that of w over all steps
of all workers. The simple average mixes once, at the end.

Source: McDonald, Hall & Mann 2010, "Distributed Training Strategies for the Structured Perceptron",
Figure 3; simple averaging as in Lee et al. 2015, §4.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import inner_arrays
from dualstruct.distributed.base import (
    Report,
    Strategy,
    communicator_of,
    local_problem,
    local_seed,
    scaled,
)
from dualstruct.errors import InputError
from dualstruct.problem import Problem
from dualstruct.solvers import MIRA, Iterate, Perceptron, Solver


class MixingIterate(Iterate):
    """Every worker has the same w between passes; the average is that of all workers' steps."""

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, local_seed(problem, seed))
        self.communicator = communicator_of(problem)
        if problem.center is not None:
            self.w = problem.structure.new_weights(problem.center.array)

    def mix(self, share: float) -> None:
        """w ← Σ_k share_k w_k."""
        own = np.array(self.w.array)
        mixed = self.communicator.allreduce(scaled(share, own))
        self.w.assign(self.problem.structure.core, mixed)
        self.tell_average(own)

    def answer(self) -> _core.Weights:
        if self.average is None or self._averaged is None:
            return self.w
        late, scales, steps = self.average.save()
        [total] = self.communicator.allreduce(np.array([float(steps)]))
        if total:
            own = scales * self.w.array.astype(np.float64) - late
            mean = self.communicator.allreduce(own) / total
            self._averaged.assign(self.problem.structure.core, mean.astype(np.float32))
            return self._averaged
        return self.w


class IterativeMixing(Strategy):
    """Iterative parameter mixing, as published.

    Its formula is (33) of docs/mathematics.md.

    Parameters
    ----------
    solver : Perceptron or MIRA, optional
        The solver of each worker; the perceptron by default.
    weighted : bool
        Whether workers that moved more get more weight.

    Examples
    --------
    >>> from dualstruct import MIRA
    >>> IterativeMixing(MIRA(k=2), weighted=True).losses
    ('hinge',)
    """

    name: ClassVar[str] = "iterative-mixing"
    losses: ClassVar[tuple[str, ...]] = ("perceptron", "hinge")
    published: ClassVar[dict[str, dict[str, Any]]] = {
        "McDonald et al. 2010, iterative parameter mixing": {}
    }

    def __init__(self, solver: Solver | None = None, weighted: bool = False) -> None:
        solver = Perceptron() if solver is None else solver
        if not isinstance(solver, (Perceptron, MIRA)):
            raise InputError(f"{self.name} mixes perceptron or mira, not {solver.name}")
        self.solver: Perceptron | MIRA = solver
        self.weighted = weighted
        self.losses = solver.losses  # type: ignore[misc]
        self.averaged = solver.averaged

    def start(self, problem: Problem, seed: int) -> MixingIterate:
        return MixingIterate(problem, seed)

    def run_pass(self, iterate: MixingIterate) -> Report:
        communicator, inferences = iterate.communicator, iterate.inference_calls
        report = self.solver.run_pass(iterate)
        loss, made, moves = communicator.allreduce(
            np.array([report.loss, report.inferences, report.moves])
        ).tolist()
        iterate.inference_calls = inferences + int(made)
        weighted = self.weighted and moves
        iterate.mix(report.moves / moves if weighted else 1 / communicator.size)
        return Report(loss)


class SimpleAverageIterate(Iterate):
    """w is the mean of what the workers' solvers would predict with by now."""

    def __init__(self, problem: Problem, seed: int, solver: Solver) -> None:
        super().__init__(problem, seed)
        self.communicator = communicator_of(problem)
        local = local_problem(problem, problem.C, problem.center)
        self.local: Iterate = solver.start(local, local_seed(problem, seed))
        if solver.averaged:
            self.local.start_averaging(solver.linear_average)

    @property
    def cuts(self) -> int:  # type: ignore[override]
        """Of all workers, as of the last pass."""
        return int(self.memory.get("cuts", 0))

    def start_averaging(self, linear: bool = False) -> None:
        raise InputError("a simple average has no steps of its own: average the solver inside")

    def drift(self) -> float:
        return self.local.drift()

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = super().state()
        local_metadata, local = self.local.state()
        arrays |= {f"local.{name}": array for name, array in local.items()}
        return {**metadata, "local": local_metadata}, arrays

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        self.local._restore(metadata.get("local"), inner_arrays(arrays, "local"))
        super()._restore(metadata, arrays)


class SimpleAverage(Strategy):
    """Every worker trains a model on its own examples; the result is the mean of the models.

    Its formula is (33) of docs/mathematics.md, once, at the end.

    This is not the problem of all examples, so it has no dual and no gap.

    Parameters
    ----------
    solver : Solver
        The solver of each worker.

    Examples
    --------
    >>> from dualstruct import DCD
    >>> SimpleAverage(DCD()).losses
    ('squared_hinge',)
    """

    name: ClassVar[str] = "simple-average"
    losses: ClassVar[tuple[str, ...]]

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.losses = solver.losses  # type: ignore[misc]

    def start(self, problem: Problem, seed: int) -> SimpleAverageIterate:
        return SimpleAverageIterate(problem, seed, self.solver)

    def run_pass(self, iterate: SimpleAverageIterate) -> Report:
        communicator, local = iterate.communicator, iterate.local
        report = self.solver.run_pass(local)
        total = communicator.allreduce(np.array(local.answer().array))
        iterate.w.assign(iterate.problem.structure.core, scaled(1 / communicator.size, total))
        loss, cuts, inferences, beaten, done = communicator.allreduce(
            np.array(
                [report.loss, local.cuts, local.inference_calls, local.beaten, local.converged],
                dtype=np.float64,
            )
        ).tolist()
        iterate.memory["cuts"] = int(cuts)
        iterate.inference_calls, iterate.beaten = int(inferences), int(beaten)
        iterate.converged = done == communicator.size
        return Report(loss)
