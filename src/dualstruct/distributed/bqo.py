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
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import inner_arrays, stored_array
from dualstruct.distributed.base import (
    DualShareIterate,
    DualStrategy,
    Report,
    at_center,
    communicator_of,
    local_problem,
)
from dualstruct.errors import InputError
from dualstruct.problem import Problem
from dualstruct.solvers import Solver
from dualstruct.solvers.base import Part
from dualstruct.solvers.solver import PassResult
from dualstruct.workers.communicator import Communicator, in_place_of
from dualstruct.workers.sparse import SparseVector

#: Where a scale is so small, what it is for is multiplied out.
SMALL = 1e-15


class BQOIterate(DualShareIterate):
    """w is the same on every worker. The local weights are w between rounds, and in a round w + θu.

    The mean w̄ of the last rounds is not kept itself: w − w̄ = (what lags)·(a scale) changes in a
    round where w does, and elsewhere by the scale alone.
    """

    def __init__(self, problem: Problem, seed: int, theta: float) -> None:
        super().__init__(problem, seed, theta, None)
        self.memory["theta"] = theta
        self.w = at_center(problem)
        self.local.w.assign(problem.structure.core, self.w.array)
        self.scratch = _core.MoveScratch(problem.structure.core)
        self.lag: _core.Weights | None = None  # (w − w̄) / scale
        self._mean: _core.Weights | None = None  # w̄, if it was asked for since the last round

    def answer(self) -> _core.Weights:
        if self.lag is None:
            return self.w
        if self._mean is None:
            self._mean = self._without_lag(self.w.array)
        return self._mean

    def _without_lag(self, w: NDArray[np.float32]) -> _core.Weights:
        assert self.lag is not None
        mean = self.problem.structure.new_weights()
        self._combine([w, self.lag.array], [1.0, -self.memory["lag"]], mean)
        return mean

    def _follow(self, moved: SparseVector, step: float, rounds: int) -> None:
        """w̄ comes closer to w; at first it is the mean of all w since the first round."""
        so_far = self.memory["rounds"] = self.memory.get("rounds", 0) + 1
        share = 1 / min(so_far, rounds)
        if share == 1:  # w̄ is w
            self.lag = self.problem.structure.new_weights()
            self.memory["lag"] = 1.0
            return
        assert self.lag is not None
        core, scale = self.problem.structure.core, self.memory["lag"]
        _core.sparse_axpy(core, self.lag, *moved, step / scale)
        self.memory["lag"] = (1 - share) * scale
        if self.memory["lag"] < SMALL:
            self._combine([self.lag.array], [self.memory["lag"]], self.lag)
            self.memory["lag"] = 1.0

    def dual(self) -> float:
        return self.problem.dual(self.local.duals, self.w, self.theta)

    def change_theta(self, theta: float) -> None:
        """The same α and w, seen with another θ."""
        if theta == self.theta:
            return
        duals = self.local.duals
        duals.rescale(theta / self.theta, np.full(len(self.problem.structure), np.inf))
        duals.add_up()
        self._set_theta(theta)

    def _set_theta(self, theta: float) -> None:
        self.theta = self.memory["theta"] = theta
        self.local.problem = local_problem(self.problem, theta * self.problem.C, None)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = super().state()
        if self.lag is not None:
            arrays["lag"] = np.array(self.lag.array)
        return metadata, arrays

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(metadata, arrays)
        theta, scale = float(self.memory["theta"]), float(self.memory.get("lag", 1.0))
        for name, number in (("theta", theta), ("lag", scale)):
            if not number > 0:
                raise InputError(f"iterate.memory.{name} is {number}; it must be positive")
        self._set_theta(theta)
        if "lag" in arrays:
            self.lag = self.problem.structure.new_weights(stored_array(arrays, "lag", np.float32))
            self.memory["lag"] = scale
        self._mean = None

    def redealt(self, parts: Iterator[Part]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The cuts of this worker's examples; all else is the same on all workers, but for seeds
        and counts. The first worker counts what the previous ones have done."""
        examples = len(self.problem.structure)
        cuts: list[NDArray[np.uint32]] = [np.zeros(0, np.uint32)] * examples
        sums = np.zeros(examples)
        shared: tuple[dict[str, Any], dict[str, NDArray[Any]]] | None = None
        done = dict.fromkeys(("inference_calls", "beaten"), 0)
        for metadata, arrays, chosen, places in parts:
            inner, local = dict(metadata["local"]), inner_arrays(arrays, "local")
            ends = np.cumsum(stored_array(local, "cut_words_of_example", np.int64))
            words = stored_array(local, "cut_words", np.uint32)
            alphas = stored_array(local, "sum_alpha", np.float64)
            if len(ends) != len(alphas) or (len(ends) and ends[-1] != len(words)):
                raise InputError("its cuts are not of as many examples as it says")
            if len(chosen) and chosen[-1] >= len(ends):
                raise InputError("it has more examples than cuts of examples")
            for k, place in zip(chosen.tolist(), places.tolist(), strict=True):
                cuts[place] = words[ends[k - 1] if k else 0 : ends[k]].copy()
            sums[places] = alphas[chosen]
            for name in done:
                done[name] += int(inner[name])
            if shared is None:
                kept = {k: each for k, each in arrays.items() if not k.startswith("local.cut_")}
                shared = metadata, kept
        assert shared is not None
        metadata, arrays = shared
        if self.communicator.rank:
            done = dict.fromkeys(done, 0)
        arrays |= {
            "local.cut_words": np.concatenate(cuts),
            "local.cut_words_of_example": np.array(list(map(len, cuts)), dtype=np.int64),
            "local.sum_alpha": sums,
        }
        inner = {**metadata["local"], **done, "seed": self.local.seed}
        return {**metadata, "local": inner}, arrays

    def end_round(self, moved: SparseVector, step: float, rounds: int) -> None:
        """To w + step·(what all workers moved); R rounds are a pass."""
        core = self.problem.structure.core
        _core.sparse_axpy(core, self.w, *moved, step, self.local.w)
        self._mean = None
        if rounds > 1:
            self._follow(moved, step, rounds)

    def _combine(
        self, rows: list[NDArray[np.float32]], coefficients: list[float], out: _core.Weights
    ) -> None:
        structure = self.problem.structure.core
        _core.combine_weights(structure, rows, coefficients, out, self.problem.threads)

    def rebuild(self) -> None:
        core, w = self.problem.structure.core, self.whole(self.own_share())
        self.local.duals.add_up()
        self.w.assign(core, w)
        self.local.w.assign(core, w)
        self._mean = None

    def begin_again(self) -> None:
        """The problem has another center now: the same α, and the mean of w begins anew."""
        self.rebuild()
        self.lag = None
        self.memory.pop("lag", None)
        self.memory.pop("rounds", None)

    def settled(self) -> tuple[_core.Weights, float]:
        exact = self.problem.structure.new_weights(self.whole(self.own_share()))
        dual = self.problem.dual(self.local.duals, exact, self.theta)
        return (exact if self.lag is None else self._without_lag(exact.array)), dual

    @property
    def settles_as_rebuilt(self) -> bool:
        return True


class BQO(DualStrategy):
    """Algorithm 1 of Lee et al. The result is a mean of w over about a pass of rounds.

    Its formulas are (30, 31) of docs/mathematics.md.

    The default differs from the paper, which has no rounds without inference, a fixed θ = K and the
    last w as its result: ``BQO(theta="workers", rounds_per_pass=1, revisits=0)``.

    Parameters
    ----------
    solver : Solver, optional
        The solver of the local problems: DCD, DCDLight or CPD for the squared hinge, SDM or
        FrankWolfe for the hinge; by default DCD or SDM.
    theta : float or "workers", optional
        θ: how much smaller a worker's steps are because the others move, too. "workers" is their
        number, the paper's choice; by default it starts with that and then depends on the last
        round.
    local_passes : int
        Passes of the local solver in each round: more of them communicate less often.
    rounds_per_pass : int, optional
        Rounds with inference in a pass, each with as many of every worker's examples. By default
        2 on several workers: all know the results of one half before they start the
        other.
    revisits : int, optional
        Rounds without inference after each of these. By default as many in all, on several
        workers, as the local solver has passes without inference: it leaves them to the rounds.
        With 0 and ``rounds_per_pass=1`` this is the paper's algorithm.

    Examples
    --------
    >>> from dualstruct import DCD
    >>> BQO(DCD(revisits=2)).settings()["solver_settings"]
    {'revisits': 2, 'admission': 0.01, 'rounds': 3}
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
        if iterate.theta < self._least_theta(iterate.communicator.size):  # there are more than were
            iterate.change_theta(float(iterate.communicator.size))
        rounds = self.rounds_per_pass or (2 if several else 1)
        solver, revisits = self.local_solver(iterate.problem), self.revisits
        if revisits is None:
            revisits = math.ceil(solver.revisits / rounds) if several else 0
        in_all = rounds * (1 + revisits)
        loss = 0.0
        for part in range(rounds):
            duals.go_through(part, rounds)
            loss += self._round(iterate, self._run_visit if revisits else self.run_local, in_all)
            duals.go_through(0, 1)
            for _ in range(revisits):
                self._round(iterate, lambda iterate: solver.run_revisit(iterate.local), in_all)
        return Report(loss)

    def _least_theta(self, workers: int) -> float:
        """Between rounds; what is smaller comes from fewer workers."""
        if self.theta == "workers":
            return float(workers)
        return max(1.0, workers - 1.0) if self.theta is None else 0.0

    def _run_visit(self, iterate: BQOIterate) -> PassResult:
        """As :meth:`run_local`, but the last pass leaves what it would revisit to later rounds."""
        solver = self.local_solver(iterate.problem)
        for _ in range(self.local_passes - 1):
            solver.run_pass(iterate.local)
        return solver.run_visit(iterate.local)

    def _round(
        self, iterate: BQOIterate, work: Callable[[BQOIterate], PassResult], in_all: int
    ) -> float:
        """One of so many rounds of Algorithm 1; the losses met, of all workers."""
        problem, theta, duals = iterate.problem, iterate.theta, iterate.local.duals
        communicator = iterate.communicator
        words, words_of_example, s = duals.save()
        cost = duals.sum_alpha_cost()

        report = work(iterate)  # 2.1

        places, values, largest = duals.moves(words, words_of_example, iterate.scratch)
        own = SparseVector(places, values)  # θu
        dimension = problem.structure.core.dimension
        total = communicator.allreduce_sparse(own, dimension)  # 2.2: θ Δw

        D = duals.sum_alpha() - s  # θ times, as s and C̃
        if problem.loss.name == "hinge":
            rising = D > 0
            C = problem.weights_of_losses()[rising]
            room = (theta * C - s[rising]) / D[rising]
            largest = min(largest, float(room.min(initial=np.inf)))
        D_C = problem.per_weight(D / theta)
        mine = _share(total, communicator)
        numbers = np.concatenate(
            [
                [
                    (duals.sum_alpha_cost() - cost) / theta,
                    s @ D_C / theta,
                    D @ D_C / theta,
                ],
                [report.loss, *iterate.counts(), _square(own)],
                [_core.sparse_dot(iterate.w, *mine), _square(mine)],
                # Steps up to 1 are feasible whatever rounding says.
                in_place_of(communicator, max(largest, 1.0)),
            ]
        )
        totals = communicator.allreduce(numbers)
        gain, sD, DD, loss = totals[:4].tolist()
        iterate.count(totals[4:7])
        along, square = float(totals[8]) / theta, float(totals[9]) / theta**2
        # Where rounding is all that is left to change, a long step would make much of it.
        longest = min(float(totals[10:].min()), 2.0 * communicator.size)
        mean = min(1.0, theta) / communicator.size
        eta = _step(problem, gain - along, square, sD, DD, longest, mean)  # 2.3

        if eta != 1:  # 2.4
            duals.interpolate(words, words_of_example, eta)
        iterate.end_round(total, eta / theta, in_all)
        if self.theta is None and totals[7] > 0:
            least = self._least_theta(communicator.size)
            shown = square / (float(totals[7]) / theta**2)
            iterate.change_theta(float(max(least, shown, 0.8 * theta)))
        return float(loss)


def _square(vector: SparseVector) -> float:
    return float(np.einsum("i,i->", vector.values, vector.values, dtype=np.float64))


def _share(vector: SparseVector, communicator: Communicator) -> SparseVector:
    """The part of what all workers know of which this one computes sums."""
    rank, size, length = communicator.rank, communicator.size, len(vector.places)
    part = slice(length * rank // size, length * (rank + 1) // size)
    return SparseVector(vector.places[part], vector.values[part])


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
