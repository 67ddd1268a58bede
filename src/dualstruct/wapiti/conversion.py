"""Models from Wapiti's files to ours and back.

Wapiti knows a feature by the text that a template makes, ours by the template and the values in it.
A text that can be read in several ways (``a/b/c`` of ``%x[-1,0]/%x[0,0]``) becomes a feature for
each.

Ours has three things that Wapiti lacks. Weights of the start and the end become templates that see
the token before the first one and the one after the last; what is forbidden gets a weight that
nothing outweighs; and labels are written in the scheme that was learned in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.errors import InputError
from dualstruct.estimators import SequenceTagger
from dualstruct.features.base import encode_names
from dualstruct.features.patterns import parse_patterns
from dualstruct.features.template_extractor import TemplateExtractor
from dualstruct.tasks.tagging.converted import converted_metadata
from dualstruct.wapiti.files import WapitiModel

__all__ = ["tagger_from_wapiti", "wapiti_from_tagger"]

#: The weight of what is forbidden.
FORBIDDEN = -1000.0
#: The templates of the start and the end, and what they see there.
_EDGES = (("u<s>:%x[-1,0]", "u<s>:_x-1"), ("u</s>:%x[1,0]", "u</s>:_x+1"))
#: Our weights are a matrix of features and labels; more bytes than this are refused.
MOST_BYTES = 16 * 2**30


def tagger_from_wapiti(model: WapitiModel) -> SequenceTagger:
    """A tagger with the templates and weights of a Wapiti model, in single precision.

    Examples
    --------
    >>> from dualstruct.wapiti.files import parse_wapiti
    >>> head = b"#mdl#2#1\\n#rdr#1/0/0\\n9:u:%x[0,0],\\n"
    >>> text = head + b"#qrk#2\\n1:A,\\n1:B,\\n#qrk#1\\n3:u:x,\\n1=0x1p-1\\n"
    >>> tagger_from_wapiti(parse_wapiti(text)).predict([["x", "y"]])
    [['B', 'A']]
    """
    K = len(model.labels)
    text = "\n".join(model.templates)
    extractor = TemplateExtractor(parse_patterns(text, "the model's templates", "wapiti"))
    singles, paired, _ = model.starts()
    transition = np.zeros((K + 1, K + 1), np.float32)
    emission = _Rows((K,))
    pairs = _Rows((K, K))
    for name, single, pair in zip(model.observations, singles, paired, strict=True):
        if single >= 0 and (w := _weights(model, int(single), K)) is not None:
            emission.add(extractor, f"u{name[1:]}", w)
        if pair >= 0 and (w := _weights(model, int(pair), K * K)) is not None:
            known = False
            if extractor.pairs is not None:
                known = pairs.add(extractor.pairs, f"b{name[1:]}", w)
            if not known:  # a template without columns: the same at every token
                transition[:K, :K] += w.reshape(K, K)
    arrays: dict[str, NDArray[Any]] = {"transition": transition}
    arrays |= emission.arrays("emission", "features.")
    if extractor.pairs is not None:
        arrays |= pairs.arrays("pairs", "features.pair_")
    settings = extractor.state()[0]
    tagger = SequenceTagger()
    tagger.restore(converted_metadata(model.labels, settings), arrays)
    return tagger


def _weights(model: WapitiModel, begin: int, size: int) -> NDArray[np.float64] | None:
    """The weights of an observation; None if all are 0."""
    first, last = np.searchsorted(model.places, [begin, begin + size])
    if first == last:
        return None
    dense = np.zeros(size)
    dense[model.places[first:last] - begin] = model.weights[first:last]
    return dense


class _Rows:
    """Features with their names and weights, as a state holds them."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._names: list[str] = []
        self._of: dict[int, NDArray[np.float32]] = {}

    def add(self, extractor: TemplateExtractor, name: str, w: NDArray[np.float64]) -> bool:
        """Whether a template makes such a name."""
        hashes = extractor.hashes_of(name)
        for hash in hashes:
            if hash not in self._of:
                self._names.append(name)
                self._of[hash] = w.astype(np.float32)
        return bool(hashes)

    def arrays(self, weights: str, features: str) -> dict[str, NDArray[Any]]:
        if 4 * len(self._of) * int(np.prod(self._shape)) > MOST_BYTES:
            raise InputError(f"{len(self._of):,} features need a matrix of more than 16 GB")
        data, offsets = encode_names(self._names)
        stacked = np.zeros((len(self._of), *self._shape), np.float32)
        for k, row in enumerate(self._of.values()):
            stacked[k] = row.reshape(self._shape)
        return {
            weights: stacked,
            f"{features}hashes": np.array(list(self._of), np.uint64),
            f"{features}name_bytes": data,
            f"{features}name_offsets": offsets,
        }


def wapiti_from_tagger(tagger: SequenceTagger) -> WapitiModel:
    """The templates and weights of a tagger that was trained with templates of Wapiti's.

    Its labels are those that the tagger learns in (``classes_``).

    Examples
    --------
    >>> tagger = SequenceTagger("U:%x[0,0]\\nB", dialect="wapiti", loss="crf")
    >>> tagger = tagger.fit([["a", "dog"]], [["DET", "NOUN"]])
    >>> wapiti_from_tagger(tagger).observations
    ['u:a', 'u:dog', 'u<s>:_x-1', 'u</s>:_x+1', 'b']
    """
    model = tagger.model_
    extractor = model.extractor
    templates = getattr(extractor, "templates", None)
    if not isinstance(extractor, TemplateExtractor) or templates is None:
        raise InputError("Wapiti knows templates alone, and this model has other features")
    if templates.dialect != "wapiti":
        raise InputError(
            "Wapiti knows its own templates alone: train with --features FILE --dialect wapiti"
        )
    if extractor.hash_bits:
        raise InputError("hashed features have no names, so that Wapiti cannot know them")
    labels = model.labels.names
    K = len(labels)
    transition = model.transition().astype(np.float64)
    if model.transitions is not None:
        transition[~model.transitions] = FORBIDDEN
        transition[K, K] = 0.0
    found: dict[str, NDArray[np.float64]] = {}
    _add(found, extractor, model.emission())
    texts = [str(template) for template in templates.templates]
    for (text, name), w in zip(_EDGES, (transition[K, :K], transition[:K, K]), strict=True):
        if w.any():
            if text not in texts:
                texts.append(text)
            found[name] = found.get(name, 0) + w
    if extractor.pairs is not None:
        _add(found, extractor.pairs, model.pair_weights())
        texts += [str(template) for template in extractor.pairs.templates.templates]
    if transition[:K, :K].any():
        texts.append("b")
        found["b"] = transition[:K, :K].ravel()
    sizes = np.cumsum([0, *(len(w) for w in found.values())])
    flat = np.concatenate([np.zeros(0), *found.values()])
    places = np.flatnonzero(flat).astype(np.int64)
    assert sizes[-1] == len(flat)
    return WapitiModel(texts, list(labels), list(found), places, flat[places])


def _add(
    found: dict[str, NDArray[np.float64]], extractor: TemplateExtractor, w: NDArray[np.float32]
) -> None:
    """Weights by name. Of features that Wapiti cannot tell apart the strongest counts."""
    flat = w.reshape(len(w), -1).astype(np.float64)
    kept = np.flatnonzero(flat.any(axis=1)).astype(np.int32)
    for name, row in zip(extractor.names(kept), flat[kept], strict=True):
        if name not in found or np.abs(row).sum() > np.abs(found[name]).sum():
            found[name] = row
