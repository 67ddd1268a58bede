"""A tagger as plain data: a JSON header and arrays, which every target reads.

    "DSX1"  size of the header (32 bits)  header, padded to 8 bytes  arrays, each padded to 8

Numbers are little-endian. ``header["arrays"]`` says of each array its type (B, H, I, Q or f, as
Python's ``array`` calls them), where it begins and how long it is. Weights that are 0 are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.errors import InputError
from dualstruct.estimators import SequenceTagger
from dualstruct.exporting.characters import mark_ends
from dualstruct.exporting.runtime.hashing import hash_text
from dualstruct.exporting.runtime.tagger import MAGIC
from dualstruct.exporting.templates import Arrays, learned_arrays, list_arrays, parsed, plan_of
from dualstruct.features.base import FeatureExtractor, decode_names
from dualstruct.features.template_extractor import TemplateExtractor

__all__ = ["Packed", "pack"]

_CODES = {"uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q", "float32": "f"}


@dataclass(frozen=True, eq=False)
class Packed:
    """What is exported of a tagger."""

    header: dict[str, Any]
    arrays: Arrays

    def to_bytes(self) -> bytes:
        """The form that is described above."""
        places, parts, begin = {}, [], 0
        for name, values in self.arrays.items():
            data = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()
            places[name] = [_CODES[values.dtype.name], begin, len(values)]
            parts.append(data + bytes(-len(data) % 8))
            begin += len(parts[-1])
        text = json.dumps({**self.header, "arrays": places}, separators=(",", ":")).encode()
        head = MAGIC + len(text).to_bytes(4, "little") + text + bytes(-len(text) % 8)
        return b"".join([head, *parts])


def pack(tagger: SequenceTagger) -> Packed:
    """A tagger as plain data; what cannot be exported is refused by name."""
    model = tagger.model_
    metadata, arrays = model.state()
    settings = metadata["features"]
    own = {
        name.removeprefix("features."): array
        for name, array in arrays.items()
        if name.startswith("features.")
    }
    kind = settings["kind"]
    if kind not in _FEATURES:
        raise InputError(f"this model cannot be exported: {_reason(settings)}")
    if not model.extractor.has_names:
        raise InputError(
            "this model cannot be exported: the names of this model's features were left out when "
            "it was compressed"
        )
    header, found = _FEATURES[kind](model.extractor, settings, own)
    K, rules = len(model.labels), tagger.tokenizer_.rules
    if rules is None and model.n_columns == 1:
        raise InputError(
            "this model cannot be exported: it splits texts with a tokenizer that was learned; "
            "with tagger.tokenizer_ = Tokenizer() it splits by rules"
        )
    header |= {
        "labels": model.labels.names,
        "columns": model.n_columns,
        "schemes": [model.codec.inner_scheme, model.codec.outer_scheme],
        "beta": None if tagger.temperature_ is None else 1 / tagger.temperature_,
        "tokenizer": asdict(rules) if model.n_columns == 1 and rules is not None else None,
    }
    bits = settings["hash_bits"]
    header["shift"] = 64 - bits if bits else 0
    found |= _sparse("emission", found.pop("keys"), arrays["emission"], bool(bits))
    if header["pairs"] is not None:
        bits = settings.get("pair_bits")
        header["pair_shift"] = 64 - bits if bits else 0
        weights = arrays["pairs"].reshape(-1, K * K)
        found |= _sparse("pair", found.pop("pair_keys"), weights, bool(bits))
    found["transition"] = arrays["transition"].ravel()
    if "allowed_transitions" in arrays:
        found["allowed"] = arrays["allowed_transitions"].ravel()
    if header["tokenizer"] is not None:
        found["marks"] = mark_ends()
    return Packed(header, found)


def _sparse(name: str, keys: NDArray[Any], weights: NDArray[np.float32], hashed: bool) -> Arrays:
    """The weights that are not 0, row by row, with what rows are known by."""
    at, to = np.nonzero(weights)
    kept = np.unique(at)
    begins = np.append(np.searchsorted(at, kept), len(at))
    small = next(t for t in (np.uint8, np.uint16, np.uint32) if weights.shape[1] <= np.iinfo(t).max)
    return {
        f"{name}_keys": (kept if hashed else keys[kept]).astype(np.uint32 if hashed else np.uint64),
        f"{name}_begins": begins.astype(np.uint32),
        f"{name}_labels": to.astype(small),
        f"{name}_values": weights[at, to],
    }


_Made = tuple[dict[str, Any], Arrays]


def _templates(
    extractor: FeatureExtractor, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> _Made:
    assert isinstance(extractor, TemplateExtractor)
    templates = parsed(settings)
    plan, learned, identities = plan_of(templates, templates.templates)
    found = list_arrays(templates, arrays)
    found |= learned_arrays(learned, extractor.learned_columns)
    found |= {"emission_identities": identities, "keys": arrays.get("hashes", _NO_KEYS)}
    header = {"templates": plan, "pairs": None}
    if templates.pairs:
        header["pairs"], _, found["pair_identities"] = plan_of(templates, templates.pairs)
        found["pair_keys"] = arrays.get("pair_hashes", _NO_KEYS)
    return header, found


def _attributes(
    extractor: FeatureExtractor, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> _Made:
    if settings["source"] == "matrices":
        raise InputError("this model cannot be exported: its features are columns of matrices")
    keys = _NO_KEYS
    if "name_bytes" in arrays:
        names = decode_names(arrays["name_bytes"], arrays["name_offsets"])
        keys = np.array([hash_text(name) for name in names], np.uint64)
    return {"templates": None, "pairs": None}, {"keys": keys}


_NO_KEYS = np.zeros(0, np.uint64)
#: What kinds of features become.
_FEATURES: dict[str, Callable[[FeatureExtractor, Mapping[str, Any], Any], _Made]] = {
    "templates": _templates,
    "attributes": _attributes,
}


def _reason(settings: Mapping[str, Any]) -> str:
    """What of a model's features no target has."""
    kind = settings["kind"]
    if kind == "function":
        return f"its features come from the function {settings['name']}, which no file holds"
    if kind == "joined":
        others = [part for part in settings["parts"] if part["kind"] not in _FEATURES]
        return _reason(others[0]) if others else "its features come from several sources"
    return {
        "vectors": "it sees vectors beside the words",
        "word vectors": "it sees vectors of words",
        "document": "it sees features of the whole document (document_features)",
        "stage": "it has a first stage (stages=2)",
    }.get(kind, f"it has features of kind {kind}")
