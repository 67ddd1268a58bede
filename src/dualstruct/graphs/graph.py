"""Factor graphs: variables with states, tables that score them, hard factors that constrain them.

    score(y) = Σ_tables table[y of its variables],  for every y that satisfies the hard factors

The best assignment comes from max-product where the graph has no loops and from AD3 (Martins et
al. 2015) elsewhere; marginals from sum-product. Answers say whether they are exact. The core does
the work (core/inference/graphs); this builds graphs and names what is wrong with them. A graph
whose tables are scored by features and weights is an example of
:class:`dualstruct.structures.FactorGraph`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.graphs.parts import (
    Best,
    Hard,
    Literal,
    LiteralLike,
    Marginals,
    OwnFactor,
    Tables,
)
from dualstruct.printable import plural
from dualstruct.renamed import OldAttribute
from dualstruct.sparse import is_sparse

#: Tables beyond this size are refused: they would be scanned entry by entry.
MAX_TABLE = 1_000_000
#: Larger feature values would overflow sums in single precision.
MAX_VALUE = 1e12


class Graph:
    """A factor graph, built piece by piece.

    Examples
    --------
    Two of three switches; neighbours prefer to differ:

    >>> graph = Graph()
    >>> a, b, c = graph.variables(3)
    >>> graph.table([[a, b], [b, c]], [[[0, 1], [1, 0]], [[0, 1], [1, 0]]])
    >>> graph.count([a, b, c], least=2, most=2)
    >>> best = graph.best()
    >>> best.assignment.tolist(), best.score, best.exact
    ([1, 0, 1], 2.0, True)

    A variable with three states that never takes the first one together with the switch ``a``:

    >>> colour = graph.variable(3)
    >>> graph.table(colour, [0.5, 0.2, 0.1])
    >>> graph.at_most_one([a, (colour, 0)])
    >>> graph.best().assignment.tolist()
    [1, 0, 1, 1]
    """

    def __init__(self) -> None:
        self._states: list[int] = []
        self._blocks: list[Tables | Hard] = []
        self._factors = 0
        self._core: _core.Graph | None = None

    def variable(self, states: int = 2) -> int:
        """A new variable; returns its number."""
        return int(self.variables(1, states)[0])

    def variables(self, count: int, states: int = 2) -> NDArray[np.int32]:
        """``count`` new variables; returns their numbers."""
        if count < 0 or states < 1:
            raise InputError(
                f"{plural(count, 'variable')} with {plural(states, 'state')}: there must be at "
                "least one"
            )
        self._core = None
        first = len(self._states)
        self._states.extend([int(states)] * count)
        return np.arange(first, first + count, dtype=np.int32)

    def table(self, variables: ArrayLike, scores: ArrayLike) -> None:
        """Scores for the joint states of some variables; −∞ forbids an entry.

        ``variables`` of two axes add a factor for each row, with ``scores[row]``.
        """
        rows, shape = self._rows(variables)
        table = np.ascontiguousarray(scores, dtype=np.float64)
        expected = shape if np.ndim(variables) < 2 else (len(rows), *shape)
        if table.shape != expected:
            raise InputError(
                f"{self._next()}: its scores have shape {table.shape}, its variables {expected}"
            )
        if np.isnan(table).any() or np.isposinf(table).any():
            raise InputError(f"{self._next()}: a score is NaN or infinite")
        self._add(Tables(rows, shape, table.reshape(len(rows), -1)), len(rows))

    def factor(
        self,
        kind: str | Sequence[str],
        variables: ArrayLike,
        features: ArrayLike | Any = None,
        tie: ArrayLike | None = None,
    ) -> None:
        """A soft factor whose scores are learned: factors of one kind share their weights.

        With weights W of the kind, [features, configurations], its table is features @ W.

        Parameters
        ----------
        kind : str, or one for each factor
        variables : array [order] or [factors, order]
        features : array [features] or [factors, features], or a scipy sparse matrix, optional
            One row is shared by all factors. By default one feature that is always 1.
        tie : int array in the shape of the table, optional
            The configuration of each entry: entries that share one share its weights, and −1
            forbids an entry. By default every entry is a configuration of its own.
        """
        rows, shape = self._rows(variables)
        tied = None if tie is None else np.ascontiguousarray(tie, dtype=np.int32)
        if tied is not None and (tied.shape != shape or not tied.size or tied.min() < -1):
            raise InputError(
                f"{self._next()} (tied): its tie has shape {tied.shape}, its variables {shape}"
            )
        kinds = (kind,) if isinstance(kind, str) else tuple(kind)
        if len(kinds) not in (1, len(rows)):
            raise InputError(
                f"{self._next()}: {plural(len(kinds), 'kind')} for {plural(len(rows), 'factor')}"
            )
        values: NDArray[np.float32] | Any
        if features is None:
            values = np.ones((1, 1), dtype=np.float32)
        elif is_sparse(features):
            values = features.tocsr().astype(np.float32)
        else:
            values = np.ascontiguousarray(np.atleast_2d(np.asarray(features, dtype=np.float32)))
        if values.ndim != 2 or values.shape[0] not in (1, len(rows)):
            raise InputError(
                f"{self._next()} ({kinds[0]}): features of shape {np.shape(features)} "
                f"for {plural(len(rows), 'factor')}"
            )
        numbers = values.data if is_sparse(values) else values
        # Larger ones would overflow sums in single precision; false for NaN.
        if not (np.abs(numbers) <= MAX_VALUE).all():
            raise InputError(f"{self._bad_row(values)} ({kinds[0]}): a feature is NaN or too large")
        self._add(Tables(rows, shape, None, kinds, values, tied), len(rows))

    def exactly_one(self, literals: Sequence[LiteralLike]) -> None:
        """XOR: one of the literals is on and the others are off."""
        self._hard("exactly one", literals, 1, 1)

    def at_most_one(self, literals: Sequence[LiteralLike]) -> None:
        """No two of the literals are on."""
        self._hard("at most one", literals, 0, 1)

    def at_least_one(self, literals: Sequence[LiteralLike]) -> None:
        """OR: one or more of the literals are on."""
        self._hard("at least one", literals, 1, len(literals))

    def budget(self, literals: Sequence[LiteralLike], most: int) -> None:
        """At most ``most`` literals are on."""
        self._hard("budget", literals, 0, most)

    def count(self, literals: Sequence[LiteralLike], least: int, most: int) -> None:
        """At least ``least`` and at most ``most`` literals are on."""
        self._hard("count", literals, least, most)

    def or_output(self, literals: Sequence[LiteralLike], output: LiteralLike) -> None:
        """OR with output: ``output`` is on exactly when one or more of the literals are."""
        self._hard("OR with output", [*literals, output], 0, 0)

    def tree(
        self,
        words: int,
        arcs: Mapping[tuple[int, int], LiteralLike],
        *,
        projective: bool = False,
        single_root: bool = True,
    ) -> None:
        """TREE: the arcs that are on form a dependency tree over the words 1 … ``words``.

        ``arcs`` has a literal for each (head, modifier); head 0 is the root. Arcs that are not
        there are never on. Maxima come from Eisner's or Chu-Liu-Edmonds' algorithm, sums from
        inside-outside or the matrix-tree theorem.
        """
        where = f"{self._next()} (tree)"
        for head, modifier in arcs:
            if not (0 <= head <= words and 1 <= modifier <= words and head != modifier):
                raise InputError(
                    f"{where}: arc {head} → {modifier} in a sentence of {plural(words, 'word')}"
                )
        missing = set(range(1, words + 1)) - {modifier for _, modifier in arcs}
        if missing:
            raise InputError(f"{where}: no arc leads to word {min(missing)}")
        pairs = np.array(list(arcs), dtype=np.int32).reshape(-1, 2)
        self._hard("tree", list(arcs.values()), 0, 0)
        block = cast(Hard, self._blocks[-1])
        block.words, block.arcs = words, pairs
        block.projective, block.single_root = projective, single_root

    def own(self, factor: OwnFactor, literals: Sequence[LiteralLike]) -> None:
        """A factor of your own: anything with a method ``maximise(scores)``."""
        if not callable(getattr(factor, "maximise", None)):
            raise InputError(f"{self._next()}: it has no method maximise(scores)")
        self._hard("own", literals, 0, 0, own=factor)

    @property
    def is_forest(self) -> bool:
        """Whether the graph has no loops: then every answer is exact."""
        return self.core.is_forest

    @property
    def states(self) -> NDArray[np.int32]:
        """How many states each variable has."""
        return np.array(self._states, dtype=np.int32)

    def best(
        self,
        *,
        branch: bool = False,
        max_nodes: int = 10_000,
        max_iterations: int = 1000,
        residual: float = 1e-4,
        tolerance: float = 1e-6,
    ) -> Best:
        """The best assignment; with ``branch`` loops are searched until it is proven the best.

        Parameters
        ----------
        branch : bool
            Branch and bound where the relaxation alone is not exact.
        max_nodes, max_iterations : int
            Limits: of the search, and of AD3 at each of its nodes.
        residual : float
            AD3 ends when the factors agree and no longer change, up to this difference.
        tolerance : float
            Score and bound count as equal within this share of the score.
        """
        with self.translating_errors():
            found = self.core.best(
                *self._scores(), branch, max_nodes, max_iterations, residual, tolerance
            )
        return Best(*found)

    def k_best(self, k: int) -> list[tuple[float, NDArray[np.int32]]]:
        """The k best assignments of a graph without loops, best first."""
        if k < 1:
            raise InputError(f"k is {k}; it must be at least 1")
        with self.translating_errors():
            return self.core.k_best(*self._scores(), k)

    def marginals(
        self, *, max_iterations: int = 200, damping: float = 0.3, tolerance: float = 1e-6
    ) -> Marginals:
        """Sum-product; where the graph has loops, damped and repeated until nothing changes."""
        if not 0 <= damping < 1:
            raise InputError(f"damping is {damping}; it must be in [0, 1)")
        with self.translating_errors():
            found = self.core.marginals(*self._scores(), max_iterations, damping, tolerance)
        return self.split_marginals(*found)

    def split_marginals(
        self,
        variables: NDArray[np.float64],
        factors: NDArray[np.float64],
        log_partition: float,
        exact: bool,
        converged: bool,
        iterations: int,
    ) -> Marginals:
        """What the core found, by variables and factors."""
        of_variables = np.split(variables, np.cumsum(self._states)[:-1]) if self._states else []
        of_factors: list[NDArray[np.float64]] = []
        begin = 0
        for block in self._blocks:
            if isinstance(block, Hard):
                of_factors.append(np.empty(0))
                continue
            size = int(np.prod(block.shape))
            for _ in range(len(block.variables)):
                of_factors.append(factors[begin : begin + size].reshape(block.shape))
                begin += size
        return Marginals(of_variables, of_factors, log_partition, exact, converged, iterations)

    def score(self, assignment: ArrayLike) -> float:
        """The score of an assignment; −∞ when a hard factor forbids it."""
        values = np.ascontiguousarray(assignment, dtype=np.int32)
        self.check_assignment(values, "the assignment")
        return self.core.score(*self._scores(), values)

    @property
    def core(self) -> _core.Graph:
        """The graph as the core has it."""
        if self._core is None:
            core = _core.Graph()
            core.add_variables(self.states)
            for block in self._blocks:
                if isinstance(block, Tables):
                    core.add_tables(block.variables)
                elif block.own is not None:
                    core.add_python_factor(block.own, block.literals)
                elif block.arcs is not None:
                    core.add_tree(
                        block.words,
                        block.arcs,
                        block.literals,
                        block.projective,
                        block.single_root,
                    )
                elif block.name == "OR with output":
                    core.add_or_out(block.literals)
                else:
                    core.add_count(block.literals, block.least, block.most)
            core.finish()
            self._core = core
        return self._core

    @property
    def blocks(self) -> list[Tables | Hard]:
        """What was added, in order."""
        return self._blocks

    def name_factor(self, number: int) -> str:
        """A factor as messages call it."""
        begin = 0
        for block in self._blocks:
            count = len(block.variables) if isinstance(block, Tables) else 1
            if number < begin + count:
                if isinstance(block, Hard):
                    return f"factor {number + 1} ({block.name})"
                kinds = block.kinds or ("table",)
                return f"factor {number + 1} ({kinds[(number - begin) % len(kinds)]})"
            begin += count
        return "the scores of the variables"

    def check_assignment(self, values: NDArray[np.int32], name: str) -> None:
        """An error unless every variable has one of its states."""
        if values.shape != (len(self._states),):
            raise InputError(
                f"{name} has shape {values.shape} for {plural(len(self._states), 'variable')}"
            )
        bad = np.flatnonzero((values < 0) | (values >= self.states))
        if bad.size:
            v = int(bad[0])
            raise InputError(
                f"{name}: variable {v + 1} is in state {values[v]} of {self._states[v]}"
            )

    def translating_errors(self) -> _NamingTheFactor:
        """Turns the core's "no assignment" into a sentence that names the factor."""
        return _NamingTheFactor(self)

    explained = OldAttribute("translating_errors")

    def _scores(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        parts = [np.empty(0)]
        for k, block in enumerate(self._blocks):
            if not isinstance(block, Tables):
                continue
            if block.scores is None:
                raise InputError(
                    f"{self.name_factor(k)}: its scores are learned; ask a FactorGraph for them"
                )
            parts.append(block.scores.ravel())
        return np.zeros(sum(self._states)), np.concatenate(parts)

    def _next(self) -> str:
        return f"factor {self._factors + 1}"

    def _bad_row(self, values: Any) -> str:
        dense = values.toarray() if is_sparse(values) else values
        good = (np.abs(dense) <= MAX_VALUE).all(axis=1)
        return f"factor {self._factors + 1 + int(np.flatnonzero(~good)[0])}"

    def _add(self, block: Tables | Hard, factors: int) -> None:
        self._core = None
        self._blocks.append(block)
        self._factors += factors

    def _rows(self, variables: ArrayLike) -> tuple[NDArray[np.int32], tuple[int, ...]]:
        """Variables as [factors, order], and the states that each column has."""
        given = np.asarray(variables)
        if given.ndim > 2 or not np.issubdtype(given.dtype, np.integer):
            raise InputError(f"{self._next()}: variables must be numbers, one row a factor")
        rows = np.ascontiguousarray(np.atleast_2d(given), dtype=np.int32)
        if rows.shape[1] == 0:
            raise InputError(f"{self._next()}: it has no variables")
        bad = np.flatnonzero(((rows < 0) | (rows >= len(self._states))).any(axis=1))
        if bad.size:
            where = f"factor {self._factors + 1 + int(bad[0])}"
            raise InputError(f"{where}: variables {rows[bad[0]].tolist()} of {len(self._states)}")
        ordered = np.sort(rows, axis=1)
        twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if twice.size:
            where = f"factor {self._factors + 1 + int(twice[0])}"
            raise InputError(f"{where}: a variable stands in it twice")
        states = self.states[rows]
        if len(rows) and (states != states[0]).any():
            odd = int(np.flatnonzero((states != states[0]).any(axis=1))[0])
            raise InputError(
                f"factor {self._factors + 1 + odd}: its variables have {states[odd].tolist()} "
                f"states, those of the first in this block {states[0].tolist()}"
            )
        shape = tuple(int(s) for s in states[0]) if len(rows) else (1,) * rows.shape[1]
        if np.prod(shape, dtype=float) > MAX_TABLE:
            raise InputError(
                f"{self._next()}: {np.prod(shape, dtype=float):.0f} joint states; "
                f"a table has at most {MAX_TABLE:,}"
            )
        return rows, shape

    def _hard(
        self, name: str, literals: Sequence[LiteralLike], least: int, most: int, own: Any = None
    ) -> None:
        where = f"{self._next()} ({name})"
        rows = []
        for given in literals:
            literal = Literal(*given) if isinstance(given, tuple) else Literal(int(given))
            if not 0 <= literal.variable < len(self._states):
                raise InputError(f"{where}: variable {literal.variable} of {len(self._states)}")
            states = self._states[literal.variable]
            if not isinstance(given, tuple) and states != 2:
                raise InputError(
                    f"{where}: variable {literal.variable} has {states} states; "
                    "say which of them is meant: (variable, state)"
                )
            if not 0 <= literal.state < states:
                raise InputError(
                    f"{where}: state {literal.state} of variable {literal.variable}, "
                    f"which has {states}"
                )
            rows.append(literal)
        if not rows:
            raise InputError(f"{where}: it has no literals")
        if least > most or least > len(rows) or most < 0:
            raise InputError(f"{where}: {least} to {most} of {len(rows)} literals can not be on")
        block = Hard(name, np.array(rows, dtype=np.int32), least, most, own)
        self._add(block, 1)


class _NamingTheFactor:
    """Names the factor that leaves no assignment."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, _core.InfeasibleError):
            _, factor = cast(tuple[int, int], error.args)
            raise InputError(contradiction(self.graph, factor)) from None


def contradiction(graph: Graph, factor: int) -> str:
    """What to say of a graph without any allowed assignment."""
    if factor < 0:
        return "no assignment is allowed: all states of a variable are forbidden"
    name = graph.name_factor(factor)
    return f"no assignment is allowed: {name} contradicts those before it"
