"""Box-constrained quadratic optimisation over several workers.

The dual of all examples, α ≥ 0 (and Σ_y α_iy ≤ C for the hinge), with s_i = Σ_y α_iy:

    max_α  D(α) = Σ_iy α_iy Δ_i(y) − ½‖w‖² − (1/4C) Σ_i s_i²,   w = Σ_iy α_iy δ_i(y)

(the last term for the squared hinge only). Each round moves α by η d. The direction d maximises a
model of D in which every worker sees the changes of its own examples only, but θ times:

    worker k:  max_d  Σ d Δ − w·u − (θ/2)‖u‖² − (1/4C) Σ_i (s_i + Σ_y d_iy)²,   u = Σ d δ

Times θ, with α̃ = θ(α + d), C̃ = θC and v = w + θu = (w − θ Σ α δ) + Σ α̃ δ, this is the dual of one
worker's problem: its center is w − θ Σ α δ, its weight of a loss C̃. So any dual solver can work on
it, and starts from the duals it had. Then, with Δw = Σ_k u_k by one sum over all workers,

    η* = (Σ d Δ − w·Δw − Σ_i s_i D_i / 2C) / (‖Δw‖² + Σ_i D_i² / 2C),   D_i = Σ_y d_iy

needs a few numbers more, and η = min(η*, the largest step that keeps α feasible). The duals go back
to α + η d on every worker, and cuts dropped on the way to α + d come back with them.

With θ = K, the paper's choice, the model never promises more than D gains, so η* ≥ 1 where the
model was maximised. But K is right only if all workers move w in the same direction. What would
have been right is known after each round,

    θ = ‖Σ_k u_k‖² / Σ_k ‖u_k‖²,   between 0 and K,

and by default the next round uses it, but nothing below 1 or K − 1: bolder rounds raise D more
quickly, but make the primal oscillate, and so do bold rounds and careful ones in turn: θ falls by
a fifth a round at most. Every θ > 0 gives a direction in which D rises, and the line search finds
how far. The paper's λI, there to make the model strictly concave, is not needed by coordinate
steps.

What most examples have in common, all workers correct at the same time and too far. D hardly shows
it, but P does: its gap stays wide while D is almost at its maximum. A round without inference, over
the cuts held, is cheap and undoes that. So by default a pass is two times a round with one half of
each worker's examples and some rounds without inference. Between rounds w still oscillates;
any w bounds P's minimum from above, and the mean of the last ones does so better than the last. So
with R rounds in a pass the answer is w̄ ← w̄ + (w − w̄)/R after each: w itself where R = 1.

Source: Lee, Chang, Upadhyay & Roth 2015, "Distributed Training of Structured SVM", Algorithm 1; the
hinge by its footnote 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import stored_array
from dualstruct.distributed.base import (
    DualShareIterate,
    DualStrategy,
    Report,
    communicator_of,
    local_problem,
)
from dualstruct.errors import InputError
from dualstruct.problem import Problem
from dualstruct.solvers import Solver
from dualstruct.solvers.base import PassResult
from dualstruct.workers.communicator import in_place_of


class BQOIterate(DualShareIterate):
    """Between rounds the local weights are w: every worker has the same."""

    def __init__(self, problem: Problem, seed: int, theta: float) -> None:
        super().__init__(problem, seed, theta)
        self.w = self.local.w
        self.before = np.empty_like(self.w.array)  # w when a round began
        self.change = np.empty_like(self.w.array)  # θu of the round
        self.mean: _core.Weights | None = None  # w̄

    def answer(self) -> _core.Weights:
        return self.w if self.mean is None else self.mean

    def follow(self, rounds: int) -> None:
        """w̄ comes closer to w; at first it is the mean of all w since the first round."""
        if rounds == 1:
            return
        so_far = self.memory["rounds"] = self.memory.get("rounds", 0) + 1
        if self.mean is None:
            self.mean = self.problem.structure.new_weights()
        share = 1 / min(so_far, rounds)
        self._combine([self.mean.array, self.w.array], [1 - share, share], self.mean)

    def dual(self) -> float:
        return self.problem.dual(self.local.duals, self.w, self.theta)

    def change_theta(self, theta: float) -> None:
        """The same α and w, seen with another θ."""
        if theta == self.theta:
            return
        factor = theta / self.theta
        nothing = np.zeros(0, np.uint32), np.zeros(len(self.problem.structure), np.int64)
        self.local.duals.interpolate(*nothing, factor)  # θα → factor θα
        self._combine([self.center.array, self.w.array], [factor, 1 - factor], self.center)
        self._set_theta(theta)

    def _set_theta(self, theta: float) -> None:
        self.theta = self.memory["theta"] = theta
        self.local.problem = local_problem(self.problem, theta * self.problem.C, self.center)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = super().state()
        if self.mean is not None:
            arrays["mean"] = np.array(self.mean.array)
        return metadata, arrays

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(metadata, arrays)
        theta = float(self.memory.get("theta", self.theta))
        if not theta > 0:
            raise InputError(f"iterate.memory.theta is {theta}; it must be positive")
        self._set_theta(theta)
        if "mean" in arrays:
            mean = stored_array(arrays, "mean", np.float32)
            self.mean = self.problem.structure.new_weights(mean)

    def begin_round(self) -> None:
        np.copyto(self.before, self.w.array)

    def find_change(self) -> NDArray[np.float32]:
        """θu: how far the local passes have moved the local weights."""
        rows = [self.w.array, self.before]
        _core.combine(rows, [1.0, -1.0], self.change, self.problem.threads)
        return self.change

    def end_round(self, total: NDArray[np.float32], eta: float) -> None:
        """To w + η Δw, where θ Δw is the total; θ u goes into this worker's duals."""
        step = eta / self.theta
        self._combine([self.before, total], [1.0, step], self.w)
        rows = [self.center.array, total, self.change]
        self._combine(rows, [1.0, step, -eta], self.center)

    def _combine(
        self, rows: list[NDArray[np.float32]], coefficients: list[float], out: _core.Weights
    ) -> None:
        structure = self.problem.structure.core
        _core.combine_weights(structure, rows, coefficients, out, self.problem.threads)

    def rebuild(self) -> None:
        own = self.own_share()
        w = self.whole(own)
        self.local.rebuild()  # the sums of α
        self.w.assign(self.problem.structure.core, w)
        self._combine([w, own], [1.0, -self.theta], self.center)

    def settled(self) -> tuple[_core.Weights, float]:
        exact = self.problem.structure.new_weights(self.whole(self.own_share()))
        dual = self.problem.dual(self.local.duals, exact, self.theta)
        return (exact if self.mean is None else self.mean), dual

    @property
    def settles_as_rebuilt(self) -> bool:
        return True


class BQO(DualStrategy):
    """Algorithm 1 of Lee et al. The answer is a mean of w over about a pass of rounds.

    Its formulas are (30, 31) of docs/mathematics.md.

    The default differs from the paper, which has no rounds without inference, a fixed θ = K and the
    last w for an answer: ``BQO(theta="workers", rounds_per_pass=1, revisits=0)``.

    Parameters
    ----------
    solver : Solver, optional
        What solves the local problems: DCD, DCDLight or CPD for the squared hinge, SDM or
        FrankWolfe for the hinge; by default DCD or SDM.
    theta : float or "workers", optional
        θ, how careful a worker is because the others move, too. "workers" is their number, the
        paper's choice; by default it begins with that and then follows what the last round has
        shown.
    local_passes : int
        Passes of the local solver in each round: more of them communicate less often.
    rounds_per_pass : int, optional
        Rounds with inference in a pass, each with as many of every worker's examples. By default
        2 on several workers: what they learn from one half is known to all when they come to the
        other.
    revisits : int, optional
        Rounds without inference after each of these. By default as many in all, on several
        workers, as the local solver has passes without inference: it leaves them to the rounds.
        With 0 and ``rounds_per_pass=1`` this is the paper's algorithm.

    Examples
    --------
    >>> from dualstruct import DCD
    >>> BQO(DCD(revisits=2)).settings()["solver_settings"]
    {'revisits': 2, 'admission': 0.01}
    """

    name: ClassVar[str] = "bqo"
    losses: ClassVar[tuple[str, ...]] = ("squared_hinge", "hinge")
    published: ClassVar[dict[str, dict[str, Any]]] = {
        "Lee et al. 2015, Algorithm 1, θ = K": {
            "theta": "workers",
            "rounds_per_pass": 1,
            "revisits": 0,
        }
    }

    def __init__(
        self,
        solver: Solver | None = None,
        theta: float | Literal["workers"] | None = None,
        local_passes: int = 1,
        rounds_per_pass: int | None = None,
        revisits: int | None = None,
    ) -> None:
        super().__init__(solver, local_passes)
        if rounds_per_pass is not None and rounds_per_pass < 1:
            raise InputError(f"rounds_per_pass is {rounds_per_pass}; it must be at least 1")
        self.rounds_per_pass = rounds_per_pass
        if revisits is not None and revisits < 0:
            raise InputError(f"revisits is {revisits}; it must be at least 0")
        self.revisits = revisits
        fixed = theta is not None and theta != "workers"
        if fixed and not (isinstance(theta, (int, float)) and 0 < theta < float("inf")):
            raise InputError(f'theta is {theta!r}; it must be positive and finite, or "workers"')
        self.theta = theta

    def start(self, problem: Problem, seed: int) -> BQOIterate:
        theta = self.theta
        if theta is None or theta == "workers":
            theta = communicator_of(problem).size
        return BQOIterate(problem, seed, float(theta))

    def run_pass(self, iterate: BQOIterate) -> Report:
        duals, several = iterate.local.duals, iterate.communicator.size > 1
        rounds = self.rounds_per_pass or (2 if several else 1)
        solver, revisits = self.local_solver(iterate.problem), self.revisits
        if revisits is None:
            revisits = math.ceil(solver.revisits / rounds) if several else 0
        in_all = rounds * (1 + revisits)
        loss = 0.0
        for part in range(rounds):
            duals.go_through(part, rounds)
            loss += self._round(iterate, self._run_visit if revisits else self.run_local)
            duals.go_through(0, 1)
            iterate.follow(in_all)
            for _ in range(revisits):
                self._round(iterate, lambda iterate: solver.run_revisit(iterate.local))
                iterate.follow(in_all)
        return Report(loss)

    def _run_visit(self, iterate: BQOIterate) -> PassResult:
        """As :meth:`run_local`, but the last pass leaves what it would revisit to later rounds."""
        solver = self.local_solver(iterate.problem)
        for _ in range(self.local_passes - 1):
            solver.run_pass(iterate.local)
        return solver.run_visit(iterate.local)

    def _round(self, iterate: BQOIterate, work: Callable[[BQOIterate], PassResult]) -> float:
        """One round of Algorithm 1; the losses met, of all workers."""
        problem, theta, duals = iterate.problem, iterate.theta, iterate.local.duals
        communicator = iterate.communicator
        words, words_of_example, s = duals.save()
        cost = duals.sum_alpha_cost()
        iterate.begin_round()

        report = work(iterate)  # 2.1

        own = iterate.find_change()
        [[own_square]] = _core.dots([own], [own], problem.threads)
        total = communicator.allreduce(own)  # 2.2: θ Δw

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
        [[along], [square]] = _core.dots([iterate.before, total], [total], problem.threads)
        along, square = along / theta, square / theta**2
        # Where rounding is all that is left to change, a long step would make much of it.
        longest = min(float(totals[8:].min()), 2.0 * communicator.size)
        mean = min(1.0, theta) / communicator.size
        eta = _step(problem, gain - along, square, sD, DD, longest, mean)  # 2.3

        if eta != 1:  # 2.4
            duals.interpolate(words, words_of_example, eta)
        iterate.end_round(total, eta)
        if self.theta is None and totals[7] > 0:
            least = max(1.0, communicator.size - 1)
            shown = square / (float(totals[7]) / theta**2)
            iterate.change_theta(float(max(least, shown, 0.8 * theta)))
        return float(loss)


def _step(
    problem: Problem,
    slope: float,
    curvature: float,
    sD: float,
    DD: float,
    largest: float,
    mean: float,
) -> float:
    """η of eq. (6): the exact maximum on the line, or the end of what is feasible."""
    if problem.loss.name == "squared_hinge":
        slope -= sD / 2
        curvature += DD / 2
    if slope <= 0:
        # What is left to gain is less than rounding. But each worker gains by its move (times θ,
        # if that is below 1), and D is concave: the mean of these moves does not lose.
        return mean
    return min(slope / curvature, largest) if curvature > 0 else 1.0
