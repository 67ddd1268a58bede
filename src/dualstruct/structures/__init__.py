"""Structures: what the outputs of an example are, their features and their cost."""

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names
from dualstruct.renamed import old_names

if TYPE_CHECKING:
    from dualstruct.structures.base import Structure
    from dualstruct.structures.chain import Chain, Expectation
    from dualstruct.structures.check import StructureError, StructureReport, check_structure
    from dualstruct.structures.custom import CompiledDecoder, CustomStructure
    from dualstruct.structures.factor_graph import FactorGraph
    from dualstruct.structures.graph_output import FactorGraphOutput
    from dualstruct.structures.multiclass import Multiclass
    from dualstruct.structures.output_type import OutputType
    from dualstruct.structures.ready_graphs import GraphCRF, Grid, KGramChain, MultiLabel
    from dualstruct.structures.second_order_tree import PrunedArcs, SecondOrderTree, prune_arcs
    from dualstruct.structures.subset import Subset
    from dualstruct.structures.tree import Tree, TreeColumns, TreeExpectation

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

__all__ = [
    "Chain",
    "CompiledDecoder",
    "CustomStructure",
    "Expectation",
    "FactorGraph",
    "FactorGraphOutput",
    "GraphCRF",
    "Grid",
    "KGramChain",
    "MultiLabel",
    "Multiclass",
    "OutputType",
    "PrunedArcs",
    "SecondOrderTree",
    "Structure",
    "StructureError",
    "StructureReport",
    "Subset",
    "Tree",
    "TreeColumns",
    "TreeExpectation",
    "check_structure",
    "prune_arcs",
]

_old_name = old_names(
    __name__,
    {
        "FactorGraphs": "structures.graph_output.FactorGraphOutput",
        "Template": "structures.output_type.OutputType",
    },
)
__getattr__, __dir__ = lazy_names(__name__, _HOMES, _old_name)
