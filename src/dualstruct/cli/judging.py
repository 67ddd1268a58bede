"""Predictions of a model, or of a file, against what is true, as evaluate and compare ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualstruct.errors import InputError

if TYPE_CHECKING:
    from dualstruct.cli.options import Reading
    from dualstruct.mistakes import Mistakes


@dataclass(frozen=True)
class Judged:
    """Scores, and what is wrong for those who ask."""

    report: dict[str, Any]  #: the scores for JSON
    text: str  #: and for people
    mistakes: Callable[[], Mistakes]
    words: Callable[[str], set[str]]  #: those of a file, read as the one that was scored


def judge_model(
    path: Path,
    test: str,
    reading: Reading,
    unseen_labels: str = "count",
    confidence: bool = False,
    picture: Path | None = None,
    raw_text: bool = False,
) -> Judged:
    """What a model predicts for a file."""
    from dualstruct.cli.models import open_model

    return open_model(path).judge(test, unseen_labels, confidence, picture, reading, raw_text)


def judge_file(gold: str, predicted: str, reading: Reading, raw: bool = False) -> Judged:
    """What a file says against what another one says: trees, or the labels of its last column."""
    from dualstruct.cli import trees
    from dualstruct.cli.columns import judge_labels

    chosen = reading.columns is not None or reading.label_column is not None
    if trees.is_treebank(gold) and not chosen:
        return trees.judge_trees(gold, predicted, raw)
    if raw:
        raise InputError("--raw-text compares files of CoNLL-U")
    return judge_labels(gold, predicted, reading.label_column, reading.columns)


def judge_any(path: Path, test: str, reading: Reading) -> Judged:
    """The predictions of a model, or those that a file holds, for a file with what is true."""
    from dualstruct.data.opening import is_text

    if test == "-":
        raise InputError("two models are compared on a file, not on standard input")
    if is_text(path):
        return judge_file(test, str(path), reading)
    return judge_model(path, test, reading)
