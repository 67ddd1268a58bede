"""Errors that a user can correct. The command line shows them as one sentence."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any


class DualstructError(Exception):
    """Any error of dualstruct's own."""


class InputError(DualstructError, ValueError):
    """An input is wrong; the message says what and where."""


class DivergedError(InputError, OverflowError):
    """A solver diverges, with this C or from these weights."""


class ResourceError(DualstructError, RuntimeError):
    """The system cannot provide something, for example threads."""


class NotFittedError(InputError, AttributeError):
    """A model was asked for something before it was trained."""


def not_fitted(what: str) -> NotFittedError:
    """The error to raise; where scikit-learn is in use it is scikit-learn's, too.

    Examples
    --------
    >>> from sklearn.exceptions import NotFittedError as Theirs
    >>> error = not_fitted("this tagger is not trained yet")
    >>> str(error), isinstance(error, NotFittedError), isinstance(error, Theirs)
    ('this tagger is not trained yet: call fit first', True, True)
    """
    theirs = sys.modules.get("sklearn.exceptions")
    kind = NotFittedError if theirs is None else _also_theirs(theirs.NotFittedError)
    return kind(f"{what}: call fit first")


@cache
def _also_theirs(theirs: type[Exception]) -> type[NotFittedError]:
    def reduce(self: NotFittedError) -> tuple[Any, ...]:  # a pickle finds no class made here
        return NotFittedError, self.args

    return type("NotFittedError", (NotFittedError, theirs), {"__reduce__": reduce})


class UnsupportedError(InputError, NotImplementedError):
    """A structure lacks something that a solver or a prediction needs."""
