"""Arcs of trees as labels of tokens: the number of the head, a colon and the relation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dualstruct import _core

__all__ = ["Arc", "is_tree"]

_ARC = re.compile(r"(0|[1-9][0-9]{0,6}):(\S+)", re.ASCII)


class Arc(NamedTuple):
    """The arc to a word: the number of its head, 0 for none, and the relation.

    >>> str(Arc(3, "nsubj:pass")), Arc.parse("3:nsubj:pass"), Arc.parse("nsubj")
    ('3:nsubj:pass', Arc(head=3, relation='nsubj:pass'), None)
    """

    head: int
    relation: str

    @classmethod
    def parse(cls, label: str) -> Arc | None:
        """The arc that a label says; None if it says none."""
        found = _ARC.fullmatch(label)
        return None if found is None else cls(int(found[1]), found[2])

    def __str__(self) -> str:
        return f"{self.head}:{self.relation}"


def is_tree(heads: Sequence[int]) -> bool:
    """Whether every word leads to the root, and heads are words.

    >>> is_tree([2, 0]), is_tree([2, 1]), is_tree([3, 0])
    (True, False, False)
    """
    if any(not 0 <= head <= len(heads) for head in heads):
        return False
    sentences = np.array([0, len(heads)], dtype=np.int64)
    kinds, _ = _core.tree_faults(np.array(heads, dtype=np.int32), sentences, False)
    return not kinds.any()
