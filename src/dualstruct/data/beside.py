"""Sentences with something beside them: they go wherever sentences go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


class Beside(Sequence[Any]):
    """Sentences with something beside them, for code that does not know it.

    Examples
    --------
    >>> list(Beside([["Ada", "sings"], ["Bo"]]))
    [['Ada', 'sings'], ['Bo']]
    """

    def __init__(self, tokens: Any) -> None:
        self.tokens = tokens if hasattr(tokens, "__len__") else list(tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: Any) -> Any:
        return self.tokens[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tokens)
