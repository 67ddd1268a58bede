"""A parser that learns from a tree in the time of that tree: its weights change in place."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.treebank import Treebank
from dualstruct.solvers.in_place import learn_in_place
from dualstruct.tasks.parsing.confidence import arc_marginals
from dualstruct.tasks.parsing.model import TreeModel, make_tree

__all__ = ["OnlineTrees"]


class OnlineTrees:
    """A parser of order 1 that predicts and learns; threads may do both.

    Features are hashed: there is a weight for whatever comes.

    Parameters
    ----------
    model : TreeModel
        Where it begins; it stays as it is.
    """

    def __init__(self, model: TreeModel) -> None:
        empty = model.tree(Treebank(b""))
        self.model = replace(model, w=empty.new_weights(np.array(model.w.array)))
        self._guard = threading.Lock()

    @staticmethod
    def takes(model: TreeModel) -> bool:
        """Whether it scores arc by arc."""
        return model.second is None

    def knows(self, treebank: Treebank) -> bool:
        """Whether the relations are all among its own."""
        names = set(self.model.labels.names)
        return all(names.issuperset(row) for row in treebank.relations)

    def learn(self, treebank: Treebank, C: float) -> None:
        """Learn on from trees whose relations it knows."""
        model = self.model
        tree = make_tree(
            treebank,
            model.sources,
            model.clusters,
            len(model.labels),
            model.shape,
            model.between,
            treebank.heads,
            model.labels.encode(treebank.relations, treebank.sentences),
        )
        with self._guard:
            learn_in_place(tree, model.w, C, revisits=0)

    def best(
        self, treebank: Treebank, beta: float = 1.0
    ) -> list[tuple[NDArray[np.int32], list[str], NDArray[np.float32]]]:
        """For each sentence the heads, the relations, and how probable each head is."""
        tree = self.model.tree(treebank)
        with self._guard:
            heads, labels = tree.split(tree.decode_all(self.model.w))
            marginals = list(arc_marginals(tree, self.model.w, beta))
        names = self.model.labels.names
        found = []
        cuts = treebank.sentences[1:-1]
        rows = zip(np.split(heads, cuts), np.split(labels, cuts), marginals, strict=True)
        for own, numbers, arcs in rows:
            sure = arcs[own, np.arange(1, len(own) + 1)]
            found.append((own, [names[k] for k in numbers], sure))
        return found
