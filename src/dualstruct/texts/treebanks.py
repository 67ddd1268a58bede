"""Trees, wherever they are kept: CoNLL-U, CoNLL-X, or a project of ``dualstruct label``."""

from __future__ import annotations

import io
import os

from dualstruct.data.conllu import Treebank, read_conllu
from dualstruct.data.opening import PathOrFile, begins_with, name_of
from dualstruct.errors import InputError
from dualstruct.texts.corpora import write_documents
from dualstruct.texts.formats import project

__all__ = ["holds_trees", "read_trees"]


def holds_trees(source: PathOrFile) -> bool:
    """Whether it is a project of trees."""
    if not isinstance(source, str | os.PathLike) or not os.path.isfile(source):
        return False
    return begins_with(source, project.MAGIC) and project.kind_of(source) == "trees"


def read_trees(source: PathOrFile) -> Treebank:
    """The trees of a file, or those of a project that somebody answered.

    >>> from dualstruct.datasets import english_path
    >>> read_trees(english_path())
    <english.conllu: 578 sentences, 7,148 words>
    """
    if not holds_trees(source):
        return read_conllu(source)
    out = io.BytesIO()
    write_documents(out, project.read(source), "conllu")
    name = name_of(source)
    found = Treebank(out.getvalue(), name)
    if not len(found):
        raise InputError(f"{name}: no sentence has an answer yet")
    return found
