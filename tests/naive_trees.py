"""Every dependency tree of a short sentence, written out, for decoders and sums to agree with."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp


def is_tree(heads: tuple[int, ...]) -> bool:
    """heads[m - 1] is the head of word m: does every word reach the root?"""
    for m in range(1, len(heads) + 1):
        for _ in heads:
            if m:
                m = heads[m - 1]
        if m:
            return False
    return True


def is_projective(heads: tuple[int, ...]) -> bool:
    """No two arcs cross; the root stands left of all words."""
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, start=1)]
    return not any(a < c < b < d for (a, b), (c, d) in itertools.product(arcs, arcs))


def all_trees(words: int, projective: bool, single_root: bool) -> Iterator[tuple[int, ...]]:
    for heads in itertools.product(range(words + 1), repeat=words):
        if single_root and heads.count(0) != 1:
            continue
        if is_tree(heads) and (not projective or is_projective(heads)):
            yield heads


def score_of(scores: np.ndarray, heads: tuple[int, ...]) -> float:
    return sum(float(scores[h, m]) for m, h in enumerate(heads, start=1))


def scored_trees(
    scores: np.ndarray, projective: bool, single_root: bool
) -> list[tuple[float, tuple[int, ...]]]:
    """Every tree that uses available arcs only, best first."""
    trees = [(score_of(scores, t), t) for t in all_trees(len(scores) - 1, projective, single_root)]
    return sorted((t for t in trees if t[0] > -np.inf), key=lambda t: -t[0])


def labelled_trees(
    scores: np.ndarray, projective: bool, single_root: bool
) -> list[tuple[float, tuple[int, ...], tuple[int, ...]]]:
    """The same with every choice of labels; scores[h, m, l]."""
    found = []
    for _, heads in scored_trees(scores.max(axis=2), projective, single_root):
        for labels in itertools.product(range(scores.shape[2]), repeat=len(heads)):
            arcs = enumerate(zip(heads, labels, strict=True), start=1)
            score = sum(float(scores[h, m, label]) for m, (h, label) in arcs)
            if score > -np.inf:
                found.append((score, heads, labels))
    return sorted(found, key=lambda t: -t[0])


def marginals(scores: np.ndarray, projective: bool, single_root: bool) -> tuple[float, np.ndarray]:
    """log Σ exp(score) and the probability of each arc."""
    trees = scored_trees(scores, projective, single_root)
    log_partition = float(logsumexp([score for score, _ in trees]))
    result = np.zeros(scores.shape)
    for score, heads in trees:
        for m, h in enumerate(heads, start=1):
            result[h, m] += np.exp(score - log_partition)
    return log_partition, result


def maximum_tree(scores: np.ndarray) -> list[int]:
    """Chu-Liu-Edmonds as the textbook has it: contract a cycle, solve the rest, open the cycle."""
    n = len(scores)
    heads = [-1] + [
        max((h for h in range(n) if h != m), key=lambda h, m=m: scores[h, m]) for m in range(1, n)
    ]
    cycle: list[int] = []
    for m in range(1, n):
        path = [m]
        while path[-1] != 0 and heads[path[-1]] not in path:
            path.append(heads[path[-1]])
        if path[-1] != 0:
            cycle = path[path.index(heads[path[-1]]) :]
            break
    if not cycle:
        return heads
    outside = [v for v in range(n) if v not in cycle]
    small = np.full((len(outside) + 1, len(outside) + 1), -np.inf)
    enter, leave = {}, {}
    for a, u in enumerate(outside):
        for b, v in enumerate(outside):
            small[a, b] = scores[u, v]
        enter[a] = max(cycle, key=lambda v, u=u: scores[u, v] - scores[heads[v], v])
        small[a, -1] = scores[u, enter[a]] - scores[heads[enter[a]], enter[a]]
        leave[a] = max(cycle, key=lambda v, u=u: scores[v, u])
        small[-1, a] = scores[leave[a], u]
    inner = maximum_tree(small)
    for b, v in enumerate(outside[1:], start=1):
        heads[v] = leave[b] if inner[b] == len(outside) else outside[inner[b]]
    heads[enter[inner[-1]]] = outside[inner[-1]]
    return heads
