"""sklearn-crfsuite's interface over dualstruct: change only the import.

    import dualstruct.compat.sklearn_crfsuite as sklearn_crfsuite

It works under current scikit-learn (clone, repr, searches, pickles), writes no temporary files
unless ``modelfile.name`` is used, and its model files are CRFsuite's. Pickles of
sklearn-crfsuite load once :func:`dualstruct.compat.install_aliases` was called.
"""

from __future__ import annotations

from dualstruct.compat.sklearn_crfsuite import metrics, scorers
from dualstruct.compat.sklearn_crfsuite.estimator import CRF

__all__ = ["CRF", "metrics", "scorers"]
