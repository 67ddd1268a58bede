"""The features of dependency arcs, written out: names, hashes and where they fall."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np

from naive import NaiveRandom
from naive_trees import all_trees

BITS = 2**64
A, B = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
ROOT, OUTSIDE = 0x5A1733C09E4BD821, 0xC3D208F741AE965D
HEAD, MODIFIER = 0x8F3B91D46A2C70E5, 0x27C65E01B89DF34B
COMBINATIONS = [
    "word", "lemma", "fine", "coarse", "word fine", "lemma fine", "coarse morphology",
    "fine next", "before fine", "before fine next", "cluster",
]  # fmt: skip
PAIRS = [
    ("word fine", "word fine"), ("fine", "word fine"), ("word", "word fine"), ("word fine", "fine"),
    ("word fine", "word"), ("word", "word"), ("fine", "fine"), ("lemma", "lemma"),
    ("lemma", "fine"), ("fine", "lemma"), ("lemma fine", "lemma fine"),
    ("coarse morphology", "coarse morphology"), ("fine next", "before fine"),
    ("before fine", "before fine"), ("fine next", "fine next"), ("before fine", "fine next"),
    ("before fine next", "fine"), ("fine", "before fine next"),
    ("before fine next", "before fine next"), ("cluster", "cluster"),
    ("lemma", "coarse morphology"),
]  # fmt: skip
LABEL_PAIRS = [
    ("fine", "fine", False), ("fine", "fine", True), ("lemma", "fine", False),
    ("fine", "lemma", False), ("lemma", "lemma", False),
    ("coarse morphology", "coarse morphology", False), ("fine", "before fine next", False),
]  # fmt: skip


@cache
def hash_bytes(text: str) -> int:
    data = text.encode()
    n = len(data)
    words = []
    if n >= 8:
        words = [data[i : i + 8] for i in range(0, n - 8, 8)] + [data[-8:]]
    elif n >= 4:
        words = [data[:4] + data[-4:]]
    elif n:
        words = [bytes([data[0], data[n // 2], data[-1]])]
    h = B ^ n * A % BITS
    for word in words:
        h = (h ^ int.from_bytes(word, "little")) * A % BITS
        h ^= h >> 32
    h = (h ^ h >> 29) * B % BITS
    return (h ^ h >> 32) or 1


def combine(h: int, value: int) -> int:
    h = (h + value) * B % BITS
    h ^= h >> 32
    h = h * A % BITS
    return h ^ h >> 29


@cache
def salt(k: int) -> int:
    return NaiveRandom._mix(A * (k + 1) % BITS)


def product(head: int, modifier: int, k: int) -> int:
    return ((head ^ salt(k)) | 1) * modifier % BITS


class NaiveArcs:
    """One sentence; a word is (form, lemma, coarse, fine, morphology)."""

    def __init__(self, words, between, labels: int, line_bits: int, label_bits: int) -> None:
        self.words, self.between, self.labels = words, list(between), labels
        self.line_bits, self.label_bits = line_bits, label_bits
        self.known: dict[tuple[int, int, int], Counter] = {}
        self.known_keys: dict[tuple[int, str], int] = {}
        self.stride = -(-labels // 16) * 16
        self.between_base = 16 * 2**line_bits
        self.label_base = self.between_base + 32 * 2 ** min(line_bits, 14)
        self.dimension = self.label_base + self.stride * 2**label_bits

    def key(self, node: int, combination: str) -> int:
        if (node, combination) not in self.known_keys:
            self.known_keys[node, combination] = self._key(node, combination)
        return self.known_keys[node, combination]

    def _key(self, node: int, combination: str) -> int:
        if node == 0:
            return NaiveRandom._mix((ROOT + COMBINATIONS.index(combination)) % BITS)
        form, lemma, coarse, fine, morphology = (hash_bytes(x) for x in self.words[node - 1])
        before = hash_bytes(self.words[node - 2][3]) if node > 1 else OUTSIDE
        after = hash_bytes(self.words[node][3]) if node < len(self.words) else OUTSIDE
        return {
            "word": form, "lemma": lemma, "fine": fine, "coarse": coarse,
            "word fine": combine(form, fine), "lemma fine": combine(lemma, fine),
            "coarse morphology": combine(coarse, morphology), "fine next": combine(fine, after),
            "before fine": combine(before, fine),
            "before fine next": combine(combine(before, fine), after), "cluster": OUTSIDE,
        }[combination]  # fmt: skip

    def keys_alone(self, node: int) -> list[tuple[int, int]]:
        """(key, number of its template) of the features of one word alone."""
        keys = [(self.key(node, c), k) for k, c in enumerate(COMBINATIONS)]
        if node and self.words[node - 1][4] != "_":
            values = self.words[node - 1][4].split("|")
            keys += [(hash_bytes(value), len(COMBINATIONS)) for value in values]
        return keys

    def arc(self, h: int, m: int, label: int) -> Counter:
        """Weight index → value."""
        if (h, m, label) not in self.known:
            self.known[h, m, label] = self._arc(h, m, label)
        return self.known[h, m, label]

    def _arc(self, h: int, m: int, label: int) -> Counter:
        right, distance = h < m, abs(h - m)
        bucket = next(k for k, most in enumerate((1, 2, 3, 5, 10, 10**9)) if distance <= most)
        found: Counter = Counter()

        def line(hashed: int) -> None:
            start = (hashed >> (64 - self.line_bits)) * 16
            for slot in (0, 1 + right, 3 + 6 * right + bucket):
                found[start + slot] += 1

        def row(hashed: int) -> None:
            found[self.label_base + (hashed >> (64 - self.label_bits)) * self.stride + label] += 1

        for t, (a, b) in enumerate(PAIRS):
            line(product(self.key(h, a), self.key(m, b), t))
        for node, constant in ((h, HEAD), (m, MODIFIER)):
            for key, t in self.keys_alone(node):
                line(product(key, constant, t))
                row(product(key, constant, 32 + 2 * t + right))
        for t, (a, b, by_distance) in enumerate(LABEL_PAIRS):
            number = 64 + 2 * t + right + (32 * (bucket + 1) if by_distance else 0)
            row(product(self.key(h, a), self.key(m, b), number))
        start = product(self.key(h, "fine"), self.key(m, "fine"), 60 + right) >> (
            64 - min(self.line_bits, 14)
        )
        for tag in {self.words[k - 1][2] for k in range(min(h, m) + 1, max(h, m))}:
            slot = self.between.index(tag) if tag in self.between else 31
            found[self.between_base + start * 32 + slot] = 1
        return found

    def features(self, output: np.ndarray) -> np.ndarray:
        n = len(self.words)
        total = np.zeros(self.dimension)
        output = output.tolist()
        for m in range(1, n + 1):
            for index, value in self.arc(output[m - 1], m, output[n + m - 1]).items():
                total[index] += value
        return total

    def outputs(self, projective: bool, single_root: bool) -> list[np.ndarray]:
        n = len(self.words)
        if n == 0:
            return [np.zeros(0, dtype=np.int32)]
        return [
            np.array([*heads, *labels], dtype=np.int32)
            for heads in all_trees(n, projective, single_root)
            for labels in np.ndindex(*(self.labels,) * n)
        ]
