"""Generated chains for tests and scaling studies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct.features import FeatureRows
from dualstruct.structures.chain import Chain


class GeneratedChains(NamedTuple):
    """Sentences drawn from a hidden Markov model."""

    rows: FeatureRows
    truth: NDArray[np.int32]
    labels: int

    def structure(self) -> Chain:
        return Chain(self.rows, self.labels, self.truth)


def make_chains(
    sentences: int = 100,
    tokens: int = 20,
    labels: int = 5,
    features: int = 1000,
    features_per_token: int = 10,
    noise: float = 0.2,
    seed: int = 0,
) -> GeneratedChains:
    """Sentences whose labels follow a Markov chain and whose features hint at them.

    Parameters
    ----------
    sentences, tokens : int
        How many sentences, and their mean length (lengths vary from 1 to twice that).
    labels, features, features_per_token : int
        Sizes. Each label prefers a share of the features.
    noise : float
        The part of the features that is drawn without regard to the label.
    seed : int

    Examples
    --------
    >>> data = make_chains(sentences=3, seed=1)
    >>> len(data.structure())
    3
    """
    rng = np.random.default_rng(seed)
    lengths = (
        rng.integers(1, 2 * tokens, sentences, endpoint=False)
        if tokens > 1
        else np.ones(sentences, int)
    )
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    total = int(offsets[-1])
    steps = rng.dirichlet(np.full(labels, 0.5), size=labels).cumsum(axis=1)
    draws = rng.random(total)
    starts = set(offsets[:-1].tolist())
    truth = np.empty(total, dtype=np.int32)
    label = 0
    for t in range(total):
        if t in starts:
            label = int(rng.integers(labels))
        else:
            label = min(int(np.searchsorted(steps[label], draws[t])), labels - 1)
        truth[t] = label
    share = max(features // labels, 1)
    own = (truth[:, None] * share + rng.integers(0, share, (total, features_per_token))) % features
    anything = rng.integers(0, features, (total, features_per_token))
    ids = np.where(rng.random(own.shape) < noise, anything, own).astype(np.int32)
    rows = FeatureRows(
        offsets=np.arange(total + 1, dtype=np.int64) * features_per_token,
        ids=ids.ravel(),
        values=None,
        sentences=offsets,
        dimension=features,
    )
    return GeneratedChains(rows, truth, labels)
