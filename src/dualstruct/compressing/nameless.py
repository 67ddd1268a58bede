"""States without the names of features: a feature is known by some bits of its hash.

Features in the order of these fingerprints take log2(2^bits / features) + 1.5 bits each, about 13,
whatever their names are. One that was never seen has the fingerprint of another one once in 4,096.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.features.base import State, fingerprinted

#: Where the features and their weights are, and what the settings call the number of bits.
_PLACES = (("", "emission", "fingerprint_bits"), ("pair_", "pairs", "pair_fingerprint_bits"))


def without_names(metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> State:
    """A state of any model, with fingerprints for names."""
    found = dict(arrays)
    about = _forget(dict(metadata), found, "")
    left = [name for name in found if name.endswith("name_offsets")]
    if left:
        where = left[0].removesuffix("name_offsets").rstrip("._")
        raise InputError(
            f"names can be left out of features of templates and of attributes, not of {where!r}"
        )
    return about, found


def _forget(metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], at: str) -> dict[str, Any]:
    """The metadata of a model, and of models in it, without names; ``arrays`` are changed."""
    about = {}
    for key, value in metadata.items():
        inside = at if key == "parts" else f"{at}{key}."  # of a pipeline
        about[key] = _forget(dict(value), arrays, inside) if isinstance(value, Mapping) else value
    features = about.get("features")
    if isinstance(features, dict) and features.get("kind") in ("templates", "attributes"):
        for prefix, weights, bits in _PLACES:
            base = f"{at}features.{prefix}"
            if f"{base}name_offsets" in arrays:
                features |= _fingerprints(arrays, base, f"{at}{weights}", bits)
    return about


def _fingerprints(
    arrays: dict[str, NDArray[Any]], base: str, weights: str, bits_name: str
) -> dict[str, int]:
    names = arrays.pop(f"{base}name_bytes"), arrays.pop(f"{base}name_offsets")
    if f"{base}columns" in arrays:  # of matrices: their numbers remain
        return {}
    hashes = arrays.pop(f"{base}hashes", None)
    if hashes is None:
        attributes = _core.AttributeFeatures(0)
        attributes.restore(*names)
        hashes = attributes.hashes()
    rows = arrays[weights].reshape(len(hashes), -1)
    bits, fingerprints, order = fingerprinted(hashes, np.sum(rows**2, axis=1))
    arrays[f"{base}fingerprints"] = fingerprints.astype(np.int64)
    arrays[weights] = arrays[weights][order]
    return {bits_name: bits}
