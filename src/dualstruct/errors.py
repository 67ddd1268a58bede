"""What goes wrong in ways a user can act on. The command line shows these as one sentence."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any


class DualstructError(Exception):
    """Any error of dualstruct's own."""


class InputError(DualstructError, ValueError):
    """Something given to dualstruct is wrong; the message says what and where."""


class DivergedError(InputError, OverflowError):
    """The steps of a solver grow beyond all bounds, with this C or from these weights."""


class ResourceError(DualstructError, RuntimeError):
    """The system refuses what the work needs, threads for instance."""


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
    """A structure lacks what a solver or a prediction asks of it."""
