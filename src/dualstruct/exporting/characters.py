"""Tables of characters, for languages whose own may be of another version of Unicode."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.exporting.runtime.words import to_lower

__all__ = ["character_arrays", "mark_ends"]

_PROPERTIES: dict[str, Callable[[str], bool]] = {
    "upper": str.istitle,
    "lower": str.islower,
    "digit": str.isdecimal,
    "letter": str.isalpha,
    "space": str.isspace,
}


def mark_ends() -> NDArray[np.uint32]:
    """Where combining marks begin and where they end, in turn, as the core knows them."""
    ranges = np.array(_core.mark_ranges(), np.uint32)
    return (ranges + np.array([0, 1], np.uint32)).ravel()


@lru_cache(maxsize=1)
def character_arrays() -> dict[str, NDArray[np.uint32]]:
    """Where characters of each sort begin and end, and what is lower case of which."""
    every = [chr(code) for code in range(0x110000)]
    found = {}
    for name, has in _PROPERTIES.items():
        flags = np.fromiter(map(has, every), np.int8, len(every))
        changes = np.diff(flags, prepend=0, append=0)
        found[f"{name}_characters"] = np.flatnonzero(changes).astype(np.uint32)
    found["mark_characters"] = mark_ends()
    pairs = [(ord(c), ord(to_lower(c))) for c in every if c.lower() != c]
    found["lower_from"], found["lower_to"] = np.array(pairs, np.uint32).T
    return found
