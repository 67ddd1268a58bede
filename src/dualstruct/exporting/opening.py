"""Models of any program that can be exported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dualstruct.crfsuite.conversion import tagger_from_crfsuite
from dualstruct.crfsuite.files import is_crfsuite, read_crfsuite
from dualstruct.estimators import load_model
from dualstruct.wapiti import is_wapiti, read_wapiti, tagger_from_wapiti

#: Files of other programs: how they are known, and how they become ours.
_OTHERS: tuple[tuple[Callable[[Path], bool], Callable[[Path], Any]], ...] = (
    (is_crfsuite, lambda path: tagger_from_crfsuite(read_crfsuite(path))),
    (is_wapiti, lambda path: tagger_from_wapiti(read_wapiti(path))),
)


def open_exportable(path: Path) -> Any:
    """A model of ours, or of CRFsuite or Wapiti, which becomes one of ours."""
    for is_theirs, read in _OTHERS:
        if is_theirs(path):
            return read(path)
    return load_model(path)
