"""How many random cases a test tries."""

from __future__ import annotations

import os

from hypothesis import settings

#: Tests that run once more with another instruction set try this share of their cases there.
SHARE = float(os.environ.get("DUALSTRUCT_SHARE_OF_CASES", "1"))


def cases(count: int) -> settings:
    """For a test of hypothesis."""
    return settings(max_examples=max(round(SHARE * count), 10))
