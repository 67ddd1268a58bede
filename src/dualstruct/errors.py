"""What goes wrong in ways a user can act on. The command line shows these as one sentence."""

from __future__ import annotations


class DualstructError(Exception):
    """Any error of dualstruct's own."""


class InputError(DualstructError, ValueError):
    """Something given to dualstruct is wrong; the message says what and where."""


class NotFittedError(InputError, AttributeError):
    """A model was asked for something before it was trained."""


class UnsupportedError(InputError, NotImplementedError):
    """A structure lacks what a solver or a prediction asks of it."""
