"""Explanations of outputs whose features a user names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.explaining.results import Comparison, Contribution, by_size, total
from dualstruct.structures import CustomStructure


def compare_features(
    structure: CustomStructure, w: NDArray[np.float32], x: Any, chosen: Any, other: Any
) -> Comparison:
    """What the features of two outputs add to the difference of their scores."""
    ours, theirs = (_values(structure.features(x, y)) for y in (chosen, other))
    contributions = by_size(
        [
            Contribution(
                str(name),
                "feature",
                0,
                str(chosen) if name in ours else "",
                str(other) if name in theirs else "",
                ours.get(name, 0.0) * weight,
                theirs.get(name, 0.0) * weight,
            )
            for name in {**ours, **theirs}
            if (weight := structure.weight(w, name))
        ]
    )
    return Comparison(chosen, other, total(contributions), contributions)


def _values(features: Any) -> dict[str | int, float]:
    """Features by name or number."""
    if isinstance(features, Mapping):
        return {name: float(value) for name, value in features.items()}
    if hasattr(features, "tocoo"):
        features = np.asarray(features.todense()).ravel()
    return {int(at): float(features[at]) for at in np.flatnonzero(features)}
