"""Factor graphs whose soft factors are scored by features and weights.

    w·φ(x, y) = Σ_factors features · W[kind of the factor][:, configuration of its variables]

for every y that the hard factors allow. Decoding, k best and expectations are those of
:mod:`dualstruct.graphs`: exact on graphs without loops, and elsewhere the structure counts how
often they were not. The core does the arithmetic (core/structures/graph/factor_graph.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.graphs import Best, Graph, Hard, Marginals, Tables
from dualstruct.printable import plural
from dualstruct.sparse import is_sparse
from dualstruct.structures.base import Structure, check_beta, digest_of

if TYPE_CHECKING:
    pass

#: For each kind of factor: how many features it has, and how many configurations.
Kinds = dict[str, tuple[int, int]]


class Exactness(NamedTuple):
    """How much of what a structure answered is proven."""

    decoded: int  #: how often it was asked for the best output
    inexact: int  #: how often the answer was not proven the best
    unsettled: int  #: how often loopy marginals did not come to a stand


class FactorGraph(Structure):
    """Examples that are factor graphs, built with :class:`dualstruct.graphs.Graph`.

    Parameters
    ----------
    graphs : sequence of Graph
        Soft factors are those added by :meth:`Graph.factor`. Tables with given scores may only
        forbid: their entries are 0 or −∞.
    truth : sequence of int arrays [variables], optional
        The true state of every variable; without it the structure can only predict.
    costs : sequence, optional
        For each example the cost of every state, those of one variable after the other, with 0 at
        the truth; None for Hamming cost, which is the default.
    kinds : dict, optional
        Features and configurations of each kind, where they must be those of another structure.
    branch : bool
        Search graphs with loops until the best output is proven.
    max_iterations, max_nodes : int
        Limits of AD3, and of the search.
    damping : float
        Of sum-product on graphs with loops.

    Examples
    --------
    Two switches; the first follows its feature, the second follows the first:

    >>> graph = Graph()
    >>> a, b = graph.variables(2)
    >>> graph.factor("unary", [a], [1.5])
    >>> graph.factor("pair", [a, b])
    >>> structure = FactorGraph([graph], truth=[[1, 1]])
    >>> w = structure.new_weights()
    >>> structure.add_features(w, 0, [1, 1], 1.0)           # w = φ(x, y)
    >>> structure.decode(w, 0).tolist()
    [1, 1]
    >>> structure.weights(w, "pair")
    array([[0., 0., 0., 1.]], dtype=float32)
    >>> structure.exactness
    Exactness(decoded=1, inexact=0, unsettled=0)
    """

    core: _core.FactorGraph
    #: What an output type made the graphs from.
    inputs: Sequence[Any] = ()

    def __init__(
        self,
        graphs: Sequence[Graph],
        truth: Sequence[ArrayLike] | None = None,
        *,
        costs: Sequence[ArrayLike | None] | None = None,
        kinds: Kinds | None = None,
        branch: bool = False,
        max_iterations: int = 1000,
        max_nodes: int = 10_000,
        damping: float = 0.3,
        max_sweeps: int = 200,
    ) -> None:
        self.graphs = list(graphs)
        self.kinds = find_kinds(self.graphs) if kinds is None else dict(kinds)
        self._numbers = {name: k for k, name in enumerate(self.kinds)}
        sizes = np.array(list(self.kinds.values()), dtype=np.int64).reshape(-1, 2)
        self.core = _core.FactorGraph(sizes, branch, max_iterations, max_nodes, damping, max_sweeps)
        for name, given in (("true outputs", truth), ("costs", costs)):
            if given is not None and len(given) != len(self.graphs):
                raise InputError(f"there are {len(self.graphs)} graphs, but {len(given)} {name}")
        self.truth = None if truth is None else [np.asarray(y, dtype=np.int32) for y in truth]
        self._shapes: dict[Any, int] = {}
        self._ties: dict[bytes, int] = {}
        self._arrays: list[NDArray[Any] | None] = [sizes]
        self.is_forest = True
        for i, graph in enumerate(self.graphs):
            self._add(i, graph, None if costs is None else costs[i])

    def has_exact_inference(self, sums: bool) -> bool:
        """Sums over graphs with loops are Bethe's estimates; the best outputs are counted."""
        return self.is_forest or not sums

    def best(self, w: _core.Weights, i: int, cost_weight: float = 0.0) -> Best:
        """What decode finds, with its score, a bound, and whether it is proven the best."""
        with self.translating_errors():
            return Best(*self.core.best(w, self._example(i, cost_weight), cost_weight))

    def expectation(
        self, w: _core.Weights, i: int, beta: float = 1.0, gamma: float = 0.0
    ) -> Marginals:
        """What p(y) ∝ exp β(w·φ(y) + γΔ(y)) says of every variable and soft factor.

        ``log_partition`` is (1/β) log Σ_y exp β(w·φ(y) + γΔ(y)).
        """
        check_beta(beta)
        with self.translating_errors():
            found = self.core.marginals(w, self._example(i, gamma), beta, gamma)
        return self.graphs[i].split_marginals(*found)

    def weights(self, w: _core.Weights, kind: str) -> NDArray[np.float32]:
        """The weights of a kind of factors: [features, configurations]."""
        if kind not in self.kinds:
            raise InputError(f"no factors of kind {kind!r}; there are {', '.join(self.kinds)}")
        begin = 0
        for name, (features, configurations) in self.kinds.items():
            if name == kind:
                break
            begin += features * configurations
        features, configurations = self.kinds[kind]
        return w.array[begin : begin + features * configurations].reshape(features, -1)

    @property
    def unproven(self) -> int:  # type: ignore[override]
        return self.core.inexact

    @property
    def exactness(self) -> Exactness:
        """How much of what was answered so far is proven."""
        return Exactness(self.core.decoded, self.core.inexact, self.core.unsettled)

    def checked_output(self, i: int, output: ArrayLike) -> NDArray[np.int32]:
        values = np.ascontiguousarray(output, dtype=np.int32)
        self.graphs[i].check_assignment(values, f"example {i + 1}")
        return values

    def name_example(self, i: int, part: int) -> str:
        if part < -1:
            return f"example {i + 1} (after max_nodes nodes of the search)"
        if part < 0:
            return f"example {i + 1}"
        return f"example {i + 1}, {self.graphs[i].name_factor(part)}"

    def digest(self) -> str:
        return digest_of(self._arrays)

    def _add(self, i: int, graph: Graph, costs: ArrayLike | None) -> None:
        where = f"example {i + 1}"
        shape = self._shape(i, graph)
        rows = []
        for block in graph.blocks:
            if isinstance(block, Tables) and block.kinds:
                rows.extend(self._rows(block))
        truth = None
        if self.truth is not None:
            truth = np.ascontiguousarray(self.truth[i])
            graph.check_assignment(truth, f"{where}: the truth")
        given = None if costs is None else self._costs(where, graph, costs, truth)
        self.core.add_example(shape, rows, truth, given)
        self._arrays.extend([truth, given])
        self.is_forest = self.is_forest and graph.is_forest
        if truth is not None:
            violated = self.core.violated(i, truth)
            if violated >= 0:
                raise InputError(f"{self.name_example(i, violated)}: it forbids the true output")

    def _costs(
        self, where: str, graph: Graph, costs: ArrayLike, truth: NDArray[np.int32] | None
    ) -> NDArray[np.float32]:
        values = np.ascontiguousarray(costs, dtype=np.float32)
        states = graph.states
        if values.shape != (int(states.sum()),):
            raise InputError(f"{where}: {values.size} costs for {int(states.sum())} states")
        if not np.isfinite(values).all() or (values < 0).any():
            raise InputError(f"{where}: costs must be finite and at least 0")
        if truth is not None and values[np.cumsum(states) - states + truth].any():
            raise InputError(f"{where}: the true states must cost 0")
        return values

    def _shape(self, i: int, graph: Graph) -> int:
        """The number of the graph's shape; graphs of one shape share the core's graph."""
        key: list[Any] = [graph.states.tobytes()]
        for block in graph.blocks:
            if isinstance(block, Hard):
                key.append((block.name, block.literals.tobytes(), block.least, block.most))
                key.append((id(block.own), block.words, block.projective, block.single_root))
                key.append(None if block.arcs is None else block.arcs.tobytes())
            else:
                key.append((block.kinds, block.variables.tobytes(), block.variables.shape))
                key.append(None if block.tie is None else block.tie.tobytes())
                key.append(None if block.scores is None else block.scores.tobytes())
        known = self._shapes.get(tuple(key))
        if known is None:
            known = self.core.add_shape(graph.core, *self._blocks(i, graph))
            self._shapes[tuple(key)] = known
        self._arrays.append(np.array([known]))
        return known

    def _blocks(self, i: int, graph: Graph) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        blocks: list[tuple[int, int, int, int, int]] = []
        fixed = [np.empty(0)]
        first = 0
        for block in graph.blocks:
            if isinstance(block, Hard):
                if block.own is not None and hasattr(block.own, "score"):
                    raise InputError(
                        f"{self.name_example(i, first)}: factors of your own may forbid here, but "
                        "not score; what is to be learned goes into soft factors"
                    )
                first += 1
                continue
            count, entries = len(block.variables), int(np.prod(block.shape))
            if block.kinds:
                self._check_kinds(i, first, block)
                for begin, length, kind, step in self._runs(block):
                    blocks.append((first + begin, length, kind, step, self._tie(block.tie)))
                fixed.append(np.zeros(count * entries))
            else:
                scores = block.scores if block.scores is not None else np.empty(0)
                if (scores[np.isfinite(scores)] != 0).any():
                    raise InputError(
                        f"{self.name_example(i, first)}: given scores may only forbid (0 or −∞); "
                        "what is to be learned goes into soft factors"
                    )
                fixed.append(scores.ravel())
            first += count
        return np.array(blocks, dtype=np.int32).reshape(-1, 5), np.concatenate(fixed)

    def _runs(self, block: Tables) -> list[tuple[int, int, int, int]]:
        """(first factor, factors, kind, step from one factor's kind to the next)."""
        numbers = [self._numbers[kind] for kind in block.kinds]
        count = len(block.variables)
        if len(numbers) == 1:
            return [(0, count, numbers[0], 0)]
        if numbers == list(range(numbers[0], numbers[0] + count)):
            return [(0, count, numbers[0], 1)]
        return [(k, 1, number, 0) for k, number in enumerate(numbers)]

    def _rows(self, block: Tables) -> list[tuple[Any, Any, Any, int]]:
        features: Any = block.features
        step = 1 if features.shape[0] > 1 or len(block.variables) == 1 else 0
        runs = self._runs(block)
        parts = []
        for begin, length, _, _ in runs:
            rows = features
            if len(runs) > 1 and step and len(block.variables) > 1:
                rows = features[begin : begin + length]
            if is_sparse(rows):
                offsets = rows.indptr.astype(np.int64)
                ids = rows.indices.astype(np.int32)
                parts.append((np.ascontiguousarray(rows.data), ids, offsets, step))
                self._arrays.extend([rows.data, ids, offsets])
            else:
                parts.append((rows.ravel(), None, None, step))
                self._arrays.append(rows)
        return parts

    def _tie(self, tie: NDArray[np.int32] | None) -> int:
        if tie is None:
            return -1
        key = tie.tobytes()
        if key not in self._ties:
            self._ties[key] = self.core.add_tie(tie.ravel())
        return self._ties[key]

    def _check_kinds(self, i: int, first: int, block: Tables) -> None:
        """The kinds that another structure has must fit these factors."""
        features = 0 if block.features is None else int(block.features.shape[1])
        configurations = configurations_of(block)
        for k, kind in enumerate(block.kinds):
            where = self.name_example(i, first + k)
            if kind not in self.kinds:
                raise InputError(
                    f"{where}: no factors of this kind were known when the weights were made"
                )
            expected = self.kinds[kind]
            if features != expected[0]:
                raise InputError(
                    f"{where}: {plural(features, 'feature')}; this kind has {expected[0]}"
                )
            good = configurations == expected[1] if block.tie is None else True
            if not good or configurations > expected[1]:
                raise InputError(
                    f"{where}: {configurations} configurations; this kind has {expected[1]}"
                )


def configurations_of(block: Tables) -> int:
    """How many configurations the factors of a block have."""
    return int(np.prod(block.shape)) if block.tie is None else int(block.tie.max()) + 1


def find_kinds(graphs: Sequence[Graph]) -> Kinds:
    """The kinds of soft factors in the order in which they are met."""
    kinds: Kinds = {}
    for i, graph in enumerate(graphs):
        first = 0
        for block in graph.blocks:
            if isinstance(block, Hard):
                first += 1
                continue
            for k, kind in enumerate(block.kinds):
                assert block.features is not None
                features, configurations = int(block.features.shape[1]), configurations_of(block)
                known = kinds.get(kind, (features, configurations))
                if known[0] != features or (block.tie is None and known[1] != configurations):
                    raise InputError(
                        f"example {i + 1}, {graph.name_factor(first + k)}: "
                        f"{plural(features, 'feature')} and "
                        f"{configurations} configurations; elsewhere {known[0]} and {known[1]}"
                    )
                kinds[kind] = (features, max(configurations, known[1]))
            first += len(block.variables)
    return kinds
