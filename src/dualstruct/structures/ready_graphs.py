"""Ready factor graphs for StructuredSVM: label sets, graphs and grids of labels, k-gram chains.

Each turns x, arrays of features, into a graph; features go to the core as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct.data.schema import Range, fit_type
from dualstruct.errors import InputError
from dualstruct.graphs import Graph, chain_edges, complete_edges, grid_edges
from dualstruct.printable import plural
from dualstruct.structures.factor_graph import Kinds
from dualstruct.structures.graph_output import GraphOutput
from dualstruct.structures.multiclass import find_labels, number_labels, pack_labels


class MultiLabel(GraphOutput):
    """Any subset of the labels: y is an array of 0 and 1, one for each label.

    Every label has weights for the features, and pairs of labels have a table of their own: which
    go together is learned. Cost is the number of wrong labels.

    Parameters
    ----------
    pairs : "all", "none" or array [pairs, 2]
        Which labels interact. Pairs that form a tree make everything exact.
    branch : bool
        Search until the best set is proven; otherwise AD3's answer is taken, and counted.
    intercept : bool
        Whether every label has a weight of its own besides those of the features.

    Examples
    --------
    >>> from dualstruct import StructuredSVM
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> Y = [[1, 1, 0], [0, 0, 1], [1, 1, 1]]
    >>> svm = StructuredSVM(MultiLabel(), C=10.0).fit(X, Y)
    >>> [y.tolist() for y in svm.predict(X)]
    [[1, 1, 0], [0, 0, 1], [1, 1, 1]]
    """

    labels_: int
    features_: int

    def __init__(
        self, pairs: str | ArrayLike = "all", branch: bool = False, intercept: bool = True
    ) -> None:
        self.pairs = pairs
        self.branch = branch
        self.intercept = intercept

    def learn_kinds(self, X: Sequence[Any], Y: Sequence[Any]) -> Kinds:
        self.labels_ = np.size(Y[0])
        self.features_ = np.size(X[0])
        if self.labels_ == 0:
            raise InputError("there are no labels")
        self._prepare()
        width = self.features_ + self.intercept
        kinds: Kinds = dict.fromkeys(self._unary, (width, 2))
        kinds.update(dict.fromkeys(self._pair, (1, 4)))
        return kinds

    def _prepare(self) -> None:
        count = self.labels_
        if isinstance(self.pairs, str):
            if self.pairs not in ("all", "none"):
                raise InputError(f"pairs is {self.pairs!r}; it must be 'all', 'none' or an array")
            edges = complete_edges(count if self.pairs == "all" else 0)
        else:
            edges = np.asarray(self.pairs, dtype=np.int32).reshape(-1, 2)
        self._edges = edges
        self._unary = [f"label {k}" for k in range(count)]
        self._pair = [f"labels {a} and {b}" for a, b in edges.tolist()]

    def graph(self, x: Any) -> Graph:
        values = np.asarray(x, dtype=np.float32)
        if values.shape != (self.features_,):
            raise InputError(f"features of shape {values.shape}, not {(self.features_,)}")
        graph = Graph()
        labels = graph.variables(self.labels_)
        row = np.append(values, np.float32(1)) if self.intercept else values
        graph.factor(self._unary, labels[:, None], row)
        if len(self._edges):
            graph.factor(self._pair, self._edges)
        return graph

    def assignment(self, x: Any, y: Any) -> NDArray[np.int32]:
        return np.asarray(y, dtype=np.int32)

    def output(self, x: Any, assignment: NDArray[np.int32]) -> NDArray[np.int32]:
        return assignment

    def metadata(self) -> dict[str, Any]:
        return {"labels": self.labels_, "features": self.features_}

    def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        stored = fit_type(_Metadata, dict(metadata), "structure")
        self.labels_, self.features_ = stored.labels, stored.features
        pairs = self.labels_ * (self.labels_ - 1) // 2 if self.pairs == "all" else 0
        if max(self.labels_, pairs) > len(self.kinds_):  # of which there is one for each of them
            raise InputError(f"structure.labels is {self.labels_:,}, and its kinds are fewer")
        self._prepare()


@dataclass(frozen=True)
class _Metadata:
    labels: Annotated[int, Range(0, 2**20)]
    features: Annotated[int, Range(0, 2**31)]


@dataclass(frozen=True)
class _Labels:
    labels: list[str | int | float | bool]


class Labelled(GraphOutput):
    """Variables that all have the same labels, of any type."""

    labels_: list[Any]

    def number(self, y: Any) -> NDArray[np.int32]:
        return number_labels(np.asarray(y).ravel().tolist(), self.labels_, "variable")

    def names(self, assignment: NDArray[np.int32]) -> NDArray[Any]:
        return np.array(self.labels_)[assignment]

    def learn_labels(self, Y: Sequence[Any]) -> None:
        self.labels_ = find_labels(label for y in Y for label in np.asarray(y).ravel().tolist())

    def metadata(self) -> dict[str, Any]:
        return {"labels": pack_labels(self.labels_)}

    def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        self.labels_ = fit_type(_Labels, dict(metadata), "structure").labels


class GraphCRF(Labelled):
    """A label for every node of a graph, with features of nodes and of edges.

    x is (nodes, edges) or (nodes, edges, edge features): arrays [n, features], [m, 2] and
    [m, edge features]; y has a label for each node. Cost is the number of wrong labels.

    Parameters
    ----------
    symmetric : bool
        Whether an edge (a, b) is the same as (b, a): then so are its weights.
    branch : bool
        Search graphs with loops until the best labelling is proven.

    Examples
    --------
    >>> from dualstruct import StructuredSVM
    >>> nodes = np.array([[1.0], [0.1], [-0.1], [-1.0]])
    >>> edges = np.array([[0, 1], [1, 2], [2, 3]])
    >>> same = np.array([[1.0], [0.0], [1.0]])
    >>> X, Y = [(nodes, edges, same)], [["up", "up", "down", "down"]]
    >>> svm = StructuredSVM(GraphCRF(), C=10.0).fit(X, Y)
    >>> svm.predict(X)[0].tolist()
    ['up', 'up', 'down', 'down']
    """

    def __init__(self, symmetric: bool = False, branch: bool = False) -> None:
        self.symmetric = symmetric
        self.branch = branch

    def learn_kinds(self, X: Sequence[Any], Y: Sequence[Any]) -> Kinds:
        self.learn_labels(Y)
        nodes, _, features = self._parts(X[0])
        width = 1 if features is None else features.shape[1]
        K = len(self.labels_)
        pairs = K * (K + 1) // 2 if self.symmetric else K * K
        return {"node": (nodes.shape[1], K), "edge": (width, pairs)}

    def _parts(self, x: Any) -> tuple[Any, NDArray[Any], Any]:
        if not isinstance(x, (tuple, list)) or len(x) not in (2, 3):
            raise InputError("x must be (nodes, edges) or (nodes, edges, edge features)")
        nodes = np.asarray(x[0], dtype=np.float32)
        if nodes.ndim != 2:
            raise InputError(f"nodes of shape {nodes.shape}; they take [nodes, features]")
        edges = np.asarray(x[1])
        edges = edges.reshape(0, 2).astype(np.int32) if edges.size == 0 else edges
        features = None if len(x) == 2 else np.asarray(x[2], dtype=np.float32)
        if features is not None and (features.ndim != 2 or len(features) != len(edges)):
            raise InputError(
                f"edge features of shape {features.shape} for {plural(len(edges), 'edge')}; "
                "they take [edges, features]"
            )
        return nodes, edges, features

    def graph(self, x: Any) -> Graph:
        nodes, edges, features = self._parts(x)
        K = len(self.labels_)
        graph = Graph()
        variables = graph.variables(len(nodes), K)
        if len(nodes):
            graph.factor("node", variables[:, None], nodes)
        if len(edges):
            graph.factor("edge", edges, features, symmetric_tie(K) if self.symmetric else None)
        return graph

    def assignment(self, x: Any, y: Any) -> NDArray[np.int32]:
        return self.number(y)

    def output(self, x: Any, assignment: NDArray[np.int32]) -> NDArray[Any]:
        return self.names(assignment)


class Grid(Labelled):
    """A label for every cell of a grid, such as the pixels of an image.

    x is an array [height, width, features], or (cells, across, down) with features of the edges
    between neighbours: arrays [height, width − 1, edge features] and [height − 1, width, edge
    features]. y is an array [height, width] of labels. Cost is the number of wrong labels.

    Parameters
    ----------
    symmetric : bool
        Whether it makes no difference on which side of an edge a label is.
    branch : bool
        Search until the best labelling is proven.

    Examples
    --------
    >>> from dualstruct import StructuredSVM
    >>> rng = np.random.default_rng(0)
    >>> y = np.zeros((6, 6), dtype=int)
    >>> y[:, 3:] = 1
    >>> X = [np.stack([y + rng.normal(size=y.shape), np.ones_like(y)], axis=2) for _ in range(4)]
    >>> svm = StructuredSVM(Grid(), C=1.0).fit(X, [y] * 4)
    >>> bool((svm.predict(X)[0] == y).mean() > 0.9)
    True
    """

    def __init__(self, symmetric: bool = True, branch: bool = False) -> None:
        self.symmetric = symmetric
        self.branch = branch

    def learn_kinds(self, X: Sequence[Any], Y: Sequence[Any]) -> Kinds:
        self.learn_labels(Y)
        cells, across, _ = self._parts(X[0])
        width = 1 if across is None else across.shape[2]
        K = len(self.labels_)
        pairs = K * (K + 1) // 2 if self.symmetric else K * K
        return {"cell": (cells.shape[2], K), "across": (width, pairs), "down": (width, pairs)}

    def _parts(self, x: Any) -> tuple[NDArray[np.float32], Any, Any]:
        cells, across, down = x if isinstance(x, (tuple, list)) else (x, None, None)
        cells = np.asarray(cells, dtype=np.float32)
        if cells.ndim != 3:
            raise InputError(f"cells of shape {cells.shape}; they take [height, width, features]")
        if across is None:
            return cells, None, None
        height, width = cells.shape[:2]
        across, down = (np.asarray(e, dtype=np.float32) for e in (across, down))
        for name, edge, shape in (
            ("across", across, (height, width - 1)),
            ("down", down, (height - 1, width)),
        ):
            if edge.ndim != 3 or edge.shape[:2] != shape:
                raise InputError(f"{name} of shape {edge.shape}, not {(*shape, 'features')}")
        return cells, across, down

    def graph(self, x: Any) -> Graph:
        cells, across, down = self._parts(x)
        height, width, features = cells.shape
        K = len(self.labels_)
        graph = Graph()
        variables = graph.variables(height * width, K)
        graph.factor("cell", variables[:, None], cells.reshape(-1, features))
        edges = grid_edges(height, width)
        tie = symmetric_tie(K) if self.symmetric else None
        sideways = height * (width - 1)
        for name, part, values in (
            ("across", edges[:sideways], across),
            ("down", edges[sideways:], down),
        ):
            if len(part):
                rows = None if values is None else values.reshape(-1, values.shape[2])
                graph.factor(name, part, rows, tie)
        return graph

    def assignment(self, x: Any, y: Any) -> NDArray[np.int32]:
        shape = self._parts(x)[0].shape[:2]
        if np.shape(y) != shape:
            raise InputError(f"labels of shape {np.shape(y)} for cells of {shape}")
        return self.number(y)

    def output(self, x: Any, assignment: NDArray[np.int32]) -> NDArray[Any]:
        return self.names(assignment).reshape(self._parts(x)[0].shape[:2])


class KGramChain(Labelled):
    """A label for every position of a sequence, scored by runs of up to k labels.

        w·φ = Σ_t x_t · W[:, y_t] + Σ_n Σ_t z_t · T_n[:, y_t−n+1 … y_t],   n = 2 … k

    The variables are the last k − 1 labels at each position, so that the graph stays a chain and
    every answer is exact. x is an array [positions, features], or (x, z) where z, an array
    [positions, pair features], holds the features of the runs that end there (1 by default).
    Cost is the number of wrong labels.

    Parameters
    ----------
    k : int
        The longest run.

    Examples
    --------
    >>> from dualstruct import StructuredSVM
    >>> X = [np.ones((6, 1)), np.ones((7, 1))]
    >>> Y = [list("aabaab"), list("aabaaba")]          # only the last two labels determine the next
    >>> svm = StructuredSVM(KGramChain(k=3), C=10.0).fit(X, Y)
    >>> "".join(svm.predict([np.ones((8, 1))])[0])
    'aabaabaa'
    """

    def __init__(self, k: int = 3) -> None:
        self.k = k

    def learn_kinds(self, X: Sequence[Any], Y: Sequence[Any]) -> Kinds:
        if self.k < 1:
            raise InputError(f"k is {self.k}; it must be at least 1")
        self.learn_labels(Y)
        values, of_runs = self._parts(X[0])
        K = len(self.labels_)
        kinds: Kinds = {"1-gram": (values.shape[1], K)}
        width = 1 if of_runs is None else of_runs.shape[1]
        kinds.update({f"{n}-gram": (width, K**n) for n in range(2, self.k + 1)})
        return kinds

    def _parts(self, x: Any) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        values, of_runs = x if isinstance(x, tuple) else (x, None)
        values = np.asarray(values, dtype=np.float32)
        if values.ndim != 2:
            raise InputError(f"features of shape {values.shape}; they take [positions, features]")
        if of_runs is not None:
            of_runs = np.asarray(of_runs, dtype=np.float32)
            if of_runs.ndim != 2 or len(of_runs) != len(values):
                raise InputError(
                    f"features of runs of shape {of_runs.shape} for {len(values)} positions"
                )
        return values, of_runs

    def _remembered(self, t: int) -> int:
        """How many labels the variable at position t holds."""
        return min(t + 1, max(self.k - 1, 1))

    def graph(self, x: Any) -> Graph:
        values, of_runs = self._parts(x)
        K, length = len(self.labels_), len(values)
        graph = Graph()
        for t in range(length):
            graph.variable(K ** self._remembered(t))
        # Positions that remember as much as those to come share their factors' shape.
        for t in range(length):
            if t == 0 or self._remembered(t) != self._remembered(t - 1):
                alike = [s for s in range(length) if self._remembered(s) == self._remembered(t)]
                own = np.array(alike, dtype=np.int32)[:, None]
                states = np.arange(K ** self._remembered(t))
                graph.factor("1-gram", own, values[alike], states % K)
                for n in range(2, self._remembered(t) + 1):
                    rows = None if of_runs is None else of_runs[alike]
                    graph.factor(f"{n}-gram", own, rows, states % K**n)
        # Neighbours agree on what both remember; once the memory is full they make a k-gram.
        for t in range(1, min(length, max(self.k - 1, 1))):
            graph.table([t - 1, t], np.where(self._runs(t) < 0, -np.inf, 0.0))
        full = max(self.k - 1, 1)
        if self.k > 1 and length > full:
            rows = None if of_runs is None else of_runs[full:]
            pairs = chain_edges(length)[full - 1 :]
            graph.factor(f"{self.k}-gram", pairs, rows, self._runs(full))
        return graph

    def _runs(self, t: int) -> NDArray[np.int32]:
        """The run of labels that each pair of states at t − 1 and t makes; −1: they disagree."""
        K, before, after = len(self.labels_), self._remembered(t - 1), self._remembered(t)
        old = np.arange(K**before)[:, None]
        new = np.arange(K**after)[None, :]
        shared = after - 1
        agrees = old % K**shared == new // K
        return np.where(agrees, old * K + new % K, -1).astype(np.int32)

    def assignment(self, x: Any, y: Any) -> NDArray[np.int32]:
        numbers, K = self.number(y).tolist(), len(self.labels_)
        if len(numbers) != len(self._parts(x)[0]):
            raise InputError(
                f"{plural(len(numbers), 'label')} for {plural(len(self._parts(x)[0]), 'position')}"
            )
        states = []
        for t in range(len(numbers)):
            state = 0
            for label in numbers[t + 1 - self._remembered(t) : t + 1]:
                state = state * K + label
            states.append(state)
        return np.array(states, dtype=np.int32)

    def costs(self, x: Any, assignment: NDArray[np.int32]) -> NDArray[np.float32] | None:
        K = len(self.labels_)
        parts = [
            np.arange(K ** self._remembered(t)) % K != state % K
            for t, state in enumerate(assignment)
        ]
        return np.concatenate([np.empty(0), *parts]).astype(np.float32)

    def output(self, x: Any, assignment: NDArray[np.int32]) -> list[Any]:
        return [self.labels_[state % len(self.labels_)] for state in assignment]


def symmetric_tie(labels: int) -> NDArray[np.int32]:
    """One configuration for (a, b) and (b, a).

    >>> symmetric_tie(2).tolist()
    [[0, 1], [1, 2]]
    """
    tie = np.zeros((labels, labels), dtype=np.int32)
    upper = np.triu_indices(labels)
    tie[upper] = np.arange(len(upper[0]), dtype=np.int32)
    tie.T[upper] = tie[upper]
    return tie
