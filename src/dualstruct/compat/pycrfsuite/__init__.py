"""python-crfsuite's interface over dualstruct: change only the import.

    import dualstruct.compat.pycrfsuite as pycrfsuite

Models are CRFsuite's own files: what CRFsuite trained is tagged the same here, and what is trained
here opens in CRFsuite. What is different: decoding and training do not hold the GIL, damaged files
and wrong input are ValueErrors whose sentence says what is wrong, and weights in
:meth:`Tagger.info` have all their digits. ``linesearch`` and ``max_linesearch`` are accepted and
change nothing, and sequences are shuffled the same way in every run.
"""

from __future__ import annotations

from dualstruct.compat.pycrfsuite._pycrfsuite import (
    CRFSUITE_VERSION,
    BaseTrainer,
    CRFSuiteError,
    ItemSequence,
    ParsedDump,
    Tagger,
    Trainer,
    UnknownLabelError,
)

__all__ = [
    "CRFSUITE_VERSION",
    "BaseTrainer",
    "CRFSuiteError",
    "ItemSequence",
    "ParsedDump",
    "Tagger",
    "Trainer",
    "UnknownLabelError",
]
