"""Factor graphs by enumeration: every assignment is written out and scored."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

from dualstruct.graphs import Graph, Literal


@dataclass
class NaiveGraph:
    """Tables and constraints as Python functions of the whole assignment."""

    states: list[int]
    tables: list[tuple[tuple[int, ...], np.ndarray]] = field(default_factory=list)
    hard: list[tuple[str, list[Literal], int, int]] = field(default_factory=list)

    def is_on(self, literal: Literal, y: tuple[int, ...]) -> bool:
        return (y[literal.variable] == literal.state) != literal.negated

    def allows(self, y: tuple[int, ...]) -> bool:
        for kind, literals, least, most in self.hard:
            on = [self.is_on(literal, y) for literal in literals]
            if kind == "or output":
                if on[-1] != any(on[:-1]):
                    return False
            elif kind == "alternating":
                if any(a and b for a, b in itertools.pairwise(on)):
                    return False
            elif not least <= sum(on) <= most:
                return False
        return True

    def score(self, y: tuple[int, ...]) -> float:
        if not self.allows(y):
            return -np.inf
        return float(sum(table[tuple(y[v] for v in over)] for over, table in self.tables))

    def assignments(self) -> list[tuple[float, tuple[int, ...]]]:
        """Every allowed assignment with its score, best first."""
        found = [(self.score(y), y) for y in itertools.product(*map(range, self.states))]
        return sorted([f for f in found if f[0] > -np.inf], key=lambda f: -f[0])

    def marginals(self) -> tuple[float, list[np.ndarray], list[np.ndarray]]:
        found = self.assignments()
        scores = np.array([score for score, _ in found])
        log_sum = float(logsumexp(scores))
        variables = [np.zeros(k) for k in self.states]
        tables = [np.zeros(table.shape) for _, table in self.tables]
        for p, (_, y) in zip(np.exp(scores - log_sum), found, strict=True):
            for v, s in enumerate(y):
                variables[v][s] += p
            for (over, _), table in zip(self.tables, tables, strict=True):
                table[tuple(y[v] for v in over)] += p
        return log_sum, variables, tables

    def fast(self) -> Graph:
        graph = Graph()
        for k in self.states:
            graph.variable(k)
        for over, table in self.tables:
            graph.table(list(over), table)
        for kind, literals, least, most in self.hard:
            if kind == "or output":
                graph.or_output(literals[:-1], literals[-1])
            elif kind == "alternating":
                graph.own(Alternating(len(literals)), literals)
            else:
                graph.count(literals, least, most)
        return graph


class Alternating:
    """A factor of a user's: no two neighbouring literals are on. Decoded by enumeration."""

    def __init__(self, n: int) -> None:
        self.allowed = np.array(
            [
                on
                for on in itertools.product((0, 1), repeat=n)
                if not any(a and b for a, b in itertools.pairwise(on))
            ]
        )

    def maximise(self, scores: np.ndarray) -> np.ndarray:
        return self.allowed[np.argmax(self.allowed @ scores)]

    def marginals(self, scores: np.ndarray) -> tuple[np.ndarray, float]:
        totals = self.allowed @ scores
        log_sum = float(logsumexp(totals))
        return np.exp(totals - log_sum) @ self.allowed, log_sum


def random_graph(
    rng: np.random.Generator, *, forest: bool, variables: int = 6, hard: bool = True
) -> NaiveGraph:
    """Variables of mixed cardinality, tables of one to three variables, every hard factor."""
    n = int(rng.integers(1, variables + 1))
    states = [int(k) for k in rng.choice([1, 2, 2, 2, 3, 4], n)]
    graph = NaiveGraph(states)
    group = list(range(n))  # which component a variable is in, to keep a forest a forest

    def pick(size: int) -> list[int]:
        chosen: list[int] = []
        for v in rng.permutation(n):
            if len(chosen) < size and (not forest or group[v] not in {group[c] for c in chosen}):
                chosen.append(int(v))
        joined = {group[c] for c in chosen}
        if len(chosen) > 1:
            for v in range(n):
                if group[v] in joined:
                    group[v] = group[chosen[0]]
        return chosen

    for v in range(n):
        if rng.random() < 0.8:
            graph.tables.append(((v,), rng.normal(size=states[v]) * 2))
    for _ in range(int(rng.integers(0, 2 * n + 1))):
        over = pick(int(rng.integers(2, 4)))
        if len(over) < 2:
            continue
        if hard and rng.random() < 0.4:
            literals = [
                Literal(v, int(rng.integers(states[v])), bool(rng.random() < 0.3)) for v in over
            ]
            if not forest and rng.random() < 0.3:  # a second state of the same variable
                literals.append(Literal(over[0], int(rng.integers(states[over[0]]))))
            kind = str(rng.choice(["count", "or output", "alternating"], p=[0.5, 0.25, 0.25]))
            least, most = np.sort(rng.integers(0, len(literals) + 1, 2))
            graph.hard.append((kind, literals, int(least), int(most)))
        else:
            table = rng.normal(size=[states[v] for v in over]) * 2
            if rng.random() < 0.2:
                table[rng.random(table.shape) < 0.2] = -np.inf
            graph.tables.append((tuple(over), table))
    return graph
