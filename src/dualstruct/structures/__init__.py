"""Structures: what the outputs of an example are, their features and their cost."""

from dualstruct.structures.base import Structure
from dualstruct.structures.chain import Chain, Expectation
from dualstruct.structures.check import StructureError, StructureReport, check_structure
from dualstruct.structures.custom import CompiledDecoder, CustomStructure
from dualstruct.structures.factor_graph import FactorGraph
from dualstruct.structures.graph_output import FactorGraphs
from dualstruct.structures.graph_templates import GraphCRF, Grid, KGramChain, MultiLabel
from dualstruct.structures.multiclass import Multiclass
from dualstruct.structures.second_order_tree import PrunedArcs, SecondOrderTree, prune_arcs
from dualstruct.structures.subset import Subset
from dualstruct.structures.template import Template
from dualstruct.structures.tree import Tree, TreeColumns, TreeExpectation

__all__ = [
    "Chain",
    "CompiledDecoder",
    "CustomStructure",
    "Expectation",
    "FactorGraph",
    "FactorGraphs",
    "GraphCRF",
    "Grid",
    "KGramChain",
    "MultiLabel",
    "Multiclass",
    "PrunedArcs",
    "SecondOrderTree",
    "Structure",
    "StructureError",
    "StructureReport",
    "Subset",
    "Template",
    "Tree",
    "TreeColumns",
    "TreeExpectation",
    "check_structure",
    "prune_arcs",
]
