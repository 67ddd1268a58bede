"""Words in clusters that are the leaves of a binary tree."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from dualstruct.data.writing import replace_file

__all__ = ["WordClusters", "paths_in_tree"]


@dataclass(frozen=True)
class WordClusters:
    """The path of each word's cluster in a binary tree: the longer what two paths have in common,
    the more similar are the words.

    Examples
    --------
    >>> clusters = WordClusters(["Turin", "Paris"], ["0", "1"], [12, 70])
    >>> print(clusters.text())
    0	Turin	12
    1	Paris	70
    <BLANKLINE>
    """

    words: Sequence[str]
    paths: Sequence[str]  #: of each word, a string of 0s and 1s
    counts: Sequence[int]  #: how often each word was seen
    mutual_information: float | None = None  #: of neighbouring clusters, in bits, if it was the aim

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return len(set(self.paths))

    def text(self) -> str:
        """Lines ``path TAB word TAB count``, by path and then from the most frequent word on."""
        rows = sorted(zip(self.paths, self.words, self.counts, strict=True), key=_place)
        return "".join(f"{path}\t{word}\t{count}\n" for path, word, count in rows)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them in the format of Liang's program, which templates read."""
        replace_file(path, self.text().encode())


def _place(row: tuple[str, str, int]) -> tuple[str, int, str]:
    path, word, count = row
    return path, -count, word


def paths_in_tree(merges: Sequence[tuple[int, int]], top: int) -> dict[int, str]:
    """The path of each leaf; merged clusters keep the name of the first.

    >>> paths_in_tree([(1, 4), (0, 1)], top=0)
    {0: '0', 1: '10', 4: '11'}
    """
    paths = {top: ""}
    for first, second in reversed(merges):
        above = paths[first]
        paths[first], paths[second] = above + "0", above + "1"
    return dict(sorted(paths.items()))
