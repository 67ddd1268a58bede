"""The ramp loss by the concave-convex procedure with the sequential dual method inside.

    min_w  ½‖w‖² + C Σ_i [max_y H_i(y; w) − (max_y −Δ_i(y) − w·δ_i(y))₊]

Each round replaces the concave part by its tangent at w. With A the examples whose second maximum
is positive and ȳ_i where it is reached, the round's problem is the hinge loss with a center:

    min_w  ½‖w + v‖² + C Σ_i max_y H_i(y; w),   v = C Σ_{i∈A} δ_i(ȳ_i),   w = −v + Σ α δ

The examples in A are those whose loss the ramp has capped: it gives up on them. The first round
starts at w = 0, where A is empty: it is the hinge problem.

Source: Mančev 2015, "A sequential dual method for the structured ramp loss minimization",
Algorithm 1. There w ← w − v must also take the previous round's v back (line 10), which computing
w = −v + Σ α δ recomputed does. The paper's C/N is our C.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import arguments_of, examples_in, stored_array
from dualstruct.errors import InputError
from dualstruct.losses import Ramp
from dualstruct.problem import Problem
from dualstruct.solvers.base import DualIterate, DualSolver
from dualstruct.solvers.sdm import SDM


class RampIterate(DualIterate):
    """A dual iterate whose center moves from round to round."""

    can_end = False

    def __init__(self, problem: Problem, seed: int) -> None:
        if problem.center is not None:
            raise InputError("the ramp loss cannot continue from an earlier model: train a new one")
        moving = problem.structure.new_weights()
        self.hinge = Problem(problem.structure, "hinge", problem.C, center=moving)
        super().__init__(self.hinge, seed)
        self.problem = problem  # what is reported is the ramp
        self.center = moving
        self.given_up: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def cut_dual(self) -> float:
        """The dual of the round's convex problem."""
        return self.hinge.dual(self.duals, self.w)

    def dual(self) -> None:
        """The ramp is not convex: no dual bounds it."""

    def settled(self) -> tuple[_core.Weights, None]:
        exact = self.problem.structure.new_weights()
        self.duals.write(exact, self.problem.threads)
        return (exact if self.average is None else self.answer()), None

    def start_round(self, loss: Ramp) -> None:
        """Linearise the concave part at w."""
        self.given_up = _core.linearise_concave(
            self.problem.structure.core_examples,
            self.w,
            loss.concave_cost_weight,
            self.problem.C,
            self.center,
        )
        self.inference_calls += len(self.problem.structure)
        before = np.array(self.w.array)
        self.duals.rebuild(self.problem.threads)
        self.tell_average(before)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = super().state()
        arrays["center"] = np.array(self.center.array)
        arrays["given_up"] = self.given_up
        return metadata, arrays

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        center = stored_array(arrays, "center", np.float32)
        self.center.assign(self.problem.structure.core, center)
        self.given_up = examples_in(arrays, "given_up", len(self.problem.structure))
        super()._restore(metadata, arrays)


#: The passes inside a round of Mančev 2015: exchanges of each example until τ, type-I loops alone.
AS_PUBLISHED = SDM(tau=0.25, tau_inner=0.25, kappa1=2**31, as_published=True)


class RampSDM(DualSolver):
    """CCCP rounds of sequential dual passes.

    Its formula is (22) of docs/mathematics.md.

    The default uses the passes of :class:`SDM` with its loops over the cuts held; the paper only
    visits and solves every example: ``RampSDM(sdm=AS_PUBLISHED)``.

    Parameters
    ----------
    passes_per_round : int
        T of the paper: passes of the sequential dual method between two linearisations.
    sdm : SDM, optional
        The settings of the method inside.
    """

    name: ClassVar[str] = "ramp-sdm"
    losses: ClassVar[tuple[str, ...]] = ("ramp", "ramp_uncosted")
    published: ClassVar[dict[str, dict[str, Any]]] = {
        "Mančev 2015, Algorithm 1": {"sdm": AS_PUBLISHED}
    }

    def __init__(self, passes_per_round: int = 10, sdm: SDM | None = None) -> None:
        if passes_per_round < 1:
            raise InputError(f"passes_per_round is {passes_per_round}; it must be at least 1")
        self.passes_per_round = passes_per_round
        self.sdm = sdm or SDM()

    def settings(self) -> dict[str, Any]:
        return {"passes_per_round": self.passes_per_round, **self.sdm.settings()}

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> RampSDM:
        inner = dict(settings)
        own = {"passes_per_round": inner.pop("passes_per_round", None)}
        sdm = SDM(**arguments_of(SDM, inner, "the solver's settings"))
        return cls(sdm=sdm, **arguments_of(cls, own, "the solver's settings"))

    def start(self, problem: Problem, seed: int) -> RampIterate:
        return RampIterate(problem, seed)

    def run_pass(self, iterate: DualIterate) -> _core.PassReport:
        assert isinstance(iterate, RampIterate)
        done: int = iterate.memory.setdefault("passes", 0)
        loss = iterate.problem.loss
        assert isinstance(loss, Ramp)
        if done and done % self.passes_per_round == 0:
            iterate.start_round(loss)
            iterate.memory["scale"] = 1.0
        iterate.memory["passes"] = done + 1
        report = self.sdm.run_pass(iterate)
        iterate.converged = False  # that was the round's problem
        return report
