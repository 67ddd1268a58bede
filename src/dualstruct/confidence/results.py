"""What confidence comes to, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Entity:
    """A span that was predicted: tokens ``start`` to ``end - 1``, counted from 0."""

    type: str
    start: int
    end: int
    probability: float  #: that exactly these tokens are such a span


@dataclass(frozen=True)
class Reading:
    """One of the k best labellings of a sentence."""

    score: float
    probability: float
    labels: list[str]


@dataclass(frozen=True)
class SentenceConfidence:
    """How probable the predicted labels of a sentence are."""

    labels: list[str]
    probability: float  #: of all of them together
    marginals: list[float]  #: of each label
    entities: list[Entity]  #: of the spans, where labels mark spans
    k_best: list[Reading]  #: as many as were asked for

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class TreeConfidence:
    """How probable the predicted tree of a sentence is."""

    probability: float | None  #: of the whole tree; None at order 2, which does not know it
    heads: list[float]  #: of each word's head
    arcs: list[float] | None  #: of each word's head and relation together; None at order 2

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
