"""How many random cases a test tries."""

from __future__ import annotations

import os

from hypothesis import settings

#: Tests that run once more, with another instruction set or under sanitizers, try this share of
#: their cases there.
SHARE = float(os.environ.get("DUALSTRUCT_SHARE_OF_CASES", "1"))


def share_of(count: int) -> int:
    """Of so many cases; 10 are tried in any case, if there are as many."""
    return max(round(SHARE * count), min(count, 10))


def cases(count: int) -> settings:
    """For a test of hypothesis."""
    return settings(max_examples=share_of(count))
