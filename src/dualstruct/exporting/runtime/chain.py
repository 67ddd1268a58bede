"""The best labels of a sentence, and their probabilities (core/structures/chain).

Scores are added up in single precision, in the same order as in the core: an ``array("f")`` rounds
what is put into it, and rounding the sum of two such numbers once more changes nothing.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from operator import add
from typing import Any

from dualstruct.exporting.runtime.features import Row

#: Tokens between two shifts of the maxima, which keep them small.
SHIFT_INTERVAL = 64
NEVER = -math.inf
#: The largest relative error of an addition in single precision.
UNIT = 2.0**-24
#: Labels that as many others lead to are looked at one by one.
FEW = 4

Matrix = list[list[float]]


class Chain:
    """Which label follows which, and how gladly."""

    def __init__(self, labels: int, transition: Any, allowed: Any) -> None:
        K = self.labels = labels
        width = K + 1
        masked = [w if allowed is None or allowed[n] else NEVER for n, w in enumerate(transition)]
        self._rows = [masked[j * width : j * width + K] for j in range(K)]  # from j to k
        self._columns = [list(column) for column in zip(*self._rows, strict=True)]
        self._start = masked[K * width : K * width + K]
        self._end = [masked[j * width + K] for j in range(K)]
        finite = [abs(w) for w in masked if w > NEVER]
        self._largest = max(finite, default=0.0)
        # Labels that few others lead to, with those; and the others.
        sources = [[j for j in range(K) if column[j] > NEVER] for column in self._columns]
        self._narrow = [k for k in range(K) if len(sources[k]) <= FEW]
        self._leading = [[(j, self._rows[j][k]) for j in sources[k]] for k in self._narrow]
        self._wide = [k for k in range(K) if len(sources[k]) > FEW]
        self._into_wide = [[row[k] for k in self._wide] for row in self._rows]
        # How much more than from label j a step into the same wide label can be worth, at most.
        tops = [max(self._columns[k]) for k in self._wide]
        self._lead = [
            max([top - x for top, x in zip(tops, row, strict=True)], default=0.0)
            for row in self._into_wide
        ]

    def quick_best(self, rows: Sequence[Sequence[Row]]) -> list[int] | None:
        """The best labels, if they are so by more than single precision can change; else None.

        In double precision the order of additions does not matter, and the single ones are bounded
        by how far they are from these.
        """
        K = self.labels
        row = self._start
        maxima: list[list[float]] = []
        size = self._largest  # of the scores up to here, at most
        error = 0.0  # of the core's scores, at most, in units
        for t, features in enumerate(rows):
            if t:
                row = self._quick_step(row)
            if features:
                emission = map(sum, zip(*[each.all(K) for each in features], strict=True))
                row = list(map(add, row, emission))
                here = sum([each.largest for each in features])
                error += len(features) * here
                size += here
            size += self._largest
            error += 4 * size
            maxima.append(row)
        least = 2 * UNIT * (error + 4 * size)
        path: list[int] = []
        into = self._end
        for row in reversed(maxima):
            sums = list(map(add, row, into))
            top = max(sums)
            label = sums.index(top)
            sums[label] = NEVER
            if not top - max(sums) > least:
                return None
            path.append(label)
            into = self._columns[label]
        return path[::-1]

    def _quick_step(self, row: list[float]) -> list[float]:
        """The best score with which each label is reached from the row before."""
        found = [0.0] * self.labels
        top = max(row)
        # Labels that lie behind the best one by more than any step makes up for need no look.
        least = top - self._lead[row.index(top)] - 1e-3
        some = [j for j, x in enumerate(row) if x >= least]
        if len(some) > self.labels // 3:
            for k in self._wide:
                found[k] = max(map(add, row, self._columns[k]))
        else:
            best = [NEVER] * len(self._wide)
            for j in some:
                before = row[j]
                best = list(map(max, best, [before + x for x in self._into_wide[j]]))
            for k, x in zip(self._wide, best, strict=True):
                found[k] = x
        for k, leading in zip(self._narrow, self._leading, strict=True):
            found[k] = max([row[j] + x for j, x in leading], default=NEVER)
        return found

    def emissions(self, rows: Sequence[Sequence[Row]]) -> list[array[float]]:
        """The score of each label at each token."""
        nothing = array("f", bytes(4 * self.labels))
        found = []
        for features in rows:
            sums = nothing[:]
            for row in features:
                for label, weight in row.pairs:
                    sums[label] += weight
            found.append(sums)
        return found

    def steps(self, pairs: Sequence[Sequence[Row]] | None, tokens: int) -> list[Matrix]:
        """The scores of steps into each token, by the label that is stepped into."""
        if pairs is None:
            return [self._columns] * tokens
        found = []
        for features in pairs:
            if not features:
                found.append(self._columns)
                continue
            step = [array("f", row) for row in self._rows]
            for row in features:
                for place, weight in row.pairs:
                    step[place // self.labels][place % self.labels] += weight
            found.append([list(column) for column in zip(*step, strict=True)])
        return found

    def best(self, emissions: Sequence[array[float]], steps: Sequence[Matrix]) -> list[int]:
        """The best labels: the first of equally good ones, from the last token backwards."""
        maxima: list[array[float]] = []
        row = array("f", self._start)
        for t, emission in enumerate(emissions):
            if t:
                row = array("f", [max(map(add, row, column)) for column in steps[t]])
            row = array("f", map(add, row, emission))
            if t % SHIFT_INTERVAL == SHIFT_INTERVAL - 1:
                top = max(row)
                if top > NEVER:
                    row = array("f", [x - top for x in row])
            maxima.append(row)
        path: list[int] = []
        into = self._end
        for t in range(len(maxima) - 1, -1, -1):
            sums = array("f", map(add, maxima[t], into))
            top = max(sums)
            if top == NEVER:
                raise ValueError("no labelling of the sentence is allowed")
            path.append(sums.index(top))
            into = steps[t][path[-1]]
        return path[::-1]

    def beliefs(
        self, emissions: Sequence[array[float]], steps: Sequence[Matrix], beta: float
    ) -> Beliefs:
        """Sums over all labellings, p ∝ exp(β·score)."""
        return Beliefs(self._start, self._end, emissions, steps, beta)


def log_sum(values: Sequence[float]) -> float:
    """log Σ exp."""
    top = max(values)
    return top if top == NEVER else top + math.log(sum([math.exp(x - top) for x in values]))


class Beliefs:
    """Logarithms of sums over labellings: those of all up to a token, and of all from it on."""

    def __init__(
        self,
        start: list[float],
        end: list[float],
        emissions: Sequence[array[float]],
        steps: Sequence[Matrix],
        beta: float,
    ) -> None:
        n = len(emissions)
        self.emissions = [[beta * e for e in row] for row in emissions]
        # A matrix for each token, once where they are the same.
        made = {id(step): [[beta * x for x in column] for column in step] for step in steps}
        self.steps = [made[id(step)] for step in steps]
        self.forward = [[beta * s + e for s, e in zip(start, self.emissions[0], strict=True)]]
        for t in range(1, n):
            before = self.forward[-1]
            self.forward.append(
                [
                    log_sum(list(map(add, before, column))) + e
                    for column, e in zip(self.steps[t], self.emissions[t], strict=True)
                ]
            )
        self.backward = [[beta * x for x in end]]
        for t in range(n - 1, 0, -1):
            after = list(map(add, self.backward[-1], self.emissions[t]))
            rows = zip(*self.steps[t], strict=True)
            self.backward.append([log_sum(list(map(add, row, after))) for row in rows])
        self.backward.reverse()
        self.total = log_sum(list(map(add, self.forward[-1], self.backward[-1])))

    def labels(self) -> Matrix:
        """The probability of each label at each token."""
        return [
            [math.exp(min(f + b - self.total, 0.0)) for f, b in zip(row, other, strict=True)]
            for row, other in zip(self.forward, self.backward, strict=True)
        ]

    def span(self, inside: list[int], parts: list[list[bool]], start: int, end: int) -> float:
        """The probability that tokens start … end − 1 are a span whose labels are ``inside``."""
        here = [self.forward[start][k] for k in inside]
        if start:
            before, column = self.forward[start - 1], self.steps[start]
            here = [
                log_sum(
                    [
                        b + x if parts[j][k] else NEVER
                        for j, (b, x) in enumerate(zip(before, column[k], strict=True))
                    ]
                )
                + self.emissions[start][k]
                for k in inside
            ]
        for t in range(start + 1, end):
            column = self.steps[t]
            here = [
                log_sum(
                    [
                        NEVER if parts[j][k] else h + column[k][j]
                        for h, j in zip(here, inside, strict=True)
                    ]
                )
                + self.emissions[t][k]
                for k in inside
            ]
        if end == len(self.forward):
            here = [h + self.backward[-1][k] for h, k in zip(here, inside, strict=True)]
        else:
            after = list(map(add, self.backward[end], self.emissions[end]))
            here = [
                h
                + log_sum(
                    [
                        a + column[j] if parts[j][k] else NEVER
                        for k, (a, column) in enumerate(zip(after, self.steps[end], strict=True))
                    ]
                )
                for h, j in zip(here, inside, strict=True)
            ]
        return math.exp(min(log_sum(here) - self.total, 0.0))
