"""What graphs are made of, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Literal(NamedTuple):
    """Something that is on or off: a variable is in a state, or (negated) is in another one."""

    variable: int
    state: int = 1
    negated: bool = False


#: A literal, (variable, state), or the number of a variable with two states: on in state 1.
LiteralLike = Literal | tuple[int, int] | int


class OwnFactor(Protocol):
    """What a factor of the user's has to offer; scores are those of its literals being on.

    It may also have ``score(on) -> float``, which scores a configuration by itself (−∞ forbids it),
    and ``marginals(scores) -> (marginals, log_partition)``, which sum-product needs.
    """

    def maximise(self, scores: NDArray[np.float64]) -> ArrayLike | None:
        """The best allowed configuration: 0 or 1 for every literal; None if there is none."""


class Best(NamedTuple):
    """The best assignment found, and what is known about it."""

    assignment: NDArray[np.int32]  #: [variables]
    score: float
    bound: float  #: no assignment scores more
    exact: bool  #: proven the best: the graph has no loops, or score = bound
    iterations: int  #: of AD3; 0 on graphs without loops
    nodes: int  #: of branch and bound


class Marginals(NamedTuple):
    """What p(y) ∝ exp score(y) says of every variable and every table."""

    variables: list[NDArray[np.float64]]  #: p(v is in state s)
    factors: list[
        NDArray[np.float64]
    ]  #: p(entry) in the shape of the table; empty for hard factors
    log_partition: float  #: Bethe's estimate where it is not exact
    exact: bool  #: the graph has no loops
    converged: bool
    iterations: int


@dataclass
class Tables:
    """A run of soft factors of one kind over as many variables each."""

    variables: NDArray[np.int32]  # [factors, order]
    shape: tuple[int, ...]  # states of the variables
    scores: NDArray[np.float64] | None  # [factors, entries]
    kinds: tuple[str, ...] = ()  # one, or one a factor; empty: the scores are given
    features: NDArray[np.float32] | Any | None = None  # [factors or 1, features]
    tie: NDArray[np.int32] | None = None  # in the shape of the table: configurations


@dataclass
class Hard:
    """A hard factor, or one of the user's."""

    name: str
    literals: NDArray[np.int32]  # [n, 3]: variable, state, negated
    least: int = 0
    most: int = 0
    own: Any = None
    words: int = 0  # of a tree
    arcs: NDArray[np.int32] | None = None  # [n, 2]: head and modifier
    projective: bool = False
    single_root: bool = False
