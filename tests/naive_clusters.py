"""Brown clusters by recomputing the mutual information for every pair that could be merged."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, pairwise


def f(x: int) -> int:
    """x log2 x as a whole number, as the core has it: equal losses are equal in both."""
    return math.floor(x * math.log2(x) * 2**24 + 0.5) if x > 1 else 0


def naive_words(sentences: list[list[str]], min_count: int = 1) -> list[str]:
    """From the most frequent on, equally frequent ones as they come."""
    counts = Counter(word for sentence in sentences for word in sentence)
    return [word for word, count in counts.most_common() if count >= min_count]


def naive_pairs(sentences: list[list[str]], words: list[str]) -> Counter[tuple[int, int]]:
    number = {word: i for i, word in enumerate(words)}
    return Counter(
        (number[a], number[b])
        for sentence in sentences
        for a, b in pairwise(sentence)
        if a in number and b in number
    )


def information(pairs: Counter[tuple[int, int]], clusters: list[set[int]]) -> int:
    """What pairs of these clusters tell, times the number of pairs of all words."""
    total = f(sum(pairs.values()))
    for s in clusters:
        for u in clusters:
            total += f(sum(count for (a, b), count in pairs.items() if a in s and b in u))
        total -= f(sum(count for (a, _), count in pairs.items() if a in s))
        total -= f(sum(count for (_, b), count in pairs.items() if b in s))
    return total


def naive_merges(
    pairs: Counter[tuple[int, int]], n_words: int, n_clusters: int
) -> list[tuple[int, int]]:
    """The merges of the window, then of all clusters, by the most frequent words of both."""
    clusters = [{word} for word in range(n_clusters)]
    merges = []
    for step in range(n_words - 1):
        if n_clusters + step < n_words:
            clusters.append({n_clusters + step})
        choices = []
        for s, t in combinations(sorted(clusters, key=min), 2):
            merged = [c for c in clusters if c not in (s, t)] + [s | t]
            choices.append((-information(pairs, merged), min(s), min(t), merged))
        _, kept, gone, clusters = min(choices, key=lambda choice: choice[:3])
        merges.append((kept, gone))
    return merges
