"""Explanations of dependency trees, arc by arc.

For a word there are two rivals: the best tree in which it has another head, and the best one in
which it keeps its head and has another relation. The contributions are the features of the arcs
(and of pairs of arcs, at order 2) that only one of the two trees has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.treebank import Treebank
from dualstruct.errors import InputError
from dualstruct.explaining.results import (
    Alternative,
    Change,
    Contribution,
    Explanation,
    TokenExplanation,
    by_size,
    total,
)
from dualstruct.mistakes.kinds import arc_kind
from dualstruct.structures import Tree
from dualstruct.structures.second_order_tree import SecondOrderTree

Output = tuple[NDArray[np.int32], NDArray[np.int32]]  # heads and labels of the words


def explain_tree(
    structure: Tree | SecondOrderTree,
    w: _core.Weights,
    i: int,
    *,
    without: Callable[[int, int], SecondOrderTree] | None,
    projective: bool,
    single_root: bool,
    forms: Sequence[str],
    labels: Sequence[str],
    columns: Sequence[str],
    words: Sequence[int],
    gold: Sequence[tuple[int, str]] | None = None,
    only_wrong: bool = False,
) -> Explanation:
    """Why sentence i got its tree, at some of its words (counted from 0).

    With ``gold``, the true heads and relations, a wrong arc is compared with the true one;
    ``only_wrong`` leaves out the others.

    ``without(head, word)`` gives a second-order structure with that arc pruned; ``columns`` are
    the names of what the features look at.
    """
    tree = structure if isinstance(structure, Tree) else structure.first
    n = tree.words(i)
    output = structure.decode(w, i)
    chosen = output[:n], output[n:]
    arcs = tree.new_weights(w.array[: tree.core.dimension].copy())
    labelled = tree.core.part_scores(arcs, i, 0.0).reshape(n + 1, n + 1, len(labels))
    best_label = labelled.argmax(axis=2)
    arc_scores = labelled.max(axis=2)

    def with_another_head(word: int) -> Output | None:
        head = int(chosen[0][word])
        try:
            if without is not None:
                pruned = without(head, word + 1)
                found = pruned.decode(w, i)
                return found[:n], found[n:]
            scores = arc_scores.copy()
            scores[head, word + 1] = -np.inf
            heads = _core.tree_decode(scores, projective, single_root)[1:]
        except InputError:  # every other tree is forbidden
            return None
        return heads, best_label[heads, np.arange(1, n + 1)].astype(np.int32)

    def with_another_relation(word: int) -> Output | None:
        if len(labels) < 2:
            return None
        scores = labelled[chosen[0][word], word + 1].copy()
        scores[chosen[1][word]] = -np.inf
        relations = chosen[1].copy()
        relations[word] = scores.argmax()
        return chosen[0], relations

    def with_arc(word: int, head: int, relation: str) -> Output | None:
        """The best tree with an arc; if the relation is new, with the best one there."""
        if relation not in labels and head == chosen[0][word]:
            return None
        scores = arc_scores.copy()
        scores[:, word + 1] = -np.inf
        scores[head, word + 1] = 0.0
        try:
            heads = _core.tree_decode(scores, projective, single_root)[1:]
            if isinstance(structure, SecondOrderTree):
                heads = only_arc(structure, i, word + 1, heads).decode(w, i)[:n]
        except InputError:  # no tree has this arc
            return None
        relations = best_label[heads, np.arange(1, n + 1)].astype(np.int32)
        if relation in labels:
            relations[word] = labels.index(relation)
        return heads, relations

    writer = _Writer(structure, w, i, forms, labels, columns)
    found = []
    for word in words:
        head, relation = writer.arc(chosen, word)
        if gold is not None and gold[word] != (head, relation):
            right = writer.arc_text(*gold[word])
            best = with_arc(word, *gold[word])
            kind = arc_kind(head, gold[word][0])
            shown = () if best is None else (writer.compare(kind, chosen, best, word),)
            text = writer.arc_text(head, relation)
            found.append(
                TokenExplanation(word + 1, forms[word], relation, head, text, shown, right)
            )
            continue
        if gold is not None and only_wrong:
            continue
        rivals = [("head", with_another_head(word)), ("relation", with_another_relation(word))]
        alternatives = [
            writer.compare(kind, chosen, other, word) for kind, other in rivals if other is not None
        ]
        found.append(
            TokenExplanation(
                word + 1,
                forms[word],
                relation,
                head,
                writer.arc_text(head, relation),
                tuple(sorted(alternatives, key=lambda each: each.difference)),
            )
        )
    return Explanation("tree", tuple(forms), structure.score(w, i, output), tuple(found))


class _Writer:
    """Puts the difference of two trees of a sentence into words."""

    def __init__(
        self,
        structure: Tree | SecondOrderTree,
        w: _core.Weights,
        i: int,
        forms: Sequence[str],
        labels: Sequence[str],
        columns: Sequence[str],
    ) -> None:
        self.structure, self.i = structure, i
        self.tree = structure if isinstance(structure, Tree) else structure.first
        self.weights = w.array
        self.forms, self.labels, self.columns = forms, labels, columns

    def arc(self, output: Output, word: int) -> tuple[int, str]:
        return int(output[0][word]), self.labels[output[1][word]]

    def arc_text(self, head: int, relation: str) -> str:
        return f"{relation} of {self.form(head)}"

    def form(self, node: int) -> str:
        return "the root" if node == 0 else f"{self.forms[node - 1]} ({node})"

    def compare(self, kind: str, chosen: Output, other: Output, word: int) -> Alternative:
        changed = np.flatnonzero((chosen[0] != other[0]) | (chosen[1] != other[1])).tolist()
        sums: dict[tuple[str, str, int], list[float]] = {}
        texts: dict[tuple[str, str, int], list[str]] = {}

        def add(key: tuple[str, str, int], side: int, part: str, places: list[int]) -> None:
            amounts = sums.setdefault(key, [0.0, 0.0])
            amounts[side] += sum(float(self.weights[place]) for place in places)
            texts.setdefault(key, ["", ""])[side] = part

        for m in changed:
            for side, output in enumerate((chosen, other)):
                head, relation = self.arc(output, m)
                label = int(output[1][m])
                of_arc, of_label = self.tree.core.name_arc(self.i, head, m + 1, label, self.columns)
                for name, places in of_arc:
                    add((name, "arc", m + 1), side, f"head {self.form(head)}", places)
                for name, places in of_label:
                    part = self.arc_text(head, relation)
                    add((name, "relation", m + 1), side, part, places)
        if isinstance(self.structure, SecondOrderTree):
            self._add_pairs(chosen[0], other[0], add)
        ordered = by_size(
            [
                Contribution(*key, texts[key][0], texts[key][1], *amounts)
                for key, amounts in sums.items()
            ]
        )
        head, relation = self.arc(other, word)
        changes = tuple(
            Change(
                m + 1,
                self.forms[m],
                self.arc_text(*self.arc(chosen, m)),
                self.arc_text(*self.arc(other, m)),
            )
            for m in changed
        )
        text = self.arc_text(head, relation)
        return Alternative(kind, relation, head, text, total(ordered), changes, ordered)

    def _add_pairs(
        self,
        chosen: NDArray[np.int32],
        other: NDArray[np.int32],
        add: Callable[[tuple[str, str, int], int, str, list[int]], None],
    ) -> None:
        """Siblings and grandparents that only one of the trees has."""
        structure = self.structure
        assert isinstance(structure, SecondOrderTree)
        parts = [
            {
                part[:4]: part[4]
                for part in structure.core.name_parts(
                    self.i, np.ascontiguousarray(heads), self.columns
                )
            }
            for heads in (chosen, other)
        ]
        for side in (0, 1):
            for key in parts[side].keys() - parts[1 - side].keys():
                kind, a, b, c = key
                if kind < 2:
                    before = "nothing" if b == a else self.form(b)
                    text = f"{'the end' if c == a else self.form(c)} after {before}"
                    text += f" under {self.form(a)}"
                else:
                    text = f"{self.form(c)} under {self.form(b)} under {self.form(a)}"
                # The end of a head's modifiers is said of the head itself.
                token = max(c, 1)
                for name, places in parts[side][key]:
                    of_kind = "siblings" if kind < 2 else "grandparent"
                    add((name, of_kind, token), side, text, places)


def true_arcs(treebank: Treebank) -> list[tuple[int, str]]:
    """The heads and relations of the only sentence, which must be a tree."""
    treebank.check_trees()
    relations = (str(relation) for relation in treebank.relations[0])
    return list(zip(treebank.heads.tolist(), relations, strict=True))


def only_arc(
    structure: SecondOrderTree, i: int, word: int, heads: NDArray[np.int32]
) -> SecondOrderTree:
    """The structure in which a word of sentence i has one head: that of a tree.

    The other arcs of that tree are there as well, so that there is one with this arc.
    """
    arcs = structure.arcs
    begin, end = arcs.offsets[i : i + 2]
    mine = zip(arcs.heads[begin:end].tolist(), arcs.modifiers[begin:end].tolist(), strict=True)
    wanted = {(m, h) for h, m in mine if m != word} | set(enumerate(heads.tolist(), 1))
    new = np.array(sorted(wanted), dtype=arcs.heads.dtype).reshape(-1, 2)
    offsets = arcs.offsets.copy()
    offsets[i + 1 :] += len(new) - (end - begin)
    return structure.with_arcs(
        replace(
            arcs,
            offsets=offsets,
            heads=np.concatenate([arcs.heads[:begin], new[:, 1], arcs.heads[end:]]),
            modifiers=np.concatenate([arcs.modifiers[:begin], new[:, 0], arcs.modifiers[end:]]),
        )
    )


def without_arc(structure: SecondOrderTree, i: int, head: int, word: int) -> SecondOrderTree:
    """The structure with one arc of sentence i pruned."""
    arcs = structure.arcs
    begin, end = arcs.offsets[i : i + 2]
    here = np.arange(len(arcs.heads))
    gone = (here >= begin) & (here < end) & (arcs.heads == head) & (arcs.modifiers == word)
    offsets = arcs.offsets.copy()
    offsets[i + 1 :] -= int(gone.sum())
    return structure.with_arcs(
        replace(arcs, offsets=offsets, heads=arcs.heads[~gone], modifiers=arcs.modifiers[~gone])
    )
