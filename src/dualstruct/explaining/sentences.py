"""What explanations call the tokens of a sentence, and which of them to explain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dualstruct.errors import InputError


def forms_of(sentence: Any, count: int) -> list[str]:
    """The words, or the numbers of tokens that are attributes or rows of a matrix."""
    if isinstance(sentence, str) or not isinstance(sentence, Sequence):
        return [f"#{t}" for t in range(1, count + 1)]
    return [
        token
        if isinstance(token, str)
        else str(token[0])
        if isinstance(token, tuple) and token
        else f"#{t}"
        for t, token in enumerate(sentence, 1)
    ]


def wanted_tokens(token: int | None, count: int) -> list[int]:
    """The tokens to explain, from 0: all of them, or the one with this number from 1."""
    if token is None:
        return list(range(count))
    if not 1 <= token <= count:
        raise InputError(f"token {token}: the sentence has tokens 1 to {count}")
    return [token - 1]
