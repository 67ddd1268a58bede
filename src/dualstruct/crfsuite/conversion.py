"""Models from CRFsuite's files to ours and back.

A SequenceTagger knows three things that CRFsuite does not. Weights of the start and the end become
weights of the attributes ``<s>`` and ``</s>``, which the first and the last item of a sequence
then need; what is forbidden gets a weight that nothing outweighs; and features from templates
become attributes with the features' names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.crfsuite.files import CRFsuiteModel, is_utf8, joined_names
from dualstruct.errors import InputError
from dualstruct.estimators import SequenceTagger
from dualstruct.tasks.tagging.converted import converted_metadata
from dualstruct.tasks.tagging.model import END, START

__all__ = ["END", "START", "crfsuite_from_tagger", "tagger_from_crfsuite"]

#: The weight of what is forbidden; its exponential is 0.
FORBIDDEN = -1000.0
#: Our weights are a matrix of features and labels; more bytes than this are refused.
MOST_BYTES = 16 * 2**30


def tagger_from_crfsuite(model: CRFsuiteModel) -> SequenceTagger:
    """A tagger for attributes with the weights of a CRFsuite model, in single precision.

    Examples
    --------
    >>> from dualstruct.compat.pycrfsuite import Trainer
    >>> from dualstruct.crfsuite.files import parse_crfsuite
    >>> trainer = Trainer(verbose=False)
    >>> trainer.append([["Ada"], ["sings"]], ["NAME", "VERB"])
    >>> tagger = tagger_from_crfsuite(parse_crfsuite(trainer.train_inmemory()))
    >>> tagger.predict([[["sings"]]])
    [['VERB']]
    """
    K, A = len(model.labels), len(model.attributes)
    if not K:
        raise InputError("the model has no labels: it was trained on nothing")
    if 4 * K * A > MOST_BYTES:
        raise InputError(
            f"{A:,} attributes and {K:,} labels need a matrix of {4 * K * A / 2**30:.0f} GB"
        )
    for what, names in (("label", model.labels), ("attribute", model.attributes)):
        for name in names:
            if not is_utf8(name):
                raise InputError(f"the {what} {name!a} is not UTF-8 text")
    emission = np.zeros((A, K), np.float32)
    np.add.at(emission, (model.state_attributes, model.state_labels), model.state_weights)
    transition = np.zeros((K + 1, K + 1), np.float32)
    transition[model.transition_sources, model.transition_targets] = model.transition_weights
    name_bytes, name_offsets = joined_names(model.attributes)
    settings = {"kind": "attributes", "source": "strings", "hash_bits": None, "min_count": 1}
    metadata = converted_metadata(model.labels, settings)
    metadata["parameters"]["features"] = "attributes"
    arrays: dict[str, NDArray[Any]] = {
        "emission": emission,
        "transition": transition,
        "features.name_bytes": name_bytes,
        "features.name_offsets": name_offsets,
    }
    tagger = SequenceTagger()
    tagger.restore(metadata, arrays)
    tagger.features_ = "attributes"
    return tagger


def crfsuite_from_tagger(tagger: SequenceTagger) -> CRFsuiteModel:
    """The weights of a tagger that are not 0, as CRFsuite stores them.

    Its labels are those that the tagger learns in (``classes_``).

    Examples
    --------
    >>> tagger = SequenceTagger("attributes").fit([[["Ada"], ["sings"]]], [["NAME", "VERB"]])
    >>> crfsuite_from_tagger(tagger).attributes
    ['Ada', 'sings', '<s>', '</s>']
    """
    model = tagger.model_
    if getattr(model.extractor, "hash_bits", None):
        raise InputError("hashed features have no names, so that CRFsuite cannot know them")
    if model.extractor.pairs is not None and model.pair_weights().any():
        raise InputError("CRFsuite's transitions see no features, those of this model (B lines) do")
    labels = model.labels.names
    K = len(labels)
    emission = model.emission().astype(np.float64)
    transition = model.transition().astype(np.float64)
    if model.transitions is not None:
        transition[~model.transitions] = FORBIDDEN
        transition[K, K] = 0.0  # no empty sentence is ever labelled
    kept = np.flatnonzero(emission.any(axis=1))
    attributes = model.extractor.names(kept.astype(np.int32))
    rows = [emission[kept]]
    for name, weights in ((START, transition[K, :K]), (END, transition[:K, K])):
        if weights.any():
            if name in attributes:
                raise InputError(f"the feature {name} is in the way of the one of that name")
            attributes.append(name)
            rows.append(weights[None, :])
    state = np.concatenate(rows)
    at, to = np.nonzero(state)
    before, after = np.nonzero(transition[:K, :K])
    return CRFsuiteModel(
        list(labels),
        attributes,
        at.astype(np.int32),
        to.astype(np.int32),
        state[at, to],
        before.astype(np.int32),
        after.astype(np.int32),
        transition[before, after],
    )
