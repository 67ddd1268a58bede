"""Clusters of words from their vectors."""

from __future__ import annotations

import numpy as np
import pytest

import dualstruct.clustering.kmeans as kmeans
from commands import run_command
from dualstruct import InputError, vector_clusters
from dualstruct.clustering.kmeans import means, nearest, spread
from dualstruct.features.word_vectors import WordVectors


def drawn(n: int, width: int = 5, groups: int = 4, seed: int = 0) -> WordVectors:
    """Words around a few directions."""
    draw = np.random.default_rng(seed)
    directions = 5 * np.eye(max(groups, width))[:groups, :width]
    matrix = directions[np.arange(n) % groups] + draw.normal(0, 0.5, (n, width))
    return WordVectors([f"w{i}" for i in range(n)], matrix.astype(np.float32))


def test_words_of_a_direction_are_clustered_together():
    found = vector_clusters(drawn(80), 4)
    assert found.n_clusters == 4
    assert found.mutual_information is None
    for i, path in enumerate(found.paths):
        assert path == found.paths[i % 4]


@pytest.mark.parametrize("block", [7, 4096])
def test_each_row_goes_to_the_nearest_centre_and_centres_are_means(block, monkeypatch):
    monkeypatch.setattr(kmeans, "BLOCK", block)
    X = drawn(50).matrix
    centres = X[[3, 8, 13, 21, 34]]
    found = nearest(X, centres)
    for row, cluster in zip(X, found, strict=True):
        distances = [float(((row - centre) ** 2).sum()) for centre in centres]
        assert distances[cluster] <= min(distances) + 1e-4
    for cluster, centre in enumerate(means(X, found, 5)):
        np.testing.assert_allclose(centre, X[found == cluster].mean(axis=0), rtol=1e-5, atol=1e-6)


def test_an_empty_cluster_gets_the_row_that_is_farthest_from_its_centre():
    X = np.array([[0, 0], [0, 1], [0, 8]], np.float32)
    centres = means(X, np.array([0, 0, 0]), 2)
    assert centres[1].tolist() == [0, 8]


def test_rounds_make_the_words_nearer_to_their_centres():
    def distance(rounds: int) -> float:
        words = drawn(300, width=8, groups=8, seed=3)
        found = vector_clusters(words, 20, rounds=rounds)
        unit = words.matrix / np.linalg.norm(words.matrix, axis=1, keepdims=True)
        paths = np.array(found.paths)
        return sum(
            float(((unit[paths == p] - unit[paths == p].mean(axis=0)) ** 2).sum())
            for p in set(found.paths)
        )

    assert distance(30) < distance(1)


def test_the_first_centres_are_different_words_and_follow_from_the_seed():
    X = np.repeat(drawn(30).matrix, 3, axis=0)
    first = spread(X, 30, seed=1)
    assert len(np.unique(first, axis=0)) == 30
    assert np.array_equal(first, spread(X, 30, seed=1))
    assert not np.array_equal(first, spread(X, 30, seed=2))


def test_paths_are_leaves_of_a_tree_in_which_near_clusters_are_near():
    found = vector_clusters(drawn(120, groups=3), 9)
    paths = set(found.paths)
    assert len(paths) == 9
    assert not any(a != b and b.startswith(a) for a in paths for b in paths)
    tops = [
        {p[:2] for w, p in zip(found.words, found.paths, strict=True) if int(w[1:]) % 3 == g}
        for g in range(3)
    ]
    assert sum(len(top) == 1 for top in tops) >= 2  # a direction is one branch


def test_an_interruption_keeps_the_clusters_so_far():
    def stop(line: str) -> None:
        assert "round 1 " in line
        raise KeyboardInterrupt

    assert vector_clusters(drawn(40), 4, watch=stop).n_clusters == 4


def test_what_cannot_be_clustered_is_refused_in_a_sentence(tmp_path):
    same = WordVectors(["a", "b", "c"], np.ones((3, 2), np.float32))
    with pytest.raises(InputError, match="1 different vectors, fewer than the 2 clusters"):
        vector_clusters(same, 2)
    with pytest.raises(InputError, match="number of clusters is 1"):
        vector_clusters(same, 1)
    with pytest.raises(InputError, match="rounds is 0"):
        vector_clusters(same, 2, rounds=0)
    (tmp_path / "v.txt").write_text("a 1 2\nb 1\n")
    done = run_command("clusters", "--vectors", tmp_path / "v.txt", "--out", tmp_path / "o")
    assert done.returncode == 1
    assert "v.txt, line 2" in done.stderr


def test_the_command_takes_text_or_vectors(tmp_path):
    file, out = tmp_path / "v.txt", tmp_path / "o"
    words = drawn(40)
    rows = zip(words.words, words.matrix.tolist(), strict=True)
    file.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows))
    done = run_command("clusters", "--vectors", file, "--clusters", 4, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "40 words in 4 clusters" in done.stdout
    assert out.read_text() == vector_clusters(file, 4).text()
    for wrong in ([], [file, "--vectors", file]):
        done = run_command("clusters", *wrong, "--out", out)
        assert "give a text (RAW...) or --vectors FILE" in done.stderr
    done = run_command("clusters", "--vectors", file, "--min-count", 2, "--out", out)
    assert "--min-count is for clusters of text" in done.stderr
