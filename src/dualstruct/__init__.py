"""Linear structured prediction by dual methods.

>>> from dualstruct import SequenceTagger
>>> tagger = SequenceTagger(C=1.0)
>>> tagger.fit([["a", "dog"], ["the", "cat"]], [["DET", "NOUN"], ["DET", "NOUN"]])
SequenceTagger(C=1.0)
>>> tagger.predict([["the", "dog"]])
[['DET', 'NOUN']]
"""

from dualstruct.data.columns import read_columns, write_columns
from dualstruct.data.conllu import Treebank, iter_conllu, read_conllu, write_conllu
from dualstruct.drawing import draw_tree, tree_svg
from dualstruct.errors import DualstructError, InputError, NotFittedError
from dualstruct.estimators import (
    DependencyParser,
    ParsingPipeline,
    SequenceTagger,
    StructuredSVM,
    load_model,
)
from dualstruct.features import CSRSequences, WithVectors
from dualstruct.metrics import evaluate, evaluate_trees
from dualstruct.problem import Certificate, Problem
from dualstruct.renamed import keep_old_names
from dualstruct.solvers import (
    CPD,
    DCA,
    DCD,
    LBFGS,
    MIRA,
    SDM,
    SGD,
    Averaged,
    CuttingPlane,
    DCDLight,
    ExponentiatedGradient,
    FrankWolfe,
    Pegasos,
    Perceptron,
    RampSDM,
)
from dualstruct.structures import (
    Chain,
    CompiledDecoder,
    CustomStructure,
    FactorGraph,
    FactorGraphs,
    GraphCRF,
    Grid,
    KGramChain,
    Multiclass,
    MultiLabel,
    check_structure,
)
from dualstruct.training.loop import FitResult, Stopping, TracePoint, fit

__version__ = "0.1.0"

keep_old_names()

__all__ = [
    "CPD",
    "DCA",
    "DCD",
    "LBFGS",
    "MIRA",
    "SDM",
    "SGD",
    "Averaged",
    "CSRSequences",
    "Certificate",
    "Chain",
    "CompiledDecoder",
    "CustomStructure",
    "CuttingPlane",
    "DCDLight",
    "DependencyParser",
    "DualstructError",
    "ExponentiatedGradient",
    "FactorGraph",
    "FactorGraphs",
    "FitResult",
    "FrankWolfe",
    "GraphCRF",
    "Grid",
    "InputError",
    "KGramChain",
    "MultiLabel",
    "Multiclass",
    "NotFittedError",
    "ParsingPipeline",
    "Pegasos",
    "Perceptron",
    "Problem",
    "RampSDM",
    "SequenceTagger",
    "Stopping",
    "StructuredSVM",
    "TracePoint",
    "Treebank",
    "WithVectors",
    "check_structure",
    "draw_tree",
    "evaluate",
    "evaluate_trees",
    "fit",
    "iter_conllu",
    "load_model",
    "read_columns",
    "read_conllu",
    "tree_svg",
    "write_columns",
    "write_conllu",
]
