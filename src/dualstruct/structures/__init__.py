"""Structures: what the outputs of an example are, their features and their cost."""

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names
from dualstruct.renamed import old_names

if TYPE_CHECKING:
    from dualstruct.structures.base import Structure as Structure
    from dualstruct.structures.chain import Chain as Chain
    from dualstruct.structures.chain import Expectation as Expectation
    from dualstruct.structures.check import StructureError as StructureError
    from dualstruct.structures.check import StructureReport as StructureReport
    from dualstruct.structures.check import check_structure as check_structure
    from dualstruct.structures.custom import CompiledDecoder as CompiledDecoder
    from dualstruct.structures.custom import CustomStructure as CustomStructure
    from dualstruct.structures.factor_graph import FactorGraph as FactorGraph
    from dualstruct.structures.graph_output import FactorGraphOutput as FactorGraphOutput
    from dualstruct.structures.multiclass import Multiclass as Multiclass
    from dualstruct.structures.output_type import OutputType as OutputType
    from dualstruct.structures.ready_graphs import GraphCRF as GraphCRF
    from dualstruct.structures.ready_graphs import Grid as Grid
    from dualstruct.structures.ready_graphs import KGramChain as KGramChain
    from dualstruct.structures.ready_graphs import MultiLabel as MultiLabel
    from dualstruct.structures.second_order_tree import PrunedArcs as PrunedArcs
    from dualstruct.structures.second_order_tree import SecondOrderTree as SecondOrderTree
    from dualstruct.structures.second_order_tree import prune_arcs as prune_arcs
    from dualstruct.structures.subset import Subset as Subset
    from dualstruct.structures.tree import Tree as Tree
    from dualstruct.structures.tree import TreeColumns as TreeColumns
    from dualstruct.structures.tree import TreeExpectation as TreeExpectation

_HOMES = {
    "structures.base": "Structure",
    "structures.chain": "Chain Expectation",
    "structures.check": "StructureError StructureReport check_structure",
    "structures.custom": "CompiledDecoder CustomStructure",
    "structures.factor_graph": "FactorGraph",
    "structures.graph_output": "FactorGraphOutput",
    "structures.multiclass": "Multiclass",
    "structures.output_type": "OutputType",
    "structures.ready_graphs": "GraphCRF Grid KGramChain MultiLabel",
    "structures.second_order_tree": "PrunedArcs SecondOrderTree prune_arcs",
    "structures.subset": "Subset",
    "structures.tree": "Tree TreeColumns TreeExpectation",
}

_old_name = old_names(
    __name__,
    {
        "FactorGraphs": "structures.graph_output.FactorGraphOutput",
        "Template": "structures.output_type.OutputType",
    },
)
__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES, _old_name)
