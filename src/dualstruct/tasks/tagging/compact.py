"""The state of a tagger in the order that compressed files make the least of: features by name."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.schema import inner_arrays
from dualstruct.features import FeatureExtractor
from dualstruct.features.base import places_of


def compact_arrays(
    extractor: FeatureExtractor, arrays: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """The arrays of a tagger's state, with the features sorted by name where they have names."""
    found = dict(arrays)
    for features, weights in (("features.", "emission"), ("features.pair_", "pairs")):
        offsets = found.get(f"{features}name_offsets")
        if offsets is None or weights not in found or len(offsets) != len(found[weights]) + 1:
            continue
        order = _by_name(found[f"{features}name_bytes"], offsets)
        bytes_of_names = found[f"{features}name_bytes"][places_of(offsets, order)]
        found[f"{features}name_bytes"] = bytes_of_names
        ends = np.cumsum(np.diff(offsets)[order])
        found[f"{features}name_offsets"] = np.concatenate([[0], ends]).astype(np.int64)
        for name in (weights, f"{features}hashes"):
            if name in found:
                found[name] = found[name][order]
    compact = extractor.compact(inner_arrays(found, "features"))
    others = {name: array for name, array in found.items() if not name.startswith("features.")}
    return others | {f"features.{name}": array for name, array in compact.items()}


def _by_name(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.intp]:
    text = data.tobytes()
    bounds = offsets.tolist()
    names = [text[a:b] for a, b in itertools.pairwise(bounds)]
    return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.intp)
