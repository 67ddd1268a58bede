"""Structures that users could write, and data for them: what tests of them share."""

from __future__ import annotations

import ctypes

import numpy as np
from scipy.optimize import linear_sum_assignment

from dualstruct import CompiledDecoder, CustomStructure
from naive_custom import Orders


def make_orders(n=30, items=3, features=5, noise=0.0, seed=0):
    """Inputs whose best order under hidden weights is the truth, but for some noise."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=features)
    X = [rng.normal(size=(items, items, features)).astype(np.float32) for _ in range(n)]
    Y = []
    for x in X:
        y = linear_sum_assignment((x @ hidden).T, maximize=True)[1]
        Y.append(tuple(rng.permutation(y).tolist() if rng.random() < noise else y.tolist()))
    return X, Y


class Colours(CustomStructure):
    """Words and a class; features by name."""

    classes = ("a", "b", "c")

    def decode(self, w, x, truth=None, cost_weight=0):
        return max(self.classes, key=lambda y: self.value(w, x, y, truth, cost_weight))

    def features(self, x, y):
        return {f"{word}/{y}": 1.0 for word in x.split()}

    def cost(self, truth, y):
        return float(truth != y)


class Hasty(Orders):
    """Looks at a few random orders only."""

    exact = False

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(0)

    def outputs(self, x):
        all_outputs = super().outputs(x)
        return [all_outputs[k] for k in self.rng.choice(len(all_outputs), 3, replace=False)]


SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.POINTER(ctypes.c_float),
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_float,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_int32),
    ctypes.c_int64,
)


class Compiled(Orders):
    """The decoder is a C function, which a test makes of Python by ctypes."""

    def __init__(self, length=None, copies=1):
        super().__init__(5)
        self.length = length
        self.copies = copies

    def decode(self, *arguments):
        raise AssertionError("Python's decoder is not asked")

    def compiled_decoder(self, X, Y):
        plain = Orders(5)

        def find(w, dimension, example, cost_weight, data, output, capacity):
            if self.length is not None:
                return self.length
            weights = np.ctypeslib.as_array(w, (dimension,))
            truth = None if Y is None else Y[example]
            y = plain.best(weights, X[example], 1, truth, cost_weight)[0]
            length = len(y) * self.copies
            if length <= capacity:
                for k in range(length):
                    output[k] = y[k % len(y)]
            return length

        return CompiledDecoder(SIGNATURE(find))

    def from_compiled(self, x, output):
        return tuple(output[: len(x)].tolist())
