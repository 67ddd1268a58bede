"""Factor graphs without features: a builder, and inference."""

from dualstruct.graphs.edges import chain_edges, complete_edges, grid_edges
from dualstruct.graphs.graph import MAX_TABLE, MAX_VALUE, Graph, contradiction
from dualstruct.graphs.parts import (
    Best,
    Hard,
    Literal,
    LiteralLike,
    Marginals,
    OwnFactor,
    Tables,
)

__all__ = [
    "MAX_TABLE",
    "MAX_VALUE",
    "Best",
    "Graph",
    "Hard",
    "Literal",
    "LiteralLike",
    "Marginals",
    "OwnFactor",
    "Tables",
    "chain_edges",
    "complete_edges",
    "contradiction",
    "grid_edges",
]
