"""Examples as users have them: lists, generators, arrays, sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_list(examples: Any) -> Any:
    """Generators as lists, what becomes an array as one: examples are gone over more than once."""
    if hasattr(examples, "__len__"):
        return examples
    return np.asarray(examples) if hasattr(examples, "__array__") else list(examples)


def count(examples: Any) -> int:
    """How many examples there are; scipy's sparse matrices have no length."""
    return int(examples.shape[0]) if hasattr(examples, "shape") else len(examples)
