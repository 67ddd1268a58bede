"""Which document each sentence of a file is from."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["document_names", "numbered"]

_NEW, _NAMED = "newdoc", "id"


def document_names(before: Iterable[Sequence[str]]) -> list[str]:
    """The document of each sentence, by the lines that stand before each of them.

    A document begins with ``-DOCSTART-``, or in CoNLL-U with ``# newdoc id = its name``. One
    without a name is called by its number; a file without documents gives an empty list.

    >>> document_names([["# newdoc id = a", "# text = x"], [], ["-DOCSTART- -X- O"]])
    ['a', 'a', 'document 2']
    >>> document_names([[], ["# a comment"]])
    []
    """
    names: list[str] = []
    name, count = "before the first document", 0
    for lines in before:
        for line in lines:
            if line.startswith("-DOCSTART-"):
                found = ""
            elif line.startswith("#") and line[1:].split("=")[0].split()[:1] == [_NEW]:
                key, _, found = line[1:].partition("=")
                found = found.strip() if key.split() == [_NEW, _NAMED] else ""
            else:
                continue
            count += 1
            name = found or f"document {count}"
        names.append(name)
    return names if count else []


def numbered(names: Sequence[Hashable]) -> NDArray[np.int64] | None:
    """The number of each sentence's document, in the order in which they come; None without any.

    >>> numbered(["b", "b", "a"]).tolist()
    [0, 0, 1]
    """
    numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.int64) if numbers else None
