"""Box-constrained quadratic optimisation over several machines.

The dual of all examples, α ≥ 0 (and Σ_y α_iy ≤ C for the hinge), with s_i = Σ_y α_iy:

    max_α  D(α) = Σ_iy α_iy Δ_i(y) − ½‖w‖² − (1/4C) Σ_i s_i²,   w = Σ_iy α_iy δ_i(y)

(the last term for the squared hinge only). Each round moves α by η d. The direction d maximises a
model of D in which every machine sees the changes of its own examples only, but θ times:

    machine k:  max_d  Σ d Δ − w·u − (θ/2)‖u‖² − (1/4C) Σ_i (s_i + Σ_y d_iy)²,   u = Σ d δ

Times θ, with α̃ = θ(α + d), C̃ = θC and v = w + θu = (w − θ Σ α δ) + Σ α̃ δ, this is the dual of one
machine's problem: its center is w − θ Σ α δ, its weight of a loss C̃. So any dual solver can work on
it, and starts from the duals it had. Then, with Δw = Σ_k u_k by one sum over all machines,

    η* = (Σ d Δ − w·Δw − Σ_i s_i D_i / 2C) / (‖Δw‖² + Σ_i D_i² / 2C),   D_i = Σ_y d_iy

needs a few numbers more, and η = min(η*, the largest step that keeps α feasible). The duals go back
to α + η d on every machine, and cuts dropped on the way to α + d come back with them.

With θ = K, the paper's choice, the model never promises more than D gains, so η* ≥ 1 where the
model was maximised. But K is right only if all machines move w in the same direction. What would
have been right is known after each round,

    θ = ‖Σ_k u_k‖² / Σ_k ‖u_k‖²,   between 0 and K,

and by default the next round uses it, but nothing below 1 or K/2: fewer rounds the more the
machines' examples differ. Bolder ones raise D more quickly still, but throw the primal to and fro,
and so do bold rounds and careful ones in turn: θ falls by a fifth a round at most. Every θ > 0
gives a direction in which D rises, and the line search finds how far.
The paper's λI, there to make the model strictly concave, is not needed by coordinate steps.

Source: Lee, Chang, Upadhyay & Roth 2015, "Distributed Training of Structured SVM", Algorithm 1; the
hinge by its footnote 3.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.distributed.base import (
    DualPartIterate,
    DualStrategy,
    Report,
    communicator_of,
    local_problem,
    scaled,
)
from dualstruct.distributed.communicator import in_place_of
from dualstruct.errors import InputError
from dualstruct.problem import Problem
from dualstruct.solvers import Solver


class BQOIterate(DualPartIterate):
    """Between rounds the local weights are w: every rank has the same."""

    def __init__(self, problem: Problem, seed: int, theta: float) -> None:
        super().__init__(problem, seed, theta)
        self.w = self.local.w
        self.change = problem.structure.new_weights()  # u, as the sum over changed duals

    def dual(self) -> float:
        return self.problem.dual(self.local.duals, self.w, self.theta)

    def change_theta(self, theta: float) -> None:
        """The same α and w, seen with another θ."""
        factor = theta / self.theta
        nothing = np.zeros(0, np.uint32), np.zeros(len(self.problem.structure), np.int64)
        self.local.duals.go_along(*nothing, factor)  # θα → factor θα
        w = self.w.array
        self.center.assign(self.problem.structure.core, w - scaled(factor, w - self.center.array))
        self._set_theta(theta)

    def _set_theta(self, theta: float) -> None:
        self.theta = self.memory["theta"] = theta
        self.local.problem = local_problem(self.problem, theta * self.problem.C, self.center)

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        self._set_theta(float(self.memory.get("theta", self.theta)))

    def move_to(self, w: NDArray[np.float32], center: NDArray[np.float32]) -> None:
        core = self.problem.structure.core
        self.w.assign(core, w)
        self.center.assign(core, center)

    def rebuild(self) -> None:
        own = self.own_part()
        w = self.whole(own)
        self.local.rebuild()  # the sums of α
        self.move_to(w, w - scaled(self.theta, own))

    def settled(self) -> tuple[_core.Weights, float]:
        exact = self.problem.structure.new_weights(self.whole(self.own_part()))
        return exact, self.problem.dual(self.local.duals, exact, self.theta)


class BQO(DualStrategy):
    """Algorithm 1 of Lee et al.

    Parameters
    ----------
    solver : Solver, optional
        What solves the local problems: DCD, DCDLight or CPD for the squared hinge, SDM or
        FrankWolfe for the hinge; by default DCD or SDM.
    theta : float, optional
        θ, how careful a machine is because the others move, too. By default it begins with their
        number, the paper's choice, and then follows what the last round has shown.
    local_passes : int
        Passes of the local solver in each round: more of them communicate less often.
    rounds_per_pass : int, optional
        Rounds in a pass, each with as many of every machine's examples. By default 2 for the
        squared hinge on several machines: what they learn from one half is known to all when they
        come to the other, which saves a quarter to half of the passes. Otherwise 1.

    Examples
    --------
    >>> from dualstruct import DCD
    >>> BQO(DCD(inner_passes=2)).settings()["solver_settings"]
    {'inner_passes': 2, 'delta': 0.01}
    """

    name: ClassVar[str] = "bqo"
    losses: ClassVar[tuple[str, ...]] = ("squared_hinge", "hinge")

    def __init__(
        self,
        solver: Solver | None = None,
        theta: float | None = None,
        local_passes: int = 1,
        rounds_per_pass: int | None = None,
    ) -> None:
        super().__init__(solver, local_passes)
        if rounds_per_pass is not None and rounds_per_pass < 1:
            raise InputError(f"rounds_per_pass is {rounds_per_pass}; it must be at least 1")
        self.rounds_per_pass = rounds_per_pass
        if theta is not None and not 0 < theta < float("inf"):
            raise InputError(f"theta is {theta}; it must be positive and finite")
        self.theta = theta

    def start(self, problem: Problem, seed: int) -> BQOIterate:
        theta = communicator_of(problem).size if self.theta is None else self.theta
        return BQOIterate(problem, seed, float(theta))

    def run_pass(self, iterate: BQOIterate) -> Report:
        halves = iterate.communicator.size > 1 and iterate.problem.loss.name == "squared_hinge"
        rounds = self.rounds_per_pass or (2 if halves else 1)
        loss = 0.0
        for part in range(rounds):
            iterate.local.duals.go_through(part, rounds)
            loss += self._round(iterate)
        return Report(loss)

    def _round(self, iterate: BQOIterate) -> float:
        """One round of Algorithm 1; the losses met, of all machines."""
        problem, theta, duals = iterate.problem, iterate.theta, iterate.local.duals
        communicator = iterate.communicator
        words, words_of_example, s = duals.save()
        cost = duals.sum_alpha_cost()
        w = np.array(iterate.w.array)

        report = self.run_local(iterate)  # 2.1

        duals.write_change(words, words_of_example, iterate.change)
        own = scaled(1 / theta, iterate.change.array)
        [[own_square]] = _core.dots([own], [own], problem.threads)
        change = communicator.allreduce(own)  # 2.2: Δw

        D = duals.sum_alpha() - s  # θ times, as s and C̃
        largest = duals.largest_step(words, words_of_example)
        if problem.loss.name == "hinge":
            rising = D > 0
            C = problem.weights_of_losses()[rising]
            room = (theta * C - s[rising]) / D[rising]
            largest = min(largest, float(room.min(initial=np.inf)))
        D_C = problem.per_weight(D / theta)
        numbers = np.concatenate(
            [
                [
                    (duals.sum_alpha_cost() - cost) / theta,
                    s @ D_C / theta,
                    D @ D_C / theta,
                ],
                [report.loss, *iterate.counts(), own_square],
                # Steps up to 1 are feasible whatever rounding says.
                in_place_of(communicator, max(largest, 1.0)),
            ]
        )
        totals = communicator.allreduce(numbers)
        gain, sD, DD, loss = totals[:4].tolist()
        iterate.count(totals[4:7])
        eta, square = _step(problem, w, change, gain, sD, DD, float(totals[8:].min()))  # 2.3

        if eta != 1:  # 2.4
            duals.go_along(words, words_of_example, eta)
        center = iterate.center.array + scaled(eta, change - scaled(theta, own))
        iterate.move_to(w + scaled(eta, change), center)
        if self.theta is None and totals[7] > 0:
            least = max(1.0, communicator.size / 2)
            iterate.change_theta(max(least, square / float(totals[7]), 0.8 * theta))
        return float(loss)


def _step(
    problem: Problem,
    w: NDArray[np.float32],
    change: NDArray[np.float32],
    gain: float,
    sD: float,
    DD: float,
    largest: float,
) -> tuple[float, float]:
    """η of eq. (6): the exact maximum on the line, or the end of what is feasible; ‖Δw‖²."""
    [[along], [square]] = _core.dots([w, change], [change], problem.threads)
    slope, curvature = gain - along, float(square)
    if problem.loss.name == "squared_hinge":
        slope -= sD / 2
        curvature += DD / 2
    if slope <= 0:  # what is left to gain is less than rounding
        return 0.0, float(square)
    return (min(slope / curvature, largest) if curvature > 0 else 1.0), float(square)
