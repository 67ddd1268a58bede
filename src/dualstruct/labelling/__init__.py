"""Where taggers are made: sentences are labelled on a page while a model learns from answers."""

from dualstruct.labelling.store import Answer, Project

__all__ = ["Answer", "Project"]
