"""Taggers from more data than memory holds: features go to disk block by block, and are mapped.

Features are hashed, so that there is no dictionary that grows with the data; what training holds in
memory are the weights, the cuts of its sentences and one block of text. Several workers do this
each with its own blocks, and agree on labels, scheme and templates.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.blocks import BLOCK_BYTES, read_blocks
from dualstruct.data.shards import Shard, find_shards
from dualstruct.data.sources import Source
from dualstruct.data.streams import Block, ReadBlocks, Stream, StreamedBlocks, StreamedFiles
from dualstruct.distributed.training import Job
from dualstruct.errors import InputError
from dualstruct.features import FeatureExtractor
from dualstruct.features.mapped import RowsOnDisk
from dualstruct.labels.names import Labels, label_names
from dualstruct.labels.schemes import convert_scheme, iob1_signs
from dualstruct.tasks.tagging.learning import (
    KnownTagging,
    TrainingSet,
    agree_on_features,
    choose_features,
    covered,
    new_extractor,
    outer_scheme,
    refuse_unknown,
)
from dualstruct.tasks.tagging.model import Codec, count_columns, layout_of
from dualstruct.tasks.tagging.partial import without_unknown
from dualstruct.tasks.tagging.settings import TaggerSettings
from dualstruct.threads import usable_threads
from dualstruct.workers.merging import union

#: What ``hash_bits`` is where nothing is said.
HASH_BITS = 20
#: Sentences of an iterator that are taken at a time.
BLOCK_SENTENCES = 10_000
#: A file for several workers is cut into at least so many blocks each.
LEAST_BLOCKS = 8


def stream_of(
    source: Any,
    folder: str | Path,
    label_column: int,
    columns: Sequence[int] | None,
    workers: int | None,
) -> Source:
    """Where the blocks of files, or of pairs of a sentence and its labels, come from."""
    names = _names_of(source)
    if names is not None:
        shards = find_shards(names)
        size = _block_bytes(shards, workers or 1)
        return StreamedFiles(shards, columns_reader(label_column, columns, size), folder)
    if hasattr(source, "stream"):  # files of texts
        found: Source = source.stream(folder)
        return found
    if hasattr(source, "read") or isinstance(source, str):  # standard input is "-"
        return StreamedBlocks(columns_reader(label_column, columns)([source]), folder)
    return StreamedBlocks(_pairs(source), folder)


def _names_of(source: Any) -> list[str | os.PathLike[str]] | None:
    """The files that a source names, if it does."""
    if isinstance(source, str | os.PathLike):
        return [source] if str(source) != "-" else None
    several = source if isinstance(source, list | tuple) else ()
    named = all(isinstance(each, str | os.PathLike) for each in several)
    return list(several) if several and named else None


def _block_bytes(shards: Sequence[Shard], workers: int) -> int:
    """As much text as is read at a time, so that every worker gets some of it."""
    if len(shards) >= workers:
        return BLOCK_BYTES
    return max(min(sum(shard.size for shard in shards) // (LEAST_BLOCKS * workers), BLOCK_BYTES), 1)


def columns_reader(
    label_column: int, columns: Sequence[int] | None, size: int = BLOCK_BYTES
) -> ReadBlocks:
    def read(files: Sequence[Any]) -> Iterator[Block]:
        for file in files:
            how: dict[str, Any] = {} if size == BLOCK_BYTES else {"block_bytes": size}
            for part in read_blocks(file, label_column=label_column, columns=columns, **how):
                yield part.tokens, part.labels

    return read


def _pairs(source: Iterable[Any]) -> Iterator[Block]:
    waiting = iter(source)
    while block := list(islice(waiting, BLOCK_SENTENCES)):
        yield [tokens for tokens, _ in block], [labels for _, labels in block]


def learn(settings: TaggerSettings, job: Job) -> KnownTagging:
    """What is learned from the blocks of all workers' streams."""
    if settings.min_count > 1:
        raise InputError("fit_large takes no min_count: hashed features are not counted")
    if settings.document_features or settings.stages > 1:
        raise InputError("document_features and stages need all data in memory")
    started = time.perf_counter()
    written = _Written(settings, job)
    found = written.everything()
    found.attributes["feature_seconds_"] = time.perf_counter() - started
    return KnownTagging(settings, job, found)


class _Written:
    """The features and labels of a stream on their way to the disk."""

    def __init__(self, settings: TaggerSettings, job: Job) -> None:
        self._settings, self._job = settings, job
        stream = job.share.X
        assert isinstance(stream, Stream)
        self._stream = stream
        self._numbers: dict[str, int] = {}  # of the labels, in the order in which they came
        self._signs = [False, False]  # of iob1
        self._sample: Any = None  # the first block's sentences
        self._chosen: Any = None  # what ``features`` came to
        self._extractor: FeatureExtractor | None = None

    def everything(self) -> TrainingSet:
        with RowsOnDisk(self._stream.folder) as disk:
            for X, y in self._stream.blocks:
                self._add(disk, X, y)
        extractor = self._extractor
        if extractor is None:
            raise InputError("there are no sentences to learn from" + self._for_this_worker())
        codec = self._label(disk)
        self._check_choice(codec.labels)
        agree_on_features(self._job, extractor, self._sample)
        rows, truth = disk.mapped(extractor.dimension)
        self._stream.lengths = np.diff(rows.sentences)
        attributes = {
            "features_": self._chosen,
            "read_": (len(self._stream), rows.n_tokens),
            "coverage_": covered(extractor, self._job, self._sample),
        }
        sample = self._sample
        return TrainingSet(
            extractor, codec, count_columns(sample), rows, truth, layout_of(sample), attributes
        )

    def _add(self, disk: RowsOnDisk, X: Any, y: Any) -> None:
        for name in sorted(label_names(y)):
            self._numbers.setdefault(name, len(self._numbers))
        known = Labels(list(self._numbers))
        if self._extractor is None:
            self._sample, self._extractor = X, self._make(X, known)
        if self._settings.scheme is not None:
            signs = iob1_signs(y)
            self._signs = [a or b for a, b in zip(self._signs, signs, strict=True)]
        with _counting_on(disk.sentences):
            threads = usable_threads(self._settings.threads)
            rows = self._extractor.transform(X, threads=threads)
            disk.add(rows, known.encode(y, rows.sentences))

    def _make(self, X: Any, labels: Labels) -> FeatureExtractor:
        settings = self._settings
        bits = HASH_BITS if settings.hash_bits is None else settings.hash_bits
        labels = self._without_mark(labels) or labels
        self._chosen, made = new_extractor(settings, X, labels, bits)
        if made.learns_from_labels:
            raise InputError('templates with "labels" or "known" need all data in memory')
        return made

    def _without_mark(self, labels: Labels) -> Labels | None:
        """The labels but for the mark of unknown ones; None if there is nothing else."""
        names = [name for name in labels.names if name != self._settings.unknown_label]
        return Labels(names) if names else None

    def _label(self, disk: RowsOnDisk) -> Codec:
        """Number the labels on disk as ``fit`` does; in another scheme, if one is given."""
        settings, workers = self._settings, self._job.workers
        outer = None
        if settings.scheme is not None:
            refuse_unknown(settings, [list(self._numbers)])
            names = union(workers, sorted(self._numbers))
            signs = self._signs[0], self._signs[1]
            outer = outer_scheme(settings, workers, names, signs)
            self._convert(disk, outer)
        found = union(workers, sorted(self._numbers))
        labels = without_unknown(Labels(found), settings.unknown_label)
        numbers = {name: k for k, name in enumerate(labels.names)}
        mine = [numbers.get(name, -1) for name in self._numbers]
        disk.renumber(np.array(mine, dtype=np.int32))
        return Codec(labels, None if outer is None else settings.scheme, outer)

    def _convert(self, disk: RowsOnDisk, outer: Any) -> None:
        """Write the labels on disk in the scheme to learn in."""
        before, after = Labels(list(self._numbers)), dict[str, int]()
        to: Any = self._settings.scheme
        passed = 0

        def convert(truth: NDArray[np.int32], sentences: NDArray[np.int64]) -> NDArray[np.int32]:
            nonlocal passed
            with _counting_on(passed):
                rows = convert_scheme(before.decode(truth, sentences), to, outer)
            passed += len(rows)
            flat = [after.setdefault(name, len(after)) for row in rows for name in row]
            return np.array(flat, dtype=np.int32)

        disk.relabel(convert)
        self._numbers = after

    def _check_choice(self, labels: Labels) -> None:
        if choose_features(self._settings, self._sample, labels) != self._chosen:
            raise InputError(
                f'features="auto" took {self._chosen} from the labels at the beginning, and '
                "those after them ask for others: name the features"
            )

    def _for_this_worker(self) -> str:
        workers = self._job.workers
        return "" if workers.size == 1 else f" for worker {workers.rank}: give more files"


@contextmanager
def _counting_on(sentences: int) -> Iterator[None]:
    """Problems of a block name the sentence's number among all."""
    try:
        yield
    except InputError as problem:
        moved = re.sub(
            r"^sentence (\d+)", lambda m: f"sentence {int(m[1]) + sentences}", str(problem)
        )
        raise InputError(moved) from None
