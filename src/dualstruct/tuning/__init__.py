"""Settings that are chosen by trying them: which loss, which C, how many passes, which features."""

from dualstruct.tuning.candidates import Candidate, Candidates
from dualstruct.tuning.search import tune

__all__ = ["Candidate", "Candidates", "tune"]
