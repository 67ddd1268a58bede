"""What a solver is: it starts an iterate for a problem and runs passes on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import Range, fit_type, stored_array
from dualstruct.errors import InputError, UnsupportedError
from dualstruct.solvers.solver import PassResult, Solver

if TYPE_CHECKING:
    from dualstruct.problem import Problem

Count = Annotated[int, Range(0, 2**62)]


@dataclass(eq=False, repr=False)
class _Metadata:
    """What a checkpoint says of an iterate, besides arrays."""

    seed: int
    core_passes: Count
    inference_calls: Count
    memory: dict[str, bool | Count | Annotated[float, Range(0, 1e300)]]
    beaten: Count = 0
    scales: Annotated[float, Range(0, 1e300)] = 0.0
    steps: Count = 0


class Part(NamedTuple):
    """What one worker left of an iterate, and which of its examples are now this worker's."""

    metadata: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    chosen: NDArray[np.int64]  #: of its examples, counted from 0
    places: NDArray[np.int64]  #: of these among this worker's


class Iterate:
    """Where a solver stands: w, perhaps its average, and the seed of the next pass.

    Everything random in a pass follows from ``seed`` and the number of the pass, so that an
    iterate that was saved and loaded continues exactly as the original would have. ``memory`` holds
    what else a solver has to remember from one pass to the next; it is saved as JSON.
    """

    cuts: int = 0
    converged: bool = False  #: whether further passes would change nothing
    can_end: bool = False  #: whether a certified gap or convergence can end training

    def __init__(self, problem: Problem, seed: int = 0) -> None:
        self.problem = problem
        self.seed = int(seed)
        self.w = problem.structure.new_weights()
        self.average: _core.Average | None = None
        self.memory: dict[str, Any] = {}
        self.core_passes = 0
        self.inference_calls = 0
        self.beaten = 0  # inferences that found less than a cut held by then
        self._averaged: _core.Weights | None = None

    def start_averaging(self, linear: bool = False) -> None:
        """From now on :meth:`answer` is the average of w over all steps, or one that weighs
        step t by t (linear)."""
        self.average = _core.Average(self.problem.structure.core, linear)
        self._linear = linear
        self._averaged = self.problem.structure.new_weights()

    def tell_average(self, before: NDArray[np.float32]) -> None:
        """w was ``before`` and has been changed as a whole: for the average, a change as any."""
        if self.average is not None:
            late, scales, steps = self.average.save()
            late += np.float32(scales) * (self.w.array - before)
            self.average.load(self.problem.structure.core, late, scales, steps)

    def answer(self) -> _core.Weights:
        """The weights to predict with: w, or its average."""
        if self.average is None or self._averaged is None:
            return self.w
        self._write_average(self.average, self._averaged)
        return self._averaged

    def _write_average(self, average: _core.Average, out: _core.Weights) -> None:
        average.write(self.problem.structure.core, self.w, 1.0, out)

    def dual(self) -> float | None:
        """A lower bound of the optimum, if this solver has one."""
        return None

    def rebuild(self) -> None:
        """Undo the rounding that w has gathered, if there is something to compute it from."""

    def change_truth(self, examples: NDArray[np.int64], change: Callable[[], None]) -> None:
        """Call ``change``, which gives these examples other true outputs, and continue."""
        change()

    def move_to(self, problem: Problem) -> bool:
        """Go on with a problem that differs in C alone; False, nothing changed, if it cannot."""
        return False

    def settled(self) -> tuple[_core.Weights, float | None]:
        """The weights to predict with and the dual, without rounding errors; changes nothing."""
        return self.answer(), self.dual()

    @property
    def settles_as_rebuilt(self) -> bool:
        """Whether :meth:`settled` gives the weights that :meth:`answer` has after a rebuild."""
        return False

    def drift(self) -> float:
        """How far w is from what the duals give, of all workers, relative to its length; 0
        without duals."""
        return 0.0

    def next_seed(self) -> int:
        self.core_passes += 1
        return (self.seed * 0x9E3779B97F4A7C15 + self.core_passes) % 2**64

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything that :meth:`restore` needs, as JSON and arrays."""
        metadata: dict[str, Any] = {
            "seed": self.seed,
            "core_passes": self.core_passes,
            "inference_calls": self.inference_calls,
            "beaten": self.beaten,
            "memory": self.memory,
        }
        arrays: dict[str, NDArray[Any]] = {"w": np.array(self.w.array)}
        if self.average is not None:
            arrays["late"], metadata["scales"], metadata["steps"] = self.average.save()
        return metadata, arrays

    def redealt(self, parts: Iterator[Part]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The state to restore on this worker, from those of another number of workers."""
        raise InputError("what each of its workers knows cannot be divided anew")

    def restore(self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Go back to where :meth:`state` was called.

        Whoever wrote the checkpoint: what a dual, and so a certificate, rests on is recomputed
        or checked.
        """
        try:
            for name, array in arrays.items():
                if array.dtype.kind == "f" and not np.isfinite(array).all():
                    raise ValueError(f"{name} has a number that is not finite")
            self._restore(metadata, arrays)
        except (InputError, TypeError, ValueError) as error:
            raise InputError(f"the checkpoint does not fit this problem ({error})") from None

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        core = self.problem.structure.core
        saved = fit_type(_Metadata, metadata, "iterate")
        self.w.assign(core, stored_array(arrays, "w", np.float32))
        if self.average is not None:
            late = stored_array(arrays, "late", np.float32)
            self.average.load(core, late, saved.scales, saved.steps)
        self.seed = saved.seed
        self.core_passes = saved.core_passes
        self.inference_calls = saved.inference_calls
        self.beaten = saved.beaten
        for name in self.memory:  # what the solver has from the start
            if name not in saved.memory:
                raise InputError(f"iterate.memory.{name} is missing")
        self.memory = dict(saved.memory)

    def excess(self) -> float:
        """By how much the duals of an example exceed what the loss allows, relative to that."""
        return 0.0


def distance(w: _core.Weights, exact: _core.Weights, C: float) -> float:
    """‖w − exact‖, relative to the length of what it should be (or to C, where that is less)."""
    return float(np.sqrt(w.squared_distance(exact) / max(C**2, exact.squared_norm())))


class DualIterate(Iterate):
    """An iterate whose w is Σ α δ over cuts."""

    can_end = True

    def __init__(self, problem: Problem, seed: int = 0) -> None:
        super().__init__(problem, seed)
        self.duals = _core.DualState(problem.structure.core_examples, self.w, problem.center)

    def start_averaging(self, linear: bool = False) -> None:
        super().start_averaging(linear)
        self.duals.average_into(self.average)

    def _write_average(self, average: _core.Average, out: _core.Weights) -> None:
        self.duals.write_average(out)

    def change_truth(self, examples: NDArray[np.int64], change: Callable[[], None]) -> None:
        held = self.duals.take(examples)
        change()
        self.duals.put(held)
        self.rebuild()
        if self.average is not None:  # w has jumped: what was before is another problem's
            self.start_averaging(self._linear)

    def move_to(self, problem: Problem) -> bool:
        """Duals of the squared hinge are scaled as C is, those of the hinge capped: both are
        feasible then, and near the optimum if the old C was near the new one."""
        squared = problem.loss.name == "squared_hinge"
        if self.average is not None or not (squared or problem.loss.name == "hinge"):
            return False
        most = problem.weights_of_losses()
        factor = problem.C / self.problem.C if squared else 1.0
        self.duals.rescale(factor, np.full_like(most, np.inf) if squared else most)
        self.problem = problem
        self.memory = {}
        self.rebuild()
        return True

    def visit(self, rule: _core.Rule, admission: float) -> _core.PassReport:
        """Decode every example in random order; admit cuts that gain δ or more; apply the rule."""
        threads = self.problem.threads
        return self._counted(self.duals.visit(rule, admission, self.next_seed(), threads))

    def settle_each(self, rule: _core.SMORule) -> _core.PassReport:
        """Decode and optimise every example, in random order, until it is τ-optimal."""
        return self._counted(self.duals.settle_each(rule, self.next_seed()))

    def optimise_after_each(self, rule: _core.SMORule, epsilon: float) -> _core.PassReport:
        """Decode every example, in random order; after each new cut, optimise over all cuts."""
        return self._counted(self.duals.optimise_after_each(rule, epsilon, self.next_seed()))

    def gather(
        self, rule: _core.GatherRule | _core.SMOGatherRule, admission: float
    ) -> _core.PassReport:
        """Decode every example at this w, on all threads; admit cuts that gain δ or more."""
        threads = self.problem.threads
        return self._counted(self.duals.gather(rule, admission, self.next_seed(), threads))

    def _counted(self, report: _core.PassReport) -> _core.PassReport:
        self.inference_calls += report.inferences
        self.beaten += report.beaten
        return report

    def revisit(self, rule: _core.Rule, sweeps: int = 1) -> _core.PassReport:
        """Apply the rule to the cuts that every example holds, in random order.

        Further sweeps go through those examples alone that violated more than the mean in the one
        before.
        """
        return self.duals.revisit(rule, self.next_seed(), sweeps)

    def rebuild(self) -> None:
        """w = c + Σ α δ recomputed: single precision drifts."""
        self.duals.rebuild(self.problem.threads)

    def cut_dual(self) -> float:
        """The dual objective of the cuts held."""
        return self.problem.dual(self.duals, self.w)

    def dual(self) -> float | None:
        return self.cut_dual()

    def settled(self) -> tuple[_core.Weights, float | None]:
        exact = self.problem.structure.new_weights()
        self.duals.write(exact, self.problem.threads)
        dual = self.problem.dual(self.duals, exact)
        return (exact if self.average is None else self.answer()), dual

    @property
    def settles_as_rebuilt(self) -> bool:
        return self.average is None

    def drift(self) -> float:
        exact = self.problem.structure.new_weights()
        self.duals.write(exact, self.problem.threads)
        return distance(self.w, exact, self.problem.C)

    @property
    def cuts(self) -> int:  # type: ignore[override]
        return self.duals.cuts

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = super().state()
        names = ("cut_words", "cut_words_of_example", "sum_alpha")
        return metadata, arrays | dict(zip(names, self.duals.save(), strict=True))

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        self.duals.load(
            stored_array(arrays, "cut_words", np.uint32),
            stored_array(arrays, "cut_words_of_example", np.int64),
            stored_array(arrays, "sum_alpha", np.float64),
        )
        super()._restore(metadata, arrays)

    def excess(self) -> float:
        if self.problem.loss.name == "squared_hinge":
            return 0.0
        most = self.problem.weights_of_losses()
        beyond = np.where(most > 0, self.duals.sum_alpha() / np.where(most > 0, most, 1.0), 0.0)
        unweighted = bool((self.duals.sum_alpha()[most <= 0] > 0).any())
        return float("inf") if unweighted else max(float(beyond.max(initial=0.0)) - 1, 0.0)


class DualSolver(Solver):
    """A solver whose iterate holds cuts."""

    #: How often a pass goes through the cuts held besides :meth:`run_visit`.
    revisits: int = 1

    def run_visit(self, iterate: DualIterate) -> PassResult:
        """The part of a pass that has inference, for who revisits the cuts in another way."""
        return self.run_pass(iterate)

    def run_revisit(self, iterate: DualIterate) -> _core.PassReport:
        """Once through the cuts held: each of them, or an exchange between two of an example's."""
        C = iterate.problem.C
        if iterate.problem.loss.name == "hinge":
            return iterate.revisit(_core.SMORule(C, tolerance=0.0, max_steps=1))
        return iterate.revisit(_core.DCDRule(C))

    def start(self, problem: Problem, seed: int) -> DualIterate:
        return DualIterate(problem, seed)


class RevisitingSolver(DualSolver):
    """Every pass revisits the cuts held so often, then visits all examples once."""

    def run_pass(self, iterate: DualIterate) -> PassResult:
        for _ in range(self.revisits if iterate.cuts else 0):
            self.run_revisit(iterate)
        return self.run_visit(iterate)

    def _set_revisits(self, revisits: int) -> None:
        if revisits < 0:
            raise InputError(f"revisits is {revisits}; it must be at least 0")
        self.revisits = revisits


def refuse_lacking(problem: Problem, name: str, parts: bool = False) -> None:
    """A structure that lacks what a solver needs is refused before anything is computed."""
    structure, loss = problem.structure, problem.loss
    if loss.sums and not structure.has_expectations:
        raise UnsupportedError(
            f"solver {name} does not take a {structure.kind} with the loss {loss.name}, which sums "
            "over all outputs: it has no expectations; take the loss hinge, squared_hinge or ramp"
        )
    if parts and not structure.has_parts:
        raise UnsupportedError(
            f"solver {name} does not take a {structure.kind}: its outputs do not come in parts "
            "with exact marginals; take the solver lbfgs, sgd or dca"
        )


class Averaged(Solver):
    """Any solver, judged and kept by the average of w over all its steps.

    >>> from dualstruct.solvers import DCD
    >>> Averaged(DCD()).averaged
    True
    """

    averaged = True

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.name = solver.name  # type: ignore[misc]
        self.losses = solver.losses  # type: ignore[misc]

    def start(self, problem: Problem, seed: int) -> Any:
        return self.solver.start(problem, seed)

    def run_pass(self, iterate: Any) -> PassResult:
        return self.solver.run_pass(iterate)

    def settings(self) -> dict[str, Any]:
        return self.solver.settings()

    def __repr__(self) -> str:
        return f"Averaged({self.solver!r})"
