"""Box-constrained quadratic optimisation over several workers.

The dual of all examples, α ≥ 0 (and Σ_y α_iy ≤ C for the hinge), with s_i = Σ_y α_iy:

    max_α  D(α) = Σ_iy α_iy Δ_i(y) − ½‖w‖² − (1/4C) Σ_i s_i²,   w = Σ_iy α_iy δ_i(y)

(the last term for the squared hinge only). Each round moves α by η d. The direction d maximises a
model of D in which every worker sees the changes of its own examples only, but each weight's
change θ times, Θ = diag(θ):

    worker k:  max_d  Σ d Δ − w·u − ½ u·Θu − (1/4C) Σ_i (s_i + Σ_y d_iy)²,   u = Σ d δ

So any rule for cuts can work on it: scores are those of w + Θu, and the square of a difference's
length is δ·Θδ. Then, with Δw = Σ_k u_k by one sum over all workers,

    η* = (Σ d Δ − w·Δw − Σ_i s_i D_i / 2C) / (‖Δw‖² + Σ_i D_i² / 2C),   D_i = Σ_y d_iy

needs a few numbers more, and η = min(η*, the largest step that keeps α feasible). The duals go back
to α + η d on every worker, and cuts dropped on the way to α + d come back with them.

The paper has one θ = K, the number of workers, for all weights: then the model never promises more
than D gains, because (Σ_k u_k)² ≤ K Σ_k u_k². But this bound is only as bad where all K workers
move a weight. Where m of them do, m is enough: most features of words are those of one worker's
sentences, and it can move their weights as if it were alone. By default θ = m^¾ for a line of 16
weights that m workers have moved until the last pass (K^¾ before the first). The ¾ is measured:
with m the steps are smaller than necessary, because the workers' moves also cancel each other, and
with √m w oscillates. For two workers it lies between 1 and 2, where the rounds before have shown
‖Σ_k u_k‖² / Σ_k ‖u_k‖² to be. Every Θ > 0 gives a direction in which D rises, and the line search
finds how far. The paper's λI, there to make the model strictly concave, is not needed by coordinate
steps.

What most examples have in common, all workers correct at the same time and too far. D hardly shows
it, but P does: its gap stays wide while D is almost at its maximum. A round without inference, over
the cuts held, is cheap and undoes that. So by default a pass is three times a round with a third of
each worker's examples (on two workers twice one with a half) and some rounds without inference.
Between rounds w still oscillates; any w bounds P's minimum from above, and the mean of the last
ones does so better than the last. So with R rounds in a pass the answer is w̄ ← w̄ + (w − w̄)/R after
each: w itself where R = 1. Each worker keeps w − w̄ for its own range of places; who asks for w̄ gets
it from all of them.

Source: Lee, Chang, Upadhyay & Roth 2015, "Distributed Training of Structured SVM", Algorithm 1; the
hinge by its footnote 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import inner_arrays, stored_array
from dualstruct.distributed.base import (
    DualShareIterate,
    DualStrategy,
    Report,
    communicator_of,
)
from dualstruct.errors import InputError
from dualstruct.problem import Problem
from dualstruct.solvers import Solver
from dualstruct.solvers.base import Part
from dualstruct.solvers.solver import PassResult
from dualstruct.workers.communicator import Communicator, in_place_of
from dualstruct.workers.sparse import SparseVector, in_range, own_range

#: Where a scale is so small, what it is for is multiplied out.
SMALL = 1e-15
#: A slope that is a smaller part of the numbers that it is the difference of is too much rounding.
FINE = 0.1
#: θ of a line of weights is this power of the number of workers that move it.
POWER = 0.75
#: More workers than this count as so many.
MOST_SHARERS = 255


class Move(NamedTuple):
    """Δw of a round, the same on all workers, and its products."""

    change: SparseVector  #: Δw = Σ_k u_k
    along: float  #: w·Δw
    square: float  #: ‖Δw‖²
    alone: float  #: Σ_k ‖u_k‖²


class BQOIterate(DualShareIterate):
    """w is the same on every worker. The local weights are w between rounds, and in a round w + Θu.

    The mean w̄ of the last rounds is not kept itself: w − w̄ = (what lags)·(a scale) changes in a
    round where w does, and elsewhere by the scale alone. A worker has what lags in its own range of
    places, and 0 elsewhere.
    """

    def __init__(self, problem: Problem, seed: int, shares_lines: bool) -> None:
        """Whether a move of a line may count more than once: not if there is one worker."""
        super().__init__(problem, seed, 1.0, None)
        core = problem.structure.core
        if problem.center is not None:
            self.w.assign(core, problem.center.array)
            self.local.w.assign(core, problem.center.array)
        self.lines = _core.SharedLines(core)
        self.sharers = np.zeros(len(self.lines.moved()), np.uint8)  # workers that move each line
        self.shares_lines = shares_lines
        if shares_lines:
            self.local.duals.share(self.lines)
        self.memory["ratio"] = float(self.communicator.size)  # ‖Σ_k u_k‖² / Σ_k ‖u_k‖², lately
        self.scratch: _core.MoveScratch | None = None
        self.lag: _core.Weights | None = None  # (w − w̄) / scale, of this worker's range
        self._mean: _core.Weights | None = None  # w̄, if it was asked for since the last round

    def answer(self) -> _core.Weights:
        """All workers must ask together: each knows a part of the mean."""
        if self.lag is None:
            return self.w
        if self._mean is None:
            self._mean = self._without_lag(self.w.array)
        return self._mean

    def _without_lag(self, w: NDArray[np.float32]) -> _core.Weights:
        assert self.lag is not None
        mean = self.problem.structure.new_weights()
        whole = self.communicator.allreduce(self.lag.array)
        self._combine([w, whole], [1.0, -self.memory["lag"]], mean)
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
        own = in_range(moved, *self._own_range())
        _core.sparse_axpy(core, self.lag, *own, step / scale)
        self.memory["lag"] = (1 - share) * scale
        if self.memory["lag"] < SMALL:
            self._combine([self.lag.array], [self.memory["lag"]], self.lag)
            self.memory["lag"] = 1.0

    def _own_range(self) -> tuple[int, int]:
        dimension = self.problem.structure.core.dimension
        return own_range(dimension, self.communicator.rank, self.communicator.size)

    def dual(self) -> float:
        return self.problem.dual(self.local.duals, self.w)

    def share_lines(self) -> None:
        """Learn how many workers move each line, for the rounds of a pass; at first, all may."""
        moved, workers = self.lines.moved(), self.communicator.size
        if self.memory.get("rounds_begun"):
            workers_of_line = self.communicator.allreduce(moved.astype(np.uint16))
            self.sharers = np.minimum(workers_of_line, MOST_SHARERS).astype(np.uint8)
        else:
            self.sharers = np.full(len(moved), min(workers, MOST_SHARERS), np.uint8)

    def set_theta(self, theta: float | None) -> None:
        """θ of all weights, or by the number of workers that move each line and the ratio."""
        if theta is not None:
            times = np.full(MOST_SHARERS + 1, theta)
        else:
            workers = np.maximum(np.arange(MOST_SHARERS + 1), 1.0)
            least = np.maximum(workers - 1, 1) ** POWER
            most = np.maximum(workers**POWER, np.minimum(workers, 2.0))
            times = np.clip(self.memory["ratio"], least, most)
        self.lines.set_sharers(self.sharers, times.astype(np.float32))

    def moves(self, words: NDArray[np.uint32], words_of_example: NDArray[np.int64]) -> SparseVector:
        """u, what the local weights show of it where there are lines; they are w again."""
        if not self.shares_lines:
            return self.exact_moves(words, words_of_example)
        core = self.problem.structure.core
        return SparseVector(*self.lines.take_moves(core, self.local.w, self.w))

    def exact_moves(
        self, words: NDArray[np.uint32], words_of_example: NDArray[np.int64]
    ) -> SparseVector:
        """u from the duals, which single precision has not rounded: slower."""
        if self.scratch is None:
            self.scratch = _core.MoveScratch(self.problem.structure.core)
        return SparseVector(*self.local.duals.exact_moves(words, words_of_example, self.scratch))

    def add_up(self, own: SparseVector) -> tuple[SparseVector, list[float]]:
        """Δw, and this worker's part of w·Δw, ‖Δw‖² and Σ_k ‖u_k‖²."""
        dimension = self.problem.structure.core.dimension
        total = self.communicator.allreduce_sparse(own, dimension)
        mine = _share(total, self.communicator)
        return total, [_core.sparse_dot(self.w, *mine), _square(mine), _square(own)]

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """All workers must ask together."""
        metadata, arrays = super().state()
        arrays["moved_lines"] = np.packbits(self.lines.moved())
        if self.lag is not None:
            arrays["lag"] = np.array(self.communicator.allreduce(self.lag.array))
        return metadata, arrays

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(metadata, arrays)
        structure, scale = self.problem.structure, float(self.memory.get("lag", 1.0))
        if not scale > 0:
            raise InputError(f"iterate.memory.lag is {scale}; it must be positive")
        if "lag" in arrays:
            whole = np.array(stored_array(arrays, "lag", np.float32))
            first, last = self._own_range()
            whole[:first] = whole[last:] = 0
            self.lag = structure.new_weights(whole)
            self.memory["lag"] = scale
        lines = len(self.lines.moved())
        if "moved_lines" in arrays:
            bits = stored_array(arrays, "moved_lines", np.uint8)
            if len(bits) != -(-lines // 8):
                raise InputError("it has lines of other weights")
            self.lines.set_moved(np.unpackbits(bits, count=lines))
        else:  # every line that a worker's cuts might move
            self.memory.pop("rounds_begun", None)
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
                of_one = ("local.cut_", "moved_lines")
                kept = {k: each for k, each in arrays.items() if not k.startswith(of_one)}
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

    def end_round(self, move: Move, step: float, rounds: int) -> None:
        """To w + step·Δw; R rounds are a pass."""
        core = self.problem.structure.core
        _core.sparse_axpy(core, self.w, *move.change, step, self.local.w)
        if move.alone > 0:
            self.memory["ratio"] = max(move.square / move.alone, 0.8 * self.memory["ratio"])
        self._mean = None
        if rounds > 1:
            self._follow(move.change, step, rounds)

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
        dual = self.problem.dual(self.local.duals, exact)
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
        θ: how many times a worker's change of a weight counts for it because the others move, too.
        "workers" is their number, the paper's choice; by default it is a power of the number of
        workers that move a line of weights.
    local_passes : int
        Passes of the local solver in each round: more of them communicate less often.
    rounds_per_pass : int, optional
        Rounds with inference in a pass, each with as many of every worker's examples. By default
        2 on two workers, 3 on more: all know the results of one part before they start the next.
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
        several = communicator_of(problem).size > 1
        return BQOIterate(problem, seed, several or isinstance(self.theta, (int, float)))

    def run_pass(self, iterate: BQOIterate) -> Report:
        duals, several = iterate.local.duals, iterate.communicator.size > 1
        if several and self.theta is None:
            iterate.share_lines()
        rounds = self.rounds_per_pass or min(iterate.communicator.size, 3)
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
        iterate.memory["rounds_begun"] = True
        return Report(loss)

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
        problem, duals, communicator = iterate.problem, iterate.local.duals, iterate.communicator
        theta = float(communicator.size) if self.theta == "workers" else self.theta
        iterate.set_theta(theta)
        words, words_of_example, s = duals.save()
        cost = duals.sum_alpha_cost()

        report = work(iterate)  # 2.1

        largest = duals.largest_step(words, words_of_example)
        D = duals.sum_alpha() - s
        if problem.loss.name == "hinge":
            rising = D > 0
            C = problem.weights_of_losses()[rising]
            room = (C - s[rising]) / D[rising]
            largest = min(largest, float(room.min(initial=np.inf)))
        D_C = problem.per_weight(D)
        total, products = iterate.add_up(iterate.moves(words, words_of_example))  # 2.2
        numbers = np.concatenate(
            [
                [duals.sum_alpha_cost() - cost, s @ D_C, D @ D_C],
                [report.loss, *iterate.counts(), *products],
                # Steps up to 1 are feasible whatever rounding says.
                in_place_of(communicator, max(largest, 1.0)),
            ]
        )
        totals = communicator.allreduce(numbers)
        gain, sD, DD, loss = totals[:4].tolist()
        iterate.count(totals[4:7])
        move = Move(total, *totals[7:10].tolist())
        if problem.loss.name == "squared_hinge":
            gain -= sD / 2
        else:
            DD = 0.0
        if iterate.shares_lines and abs(gain - move.along) < FINE * abs(gain):
            total, products = iterate.add_up(iterate.exact_moves(words, words_of_example))
            move = Move(total, *communicator.allreduce(np.array(products)).tolist())
        # Where rounding is all that is left to change, a long step would make much of it.
        longest = min(float(totals[10:].min()), 2.0 * communicator.size)
        mean = min(1.0, theta or 1.0) / communicator.size
        eta = _step(gain - move.along, move.square + DD / 2, longest, mean)  # 2.3

        if eta != 1:  # 2.4
            duals.interpolate(words, words_of_example, eta)
        iterate.end_round(move, eta, in_all)
        return float(loss)


def _square(vector: SparseVector) -> float:
    return float(np.einsum("i,i->", vector.values, vector.values, dtype=np.float64))


def _share(vector: SparseVector, communicator: Communicator) -> SparseVector:
    """The part of what all workers know of which this one computes sums."""
    rank, size, length = communicator.rank, communicator.size, len(vector.places)
    part = slice(length * rank // size, length * (rank + 1) // size)
    return SparseVector(vector.places[part], vector.values[part])


def _step(slope: float, curvature: float, largest: float, mean: float) -> float:
    """η of eq. (6): the exact maximum on the line, or the end of what is feasible."""
    if slope <= 0:
        # What is left to gain is less than rounding. But each worker gains by its move (times θ,
        # if that is below 1), and D is concave: the mean of these moves does not lose.
        return mean
    return min(slope / curvature, largest) if curvature > 0 else 1.0
