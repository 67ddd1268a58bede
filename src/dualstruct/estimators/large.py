"""Taggers from more data than memory holds: features go to disk block by block, and are mapped.

Features are hashed, so that there is no dictionary that grows with the data; what training holds in
memory are the weights, the cuts of its sentences and one block of text.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstruct.errors import InputError
from dualstruct.estimators.chain_model import (
    ChainModel,
    Codec,
    count_columns,
    unlabelled_chain,
)
from dualstruct.estimators.costs import label_costs
from dualstruct.estimators.labels import Labels
from dualstruct.estimators.params import as_list
from dualstruct.features import make_extractor
from dualstruct.features.mapped import RowsOnDisk
from dualstruct.files.leftovers import own_folder
from dualstruct.fit import Callback
from dualstruct.metrics import score_name
from dualstruct.structures import Chain

if TYPE_CHECKING:
    from dualstruct.estimators.tagger import SequenceTagger

#: What ``hash_bits`` is where nothing is said.
HASH_BITS = 20
#: Sentences of an iterator that are taken at a time.
BLOCK_SENTENCES = 10_000

#: Sentences and their labels, as many as fit in memory.
Block = tuple[Any, Any]


def blocks_of(pairs: Iterable[tuple[Any, Any]]) -> Iterator[Block]:
    """Pairs of a sentence and its labels, some thousands at a time."""
    waiting = iter(pairs)
    while block := list(islice(waiting, BLOCK_SENTENCES)):
        yield [tokens for tokens, _ in block], [labels for _, labels in block]


def fit_blocks(
    tagger: SequenceTagger,
    blocks: Iterable[Block],
    folder: str | Path,
    dev: Block | None,
    callbacks: Iterable[Callback],
) -> tuple[int, int]:
    """Train a tagger on blocks of sentences; the model and the result are left in it.

    Returns how many sentences and tokens there were.
    """
    if tagger.scheme is not None or isinstance(tagger.unknown_label, str):
        raise InputError("scheme and unknown_label need all data in memory")
    with contextlib.ExitStack() as held:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            place = held.enter_context(own_folder(folder))
        except OSError as problem:
            raise InputError(f"{folder}: {problem.strerror or problem}") from None
        return _fit(tagger, blocks, place, dev, callbacks)


def _fit(
    tagger: SequenceTagger,
    blocks: Iterable[Block],
    folder: Path,
    dev: Block | None,
    callbacks: Iterable[Callback],
) -> tuple[int, int]:
    started = time.perf_counter()
    extractor, labels, n_columns = None, None, None
    with RowsOnDisk(folder) as disk:
        for X, y in blocks:
            found = Labels.learn(y)
            labels = found if labels is None else labels.extend(found)
            if extractor is None:
                tagger.features_ = tagger._choose_features(X, labels)
                bits = tagger.hash_bits or HASH_BITS
                extractor = make_extractor(tagger.features_, hash_bits=bits, dialect=tagger.dialect)
                n_columns = count_columns(X)
            rows = extractor.transform(X)
            disk.add(rows, labels.encode(y, rows.sentences))
    if extractor is None or labels is None:
        raise InputError("there are no sentences to learn from")
    in_order = Labels(sorted(labels.names))
    disk.renumber(np.array([in_order.number(name) for name in labels.names], dtype=np.int32))
    rows, truth = disk.mapped(extractor.dimension)
    tagger.feature_seconds_ = time.perf_counter() - started

    codec = Codec(in_order)
    transitions = tagger._allowed(codec, truth, rows.sentences)
    counts = np.bincount(truth, minlength=len(in_order))
    costs = label_costs(in_order, tagger.cost, tagger.class_weight, counts)
    chain = Chain(rows, len(in_order), truth, cost=costs, transitions=transitions)
    judge = None
    if dev is not None:
        dev_chain = unlabelled_chain(extractor, in_order, transitions, as_list(dev[0]))
        judge = tagger._judge(codec, dev_chain, as_list(dev[1]))
    result = tagger._optimise(chain, None, judge, score_name(in_order.names), callbacks)
    tagger._model = ChainModel(extractor, codec, transitions, result.w, n_columns)
    tagger.result_ = result
    if dev is not None and tagger._wants_temperature():
        tagger._model = tagger._calibrated(tagger._model, as_list(dev[0]), as_list(dev[1]))
    return disk.sentences, disk.tokens
