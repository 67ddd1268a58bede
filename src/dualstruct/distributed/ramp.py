"""The ramp loss on several workers: the concave-convex procedure, with BQO for its convex problems.

As on one worker (:mod:`dualstruct.solvers.ramp`), each round replaces the concave part by its
tangent at w, of which every worker knows the part of its own examples:

    min_w  ½‖w + v‖² + C Σ_i max_y H_i(y; w),   v = Σ_k v_k,   v_k = C Σ_{i∈A∩k} δ_i(ȳ_i)

The sum over workers is an allreduce of one set of weights per round. What remains is the hinge with
a center −v, which is the same on all workers; w = −v + Σ α δ, with the duals of the round before.

Source: Mančev 2015, Algorithm 1, around Lee et al. 2015, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import arguments_of, inner_arrays, stored_array
from dualstruct.distributed.base import Report, Strategy, communicator_of
from dualstruct.distributed.bqo import BQO
from dualstruct.errors import InputError
from dualstruct.losses import Ramp
from dualstruct.problem import Problem
from dualstruct.solvers import Iterate, Solver
from dualstruct.solvers.base import Part


class RampBQOIterate(Iterate):
    """The iterate of a hinge problem whose center moves from round to round."""

    def __init__(self, problem: Problem, seed: int, bqo: BQO) -> None:
        if problem.center is not None:
            raise InputError("the ramp loss cannot continue from an earlier model: train a new one")
        super().__init__(problem, seed)
        self.communicator = communicator_of(problem)
        self.center = problem.structure.new_weights()
        convex = Problem(
            problem.structure,
            "hinge",
            problem.C,
            center=self.center,
            threads=problem.threads,
            communicator=problem.communicator,
            examples=problem.examples,
        )
        self.convex = bqo.start(convex, seed)
        self.w = self.convex.w
        self.memory["passes"] = 0

    @property
    def cuts(self) -> int:  # type: ignore[override]
        """Of all workers, as of the last pass."""
        return self.convex.cuts

    def start_averaging(self, linear: bool = False) -> None:
        self.convex.start_averaging(linear)

    def start_round(self, loss: Ramp) -> None:
        """Linearise the concave part at w."""
        structure = self.problem.structure
        own = structure.new_weights()
        _core.linearise_concave(
            structure.core_examples, self.w, loss.concave_cost_weight, self.problem.C, own
        )
        self.center.assign(structure.core, self.communicator.allreduce(np.array(own.array)))
        self.convex.local.inference_calls += len(structure)
        self.convex.begin_again()
        self.convex.local.memory["scale"] = 1.0  # of SDM: as coarse as the first round began

    def answer(self) -> _core.Weights:
        return self.convex.answer()

    def rebuild(self) -> None:
        self.convex.rebuild()

    def settled(self) -> tuple[_core.Weights, None]:
        return self.convex.settled()[0], None

    @property
    def settles_as_rebuilt(self) -> bool:
        return self.convex.settles_as_rebuilt

    def drift(self) -> float:
        return self.convex.drift()

    def excess(self) -> float:
        return self.convex.excess()

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = super().state()
        convex_metadata, convex = self.convex.state()
        arrays |= {f"convex.{name}": array for name, array in convex.items()}
        arrays["center"] = np.array(self.center.array)
        return {**metadata, "convex": convex_metadata}, arrays

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        center = stored_array(arrays, "center", np.float32)
        self.center.assign(self.problem.structure.core, center)
        self.convex._restore(metadata.get("convex"), inner_arrays(arrays, "convex"))
        super()._restore(metadata, arrays)

    def redealt(self, parts: Iterator[Part]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """As BQO's; all else is the same on all workers."""
        first: list[Part] = []

        def of_convex() -> Iterator[Part]:
            for part in parts:
                if not first:
                    first.append(part)
                inside = inner_arrays(part.arrays, "convex")
                yield part._replace(metadata=part.metadata["convex"], arrays=inside)

        convex_metadata, convex = self.convex.redealt(of_convex())
        metadata, arrays, *_ = first[0]
        kept = {name: each for name, each in arrays.items() if not name.startswith("convex.")}
        kept |= {f"convex.{name}": array for name, array in convex.items()}
        return {**metadata, "convex": convex_metadata}, kept


class RampBQO(Strategy):
    """CCCP rounds of passes of :class:`BQO`.

    Its formulas are (22, 30, 31) of docs/mathematics.md. On one worker it is
    :class:`~dualstruct.RampSDM` with the line search of BQO.

    Parameters
    ----------
    passes_per_round : int
        T of Mančev: passes of BQO between two linearisations.
    bqo : BQO, optional
        Its settings; its local solver is one for the hinge.

    Examples
    --------
    >>> from dualstruct import Problem, Stopping
    >>> from dualstruct.datasets import make_chains
    >>> from dualstruct.distributed import fit_local
    >>> problem = Problem(make_chains(sentences=20).structure(), "ramp", C=0.1)
    >>> result = fit_local(problem, RampBQO(), Stopping(passes=12), workers=2)
    >>> result.gap is None, result.passes
    (True, 12)
    """

    name: ClassVar[str] = "ramp-bqo"
    losses: ClassVar[tuple[str, ...]] = ("ramp", "ramp_uncosted")

    def __init__(self, passes_per_round: int = 10, bqo: BQO | None = None) -> None:
        if passes_per_round < 1:
            raise InputError(f"passes_per_round is {passes_per_round}; it must be at least 1")
        self.passes_per_round = passes_per_round
        self.bqo = BQO() if bqo is None else bqo
        if "hinge" not in self.bqo.losses:
            inner = self.bqo.solver
            raise InputError(f"{self.name} needs a local solver for the hinge, not {inner.name}")

    @property
    def solver(self) -> Solver:  # type: ignore[override]
        """The solver of each worker's examples; None for BQO's default."""
        return self.bqo.solver

    def settings(self) -> dict[str, Any]:
        return {"passes_per_round": self.passes_per_round, **self.bqo.settings()}

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> RampBQO:
        inner = dict(settings)
        own = {"passes_per_round": inner.pop("passes_per_round", None)}
        bqo = BQO.from_settings(inner)
        assert isinstance(bqo, BQO)
        return cls(bqo=bqo, **arguments_of(cls, own, "the solver's settings"))

    def start(self, problem: Problem, seed: int) -> RampBQOIterate:
        return RampBQOIterate(problem, seed, self.bqo)

    def run_pass(self, iterate: RampBQOIterate) -> Report:
        done: int = iterate.memory["passes"]
        loss = iterate.problem.loss
        assert isinstance(loss, Ramp)
        if done and done % self.passes_per_round == 0:
            iterate.start_round(loss)
        iterate.memory["passes"] = done + 1
        report = self.bqo.run_pass(iterate.convex)
        iterate.inference_calls = iterate.convex.inference_calls
        iterate.beaten = iterate.convex.beaten
        return report
