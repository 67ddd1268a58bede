"""check_structure: finds the mistakes that people make in structures, and names them.

Everything is judged by what a structure says itself: an output that it once gave, or the truth,
must not beat what ``decode`` gives for the same weights; the same question must get the same
answer; arguments must stay as they are.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.structures.base import Structure
from dualstruct.structures.custom import CustomStructure
from dualstruct.structures.custom_examples import CustomExamples, described, key_of
from dualstruct.structures.output_type import OutputType

#: How much better a known output must be than the decoded one, relative to what they add up from.
ROUNDING = 1e-4
#: Prediction, training, training that costs alone decide, and the concave side of the ramp.
COST_WEIGHTS = (0.0, 1.0, 1000.0, -1.0)


class StructureError(InputError):
    """A structure has mistakes; ``report`` lists them."""

    def __init__(self, report: StructureReport) -> None:
        super().__init__(str(report))
        self.report = report


@dataclass
class StructureReport:
    """What :func:`check_structure` found."""

    name: str
    examples: int = 0  #: how many examples were looked at
    decodings: int = 0
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        done = (
            f"{self.name}: {plural(self.examples, 'example')}, {plural(self.decodings, 'decoding')}"
        )
        count = len(self.errors)
        lines = [f"{done}, {count or 'no'} mistake{'s' if count != 1 else ''} found"]
        lines += [f"  mistake: {text}" for text in self.errors]
        lines += [f"  note: {text}" for text in self.warnings]
        return "\n".join(lines)


def check_structure(
    structure: OutputType | Structure,
    X: Sequence[Any] | None = None,
    Y: Sequence[Any] | None = None,
    *,
    outputs: Callable[[Any], Iterable[Any]] | None = None,
    examples: int = 20,
    seed: int = 0,
) -> StructureReport:
    """Look for mistakes in a structure, and raise :class:`StructureError` if there are any.

    Parameters
    ----------
    structure : CustomStructure, another OutputType, or a Structure that already holds examples
    X, Y : sequences
        Examples for the test; a Structure has its own.
    outputs : callable, optional
        Returns outputs of an x of a custom structure that ``decode`` is compared with, for example
        all of them if there are few.
    examples : int
        The maximum number of examples to test.
    seed : int
        The seed of the random weights.

    Examples
    --------
    >>> from dualstruct import CustomStructure
    >>> class Forgetful(CustomStructure):
    ...     def decode(self, w, x, truth=None, cost_weight=0):
    ...         return max(range(3), key=lambda y: self.score(w, x, y))
    ...     def features(self, x, y):
    ...         return {f"{x}/{y}": 1.0}
    ...     def cost(self, truth, y):
    ...         return float(y != truth)
    >>> check_structure(Forgetful(), ["a", "b"], [0, 1])
    Traceback (most recent call last):
      ...
    dualstruct.structures.check.StructureError: Forgetful: 2 examples, ... 1 mistake found
      mistake: decode ignores cost_weight: ... (example 1 and 1 more)
    """
    if isinstance(structure, Structure):
        report = StructureReport(structure.kind)
        bound = structure
    else:
        if X is None or Y is None:
            raise InputError("check_structure needs X and Y to try the structure on")
        report = StructureReport(type(structure).__name__)
        X, Y = list(X)[:examples], list(Y)[:examples]
        bound = _bind(structure, X, Y)
    check = _Check(bound, report, np.random.default_rng(seed), outputs)
    for i in range(min(len(bound), examples)):
        check.look_at(i)
    check.finish()
    if report.errors:
        raise StructureError(report)
    return report


def _bind(output_type: OutputType, X: list[Any], Y: list[Any]) -> Structure:
    if isinstance(output_type, CustomStructure):
        output_type = copy.copy(output_type)
        output_type.on_error = "skip"  # all mistakes, not only the first
    return output_type.learn(X, Y).bind(X, Y)


class _Check:
    """One run over the examples; mistakes of a kind are gathered and reported once."""

    def __init__(
        self,
        bound: Structure,
        report: StructureReport,
        rng: np.random.Generator,
        outputs: Callable[[Any], Iterable[Any]] | None,
    ) -> None:
        self.bound = bound
        self.core = bound.core
        self.report = report
        self.outputs = outputs
        self.custom = bound if isinstance(bound, CustomExamples) else None
        self.exact = self.custom.exact if self.custom else self.core.exact_decoder
        self.vectors = self._random_vectors(rng)
        self.weights = [bound.new_weights(vector) for vector in self.vectors]
        self._found: dict[tuple[bool, str], list[str]] = {}

    def _random_vectors(self, rng: np.random.Generator) -> list[NDArray[np.float32]]:
        """0 and some random weights, on what the outputs of these examples use.

        Weights that no output uses are padding to some structures, and names that nobody met yet to
        custom ones; both are 0 in training.
        """
        vectors = [np.zeros(self.core.dimension, dtype=np.float32)]
        for scale in (1.0, 1.0, 0.1, 10.0, 1.0, 1.0):
            vectors.append(vectors[0].copy())
            used = self._used(self.bound.new_weights(vectors[-2]))
            for vector in vectors[1:]:
                fresh = used[vector[used] == 0]
                vector[fresh] = rng.standard_normal(len(fresh), dtype=np.float32) * scale
        return vectors

    def _used(self, w: _core.Weights) -> NDArray[np.intp]:
        """The weights of the truth, and by which outputs decoded with w differ from it."""
        marks = self.bound.new_weights()
        step = 1.0
        for i in range(len(self.bound)):
            for cost_weight in COST_WEIGHTS:
                y = self.core.decode(w, i, cost_weight)
                self.core.axpy(marks, i, self.core.difference(i, y)[1], step)
                step *= 1.01 if step < 2 else 0.51  # differences must not cancel
        used = np.flatnonzero(marks.array)
        if self.custom:
            used = np.union1d(used, self.custom.core.true_features()[1])
        return used

    def mistake(self, what: str, i: int, warning: bool = False) -> None:
        where = self.bound.name_example(i, 0).split(", ")[0]
        examples = self._found.setdefault((warning, what), [])
        if where not in examples:
            examples.append(where)

    def finish(self) -> None:
        for (warning, what), where in self._found.items():
            more = f" and {len(where) - 1} more" if len(where) > 1 else ""
            text = f"{what} ({where[0]}{more})"
            (self.report.warnings if warning else self.report.errors).append(text)

    def look_at(self, i: int) -> None:
        self.report.examples += 1
        if self.custom and i not in self.custom.failures:
            self._user_methods(self.custom, i)
        known = [] if self._failed(i) else self._decoded(i)
        if self._failed(i):
            return
        if self.custom and self.outputs is not None:
            for y in self.outputs(self.custom.X[i]):
                known.append(self.core.encode(i, y))  # type: ignore[attr-defined]
        self._beaten(i, known)
        self._arithmetic(i, known)
        self._k_best(i)
        if self.custom and self.custom.output_type.expectation is not None:
            self._expectation(i, known)

    def _failed(self, i: int) -> bool:
        """Whether a method raised or returned what cannot be used; then that is a mistake."""
        if self.custom is None or i not in self.custom.failures:
            return False
        self.mistake(self.custom.failures[i], i)
        return True

    def _decoded(self, i: int) -> list[NDArray[np.int32]]:
        """What decode gives for several weights and cost weights."""
        found = []
        for w in self.weights:
            for cost_weight in COST_WEIGHTS:
                self.report.decodings += 1
                found.append(self.core.decode(w, i, cost_weight))
        return found

    def _gain(
        self, w: _core.Weights, i: int, y: NDArray[np.int32], cost_weight: float
    ) -> tuple[float, float]:
        """How much more than the truth an output is worth, and the rounding of that."""
        cost, words = self.core.difference(i, y)
        dot = self.core.dot(w, i, words)
        return cost_weight * cost - dot, ROUNDING * (abs(cost_weight * cost) + abs(dot) + 1e-3)

    def _beaten(self, i: int, known: list[NDArray[np.int32]]) -> None:
        beaten: set[tuple[float, bool]] = set()  # (cost weight, whether by the truth)
        same = True  # whether costs never changed what is decoded, where they should have
        for w in self.weights:
            plain = self.core.decode(w, i, 0.0)
            for cost_weight in COST_WEIGHTS:
                y = self.core.decode(w, i, cost_weight)
                self.report.decodings += 2
                gain, rounding = self._gain(w, i, y, cost_weight)
                best, best_rounding, by_truth = 0.0, 0.0, True
                for other in known:
                    value, slack = self._gain(w, i, other, cost_weight)
                    if value > best:
                        best, best_rounding, by_truth = value, slack, False
                if best - best_rounding > gain + rounding:
                    beaten.add((cost_weight, by_truth))
                    same = same and np.array_equal(y, plain)
        weights_beaten = {cost_weight for cost_weight, _ in beaten}
        if not beaten:
            return
        if not self.exact:
            self.mistake("decode is beaten by a known output, as it may (exact = False)", i, True)
        elif weights_beaten & {1.0, 1000.0} and 0.0 not in weights_beaten and same:
            self.mistake(
                "decode ignores cost_weight: it must maximise w·φ(x, y) + cost_weight·Δ(truth, y)",
                i,
            )
        elif weights_beaten == {-1.0}:
            self.mistake(
                "decode is beaten by a known output when cost_weight is negative, which only the "
                "ramp loss needs",
                i,
                True,
            )
        elif all(by_truth for _, by_truth in beaten):
            self.mistake(
                "decode is beaten by the truth: it is not an output that decode can find, or "
                "decode does not maximise (set exact = False if it is approximate)",
                i,
            )
        else:
            self.mistake(
                "decode is beaten by a known output: it does not maximise w·φ(x, y) + "
                "cost_weight·Δ(truth, y) (set exact = False if it is approximate)",
                i,
            )

    def _arithmetic(self, i: int, known: list[NDArray[np.int32]]) -> None:
        """The same output twice must be the same; dot, axpy and inner must agree."""
        for y in known[:6]:
            cost, words = self.core.difference(i, y)
            again_cost, again = self.core.difference(i, y)
            if cost != again_cost or not np.array_equal(words, again):
                self.mistake("the difference of an output changes between calls", i)
            if cost < 0 or not np.isfinite(cost):
                self.mistake(f"cost is {cost}; it must be at least 0", i)
            laid_out = self.bound.new_weights()
            self.core.axpy(laid_out, i, words, 1.0)
            norm2 = self.core.inner(i, words, words)
            slack = ROUNDING * max(1.0, norm2)
            if abs(self.core.dot(laid_out, i, words) - norm2) > slack or (
                abs(laid_out.squared_norm() - norm2) > slack
            ):
                self.mistake("dot, axpy and inner of a cut do not agree", i)

    def _k_best(self, i: int) -> None:
        w = self.weights[1]
        try:
            best = self.core.k_best(w, i, 4, 0.0)
        except _core.UnsupportedError:
            return
        if self._failed(i):
            return
        values = np.array([value for value, _ in best])
        slack = ROUNDING * (1 + np.abs(values).max())
        if (np.diff(values) > slack).any():
            self.mistake("k_best does not give the best output first", i)
        if len({y.tobytes() for _, y in best}) < len(best):
            self.mistake("k_best gives an output twice", i, warning=self.custom is not None)
        first = self.bound.score(w, i, self.core.decode(w, i, 0.0))
        if self.exact and abs(first - values[0]) > slack:
            self.mistake("the first of k_best is not what decode finds", i)

    def _expectation(self, i: int, known: list[NDArray[np.int32]]) -> None:
        w = self.weights[1]
        loss, _ = self.core.log_loss(w, i, 1.0, 0.0)
        if self._failed(i):
            return
        if loss < max(0.0, *(self._gain(w, i, y, 0.0)[0] for y in known)) - ROUNDING * (1 + loss):
            self.mistake("the log-partition of expectation is less than one output's score", i)
        # Along a direction, the loss must change as the expected features say.
        gradient = self.bound.new_weights()
        self.core.log_loss(w, i, 1.0, 0.0, gradient, -1.0)
        direction = self.vectors[2]
        step = 1e-3
        ahead = self.bound.new_weights(self.vectors[1] + np.float32(step) * direction)
        behind = self.bound.new_weights(self.vectors[1] - np.float32(step) * direction)
        slope = (
            self.core.log_loss(ahead, i, 1.0, 0.0)[0] - self.core.log_loss(behind, i, 1.0, 0.0)[0]
        ) / (2 * step)
        said = float(gradient.array.astype(float) @ direction)
        if abs(slope - said) > 0.02 * (1 + abs(slope) + abs(said)):
            self.mistake(
                "the features of expectation are not the mean under p(y) ∝ exp β(w·φ + γΔ), of "
                "which its first number is the log-partition",
                i,
            )

    def _user_methods(self, custom: CustomExamples, i: int) -> None:
        """What only a user's own methods can get wrong."""
        output_type, x, truth = custom.output_type, custom.X[i], custom.Y[i] if custom.Y else None
        w = np.array(self.vectors[1])
        w.setflags(write=False)
        before = copied(x), copied(truth), w.copy()
        try:
            y = custom.answer(self.weights[1], i, 1.0)
            if custom.is_compiled and not np.array_equal(self.weights[1].array, w):
                self.mistake("decode changes w", i)
            if not same(before[0], x):
                self.mistake("decode changes x", i)
            if not same(before[1], truth):
                self.mistake("decode changes the truth", i)
            again = custom.answer(self.weights[1], i, 1.0)
            if key_of(y) is None or key_of(truth) is None:
                kind = type(y if key_of(y) is None else truth).__name__
                self.mistake(
                    f"two outputs of type {kind} cannot be compared: without __eq__ and __hash__ "
                    "features and cost are recomputed each time",
                    i,
                    warning=True,
                )
            value = output_type.value(w, x, y, truth, 1.0)
            repeated = output_type.value(w, x, again, truth, 1.0)
            if abs(value - repeated) > ROUNDING * (1 + abs(value)):
                self.mistake("decode gives another answer to the same question", i, not self.exact)
            for output in (truth, y):
                first = output_type.features(x, output)
                kept = copied(first)
                second = output_type.features(x, output)
                if not same(kept, second):
                    self.mistake("features change between calls", i)
                if not same(
                    copied(output_type.cost(truth, output)), output_type.cost(truth, output)
                ):
                    self.mistake("cost changes between calls", i)
            if not same(before[0], x):
                self.mistake("features change x", i)
        except Exception as error:
            self.mistake(described(error), i)


def copied(value: Any) -> Any:
    """A deep copy; None where there can be none."""
    try:
        return copy.deepcopy(value)
    except Exception:
        return None


def same(before: Any, after: Any) -> bool:
    """Whether two values have the same content; when in doubt, yes."""
    if before is None or before is after:
        return True
    if hasattr(before, "tocoo") and hasattr(after, "tocoo"):
        return same(before.toarray(), after.toarray())
    if isinstance(before, np.ndarray):
        if before.dtype.hasobject:
            return True
        nan = before.dtype.kind in "fc"
        return isinstance(after, np.ndarray) and np.array_equal(before, after, equal_nan=nan)
    if isinstance(before, dict):
        if not isinstance(after, dict):
            return False
        return before.keys() == after.keys() and all(
            same(value, after[key]) for key, value in before.items()
        )
    if isinstance(before, list | tuple):
        if not isinstance(after, list | tuple):
            return False
        return len(before) == len(after) and all(map(same, before, after))
    if isinstance(before, float) and math.isnan(before):
        return isinstance(after, float) and math.isnan(after)
    if type(before).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
        return True if not hasattr(before, "__dict__") else same(vars(before), vars(after))
    try:
        return bool(before == after)
    except Exception:
        return True
