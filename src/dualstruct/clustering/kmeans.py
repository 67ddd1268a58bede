"""Clusters of words from their vectors: k-means, and a tree over the centres.

Each word is in the cluster whose centre is nearest, each centre is the mean of its words (Lloyd's
algorithm), from centres that are spread by k-means++. Vectors are scaled to length 1 first, so that
the angle between words counts. Ward's method merges the centres into a binary tree.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dualstruct.clustering.words import WordClusters, paths_in_tree
from dualstruct.errors import InputError
from dualstruct.features.word_vectors import WordVectors, read_vectors
from dualstruct.libraries import library
from dualstruct.printable import plural

__all__ = ["vector_clusters"]

#: Rows whose distances to all centres are in memory at once.
BLOCK = 4096
#: Words for each cluster that the first centres are chosen from.
SAMPLE = 20

Floats = NDArray[np.float32]


def vector_clusters(
    vectors: str | os.PathLike[str] | WordVectors,
    n_clusters: int = 1000,
    *,
    rounds: int = 30,
    seed: int = 0,
    watch: Callable[[str], object] | None = None,
) -> WordClusters:
    """Cluster words by their vectors.

    Parameters
    ----------
    vectors : path
        A file of word vectors: text (word2vec, GloVe), word2vec's binary form, or .npy.
    n_clusters : int
    rounds : int
        The maximum number of rounds of k-means. Ctrl-C ends it earlier.
    seed : int
        Of the choice of the first centres.
    watch : function, optional
        Called after each round with the progress.

    Examples
    --------
    >>> matrix = np.array([[9, 1], [8, 1], [1, 9], [0, 8]], np.float32)
    >>> clusters = vector_clusters(WordVectors(["Rome", "Bonn", "Ada", "Bo"], matrix), 2)
    >>> dict(zip(clusters.words, clusters.paths))
    {'Rome': '0', 'Bonn': '0', 'Ada': '1', 'Bo': '1'}
    """
    if type(n_clusters) is not int or n_clusters < 2:
        raise InputError(f"the number of clusters is {n_clusters!r}; it must be a number from 2 on")
    if type(rounds) is not int or rounds < 1:
        raise InputError(f"rounds is {rounds!r}; it must be a number from 1 on")
    if not isinstance(vectors, WordVectors):
        vectors = read_vectors(os.fspath(vectors))
    X = _unit_length(vectors.matrix)
    if len(np.unique(X, axis=0)) < n_clusters:
        raise InputError(
            f"there are {len(np.unique(X, axis=0)):,} different vectors, fewer than the "
            f"{plural(n_clusters, 'cluster')}"
        )
    centres = spread(X, n_clusters, seed)
    cluster_of = nearest(X, centres)
    try:
        for round in range(1, rounds + 1):
            centres = means(X, cluster_of, n_clusters)
            before, cluster_of = cluster_of, nearest(X, centres)
            moved = int((before != cluster_of).sum())
            if watch is not None:
                watch(f"round {round} of at most {rounds} · {plural(moved, 'word')} moved")
            if not moved:
                break
    except KeyboardInterrupt:  # the words are in clusters, if not yet in the best ones
        pass
    cluster_of = in_order(cluster_of)
    paths = _tree(means(X, cluster_of, int(cluster_of.max()) + 1))
    return WordClusters(
        vectors.words, [paths[k] for k in cluster_of.tolist()], [1] * len(vectors.words)
    )


def _unit_length(matrix: Floats) -> Floats:
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    unit: Floats = (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return unit


def spread(X: Floats, n_clusters: int, seed: int) -> Floats:
    """First centres: each word the more likely, the farther it is from those chosen before."""
    draw = np.random.default_rng(seed)
    some = np.unique(X, axis=0)
    if len(some) > SAMPLE * n_clusters:
        some = some[np.sort(draw.choice(len(some), SAMPLE * n_clusters, replace=False))]
    chosen = [int(draw.integers(len(some)))]
    distance = np.full(len(some), np.inf)
    for _ in range(n_clusters - 1):
        offset = some - some[chosen[-1]]
        np.minimum(distance, np.einsum("ij,ij->i", offset, offset, dtype=np.float64), out=distance)
        distance[chosen[-1]] = 0
        chosen.append(int(draw.choice(len(some), p=distance / distance.sum())))
    return some[chosen]


def nearest(X: Floats, centres: Floats) -> NDArray[np.int64]:
    """The number of the nearest centre of each row, the first of equally near ones."""
    found = np.empty(len(X), dtype=np.int64)
    lengths = np.einsum("ij,ij->i", centres, centres)
    for begin in range(0, len(X), BLOCK):
        distance = lengths - 2 * (X[begin : begin + BLOCK] @ centres.T)
        found[begin : begin + BLOCK] = distance.argmin(axis=1)
    return found


def means(X: Floats, cluster_of: NDArray[np.int64], n_clusters: int) -> Floats:
    """The mean of each cluster's rows; for an empty one, a row that is far from its own."""
    counts = np.bincount(cluster_of, minlength=n_clusters)
    used = np.flatnonzero(counts)
    begins = np.concatenate([[0], np.cumsum(counts[used])[:-1]])
    sums = np.zeros((n_clusters, X.shape[1]))
    sums[used] = np.add.reduceat(X[np.argsort(cluster_of, kind="stable")], begins, dtype=np.float64)
    centres: Floats = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        offset = X - centres[cluster_of]
        far = np.argsort(-np.einsum("ij,ij->i", offset, offset), kind="stable")
        centres[empty] = X[far[: len(empty)]]
    return centres


def in_order(cluster_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Clusters numbered as their first words come.

    >>> in_order(np.array([4, 4, 0, 2, 0])).tolist()
    [0, 0, 1, 2, 1]
    """
    _, first, place = np.unique(cluster_of, return_index=True, return_inverse=True)
    numbers: NDArray[np.int64] = np.argsort(np.argsort(first))[place]
    return numbers


def _tree(centres: Floats) -> dict[int, str]:
    """The path of each centre: those that are merged first have the longest way in common."""
    hierarchy = library("scipy.cluster.hierarchy", "scipy", "the tree of vectors' clusters")
    if len(centres) == 1:
        return {0: "0"}
    name = list(range(len(centres)))  # of each node: that of its first leaf
    merges = []
    for a, b in hierarchy.linkage(centres.astype(np.float64), "ward")[:, :2].astype(int).tolist():
        pair = sorted((name[a], name[b]))
        merges.append((pair[0], pair[1]))
        name.append(pair[0])
    return paths_in_tree(merges, top=0)
