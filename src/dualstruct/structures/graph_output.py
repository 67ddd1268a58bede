"""Outputs that are assignments of factor graphs: from x and y to a graph, and back."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import Range, fit_type, stored_array
from dualstruct.errors import InputError
from dualstruct.graphs import Graph
from dualstruct.renamed import old_names
from dualstruct.structures.base import Structure
from dualstruct.structures.factor_graph import Exactness, FactorGraph, Kinds, find_kinds
from dualstruct.structures.output_type import OutputType, check_size

if TYPE_CHECKING:
    from typing_extensions import Self

Count = Annotated[int, Range(0, 2**31)]

__getattr__ = old_names(__name__, {"FactorGraphs": "structures.graph_output.FactorGraphOutput"})


class GraphOutput(OutputType):
    """What outputs of factor graphs share: they turn x into a graph and y into an assignment."""

    branch: bool = False
    kinds_: Kinds
    #: How much of the latest predictions is proven.
    exactness_: Exactness

    def learn(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        known = copy.copy(self)
        known.kinds_ = known.learn_kinds(X, Y)
        return known

    def learn_kinds(self, X: Sequence[Any], Y: Sequence[Any]) -> Kinds:
        """The kinds of factors in the training data; what else there is to learn is kept."""
        raise NotImplementedError

    def graph(self, x: Any) -> Graph:
        raise NotImplementedError

    def assignment(self, x: Any, y: Any) -> NDArray[np.int32]:
        """A user's output as states of the variables."""
        raise NotImplementedError

    def output(self, x: Any, assignment: NDArray[np.int32]) -> Any:
        """States of the variables as a user's output."""
        raise NotImplementedError

    def costs(self, x: Any, assignment: NDArray[np.int32]) -> NDArray[np.float32] | None:
        """The cost of every state, where it is not Hamming cost."""
        return None

    def bind(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> FactorGraph:
        graphs, truth, costs = [], [], []
        for i in range(len(X)):
            try:
                graphs.append(self.graph(X[i]))
                if Y is not None:
                    truth.append(self.assignment(X[i], Y[i]))
                    costs.append(self.costs(X[i], truth[-1]))
            except InputError as error:
                raise InputError(f"example {i + 1}: {error}") from None
        bound = FactorGraph(
            graphs,
            truth if Y is not None else None,
            costs=costs if Y is not None and any(c is not None for c in costs) else None,
            kinds=self.kinds_,
            branch=self.branch,
        )
        bound.inputs = X
        return bound

    def predict(self, bound: Structure, w: _core.Weights, threads: int = 1) -> list[Any]:
        assert isinstance(bound, FactorGraph)
        flat = bound.decode_all(w, 0.0, threads)
        self.exactness_ = bound.exactness
        ends = np.cumsum([len(graph.states) for graph in bound.graphs], dtype=int)
        return (
            [
                self.output(x, y)
                for x, y in zip(bound.inputs, np.split(flat, ends[:-1]), strict=True)
            ]
            if len(ends)
            else []
        )

    def predict_k_best(
        self, bound: Structure, w: _core.Weights, k: int
    ) -> list[list[tuple[float, Any]]]:
        assert isinstance(bound, FactorGraph)
        return [
            [(score, self.output(x, y)) for score, y in bound.k_best(w, i, k)]
            for i, x in enumerate(bound.inputs)
        ]

    def cost(self, truth: Any, y: Any) -> float:
        return float(np.sum(np.asarray(truth) != np.asarray(y)))

    def weights(self, w: _core.Weights) -> dict[str, NDArray[np.float32]]:
        """The weights of each kind of factors: [features, configurations]."""
        empty = self.bind([])
        return {kind: empty.weights(w, kind) for kind in self.kinds_}

    def metadata(self) -> dict[str, Any]:
        """What was learned besides the kinds, as JSON."""
        return {}

    def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        """The counterpart of :meth:`metadata`."""

    def state(self, w: _core.Weights) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        kinds = [[name, *sizes] for name, sizes in self.kinds_.items()]
        return {"kinds": kinds, **self.metadata()}, {"w": w.array}

    def restore(
        self, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> tuple[Self, _core.Weights]:
        known = copy.copy(self)
        stored = fit_type(_Metadata, dict(metadata), "structure")
        known.kinds_ = {name: (features, states) for name, features, states in stored.kinds}
        w = stored_array(arrays, "w", np.float32)
        check_size("structure.kinds", sum(a * b for a, b in known.kinds_.values()), w)
        known.set_metadata(metadata)
        return known, known.bind([]).new_weights(w)


@dataclass(frozen=True)
class _Metadata:
    """What a file says of kinds of factors, besides arrays."""

    kinds: list[tuple[str, Count, Count]]


class FactorGraphOutput(GraphOutput):
    """Factor graphs that you build yourself: x is a :class:`~dualstruct.graphs.Graph`.

    Outputs are arrays with a state for every variable, and cost 1 for each wrong one.

    Parameters
    ----------
    branch : bool
        Search graphs with loops until the best output is proven.

    Examples
    --------
    >>> from dualstruct import StructuredSVM
    >>> def graph(x):
    ...     g = Graph()
    ...     g.factor("unary", g.variables(len(x))[:, None], np.array(x)[:, None])
    ...     g.exactly_one(list(range(len(x))))
    ...     return g
    >>> X = [graph([3.0, 1.0, 2.0]), graph([0.5, 2.5])]
    >>> svm = StructuredSVM(FactorGraphOutput()).fit(X, [[1, 0, 0], [0, 1]])
    >>> [y.tolist() for y in svm.predict([graph([1.0, 4.0, 3.0])])]
    [[0, 1, 0]]
    """

    def __init__(self, branch: bool = False) -> None:
        self.branch = branch

    def learn_kinds(self, X: Sequence[Any], Y: Sequence[Any]) -> Kinds:
        return find_kinds(X)

    def graph(self, x: Any) -> Graph:
        if not isinstance(x, Graph):
            raise InputError(f"a graph is expected, not {type(x).__name__}")
        return x

    def assignment(self, x: Any, y: Any) -> NDArray[np.int32]:
        return np.asarray(y, dtype=np.int32)

    def output(self, x: Any, assignment: NDArray[np.int32]) -> Any:
        return assignment
