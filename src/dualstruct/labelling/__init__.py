"""Where taggers are made: sentences are labelled on a page while a model learns from answers."""

from dualstruct.labelling.sentences import Answer, Draft, Sentence
from dualstruct.labelling.store import Project

__all__ = ["Answer", "Draft", "Project", "Sentence"]
