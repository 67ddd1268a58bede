"""Examples as users have them: lists, generators, arrays, sparse matrices, datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def as_list(examples: Any) -> Any:
    """Generators as lists, what becomes an array as one: examples are read more than once."""
    if hasattr(examples, "__len__"):
        return examples
    return np.asarray(examples) if hasattr(examples, "__array__") else list(examples)


def count(examples: Any) -> int:
    """How many examples there are; scipy's sparse matrices have no length."""
    return int(examples.shape[0]) if hasattr(examples, "shape") else len(examples)


def is_dataset(examples: Any) -> bool:
    """Whether this is a Dataset of the library datasets, or looks like one."""
    return hasattr(examples, "column_names") and isinstance(
        getattr(examples, "features", None), Mapping
    )


def class_names(feature: Any) -> list[str] | None:
    """The names behind a column of a dataset, of lists of ClassLabel."""
    names = getattr(getattr(feature, "feature", None), "names", None)
    return None if names is None else list(names)
