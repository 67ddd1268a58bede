"""Look-alikes of python-crfsuite and sklearn-crfsuite: an import is all that changes.

import dualstruct.compat.pycrfsuite as pycrfsuite
import dualstruct.compat.sklearn_crfsuite as sklearn_crfsuite
"""
