"""Dependency trees with consecutive siblings and grandparents.

    w·φ(x, y) = arcs as in Tree + Σ_h Σ_side Σ w·φ(x, h, s, m) + Σ w·φ(x, g, h, m)

where s and m are consecutive modifiers of h on one side (nothing before the first, the end after
the last) and g is the head of h. Arcs are pruned by a first-order model; what is left is decoded
exactly where trees are projective, and elsewhere by AD3 over one TREE factor and an automaton for
each head (core/structures/tree/second_order_tree.cpp, core/inference/trees/second_order.cpp).
Sums over all trees, for the losses crf and softmax_margin, are exact where trees are projective, by
the decoder's chart with sums for maxima; elsewhere loopy belief propagation over TREE, sibling and
grandparent factors estimates them (Smith & Eisner 2008, Martins et al. 2010, §3.2 and §4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.structures.base import Structure, check_beta, digest_of
from dualstruct.structures.tree import Tree


@dataclass(frozen=True)
class PrunedArcs:
    """The arcs of each sentence that a second look is worth."""

    offsets: NDArray[np.int64]  #: [sentences + 1] into the arcs
    heads: NDArray[np.uint16]  #: [arcs]
    modifiers: NDArray[np.uint16]  #: [arcs]
    words: int
    #: share of the true arcs among those kept by probability alone; None without truth
    recall: float | None

    @property
    def heads_per_word(self) -> float:
        """How many heads a word has left to choose from."""
        return len(self.heads) / max(self.words, 1)


def prune_arcs(
    tree: Tree,
    w: _core.Weights,
    *,
    most_heads: int = 10,
    threshold: float = 0.005,
    beta: float = 1.0,
    keep_truth: bool = False,
) -> PrunedArcs:
    """Keeps the arcs that are probable under a first-order model.

    A word keeps at most ``most_heads`` heads, those whose probability is at least ``threshold``
    times that of its best one, where p(tree) ∝ exp β·score: 1 suits models of the loss ``crf``, 3
    those of a margin loss, whose scores are small. The arcs of one whole tree always stay, so
    that every sentence can be parsed; with ``keep_truth`` the true arcs do, too, which training
    needs.

    Examples
    --------
    >>> from dualstruct.structures import TreeColumns
    >>> table = _core.TokenTable.from_sentences([["Ada", "writes", "programs"]])
    >>> tree = Tree(
    ...     table, TreeColumns(form=0), n_labels=1, heads=np.array([2, 0, 2], dtype=np.int32),
    ...     labels=np.zeros(3, dtype=np.int32), line_bits=10, label_bits=8)
    >>> arcs = prune_arcs(tree, tree.new_weights(), most_heads=2, keep_truth=True)
    >>> arcs.heads_per_word <= 4
    True
    """
    if most_heads < 1:
        raise InputError(f"most_heads is {most_heads}; it must be at least 1")
    if not 0 <= threshold <= 1:
        raise InputError(f"threshold is {threshold}; it must be from 0 to 1")
    check_beta(beta)
    if keep_truth and tree.heads is None:
        raise InputError("true arcs can be kept only where the true trees are known")
    with tree.translating_errors():
        offsets, heads, modifiers, words, _, true_arcs = _core.prune_arcs(
            tree.core, w, most_heads, threshold, beta, keep_truth
        )
    recall = true_arcs / max(words, 1) if keep_truth else None
    return PrunedArcs(offsets, heads, modifiers, words, recall)


class SecondOrderMarginals(NamedTuple):
    """Probabilities of one sentence: exact for projective trees, else estimates by loopy belief
    propagation."""

    log_partition: float  #: log Σ_y exp w·φ(y), or Bethe's estimate of it
    arcs: NDArray[np.float32]  #: [words + 1, words + 1]: p(head → modifier)
    converged: bool  #: whether messages stand still; True where sums are exact
    iterations: int  #: of belief propagation


class Effort(NamedTuple):
    """What decoding has cost."""

    decoded: int
    exact: int  #: so many outputs were proven the best
    iterations: int  #: of AD3


class SecondOrderTree(Structure):
    """Sentences with their dependency trees, arcs seen together with their neighbours.

    Parameters
    ----------
    first : Tree
        The sentences, their true trees and the features of single arcs.
    arcs : PrunedArcs
        What :func:`prune_arcs` left; for training with ``keep_truth``, and by models that have not
        seen the sentences: a model is surer of those than of new ones.
    siblings, grandparents : bool
        Which pairs of arcs are looked at.
    bits : int
        Second-order features are hashed into 2**bits cache lines of 16 weights.
    max_iterations : int
        AD3 stops there, with the best tree it has seen. Projective trees do without AD3.
    branch : bool
        Whether to search on until the tree is proven the best. Slow where the relaxation is loose.

    Examples
    --------
    >>> from dualstruct.structures import TreeColumns
    >>> table = _core.TokenTable.from_sentences([["Ada", "writes", "programs"]])
    >>> tree = Tree(
    ...     table, TreeColumns(form=0), n_labels=1, heads=np.array([2, 0, 2], dtype=np.int32),
    ...     labels=np.zeros(3, dtype=np.int32), line_bits=10, label_bits=8)
    >>> arcs = prune_arcs(tree, tree.new_weights(), keep_truth=True)
    >>> second = SecondOrderTree(tree, arcs, bits=10)
    >>> w = second.new_weights()
    >>> second.add_features(w, 0, [2, 0, 2, 0, 0, 0], 1.0)
    >>> second.decode(w, 0)[:3].tolist()
    [2, 0, 2]
    >>> second.take_effort().exact
    1
    """

    core: _core.SecondOrderTree

    def __init__(
        self,
        first: Tree,
        arcs: PrunedArcs,
        *,
        siblings: bool = True,
        grandparents: bool = True,
        bits: int = 18,
        max_iterations: int = 200,
        branch: bool = False,
    ) -> None:
        if not 4 <= bits <= 28:
            raise InputError(f"bits is {bits}; it must be 4 to 28")
        if max_iterations < 1:
            raise InputError(f"max_iterations is {max_iterations}; it must be at least 1")
        self.first, self.arcs = first, arcs
        self._settings = np.array([siblings, grandparents, bits, max_iterations, branch])
        self.core = _core.SecondOrderTree(
            first.core,
            arcs.offsets,
            arcs.heads,
            arcs.modifiers,
            bits,
            siblings,
            grandparents,
            max_iterations,
            branch,
        )

    def with_arcs(self, arcs: PrunedArcs) -> SecondOrderTree:
        """The same sentences and weights with other arcs to choose from."""
        siblings, grandparents, bits, max_iterations, branch = self._settings.tolist()
        return SecondOrderTree(
            self.first,
            arcs,
            siblings=bool(siblings),
            grandparents=bool(grandparents),
            bits=bits,
            max_iterations=max_iterations,
            branch=bool(branch),
        )

    def has_exact_inference(self, sums: bool) -> bool:
        """Sums are estimates where trees need not be projective."""
        return self.first.projective or not sums

    @property
    def has_many_parts(self) -> bool:
        """Labelled arcs and pairs of them: hundreds for each word."""
        return True

    @property
    def unproven(self) -> int:  # type: ignore[override]
        return self.core.unproven

    def name_example(self, i: int, part: int) -> str:
        return self.first.name_example(i, part)

    def digest(self) -> str:
        rest = digest_of([self.arcs.offsets, self.arcs.heads, self.arcs.modifiers, self._settings])
        return self.first.digest() + rest

    def checked_output(self, i: int, output: ArrayLike) -> NDArray[np.int32]:
        return self.first.checked_output(i, output)

    def split(self, outputs: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Heads and labels of all words [words] from what :meth:`decode_all` gave."""
        return self.first.split(outputs)

    def take_effort(self) -> Effort:
        """Of all decodings since the last call."""
        return Effort(*self.core.take_effort())

    def marginals(
        self, w: _core.Weights, i: int, *, max_iterations: int = 200, damping: float = 0.3
    ) -> SecondOrderMarginals:
        """Probabilities of arcs; the settings are those of belief propagation, where sums are
        estimates."""
        if not 0 <= damping < 1:
            raise InputError(f"damping is {damping}; it must be at least 0 and less than 1")
        with self.translating_errors():
            found = self.core.marginals(w, self._example(i), max_iterations, damping)
        return SecondOrderMarginals(*found)
