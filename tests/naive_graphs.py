"""Factor graphs by enumeration: every assignment is written out and scored."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import logsumexp

from dualstruct.graphs import Graph, Hard, Literal
from dualstruct.structures import FactorGraph


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


@dataclass
class NaiveFactorGraph:
    """Graphs with features: every soft factor as (kind, variables, features, tie)."""

    graphs: list[NaiveGraph]
    soft: list[list[tuple[str, tuple[int, ...], np.ndarray, np.ndarray | None]]]
    truth: list[tuple[int, ...]]
    costs: list[list[np.ndarray]]  # by variable and state
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict)
    sparse: bool = False

    def fast(self) -> FactorGraph:
        graphs = []
        for naive, soft in zip(self.graphs, self.soft, strict=True):
            graph = naive.fast()
            for kind, over, x, tie in soft:
                graph.factor(kind, list(over), csr_matrix(x) if self.sparse else x, tie)
            graphs.append(graph)
        costs = [np.concatenate(c) for c in self.costs]
        structure = FactorGraph(graphs, self.truth, costs=costs, branch=True)
        self.kinds = structure.kinds
        return structure

    @classmethod
    def from_fast(cls, structure: FactorGraph) -> NaiveFactorGraph:
        """The examples of a template, taken apart again."""
        graphs, soft, costs = [], [], []
        for i, graph in enumerate(structure.graphs):
            naive, factors = NaiveGraph(graph.states.tolist()), []
            for block in graph.blocks:
                assert not isinstance(block, Hard)
                for k, over in enumerate(block.variables.tolist()):
                    if not block.kinds:
                        table = block.scores[k].reshape(block.shape)
                        naive.tables.append((tuple(over), table))
                        continue
                    x = block.features[k % len(block.features)]
                    factors.append((block.kinds[k % len(block.kinds)], tuple(over), x, block.tie))
            graphs.append(naive)
            soft.append(factors)
            # The last label of a state is what costs; there are two of them.
            states = zip(naive.states, structure.truth[i], strict=True)
            costs.append([np.arange(n) % 2 != y % 2 for n, y in states])
        truth = [tuple(y.tolist()) for y in structure.truth]
        return cls(graphs, soft, truth, costs, structure.kinds)

    def outputs(self, i: int) -> list[np.ndarray]:
        return [
            np.array(y, dtype=np.int32)
            for _, y in self.graphs[i].assignments()
            if all(
                tie is None or tie[tuple(y[v] for v in over)] >= 0
                for _, over, _, tie in self.soft[i]
            )
        ]

    def features(self, i: int, y: np.ndarray) -> np.ndarray:
        total = {kind: np.zeros(size) for kind, size in self.kinds.items()}
        for kind, over, x, tie in self.soft[i]:
            entry = tuple(y[v] for v in over)
            if tie is None:
                shape = [self.graphs[i].states[v] for v in over]
                column = int(np.ravel_multi_index(entry, shape))
            else:
                column = int(tie[entry])
            total[kind][:, column] += x
        return np.concatenate([np.empty(0), *(W.ravel() for W in total.values())])

    def cost(self, i: int, y: np.ndarray) -> float:
        return float(sum(c[s] for c, s in zip(self.costs[i], y, strict=True)))


def random_factor_graph(
    rng: np.random.Generator,
    *,
    forest: bool,
    weighted: bool = False,
    tied: bool = False,
    sparse: bool = False,
) -> NaiveFactorGraph:
    """Three graphs of up to four variables, their finite tables scored by two features each."""
    graphs: list[NaiveGraph] = []
    soft, truth, costs = [], [], []
    ties: dict[tuple[int, ...], np.ndarray] = {}
    while len(graphs) < 3:
        naive = random_graph(rng, forest=forest, variables=4)
        allowed = naive.assignments()
        if not allowed or naive.fast().is_forest != forest:
            continue
        factors = []
        for over, table in naive.tables:
            if np.isinf(table).any():
                table[np.isfinite(table)] = 0  # given scores may only forbid
                continue
            x = rng.normal(size=2).astype(np.float32)
            if tied and table.shape not in ties:
                ties[table.shape] = rng.integers(0, 3, table.shape).astype(np.int32)
                ties[table.shape].flat[0] = 2
            tie = ties[table.shape] if tied else None
            factors.append((f"table of {table.shape}", over, x, tie))
        naive.tables = [(over, table) for over, table in naive.tables if np.isinf(table).any()]
        y = allowed[rng.integers(len(allowed))][1]
        graphs.append(naive)
        soft.append(factors)
        truth.append(y)
        costs.append([])
        for k, state in zip(naive.states, y, strict=True):
            cost = np.ones(k, dtype=np.float32)
            if weighted:
                cost = rng.uniform(0.1, 3, k).astype(np.float32)
            cost[state] = 0
            costs[-1].append(cost)
    return NaiveFactorGraph(graphs, soft, truth, costs, sparse=sparse)
