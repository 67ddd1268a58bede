"""A chain that learns from a sentence in the time of that sentence, whatever its own size.

``partial_fit`` makes another model, which takes as long as the model is large. Here the weights
change in place, and what may come is prepared for: features of other sentences have weights from
the start.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dualstruct.solvers.in_place import learn_in_place
from dualstruct.structures import Chain
from dualstruct.tasks.tagging.model import ChainModel, empty_chain, no_rows

__all__ = ["OnlineChain"]


class OnlineChain:
    """A chain that predicts and learns; threads may do both.

    Parameters
    ----------
    model : ChainModel
        Where it begins; it stays as it is.
    others : sentences
        Whose features get weights, 0 until something is learned of them.

    Examples
    --------
    >>> from dualstruct import SequenceTagger
    >>> tagger = SequenceTagger(features="pos").fit([["a", "dog"]], [["DET", "NOUN"]])
    >>> online = OnlineChain(tagger.model_, [["a", "barks"]])
    >>> online.learn([["dog", "barks"]], [["NOUN", "DET"]], C=1.0)
    >>> sentences, labels, sure = online.best([["dog", "barks"]])
    >>> online.names(sentences, labels), tagger.predict([["dog", "barks"]])
    ([['NOUN', 'DET']], [['DET', 'NOUN']])
    """

    def __init__(self, model: ChainModel, others: Sequence[Sequence[str]] = ()) -> None:
        extractor = model.extractor.copy()
        if others:
            extractor.fit(others)
        weights = model.grown_weights(no_rows(extractor), model.labels)
        w = empty_chain(extractor, model.labels, model.transitions).pack(*weights)
        self.model = replace(model, extractor=extractor, w=w)
        self._guard = threading.Lock()

    @staticmethod
    def takes(model: ChainModel) -> bool:
        """Whether the features of a sentence depend on its words alone."""
        extractor = model.extractor
        return not (extractor.learns_from_labels or extractor.uses_documents)

    def knows(self, y: Sequence[Sequence[str]]) -> bool:
        """Whether the labels are all among its own."""
        names = set(self.model.labels.names)
        return all(names.issuperset(row) for row in self.model.codec.to_inner(y))

    def learn(self, X: Sequence[Sequence[str]], y: Sequence[Sequence[str]], C: float) -> None:
        """Learn on from sentences whose labels it knows."""
        model = self.model
        rows = model.extractor.transform(X)
        truth = model.labels.encode(model.codec.to_inner(y), rows.sentences)
        chain = Chain(rows, len(model.labels), truth, transitions=model.transitions)
        with self._guard:
            learn_in_place(chain, model.w, C)

    def best(
        self, X: Sequence[Sequence[str]], beta: float = 1.0
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """Where sentences begin, the numbers of the best labels, and how probable each is, of
        p ∝ exp β·score."""
        chain = self.model.chain(X)
        with self._guard:
            found = chain.decode_all(self.model.w)
            table = chain.marginals_all(self.model.w, beta)
        return chain.sentences, found, table[np.arange(len(found)), found]

    def margins(
        self, X: Sequence[Sequence[str]], beta: float = 1.0
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Where sentences begin, and how much more probable the first label of each token is than
        the second."""
        chain = self.model.chain(X)
        with self._guard:
            table = chain.marginals_all(self.model.w, beta)
        if table.shape[1] < 2:
            return chain.sentences, np.ones(len(table), np.float32)
        two = np.partition(table, -2, axis=1)[:, -2:]
        return chain.sentences, two[:, 1] - two[:, 0]

    def names(self, sentences: NDArray[np.int64], labels: NDArray[np.int32]) -> list[list[str]]:
        """Labels by their names, in the scheme of the training data."""
        return self.model.codec.to_outer(self.model.labels.decode(labels, sentences))
