"""How many threads are used when a user asks for some."""

from __future__ import annotations

import operator
import warnings

from dualstruct import _core
from dualstruct.errors import InputError

__all__ = ["ThreadsWarning", "usable_threads"]


class ThreadsWarning(UserWarning):
    """More threads were asked for than are of any use."""


def usable_threads(threads: int) -> int:
    """As many as were asked for, but not more than a few for each core.

    What is learned or predicted is the same with any number from two on.

    Examples
    --------
    >>> usable_threads(2)
    2
    """
    try:
        wanted = operator.index(threads)
    except TypeError:
        raise InputError(f"threads is {threads!r}; it must be a whole number") from None
    if wanted < 1:
        raise InputError(f"threads is {_shown(wanted)}; it must be at least 1")
    most = _core.most_threads()
    if wanted > most:
        warnings.warn(
            f"threads is {_shown(wanted)}, more than this machine's cores can use; "
            f"{most} are started",
            ThreadsWarning,
            stacklevel=2,
        )
    return min(wanted, most)


def _shown(number: int) -> str:
    """Python refuses to print numbers of thousands of digits."""
    return str(number) if abs(number) < 10**18 else "a number of many digits"
