"""Structures: what the outputs of an example are, their features and their cost."""

from dualstruct.structures.base import Structure
from dualstruct.structures.chain import Chain, Expectation
from dualstruct.structures.custom import CompiledDecoder, CustomStructure
from dualstruct.structures.template import Template
from dualstruct.structures.tree import Tree, TreeColumns, TreeExpectation

__all__ = [
    "Chain",
    "CompiledDecoder",
    "CustomStructure",
    "Expectation",
    "Structure",
    "Template",
    "Tree",
    "TreeColumns",
    "TreeExpectation",
]
