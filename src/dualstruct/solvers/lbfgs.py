"""L-BFGS on the smooth losses, with an L1 variant that gives sparse weights.

    min_w  P(w) = ½‖w − c‖² + C Σ_i ℓ_i(w)  (+ l1·‖w‖₁)
    ∇P(w) = w − c − C Σ_i E_i δ_i(y),   y ~ p_i(y) ∝ exp β(w·φ_i(y) + γΔ_i(y))

Dual: α_i = C·p_i(·; w) is feasible whatever w is, and stands for w' = c + C Σ_i E_i δ_i. Its value

    D = C Σ_i (H(p_i)/β + γ E_i Δ_i) − ½(‖w'‖² − ‖c‖²) = P(w) − ½‖∇P(w)‖²

because H(p_i)/β + γ E_i Δ_i = ℓ_i(w) + w·E_i δ_i: the gap is half the squared gradient. Far from
the optimum that is below 0. Between p_i and the true output, at t p_i + (1 − t) e_i, entropy is at
least t times that of p_i, so that with v = w' − c

    D ≥ t (P(w) − ½‖∇P(w)‖² + ½‖v‖²) − ½ t²‖v‖²   for every t from 0 to 1,

which is never negative at the best t, and the value above at t = 1.

Algorithm: the two-loop recursion (Nocedal 1980) on inner products (Chen, Wang & Zhou 2014), so
that a history of m pairs is read twice an iteration, in variables scaled by the curvature at
w = 0; a line search to the weak Wolfe conditions, in the approximate form of Hager & Zhang (2005)
where float32 losses no longer distinguish points; with L1 orthant-wise steps (Andrew & Gao 2007).
scipy's L-BFGS runs to its end once called: it cannot stop between passes, be saved and
resumed, and it holds its history in double precision. Hence this one: a pass is an iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import fit_type, stored_array
from dualstruct.errors import InputError
from dualstruct.losses import SoftmaxMargin
from dualstruct.problem import Problem
from dualstruct.solvers.base import Count, Iterate, refuse_lacking
from dualstruct.solvers.solver import Solver

Vector = NDArray[np.float32]

#: The weak Wolfe conditions: enough decrease, and a slope that has flattened.
DECREASE, FLATTENED = 1e-4, 0.9
#: Two values of P closer than this, relatively, are the same: losses are sums of float32.
ROUNDING = 1e-7
MOST_TRIALS = 20


class Point(NamedTuple):
    """P and its gradient at x; ``value`` includes the L1 term, ``gradient`` does not."""

    x: Vector
    value: float
    loss: float
    regulariser: float  #: ½‖w − c‖²
    gradient: Vector
    gradient_norm2: float  #: of ∇P by w, not by x
    bound: float  #: what the optimum is at least


class LBFGSIterate(Iterate):
    """x, its gradient, and the last m pairs of changes of both.

    w = c + scale·x on the weights that are learned. ``history`` holds the changes s of x, then
    those y of the gradient; ``products`` all their inner products.
    """

    can_end = True

    def __init__(self, problem: Problem, seed: int, solver: LBFGS) -> None:
        super().__init__(problem, seed)
        core, examples = problem.structure.core, problem.structure.core_examples
        self._threads = problem.threads
        variances = self.of_all_examples(_core.weight_variances(examples))
        learned = variances > 0
        chosen = solver.learned(problem)
        if chosen is not None:
            learned &= self.of_all_examples(chosen.astype(np.float32)) > 0
        index = np.flatnonzero(learned)
        loss = problem.loss
        assert isinstance(loss, SoftmaxMargin)
        self._temperature = loss.beta, loss.gamma
        weights = problem.weights_of_losses()
        total, count = self.of_all_examples(np.array([weights.sum(), len(weights)])).tolist()
        curvature = 1 + total / count * loss.beta * variances[index]
        self.scale: Vector = (1 / np.sqrt(curvature)).astype(np.float32)
        self.l1 = solver.l1 * self.scale if solver.l1 else None  # of |x|, not of |w|
        self.packing = _core.Packing(core, index, self.scale, problem.center, self._threads)
        self.passer = _core.GradientPass(examples, self._threads)
        self.descent = problem.structure.new_weights()
        self.memory = {"pairs": 0, "next": 0, "converged": False}
        m = solver.memory_size
        self.history: list[Vector] = [np.zeros(len(index), np.float32) for _ in range(2 * m)]
        self.products = np.zeros((2 * m, 2 * m))
        self.point: Point | None = None
        self.trial: Point | None = None  # where w is: the point, unless a search is under way
        # Inner products of the history with a gradient, and whose they are.
        self._with_gradient: tuple[Vector, NDArray[np.float64]] | None = None
        # Vectors to write to: fresh memory costs as much as what is computed in it.
        self._spare: list[Vector] = []
        self.packing.unpack(np.zeros(len(index), np.float32), self.w)

    @property
    def converged(self) -> bool:  # type: ignore[override]
        return bool(self.memory["converged"])

    def of_all_examples(self, own: NDArray[Any]) -> NDArray[Any]:
        """A sum over these examples, over those of all workers."""
        return own

    def agreed(self, found: NDArray[np.float64]) -> NDArray[np.float64]:
        """What all workers find, up to rounding, to the last bit: they must decide alike."""
        return found

    def new_vector(self) -> Vector:
        return self._spare.pop() if self._spare else np.empty(len(self.scale), np.float32)

    def give_back(self, *vectors: Vector) -> None:
        self._spare.extend(vectors)

    def evaluate(self, x: Vector) -> Point:
        """P and ∇P at x, by a full inference pass; w follows x."""
        self.trial = None
        self.packing.unpack(x, self.w)
        loss, calls = self._descend()
        self.inference_calls += calls
        gradient = self.new_vector()
        C = self.problem.C
        norms = self.packing.pack(x, self.descent, C, gradient)
        l1_term = 0.0 if self.l1 is None else np.dot(self.l1, np.abs(x, dtype=np.float64))
        found = self.agreed(np.array([*norms, l1_term])).tolist()
        regulariser, norm2, descent_norm2, l1_term = found
        value = regulariser + C * loss
        bound = lower_bound(value, norm2, descent_norm2)
        self.trial = Point(x, value + l1_term, loss, regulariser, gradient, norm2, bound)
        return self.trial

    def _descend(self) -> tuple[float, int]:
        """The losses at w, with the direction in which they fall; and how many outputs it took."""
        loss = self.passer.run(self.w, self.descent, *self._temperature)
        return loss, len(self.problem.structure)

    def go_to(self, point: Point) -> None:
        """Let w follow the point again after a search or an interrupt."""
        if self.trial is not point:
            self.packing.unpack(point.x, self.w)
            self.trial = point

    def dots(self, rows: list[Vector], vectors: list[Vector]) -> NDArray[np.float64]:
        return self.agreed(_core.dots(rows, vectors, self._threads))

    def remember(self, before: Point, after: Point) -> None:
        """Put the newest pair of changes in the place of the oldest."""
        m = len(self.history) // 2
        at = self.memory["next"]
        s, y = self.history[at], self.history[m + at]
        _core.combine([after.x, before.x], [1.0, -1.0], s, self._threads)
        _core.combine([after.gradient, before.gradient], [1.0, -1.0], y, self._threads)
        found = self.dots(self.history, [s, y, after.gradient])
        self._with_gradient = after.gradient, found[:, 2]
        if found[m + at, 0] <= 0:  # cannot be used; only rounding makes it so
            self.memory["pairs"] = 0
            return
        for column, place in enumerate((at, m + at)):
            self.products[:, place] = self.products[place, :] = found[:, column]
        self.memory["next"] = (at + 1) % m
        self.memory["pairs"] = min(self.memory["pairs"] + 1, m)

    def direction(self, gradient: Vector) -> Vector:
        """−(inverse Hessian estimate)·gradient: both loops on inner products alone."""
        m, pairs = len(self.history) // 2, self.memory["pairs"]
        out = self.new_vector()
        if not pairs:
            _core.combine([gradient], [-1.0], out, self._threads)
            return out
        if self._with_gradient is not None and self._with_gradient[0] is gradient:
            with_gradient = self._with_gradient[1]
        else:
            with_gradient = self.dots(self.history, [gradient])[:, 0]
        newest_first = [(self.memory["next"] - 1 - age) % m for age in range(pairs)]
        coefficients = np.zeros(2 * m)  # of the history; the gradient's is 1, then the estimate
        shares = {}
        products = self.products
        for i in newest_first:
            shares[i] = (with_gradient[i] + products[i] @ coefficients) / products[i, m + i]
            coefficients[m + i] -= shares[i]
        newest = newest_first[0]
        estimate = products[newest, m + newest] / products[m + newest, m + newest]
        coefficients *= estimate
        for i in reversed(newest_first):
            y_dot = estimate * with_gradient[m + i] + products[m + i] @ coefficients
            coefficients[i] += shares[i] - y_dot / products[i, m + i]
        rows = [gradient, *self.history]
        _core.combine(rows, [-estimate, *(-coefficients).tolist()], out, self._threads)
        return out

    def change_truth(self, examples: NDArray[np.int64], change: Callable[[], None]) -> None:
        change()
        self.point = self.trial = self._with_gradient = None  # P is another one
        self.memory |= {"pairs": 0, "next": 0, "converged": False}

    def dual(self) -> float | None:
        """What the optimum is at least, by the last point; none with L1, whose term the problem
        does not count."""
        return None if self.l1 is not None or self.point is None else self.point.bound

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = super().state()
        arrays["history"] = np.array(self.history)
        arrays["products"] = self.products
        if self.point is not None:
            arrays["x"] = self.point.x
        return metadata, arrays

    def _restore(self, metadata: Any, arrays: dict[str, NDArray[Any]]) -> None:
        history = stored_array(arrays, "history", np.float32, 2)
        products = stored_array(arrays, "products", np.float64, 2)
        if history.shape != (len(self.history), len(self.scale)):
            raise InputError("its history has another shape")
        if products.shape != self.products.shape:
            raise InputError("the products of its history have another shape")
        super()._restore(metadata, arrays)
        remembered = fit_type(_Memory, self.memory, "iterate.memory")
        most = len(history) // 2
        if remembered.pairs > most or remembered.next >= most:
            raise InputError(
                f"iterate.memory.pairs is {remembered.pairs} and next is {remembered.next}; the "
                f"solver remembers {most} pairs"
            )
        self.history, self.products = list(history), products
        self.point = self._with_gradient = None
        if "x" in arrays:  # value, gradient and bound are computed, not believed
            calls = self.inference_calls
            self.point = self.evaluate(stored_array(arrays, "x", np.float32))
            self.inference_calls = calls


@dataclass(frozen=True)
class _Memory:
    pairs: Count
    next: Count
    converged: bool


class LBFGS(Solver):
    """Limited-memory BFGS; a pass is one iteration, of one inference pass or a few.

    Its formulas are (15, 23) of docs/mathematics.md.

    The recursion is as published, in variables scaled by the curvature at w = 0.

    Parameters
    ----------
    states : {"all", "observed"}
        Learn every (feature, label) weight, or only those that occur in the training data (and
        all transitions), as CRFsuite does by default: about as good and several times as fast.
        Then optimum, dual and gap are those of the problem whose other weights are held fixed.
    l1 : float
        Adds l1·‖w‖₁ to the objective: most weights become exactly 0. No gap is reported then.
    memory_size : int
        The number of pairs of changes that are kept.
    tolerance : float
        Converged when ‖∇P‖ ≤ tolerance·max(‖w − c‖, min(1, √2P)); further passes change nothing.
    """

    name: ClassVar[str] = "lbfgs"
    usual_end: ClassVar[tuple[float | None, int] | None] = (0.01, 100)
    passes_per_round = 25  # another truth makes the history useless
    losses: ClassVar[tuple[str, ...]] = ("crf", "softmax_margin")
    published: ClassVar[dict[str, dict[str, Any]]] = {"Nocedal 1980, two-loop recursion": {}}

    def __init__(
        self,
        states: str = "all",
        l1: float = 0.0,
        memory_size: int = 6,
        tolerance: float = 1e-5,
    ) -> None:
        if states not in ("all", "observed"):
            raise InputError(f"states is {states!r}; it must be all or observed")
        if not 0 <= l1 < math.inf:
            raise InputError(f"l1 is {l1}; it must be at least 0 and finite")
        if memory_size < 1:
            raise InputError(f"memory_size is {memory_size}; it must be at least 1")
        if not tolerance >= 0:
            raise InputError(f"tolerance is {tolerance}; it must be at least 0")
        self.states = states
        self.l1 = l1
        self.memory_size = memory_size
        self.tolerance = tolerance

    def start(self, problem: Problem, seed: int) -> LBFGSIterate:
        self.check(problem)
        return LBFGSIterate(problem, seed, self)

    def learned(self, problem: Problem) -> NDArray[np.bool_] | None:
        """The weights to learn from these examples, the others do not change; None: all."""
        if self.states == "all":
            return None
        observed: NDArray[np.bool_] = _core.observed_weights(problem.structure.core_examples) > 0
        return observed

    def check(self, problem: Problem) -> None:
        """Raise an error for another problem."""
        if self.l1 and problem.center is not None:
            raise InputError("l1 draws towards 0; training that continues from a model does not")
        refuse_lacking(problem, self.name)

    def run_pass(self, iterate: LBFGSIterate) -> Point:
        try:
            if iterate.point is None:
                iterate.point = iterate.evaluate(np.zeros(len(iterate.scale), np.float32))
            point = iterate.point
            if not iterate.memory["converged"]:
                following = self._step(iterate, point)
                if following is None:
                    iterate.memory["converged"] = True
                else:
                    point = following
        finally:
            if iterate.point is not None:
                iterate.go_to(iterate.point)
        return point

    def _step(self, iterate: LBFGSIterate, point: Point) -> Point | None:
        """The next point, remembered in the iterate; None if this one is the optimum."""
        steepest, norm2 = point.gradient, point.gradient_norm2
        if iterate.l1 is not None:
            steepest = pseudo_gradient(point, iterate.l1)
            norms = [np.sum(np.square(steepest / iterate.scale, dtype=np.float64))]
            norm2 = float(iterate.agreed(np.array(norms))[0])
        size = max(2 * point.regulariser, min(1.0, 2 * abs(point.value)))
        if norm2 <= self.tolerance**2 * size:
            return None
        direction = iterate.direction(steepest)
        following = self._search(iterate, point, steepest, direction)
        iterate.give_back(direction)
        if following is None and iterate.memory["pairs"]:
            iterate.memory["pairs"] = 0  # once more, along the gradient itself
            direction = iterate.direction(steepest)
            following = self._search(iterate, point, steepest, direction)
            iterate.give_back(direction)
        if following is None:
            return None
        iterate.remember(point, following)
        iterate.point = following
        iterate.give_back(point.x, point.gradient)
        return following

    def _search(
        self, iterate: LBFGSIterate, start: Point, steepest: Vector, direction: Vector
    ) -> Point | None:
        """A point along the direction that meets the Wolfe conditions; None if rounding hides it.

        With L1 the path stays in one orthant and only has to descend.
        """
        l1 = iterate.l1
        if l1 is not None:
            direction[direction * steepest >= 0] = 0
            orthant = np.where(start.x != 0, np.sign(start.x), -np.sign(steepest))
        slope = float(iterate.dots([direction], [steepest])[0, 0])
        if not slope < 0:
            return None
        # The first direction is the gradient: its length says nothing of the curvature.
        step = 1.0 if iterate.memory["pairs"] else 0.1
        low, low_slope, high, high_slope = 0.0, slope, math.inf, math.nan
        noise = ROUNDING * abs(start.value)
        trial: Point | None = None
        for _ in range(MOST_TRIALS):
            if trial is not None:
                iterate.give_back(trial.x, trial.gradient)
            x = iterate.new_vector()
            _core.combine([start.x, direction], [1.0, step], x, iterate.problem.threads)
            if l1 is not None:
                x[x * orthant < 0] = 0
                trial = iterate.evaluate(x)
                promised = float(iterate.dots([x - start.x], [steepest])[0, 0])
                if trial.value <= start.value + DECREASE * promised:
                    return trial
                if -promised <= noise:
                    return None
                step /= 2
                continue
            trial = iterate.evaluate(x)
            trial_slope = float(iterate.dots([direction], [trial.gradient])[0, 0])
            decreases = trial.value <= start.value + DECREASE * step * slope or (
                trial.value <= start.value + noise and trial_slope <= (2 * DECREASE - 1) * slope
            )
            if decreases and trial_slope >= FLATTENED * slope:
                return trial
            if decreases:
                low, low_slope = step, trial_slope
            else:
                high, high_slope = step, trial_slope
            # Where the slope would vanish if it changed evenly, but well inside what is left.
            if math.isinf(high):
                known = low_slope - slope
                guess = -slope * low / known if known > 0 else math.inf
                step = min(max(guess, 2 * low), 10 * low)
            else:
                known = high_slope - low_slope
                guess = low - low_slope * (high - low) / known if known > 0 else low
                width = high - low
                step = min(max(guess, low + 0.1 * width), high - 0.1 * width)
        return None


def lower_bound(value: float, gradient_norm2: float, descent_norm2: float) -> float:
    """max over 0 ≤ t ≤ 1 of t·(P − ½‖∇P‖² + ½‖v‖²) − ½ t²‖v‖².

    >>> lower_bound(3.0, 2.0, 4.0), lower_bound(3.0, 8.0, 4.0)  # t = 1, t = 1/4
    (2.0, 0.125)
    """
    at_one = value - 0.5 * gradient_norm2
    slope = at_one + 0.5 * descent_norm2
    if slope >= descent_norm2 or descent_norm2 == 0:
        return at_one
    return 0.5 * max(slope, 0.0) ** 2 / descent_norm2


def pseudo_gradient(point: Point, l1: Vector) -> Vector:
    """The subgradient of P + Σ l1·|x| of least norm."""
    g, x = point.gradient, point.x
    at_zero = np.sign(g) * np.maximum(np.abs(g) - l1, 0)
    result: Vector = np.where(x != 0, g + np.sign(x) * l1, at_zero).astype(np.float32)
    return result
