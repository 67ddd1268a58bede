"""What ``dualstruct train`` does with several workers, and with several files."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from dualstruct.cli.output import tell
from dualstruct.data.sources import ColumnFiles, check_paths
from dualstruct.errors import InputError
from dualstruct.workers.engines import check_engine

if TYPE_CHECKING:
    from dualstruct.estimators import SequenceTagger


def check(
    engine: str | None,
    workers: int | None,
    address: str | None,
    solver: str,
    averaged: bool | None,
) -> None:
    """Refuse at once what workers cannot do."""
    check_engine(engine, workers, address)
    if averaged and solver not in ("average", "simple-average", "mixing", "iterative-mixing"):
        raise InputError(
            "--averaged is for one machine and for --solver mixing or average: steps that several "
            "workers make at a time have no average"
        )


def check_files(read: list[str | Path | None], checkpoint: Path | None) -> None:
    """Refuse files that workers cannot read, and a checkpoint that is not a folder."""
    check_paths([Path(file) for file in read if file is not None])
    if checkpoint is None:
        return
    if checkpoint.exists() and not checkpoint.is_dir():
        raise InputError(f"{checkpoint} is a file; checkpoints of several workers need a folder")
    if not checkpoint.parent.is_dir():
        raise InputError(f"{checkpoint} cannot be made: there is no folder {checkpoint.parent}")


def learn_columns(
    tagger: SequenceTagger,
    goes_on: bool,
    files: list[str],
    dev: Path | None,
    label_column: int,
    columns: list[int] | None,
) -> tuple[int, int, float]:
    """Train a tagger on column files: sentences, tokens, and seconds of reading."""
    chosen = None if columns is None else tuple(columns)
    train = ColumnFiles(tuple(map(Path, files)), label_column, chosen)
    held_out = None if dev is None else ColumnFiles((dev,), label_column, chosen)
    learn = tagger.partial_fit if goes_on else tagger.fit
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if tagger.engine is not None:
            learn(train, dev=held_out)
            sentences, tokens = tagger.trained_on_
        else:
            check_paths(train.paths)
            share = train.whole()
            learn(share.X, share.y, dev=held_out)
            sentences, tokens = len(share.numbers), share.tokens
    if tagger.rank_ == 0:
        for warning in caught:
            tell(warning.message)
    spent = time.perf_counter() - started
    # A run that continues counts the seconds before it, too.
    reading = max(0.0, spent - tagger.result_.seconds - tagger.feature_seconds_)
    return sentences, tokens, reading
