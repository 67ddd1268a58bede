"""Taggers from more data than memory holds: features go to disk block by block, and are mapped.

Features are hashed, so that there is no dictionary that grows with the data; what training holds in
memory are the weights, the cuts of its sentences and one block of text.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.blocks import read_blocks
from dualstruct.data.leftovers import own_folder
from dualstruct.errors import InputError
from dualstruct.features import FeatureExtractor, FeatureRows
from dualstruct.features.mapped import RowsOnDisk
from dualstruct.labels.names import Labels, label_names
from dualstruct.tasks.tagging.learning import TrainingSet, choose_features, new_extractor
from dualstruct.tasks.tagging.model import Codec, count_columns, layout_of
from dualstruct.tasks.tagging.partial import without_unknown
from dualstruct.tasks.tagging.settings import TaggerSettings

#: What ``hash_bits`` is where nothing is said.
HASH_BITS = 20
#: Sentences of an iterator that are taken at a time.
BLOCK_SENTENCES = 10_000

#: Sentences and their labels, as many as fit in memory.
Block = tuple[Any, Any]


def blocks_of(source: Any, label_column: int, columns: Sequence[int] | None) -> Iterator[Block]:
    """The sentences of a column file, or pairs of a sentence and its labels, some at a time."""
    if isinstance(source, str | os.PathLike) or hasattr(source, "read"):
        for part in read_blocks(source, label_column=label_column, columns=columns):
            yield part.tokens, part.labels
        return
    if hasattr(source, "blocks"):  # files of texts
        yield from source.blocks()
        return
    waiting = iter(source)
    while block := list(islice(waiting, BLOCK_SENTENCES)):
        yield [tokens for tokens, _ in block], [labels for _, labels in block]


@contextmanager
def temporary_folder(folder: str | Path) -> Iterator[Path]:
    """A folder in this one, which is made if need be; what is in it is removed at the end."""
    with ExitStack() as held:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            place = held.enter_context(own_folder(folder))
        except OSError as problem:
            raise InputError(f"{folder}: {problem.strerror or problem}") from None
        yield place


@dataclass(frozen=True)
class OnDisk:
    """Features and labels that were written to disk."""

    extractor: FeatureExtractor
    labels: Labels  #: sorted, as ``fit`` has them
    rows: FeatureRows
    truth: NDArray[np.int32]  # [tokens]
    sample: Any  #: the first block's sentences


def training_set_on_disk(
    settings: TaggerSettings, blocks: Iterable[Block], folder: Path
) -> TrainingSet:
    """What a tagger learns from blocks of sentences; their features and labels are on disk."""
    if settings.min_count > 1:
        raise InputError("fit_large takes neither engine nor min_count")
    if settings.scheme is not None or isinstance(settings.unknown_label, str):
        raise InputError("scheme and unknown_label need all data in memory")
    if settings.document_features or settings.stages > 1:
        raise InputError("document_features and stages need all data in memory")
    started = time.perf_counter()
    bits = HASH_BITS if settings.hash_bits is None else settings.hash_bits
    chosen: list[Any] = []

    def extractor(X: Any, labels: Labels) -> FeatureExtractor:
        features, made = new_extractor(settings, X, labels, bits)
        chosen.append(features)
        if made.learns_from_labels:
            raise InputError('templates with "labels" or "known" need all data in memory')
        return made

    found = blocks_on_disk(blocks, folder, extractor)
    labels = without_unknown(found.labels, settings.unknown_label)
    if choose_features(settings, found.sample, labels) != chosen[0]:
        raise InputError(
            f'features="auto" took {chosen[0]} from the labels at the beginning, and '
            "those after them ask for others: name the features"
        )
    return TrainingSet(
        found.extractor,
        Codec(labels),
        count_columns(found.sample),
        found.rows,
        found.truth,
        layout_of(found.sample),
        {
            "features_": chosen[0],
            "feature_seconds_": time.perf_counter() - started,
            "read_": (len(found.rows.sentences) - 1, found.rows.n_tokens),
        },
    )


def blocks_on_disk(
    blocks: Iterable[Block], folder: Path, make: Callable[[Any, Labels], FeatureExtractor]
) -> OnDisk:
    """Write the features of all blocks; ``make`` gets the first one's sentences and labels."""
    extractor, sample = None, None
    numbers: dict[str, int] = {}  # of the labels, in the order in which they came
    with RowsOnDisk(folder) as disk:
        for X, y in blocks:
            for name in sorted(label_names(y)):
                numbers.setdefault(name, len(numbers))
            known = Labels(list(numbers))
            if extractor is None:
                extractor, sample = make(X, known), X
            try:
                rows = extractor.transform(X)
                disk.add(rows, known.encode(y, rows.sentences))
            except InputError as problem:
                raise InputError(_moved(str(problem), disk.sentences)) from None
    if extractor is None:
        raise InputError("there are no sentences to learn from")
    labels = Labels(sorted(numbers))
    disk.renumber(np.array([labels.number(name) for name in numbers], dtype=np.int32))
    rows, truth = disk.mapped(extractor.dimension)
    return OnDisk(extractor, labels, rows, truth, sample)


def _moved(message: str, sentences: int) -> str:
    """A block's message with the sentence's number among all."""
    return re.sub(r"^sentence (\d+)", lambda m: f"sentence {int(m[1]) + sentences}", message)
