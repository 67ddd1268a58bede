"""Dependency trees: a head and a label for every word, scored arc by arc.

    w·φ(x, y) = Σ_m (w·φ(x, head of m → m) + w·φ(x, head of m → m, label of m))

The core does the arithmetic (core/structures/tree/tree.cpp) with features hashed on the fly
(core/structures/tree/arc_features.hpp); this is its face.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.structures.base import Structure, check_beta, digest_of

MAX_LABELS = _core.Tree.max_labels
MAX_WORDS = _core.Tree.max_words
#: Parts of speech that features distinguish between a head and its modifier; others share one.
MAX_BETWEEN = 31


class TreeExpectation(NamedTuple):
    """What p(y) ∝ exp β(w·φ(y) + γΔ(y)) says of one sentence."""

    log_partition: float  #: (1/β) log Σ_y exp β(w·φ(y) + γΔ(y))
    cost: float  #: the expected cost; 0 without truth
    arcs: NDArray[np.float32]  #: [words + 1, words + 1]: p(head → modifier); node 0 is the root
    labels: NDArray[np.float32]  #: [words + 1, words + 1, labels]: p(head → modifier, label)


@dataclass(frozen=True)
class TreeColumns:
    """Which columns of a token table the features read; None for those that are not there."""

    form: int | None = None
    lemma: int | None = None
    coarse: int | None = None  #: coarse part of speech, UPOS
    fine: int | None = None  #: fine part of speech, XPOS
    morphology: int | None = None  #: FEATS, separated by |
    cluster: int | None = None

    def resolved(self) -> list[int]:
        """Columns that stand in for those that are missing; −1 where nothing can."""
        coarse = self.fine if self.coarse is None else self.coarse
        fine = self.coarse if self.fine is None else self.fine
        form = self.form
        if coarse is None:
            coarse = fine = form if form is not None else 0
        columns = [form, self.lemma, coarse, fine, self.morphology, self.cluster]
        return [-1 if column is None else column for column in columns]


class Tree(Structure):
    """Sentences with their dependency trees.

    Parameters
    ----------
    table : TokenTable
        The words of all sentences, column by column.
    columns : TreeColumns
        Which column is what.
    n_labels : int
        How many relations there are, at most 256.
    heads, labels : int32 arrays [words], optional
        The true trees: the number of the head in its sentence, 0 for the root, and the
        relation. Without them the structure can only predict.
    projective : bool
        Whether crossing arcs are excluded. True heads that cross are lifted to the next ancestor
        until
        they no longer do: :attr:`lifted` counts them.
    single_root : bool
        Whether exactly one word is attached to the root.
    between : names of coarse parts of speech, optional
        Those that features distinguish between head and modifier; by default the 31 most
        frequent ones of the table. A model keeps them.
    line_bits, label_bits : int
        Features are hashed into 2**line_bits cache lines of 16 weights, and 2**label_bits rows
        of one weight per label.
    label_cost : float
        The cost of a wrong relation at the right head; a wrong head costs 1.

    Examples
    --------
    >>> table = _core.TokenTable.from_sentences([[("Ada", "PROPN"), ("writes", "VERB")]])
    >>> tree = Tree(
    ...     table, TreeColumns(form=0, coarse=1), n_labels=2,
    ...     heads=np.array([2, 0], dtype=np.int32), labels=np.array([1, 0], dtype=np.int32),
    ...     line_bits=10, label_bits=8)
    >>> w = tree.new_weights()
    >>> tree.add_features(w, 0, [2, 0, 1, 0], 1.0)      # heads, then labels
    >>> tree.decode(w, 0).tolist()
    [2, 0, 1, 0]
    """

    core: _core.Tree

    def __init__(
        self,
        table: _core.TokenTable,
        columns: TreeColumns,
        n_labels: int,
        heads: NDArray[np.int32] | None = None,
        labels: NDArray[np.int32] | None = None,
        *,
        projective: bool = True,
        single_root: bool = True,
        between: Sequence[str] | None = None,
        line_bits: int = 20,
        label_bits: int = 16,
        label_cost: float = 0.5,
    ) -> None:
        if not 1 <= n_labels <= MAX_LABELS:
            raise InputError(f"{n_labels} relations: a tree takes 1 to {MAX_LABELS}")
        for name, bits in (("line_bits", line_bits), ("label_bits", label_bits)):
            if not 4 <= bits <= 28:
                raise InputError(f"{name} is {bits}; it must be 4 to 28")
        if not 0 <= label_cost < np.inf:
            raise InputError(f"label_cost is {label_cost}; it must be finite and at least 0")
        self.table = table
        self.n_labels = n_labels
        self.sentences = np.asarray(table.sentences)
        lengths = np.diff(self.sentences)
        if lengths.size and lengths.max() > MAX_WORDS:
            long = int(lengths.argmax())
            raise InputError(
                f"{self.name_example(long, -1)} has {plural(lengths[long], 'word')}; trees take "
                "at most "
                f"{MAX_WORDS}, because memory grows with the square"
            )
        resolved = columns.resolved()
        if between is None:
            between = frequent_types(table, resolved[2], MAX_BETWEEN) if table.n_tokens else []
        self.between = list(between)[:MAX_BETWEEN]
        self.lifted = 0
        if (heads is None) != (labels is None):
            raise InputError("true trees need heads and labels")
        if heads is not None and labels is not None:
            heads = np.ascontiguousarray(heads, dtype=np.int32)
            labels = np.ascontiguousarray(labels, dtype=np.int32)
            self._check_trees(heads, labels, single_root)
            if projective:
                heads, self.lifted = projectivised(heads, self.sentences)
        self.heads, self.labels = heads, labels
        self.projective = projective
        self._settings = (
            np.array([*resolved, n_labels, projective, single_root, line_bits, label_bits]),
            np.array([label_cost]),
        )
        self.core = _core.Tree(
            table,
            resolved,
            self.between,
            heads,
            labels,
            n_labels,
            line_bits,
            label_bits,
            projective,
            single_root,
            label_cost,
        )

    def name_example(self, i: int, part: int) -> str:
        return f"sentence {i + 1}" + ("" if part < 0 else f", word {part + 1}")

    def digest(self) -> str:
        columns = [self.table.ids(c) for c in range(self.table.n_columns)]
        return digest_of([self.sentences, *columns, self.heads, self.labels, *self._settings])

    def words(self, i: int) -> int:
        return int(self.sentences[i + 1] - self.sentences[i])

    def split(self, outputs: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Heads and labels of all words [words] from what :meth:`decode_all` gave."""
        lengths = np.diff(self.sentences)
        is_label = np.repeat(np.tile([False, True], len(lengths)), np.repeat(lengths, 2))
        return outputs[~is_label], outputs[is_label]

    def expectation(
        self, w: _core.Weights, i: int, beta: float = 1.0, gamma: float = 0.0
    ) -> TreeExpectation:
        """Log-partition, expected cost and marginals of arcs and labelled arcs."""
        check_beta(beta)
        with self.translating_errors():
            return TreeExpectation(*self.core.expectation(w, self._example(i, gamma), beta, gamma))

    def checked_output(self, i: int, output: ArrayLike) -> NDArray[np.int32]:
        given = np.ascontiguousarray(output, dtype=np.int32)
        n = self.words(i)
        if given.shape != (2 * n,):
            raise InputError(
                f"{self.name_example(i, -1)} has {plural(n, 'head')} and {plural(n, 'label')}"
            )
        heads, labels = given[:n], given[n:]
        if ((heads < 0) | (heads > n)).any():
            raise InputError(f"{self.name_example(i, -1)}: a head is not among 0 … {n}")
        if ((labels < 0) | (labels >= self.n_labels)).any():
            raise InputError(f"{self.name_example(i, -1)}: a label not among the {self.n_labels}")
        return given

    def _check_trees(
        self, heads: NDArray[np.int32], labels: NDArray[np.int32], single_root: bool
    ) -> None:
        words = int(self.sentences[-1])
        if heads.shape != (words,) or labels.shape != (words,):
            raise InputError(
                f"{plural(words, 'word')}, but {plural(heads.size, 'head')} and "
                f"{plural(labels.size, 'label')}"
            )
        if ((labels < 0) | (labels >= self.n_labels)).any():
            raise InputError(f"a label is not among the {self.n_labels}")
        for i in range(len(self.sentences) - 1):
            of_sentence = heads[self.sentences[i] : self.sentences[i + 1]]
            problem = tree_problem(of_sentence.tolist(), single_root)
            if problem:
                raise InputError(f"{self.name_example(i, -1)}: {problem}")


def tree_problem(heads: Sequence[int], single_root: bool = False) -> str | None:
    """What keeps these heads from being a tree: None if nothing does.

    >>> tree_problem([2, 0]), tree_problem([2, 1])
    (None, 'words 1 and 2 are in a cycle')
    """
    n = len(heads)
    for m, h in enumerate(heads, 1):
        if not 0 <= h <= n:
            return f"word {m} has the head {h}, which is not among 0 … {n}"
        if h == m:
            return f"word {m} is its own head"
    if single_root and n and sum(h == 0 for h in heads) > 1:
        roots = [str(m) for m, h in enumerate(heads, 1) if h == 0]
        return f"words {' and '.join(roots)} both hang from the root"
    reached = [0] * (n + 1)  # 1: leads to the root, k > 1: on the k-th walk
    reached[0] = 1
    for start in range(1, n + 1):
        path, at = [], start
        while not reached[at]:
            reached[at] = start + 1
            path.append(at)
            at = heads[at - 1]
        if reached[at] == start + 1:
            cycle = sorted(path[path.index(at) :])
            return f"words {' and '.join(map(str, cycle))} are in a cycle"
        for node in path:
            reached[node] = 1
    return None


def projectivised(
    heads: NDArray[np.int32], sentences: NDArray[np.int64]
) -> tuple[NDArray[np.int32], int]:
    """Heads without crossing arcs, and how many arcs had to be lifted.

    The shortest arc that covers a word from outside its head's subtree moves up to the head's
    head, until no such arc is left (Nivre & Nilsson 2005).
    """
    result, lifted = heads.copy(), 0
    for begin, end in pairwise(sentences.tolist()):
        of_sentence = result[begin:end]
        while (word := _shortest_crossing(of_sentence.tolist())) is not None:
            of_sentence[word - 1] = of_sentence[of_sentence[word - 1] - 1]
            lifted += 1
    return result, lifted


def _shortest_crossing(heads: list[int]) -> int | None:
    """The modifier of the shortest arc that is not projective, the leftmost of them."""
    arcs = sorted((abs(h - m), m) for m, h in enumerate(heads, 1) if h)
    for _, m in arcs:
        h = heads[m - 1]
        for between in range(min(h, m) + 1, max(h, m)):
            at = between
            while at not in (0, h):
                at = heads[at - 1]
            if at != h:
                return m
    return None


def frequent_types(table: _core.TokenTable, column: int, n: int) -> list[str]:
    """The n most frequent strings of a column."""
    names = table.strings(column)
    counts = np.bincount(table.ids(column), minlength=len(names))
    return [names[k] for k in np.argsort(-counts, kind="stable")[:n]]
