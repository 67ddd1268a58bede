"""Brown clusters: words that have the same words beside them.

Words are merged so that the mutual information of neighbouring clusters stays as large as
possible (Brown et al. 1992, "Class-based n-gram models of natural language"); the core says how.
All sums are of whole numbers: the clusters are the same with any number of threads, and after any
interruption.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.clustering.words import WordClusters, paths_in_tree
from dualstruct.data.arrays import check_target, read_arrays, write_arrays
from dualstruct.data.opening import in_file, name_of, read_pieces
from dualstruct.data.schema import Range, fit_type, stored_array
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.threads import usable_threads

__all__ = ["brown_clusters"]

CHECKPOINT_FORMAT = "dualstruct clusters checkpoint"
#: Bytes of text that are counted at a time.
PIECE = 1 << 24
#: Seconds between two lines of progress, and two checkpoints.
SHOWN_EVERY, SAVED_EVERY = 0.2, 30.0

Text = str | os.PathLike[str] | Iterable[Any]


def brown_clusters(
    text: Text,
    n_clusters: int = 1000,
    *,
    min_count: int = 1,
    restrict: Text | None = None,
    lowercase: bool = False,
    threads: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    watch: Callable[[str], object] | None = None,
) -> WordClusters:
    """Cluster the words of raw text by their neighbours.

    Parameters
    ----------
    text : path, list of paths, or sentences
        Files with a sentence on each line, words separated by spaces (.gz, .xz and .bz2 are
        unpacked, "-" is standard input); or an iterable of lists of words.
    n_clusters : int
        The number of clusters; each of the most frequent words starts with its own.
    min_count : int
        Leave out words seen fewer times.
    restrict : the same as text, optional
        Cluster only the words that are in here.
    lowercase : bool
        Take words in lower case.
    threads : int
        The clusters are the same with any number.
    checkpoint : path, optional
        Save a checkpoint to this file every 30 seconds, and when an exception occurs.
    resume : bool
        Continue from the checkpoint, if it is there.
    watch : function, optional
        Called from time to time with the progress.

    Examples
    --------
    >>> text = [["a", "dog", "sees", "a", "cat"], ["a", "cat", "hears", "a", "dog"],
    ...         ["the", "cat", "hears", "the", "dog"], ["the", "dog", "sees", "the", "cat"]]
    >>> clusters = brown_clusters(text, 3)
    >>> dict(zip(clusters.words, clusters.paths))
    {'a': '00', 'dog': '1', 'cat': '1', 'the': '00', 'sees': '01', 'hears': '01'}
    >>> clusters.mutual_information
    1.5
    """
    if type(n_clusters) is not int or n_clusters < 2:
        raise InputError(f"the number of clusters is {n_clusters!r}; it must be a number from 2 on")
    if type(min_count) is not int or min_count < 1:
        raise InputError(f"min_count has to be a number from 1 on, not {min_count!r}")
    threads = usable_threads(threads)
    place = None if checkpoint is None else Path(checkpoint)
    if place is not None:
        check_target(place)
    tell = watch or (lambda line: None)
    raw = _core.RawText(lowercase)
    for name, lines, first in _lines(text):
        with _in(name):
            raw.add(lines, first)
        tell(f"{raw.tokens:,} words, {raw.types:,} distinct")
    if restrict is not None:
        for name, lines, first in _lines(restrict):
            with _in(name):
                raw.restrict_to(lines, first)
    neighbours = raw.neighbours(min_count, threads)
    _check(raw, neighbours, n_clusters, min_count, restrict is not None)
    merges = np.zeros((0, 2), np.int32)
    if resume and place is not None and place.exists():
        merges = _read(place, neighbours, n_clusters)
    brown = _core.Brown(neighbours, n_clusters, merges, threads)
    _merge(brown, neighbours, n_clusters, threads, place, tell)
    return _clusters(neighbours, brown.merges(), n_clusters)


def _merge(
    brown: _core.Brown,
    neighbours: _core.Neighbours,
    n_clusters: int,
    threads: int,
    place: Path | None,
    tell: Callable[[str], object],
) -> None:
    """All merges that are left, in pieces short enough to show progress and hear Ctrl-C."""
    started, before = time.monotonic(), brown.merges_done
    saved, many = started, 16
    try:
        while (done := brown.merges_done) < brown.merges_in_all:
            begun = time.monotonic()
            brown.advance(many, threads)
            now = time.monotonic()
            many = max(1, min(2 * many, int(many * SHOWN_EVERY / max(now - begun, 1e-6))))
            share = (done + many - before) / (brown.merges_in_all - before)
            left = (now - started) * (1 / min(share, 1) - 1)
            tell(f"merge {brown.merges_done:,} of {brown.merges_in_all:,} · {left:.0f} s left")
            if place is not None and now - saved > SAVED_EVERY:
                _write(place, brown, neighbours, n_clusters)
                saved = now
    except BaseException:
        if place is not None:
            _write(place, brown, neighbours, n_clusters)
        raise
    if place is not None:
        _write(place, brown, neighbours, n_clusters)


def _clusters(
    neighbours: _core.Neighbours, merges: NDArray[np.int32], n_clusters: int
) -> WordClusters:
    """Clusters and their tree: the last merges are those of clusters."""
    words = len(neighbours)
    within = np.ascontiguousarray(merges[: words - n_clusters])
    cluster_of = _core.clusters_after(words, within)
    paths = paths_in_tree([(a, b) for a, b in merges[words - n_clusters :].tolist()], top=0)
    return WordClusters(
        neighbours.words(),
        [paths[cluster] for cluster in cluster_of.tolist()],
        neighbours.occurrences().tolist(),
        neighbours.mutual_information(cluster_of),
    )


def _check(
    raw: _core.RawText,
    neighbours: _core.Neighbours,
    n_clusters: int,
    min_count: int,
    restricted: bool,
) -> None:
    """Refuse text of which no such clusters can be made."""
    if raw.tokens == 0:
        raise InputError("there are no words in the text")
    if len(neighbours) < n_clusters:
        left_out = [f"min_count is {min_count}"] if min_count > 1 else []
        left_out += ["restrict leaves out the others"] if restricted else []
        why = f" ({', '.join(left_out)})" if left_out else ""
        raise InputError(
            f"the text has {plural(len(neighbours), 'word')} to cluster{why}, fewer than the "
            f"{plural(n_clusters, 'cluster')}"
        )
    if neighbours.pairs == 0:
        raise InputError(
            "no two words are next to each other: one sentence per line is expected, its words "
            "separated by spaces"
        )


def _lines(text: Text) -> Iterator[tuple[str | None, bytes, int]]:
    """Whole lines, with the name of their file, if it is one, and the number of the first."""
    if isinstance(text, str | os.PathLike):
        text = [text]
    sentences: list[str] = []
    for number, each in enumerate(text, start=1):
        if isinstance(each, str | os.PathLike):
            yield from _file_lines(each)
        else:
            sentences.append(_line(each, number))
            if len(sentences) == 10000:
                yield None, "".join(sentences).encode(), 1
                sentences = []
    if sentences:
        yield None, "".join(sentences).encode(), 1


def _file_lines(path: str | os.PathLike[str]) -> Iterator[tuple[str, bytes, int]]:
    name, held, first = name_of(path), b"", 1
    for piece in read_pieces(path, PIECE):
        end = piece.rfind(b"\n") + 1
        if end == 0:
            held += piece
            continue
        lines = held + piece[:end]
        yield name, lines, first
        first += lines.count(b"\n")
        held = piece[end:]
    if held:
        yield name, held, first


def _line(sentence: Sequence[str], number: int) -> str:
    for word in sentence:
        if not isinstance(word, str) or word.split() != [word]:
            raise InputError(
                f"sentence {number}: {word!r} is not a word; sentences are lists of words without "
                "spaces, or paths of files"
            )
    return " ".join(sentence) + "\n"


@contextmanager
def _in(name: str | None) -> Iterator[None]:
    """Problems with the name of the file before them."""
    try:
        yield
    except InputError as problem:
        raise problem if name is None else InputError(in_file(name, problem)) from None


@dataclass(frozen=True)
class _Saved:
    """What a checkpoint says, besides merges."""

    text: Annotated[int, Range(0, 2**64 - 1)]
    clusters: Annotated[int, Range(2, 2**31 - 1)]


def _write(path: Path, brown: _core.Brown, neighbours: _core.Neighbours, n_clusters: int) -> None:
    about = {"text": neighbours.digest, "clusters": n_clusters}
    write_arrays(path, CHECKPOINT_FORMAT, about, {"merges": brown.merges()})


def _read(path: Path, neighbours: _core.Neighbours, n_clusters: int) -> NDArray[np.int32]:
    metadata, arrays = read_arrays(path, CHECKPOINT_FORMAT)
    try:
        saved = fit_type(_Saved, metadata)
        merges = stored_array(arrays, "merges", np.int32, 2)
    except InputError as problem:
        raise InputError(f"{path} is damaged: {problem}") from None
    if (saved.text, saved.clusters) != (neighbours.digest, n_clusters):
        what = "text or other settings" if saved.clusters == n_clusters else "number of clusters"
        raise InputError(f"{path} is of another {what}: give the same again, or leave out resume")
    if merges.shape[1] != 2 or len(merges) >= len(neighbours):
        raise InputError(f"{path} is damaged: its merges are of other words")
    return merges
