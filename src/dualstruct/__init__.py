"""Linear structured prediction by dual methods.

>>> from dualstruct import SequenceTagger
>>> tagger = SequenceTagger(C=1.0)
>>> tagger.fit([["a", "dog"], ["the", "cat"]], [["DET", "NOUN"], ["DET", "NOUN"]])
SequenceTagger(C=1.0)
>>> tagger.predict([["the", "dog"]])
[['DET', 'NOUN']]
"""

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names
from dualstruct.renamed import keep_old_names, old_names

if TYPE_CHECKING:
    from dualstruct.clustering import WordClusters as WordClusters
    from dualstruct.clustering import brown_clusters as brown_clusters
    from dualstruct.clustering import vector_clusters as vector_clusters
    from dualstruct.compressing import compress as compress
    from dualstruct.data.columns import read_columns as read_columns
    from dualstruct.data.columns import write_columns as write_columns
    from dualstruct.data.conllu import Treebank as Treebank
    from dualstruct.data.conllu import iter_conllu as iter_conllu
    from dualstruct.data.conllu import read_conllu as read_conllu
    from dualstruct.data.conllu import write_conllu as write_conllu
    from dualstruct.data.in_documents import InDocuments as InDocuments
    from dualstruct.data.tokenizing import Tokenizer as Tokenizer
    from dualstruct.drawing import draw_tree as draw_tree
    from dualstruct.drawing import tree_svg as tree_svg
    from dualstruct.errors import DualstructError as DualstructError
    from dualstruct.errors import InputError as InputError
    from dualstruct.errors import NotFittedError as NotFittedError
    from dualstruct.estimators import DependencyParser as DependencyParser
    from dualstruct.estimators import LearnedTokenizer as LearnedTokenizer
    from dualstruct.estimators import ParsingPipeline as ParsingPipeline
    from dualstruct.estimators import SequenceTagger as SequenceTagger
    from dualstruct.estimators import StructuredSVM as StructuredSVM
    from dualstruct.estimators import load_model as load_model
    from dualstruct.estimators.texts import label_documents as label_documents
    from dualstruct.features import CSRSequences as CSRSequences
    from dualstruct.features import WithVectors as WithVectors
    from dualstruct.metrics import evaluate as evaluate
    from dualstruct.metrics import evaluate_raw_text as evaluate_raw_text
    from dualstruct.metrics import evaluate_trees as evaluate_trees
    from dualstruct.problem import Certificate as Certificate
    from dualstruct.problem import Problem as Problem
    from dualstruct.solvers import CPD as CPD
    from dualstruct.solvers import DCA as DCA
    from dualstruct.solvers import DCD as DCD
    from dualstruct.solvers import LBFGS as LBFGS
    from dualstruct.solvers import MIRA as MIRA
    from dualstruct.solvers import SDM as SDM
    from dualstruct.solvers import SGD as SGD
    from dualstruct.solvers import Averaged as Averaged
    from dualstruct.solvers import CuttingPlane as CuttingPlane
    from dualstruct.solvers import DCDLight as DCDLight
    from dualstruct.solvers import ExponentiatedGradient as ExponentiatedGradient
    from dualstruct.solvers import FrankWolfe as FrankWolfe
    from dualstruct.solvers import Pegasos as Pegasos
    from dualstruct.solvers import Perceptron as Perceptron
    from dualstruct.solvers import RampSDM as RampSDM
    from dualstruct.structures import Chain as Chain
    from dualstruct.structures import CompiledDecoder as CompiledDecoder
    from dualstruct.structures import CustomStructure as CustomStructure
    from dualstruct.structures import FactorGraph as FactorGraph
    from dualstruct.structures import FactorGraphOutput as FactorGraphOutput
    from dualstruct.structures import GraphCRF as GraphCRF
    from dualstruct.structures import Grid as Grid
    from dualstruct.structures import KGramChain as KGramChain
    from dualstruct.structures import Multiclass as Multiclass
    from dualstruct.structures import MultiLabel as MultiLabel
    from dualstruct.structures import check_structure as check_structure
    from dualstruct.texts import Document as Document
    from dualstruct.texts import TextSpan as TextSpan
    from dualstruct.texts import iter_documents as iter_documents
    from dualstruct.texts import read_texts as read_texts
    from dualstruct.texts import write_documents as write_documents
    from dualstruct.training.loop import fit as fit
    from dualstruct.training.results import FitResult as FitResult
    from dualstruct.training.results import TracePoint as TracePoint
    from dualstruct.training.stopping import Stopping as Stopping
    from dualstruct.tuning import tune as tune

__version__ = "0.1.0"

#: Which module each public name is in; it is imported when the name is asked for.
_HOMES = {
    "clustering": "WordClusters brown_clusters vector_clusters",
    "compressing": "compress",
    "data.columns": "read_columns write_columns",
    "data.conllu": "Treebank iter_conllu read_conllu write_conllu",
    "data.in_documents": "InDocuments",
    "data.tokenizing": "Tokenizer",
    "drawing": "draw_tree tree_svg",
    "errors": "DualstructError InputError NotFittedError",
    "estimators.loading": "load_model",
    "estimators.parser": "DependencyParser",
    "estimators.pipeline": "ParsingPipeline",
    "estimators.structured_svm": "StructuredSVM",
    "estimators.tagger": "SequenceTagger",
    "estimators.tokenizer": "LearnedTokenizer",
    "estimators.texts": "label_documents",
    "features": "CSRSequences WithVectors",
    "metrics": "evaluate evaluate_raw_text evaluate_trees",
    "problem": "Certificate Problem",
    "solvers": (
        "Averaged CPD CuttingPlane DCA DCD DCDLight ExponentiatedGradient FrankWolfe LBFGS "
        "MIRA Pegasos Perceptron RampSDM SDM SGD"
    ),
    "structures": (
        "Chain CompiledDecoder CustomStructure FactorGraph FactorGraphOutput GraphCRF Grid "
        "KGramChain MultiLabel Multiclass check_structure"
    ),
    "texts": "Document TextSpan iter_documents read_texts write_documents",
    "training.loop": "fit",
    "training.results": "FitResult TracePoint",
    "training.stopping": "Stopping",
    "tuning": "tune",
}

_old_name = old_names("dualstruct", {"FactorGraphs": "structures.graph_output.FactorGraphOutput"})
__getattr__, __dir__, __all__ = lazy_names("dualstruct", _HOMES, _old_name)

keep_old_names()
