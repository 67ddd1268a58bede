"""The features of siblings and grandparents, written out: hashes and where they fall."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from naive import NaiveRandom
from naive_arcs import BITS, COMBINATIONS, NaiveArcs, product

NOTHING, END = 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1
SIBLINGS = [
    ("fine", "fine", "fine"), ("coarse", "coarse", "coarse"), ("lemma", "fine", "fine"),
    ("fine", "lemma", "fine"), ("fine", "fine", "lemma"), ("lemma", "coarse", "lemma"),
    ("coarse", "lemma", "lemma"), (None, "fine", "fine"), (None, "lemma", "lemma"),
    (None, "lemma", "fine"), (None, "fine", "lemma"),
]  # fmt: skip
GRANDPARENTS = [
    ("fine", "fine", "fine"), ("coarse", "coarse", "coarse"), ("lemma", "fine", "fine"),
    ("fine", "lemma", "fine"), ("fine", "fine", "lemma"), ("lemma", "lemma", "lemma"),
    ("fine", None, "fine"), ("lemma", None, "lemma"), ("lemma", None, "fine"),
    ("fine", None, "lemma"),
]  # fmt: skip


class NaiveSecondOrder:
    """One sentence; weights of arcs, then those of siblings and grandparents."""

    def __init__(self, arcs: NaiveArcs, bits: int, siblings: bool, grandparents: bool) -> None:
        self.arcs, self.bits = arcs, bits
        self.siblings, self.grandparents = siblings, grandparents
        self.dimension = arcs.dimension + 16 * 2**bits
        self.known_trees: dict[tuple[int, ...], Counter] = {}

    def key(self, node: int | str, combination: str) -> int:
        if isinstance(node, str):
            constant = NOTHING if node == "nothing" else END
            return NaiveRandom._mix((constant + COMBINATIONS.index(combination)) % BITS)
        return self.arcs.key(node, combination)

    def lines(self, nodes, templates, first_salt: int) -> list[int]:
        """Where the lines of a part begin."""
        found = []
        for t, combinations in enumerate(templates, start=first_salt):
            keys = [self.key(node, c) for node, c in zip(nodes, combinations, strict=True) if c]
            hashed = product(keys[0], keys[1], t)
            if len(keys) == 3:
                hashed = product(hashed ^ hashed >> 32, keys[2], t)
            found.append(self.arcs.dimension + 16 * (hashed >> (64 - self.bits)))
        return found

    def tree(self, heads: tuple[int, ...]) -> Counter:
        """Weight index → value of the second-order parts; heads[m - 1] is the head of word m."""
        if heads not in self.known_trees:
            self.known_trees[heads] = self._tree(heads)
        return self.known_trees[heads]

    def _tree(self, heads: tuple[int, ...]) -> Counter:
        found: Counter = Counter()
        for h in range(len(heads) + 1):
            modifiers = [m for m, head in enumerate(heads, start=1) if head == h]
            for right in (False, True):
                side = [m for m in modifiers if (m > h) == right]
                chain = ["nothing", *(side if right else side[::-1]), "end"]
                for s, m in itertools.pairwise(chain):
                    distance = 1 if m == "end" else abs(m - h)
                    bucket = next(
                        k for k, most in enumerate((1, 2, 3, 5, 10, 99)) if distance <= most
                    )
                    for line in self.lines((h, s, m), SIBLINGS, 320) if self.siblings else []:
                        for slot in (0, 1 + right, 3 + 6 * right + bucket):
                            found[line + slot] += 1
            for m in modifiers if h and self.grandparents else []:
                g = heads[h - 1]
                order = 4 * (g < h) + 2 * (h < m) + (g < m)
                for line in self.lines((g, h, m), GRANDPARENTS, 340):
                    found[line] += 1
                    found[line + 1 + order] += 1
        return found

    def features(self, output: np.ndarray) -> np.ndarray:
        total = np.zeros(self.dimension)
        total[: self.arcs.dimension] = self.arcs.features(output)
        n = len(self.arcs.words)
        for index, value in self.tree(tuple(output[:n].tolist())).items() if n else ():
            total[index] += value
        return total
