"""check_structure names the mistakes that people make in structures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from custom_cases import SIGNATURE, Colours, Compiled, Hasty, make_orders
from dualstruct import CompiledDecoder, CustomStructure, InputError, check_structure
from dualstruct.datasets import make_chains
from dualstruct.structures import Grid, Multiclass, MultiLabel, StructureError
from naive_custom import Orders
from structure_cases import CASES


class Matching(CustomStructure):
    """A correct structure; each subclass below makes one mistake."""

    def decode(self, w, x, truth=None, cost_weight=0):
        scores = x @ w
        if cost_weight:
            scores = scores + cost_weight
            scores[np.arange(len(x)), truth] -= cost_weight
        return linear_sum_assignment(scores, maximize=True)[1]

    def features(self, x, y):
        return x[np.arange(len(x)), y].sum(axis=0)

    def cost(self, truth, y):
        return float(np.sum(truth != y))


class IgnoresCost(Matching):
    def decode(self, w, x, truth=None, cost_weight=0):
        return super().decode(w, x)


class Minimises(Matching):
    def decode(self, w, x, truth=None, cost_weight=0):
        return super().decode(-w, x, truth, -cost_weight)


class IgnoresNegativeCost(Matching):
    def decode(self, w, x, truth=None, cost_weight=0):
        return super().decode(w, x, truth, max(cost_weight, 0))


class MissesTheTruth(Matching):
    """It can only find matchings that keep the first in its place; truths are others."""

    def decode(self, w, x, truth=None, cost_weight=0):
        scores = x @ w
        if cost_weight:
            scores = scores + cost_weight
            scores[np.arange(len(x)), truth] -= cost_weight
        rest = linear_sum_assignment(scores[1:, 1:], maximize=True)[1]
        return np.concatenate([[0], 1 + rest])


class CostlyTruth(Matching):
    def cost(self, truth, y):
        return 1.0 + super().cost(truth, y)


class NegativeCost(Matching):
    def cost(self, truth, y):
        return -super().cost(truth, y)


class NaNCost(Matching):
    def cost(self, truth, y):
        return super().cost(truth, y) or float("nan")


class RandomFeatures(Matching):
    rng = np.random.default_rng(0)

    def features(self, x, y):
        return super().features(x, y) + self.rng.normal()


class NaNFeatures(Matching):
    def features(self, x, y):
        return np.log(-1 - np.abs(super().features(x, y)))


class OutOfRange(Matching):
    dimension = 3

    def features(self, x, y):
        return {k + 1: value for k, value in enumerate(super().features(x, y))}


class ChangesW(Matching):
    def decode(self, w, x, truth=None, cost_weight=0):
        w *= 2
        return super().decode(w, x, truth, cost_weight)


class ChangesX(Matching):
    def decode(self, w, x, truth=None, cost_weight=0):
        y = super().decode(w, x, truth, cost_weight)
        x += 1e-3
        return y


class ChangesTruth(Matching):
    def decode(self, w, x, truth=None, cost_weight=0):
        y = super().decode(w, x, truth, cost_weight)
        if truth is not None:
            truth[:] = truth[::-1].copy()
        return y


class Fails(Matching):
    def decode(self, w, x, truth=None, cost_weight=0):
        raise ArithmeticError("no solution")


class WrongLength(Matching):
    def decode(self, w, x, truth=None, cost_weight=0):
        return super().decode(w, x, truth, cost_weight)[:-1]


class UnsortedBest(Matching):
    def k_best(self, w, x, k, truth=None, cost_weight=0):
        return [np.array(y) for y in itertools.permutations(range(len(x)))][:k]


class Moody(Matching):
    asked = 0

    def decode(self, w, x, truth=None, cost_weight=0):
        type(self).asked += 1
        scale = 1 if self.asked % 2 else -1
        return super().decode(scale * w, x, truth, cost_weight)


class WrongMean(Orders):
    def __init__(self):
        super().__init__(expectation=True)

    def mean(self, w, x, beta, gamma, truth=None):
        log_partition, features = super().mean(w, x, beta, gamma, truth)
        return log_partition, 2 * features


class WrongPartition(Orders):
    def __init__(self):
        super().__init__(expectation=True)

    def mean(self, w, x, beta, gamma, truth=None):
        log_partition, features = super().mean(w, x, beta, gamma, truth)
        return log_partition - 10, features


MISTAKES = {
    IgnoresCost: r"decode ignores cost_weight: .* \(example 1 and 5 more\)",
    Minimises: "decode is beaten by a known output: it does not maximise",
    MissesTheTruth: "decode is beaten by the truth: it is not an output that decode can find",
    CostlyTruth: r"cost is 1\.0 for the truth itself",
    NegativeCost: r"cost is -\d\.0; it must be at least 0",
    NaNCost: "cost is nan; it must be at least 0",
    RandomFeatures: "features change between calls",
    NaNFeatures: "features has the value nan for the feature 0",
    OutOfRange: "features has the feature 3, which is not in 0 … 2",
    ChangesW: r"in decode raised ValueError: output array is read-only",
    ChangesX: "decode changes x",
    ChangesTruth: "decode changes the truth",
    Fails: "in decode raised ArithmeticError: no solution",
    WrongLength: "raised ValueError|raised IndexError",
    UnsortedBest: "k_best does not give the best output first",
    Moody: "decode is beaten|decode gives another answer to the same question",
    WrongMean: "features of expectation are not the mean",
    WrongPartition: "log-partition of expectation is less than",
}


def data(n=6, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(4, 4, 3)) for _ in range(n)]
    return X, [np.array([1, 2, 3, 0]) for _ in X]


@pytest.mark.parametrize("kind", MISTAKES)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_each_mistake_is_named(kind):
    X, Y = make_orders(n=6) if issubclass(kind, Orders) else data()
    with pytest.raises(StructureError, match=MISTAKES[kind]) as caught:
        check_structure(kind(), X, Y)
    report = caught.value.report
    assert len(report.errors) <= 3  # the mistake and perhaps what follows from it
    assert "example 1" in str(report)
    assert isinstance(caught.value, InputError)


def test_correct_structures_pass():
    X, Y = data(30)
    report = check_structure(Matching(), X, Y)
    assert report.examples == 20
    assert not report.errors
    assert not report.warnings
    assert "no mistakes found" in str(report)

    def all_orders(x):
        return [np.array(y) for y in itertools.permutations(range(len(x)))]

    assert not check_structure(Matching(), X, Y, outputs=all_orders).warnings
    X, Y = make_orders(n=5)
    check_structure(Orders(k_best=True, expectation=True), X, Y)
    check_structure(Orders(form="names"), X, Y)
    check_structure(Compiled(), X, Y)
    check_structure(Colours(), ["red round", "yellow long"], ["a", "b"])


def test_a_decoder_that_misses_some_outputs_is_found_by_those_given():
    class Sloppy(Matching):
        """Never everybody in their own place."""

        def decode(self, w, x, truth=None, cost_weight=0):
            y = super().decode(w, x, truth, cost_weight)
            return y[::-1].copy() if (y == np.arange(len(x))).all() else y

    X, Y = data(20)
    missed = [np.arange(4)]
    with pytest.raises(StructureError, match="beaten by a known output"):
        check_structure(Sloppy(), X, Y, outputs=lambda x: missed)


def test_what_may_be_is_a_note_and_no_mistake():
    X, Y = data()
    report = check_structure(IgnoresNegativeCost(), X, Y)
    assert "only the ramp loss needs" in report.warnings[0]
    X, Y = make_orders(n=6)
    report = check_structure(Hasty(), X, Y)
    assert any("as it may (exact = False)" in text for text in report.warnings)

    class Box:
        def __init__(self, y):
            self.y = y

    class Boxed(Orders):
        def decode(self, w, x, truth=None, cost_weight=0.0):
            return Box(super().decode(w, x, truth and truth.y, cost_weight))

        def features(self, x, y):
            return super().features(x, y.y)

        def cost(self, truth, y):
            return super().cost(truth.y, y.y)

    report = check_structure(Boxed(), X, [Box(y) for y in Y])
    assert "two outputs of type Box cannot be compared" in report.warnings[0]


def test_machine_code_that_writes_to_w_is_caught():
    class Writes(Compiled):
        def compiled_decoder(self, X, Y):
            def find(w, dimension, example, cost_weight, data, output, capacity):
                w[0] += 1
                output[0], output[1], output[2] = 0, 1, 2
                return 3

            return CompiledDecoder(SIGNATURE(find))

    X, Y = make_orders(n=4)
    with pytest.raises(StructureError, match="decode changes w"):
        check_structure(Writes(), X, Y)


@pytest.mark.parametrize("kind", CASES)
def test_ready_structures_pass(kind):
    for seed in range(5):
        report = check_structure(CASES[kind](np.random.default_rng(seed)).structure, seed=seed)
        assert report.decodings


@pytest.mark.parametrize("template", [Multiclass(), MultiLabel(pairs="none"), Grid(branch=True)])
def test_ready_templates_pass(template):
    rng = np.random.default_rng(0)
    shape = (2, 3, 2) if isinstance(template, Grid) else (4,)
    X = [rng.normal(size=shape) for _ in range(5)]
    Y = [rng.integers(0, 2, shape[:-1] if isinstance(template, Grid) else 3) for _ in X]
    if isinstance(template, Multiclass):
        Y = [int(y.sum()) for y in Y]
    assert check_structure(template, X, Y).examples == 5


def test_larger_chains_pass():
    data = make_chains(sentences=30, tokens=9, labels=5, features=60, noise=0.5, seed=2)
    assert check_structure(data.structure()).examples == 20


def test_templates_need_examples():
    with pytest.raises(InputError, match="needs X and Y"):
        check_structure(Matching())
