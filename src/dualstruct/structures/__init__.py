"""Structures: what the outputs of an example are, their features and their cost."""

from dualstruct.structures.base import Structure
from dualstruct.structures.chain import Chain, Expectation
from dualstruct.structures.custom import CompiledDecoder, CustomStructure
from dualstruct.structures.second_order_tree import PrunedArcs, SecondOrderTree, prune_arcs
from dualstruct.structures.template import Template
from dualstruct.structures.tree import Tree, TreeColumns, TreeExpectation

__all__ = [
    "Chain",
    "CompiledDecoder",
    "CustomStructure",
    "Expectation",
    "PrunedArcs",
    "SecondOrderTree",
    "Structure",
    "Template",
    "Tree",
    "TreeColumns",
    "TreeExpectation",
    "prune_arcs",
]
