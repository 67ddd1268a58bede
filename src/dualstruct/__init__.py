"""Linear structured prediction by dual methods.

>>> from dualstruct import SequenceTagger
>>> tagger = SequenceTagger(C=1.0)
>>> tagger.fit([["a", "dog"], ["the", "cat"]], [["DET", "NOUN"], ["DET", "NOUN"]])
SequenceTagger(C=1.0)
>>> tagger.predict([["the", "dog"]])
[['DET', 'NOUN']]
"""

from dualstruct.errors import DualstructError, InputError, NotFittedError
from dualstruct.estimators import SequenceTagger, StructuredSVM
from dualstruct.features import CSRSequences
from dualstruct.files.columns import read_columns, write_columns
from dualstruct.fit import FitResult, Stopping, TracePoint, fit
from dualstruct.metrics import evaluate
from dualstruct.problem import Certificate, Problem
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
from dualstruct.structures import Chain, CompiledDecoder, CustomStructure

__version__ = "0.1.0"

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
    "DualstructError",
    "ExponentiatedGradient",
    "FitResult",
    "FrankWolfe",
    "InputError",
    "NotFittedError",
    "Pegasos",
    "Perceptron",
    "Problem",
    "RampSDM",
    "SequenceTagger",
    "Stopping",
    "StructuredSVM",
    "TracePoint",
    "evaluate",
    "fit",
    "read_columns",
    "write_columns",
]
