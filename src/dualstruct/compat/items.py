"""Items as python-crfsuite takes them: what dicts, lists and sets say of a token."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.errors import InputError

#: Token offsets, attribute numbers, and their values (None: all 1).
Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None]


class ItemSequence:
    """The attributes of every token of a sequence, with their values.

    A token is a dict, or a list or set of strings. In a dict ``{"word": "Ada"}`` is the attribute
    ``word:Ada``, a number is the attribute's value, a bool 1 or 0; nested dicts, lists and sets
    lengthen the name by ``:``.

    Examples
    --------
    >>> ItemSequence([["walk", "run"], {"size": 2.5, "near": {"left": "the", "title": True}}])
    <ItemSequence of size 2>
    >>> _.items()
    [{'walk': 1.0, 'run': 1.0}, {'size': 2.5, 'near:left:the': 1.0, 'near:title': 1.0}]
    """

    def __init__(self, pyseq: Iterable[Any]) -> None:
        self._pairs: list[list[tuple[str, float]]]
        if isinstance(pyseq, ItemSequence):
            self._pairs = pyseq._pairs
        else:
            self._pairs = [list(_attributes(item)) for item in pyseq]

    def items(self) -> list[dict[str, float]]:
        """The attributes and values of each token."""
        return [dict(pairs) for pairs in self._pairs]

    def rows(self, features: _core.AttributeFeatures, learn: bool) -> Rows:
        """The same as numbers; unknown attributes get one (``learn``) or are left out."""
        number = features.intern if learn else features.find
        offsets, ids, values = [0], [], []
        for pairs in self._pairs:
            for name, value in pairs:
                if (id := number(name)) >= 0 and value:
                    ids.append(id)
                    values.append(value)
            offsets.append(len(ids))
        return np.array(offsets, np.int64), np.array(ids, np.int32), np.array(values, np.float64)

    def __len__(self) -> int:
        return len(self._pairs)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def rows_of(features: _core.AttributeFeatures, xseq: Any, learn: bool) -> Rows:
    """A sequence as numbers, in the core if it can be read there."""
    if isinstance(xseq, ItemSequence):
        return xseq.rows(features, learn)
    sequence = xseq if isinstance(xseq, list | tuple) else list(xseq)
    try:
        read = features.extend if learn else features.transform
        _, offsets, ids, values = read([sequence])
        return offsets, ids, values
    except InputError:  # perhaps it has bytes, or iterables of another kind
        return ItemSequence(sequence).rows(features, learn)


def _text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bytes):
        try:
            return key.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"the attribute {key!r} is not UTF-8 text") from None
    raise InputError(f"an attribute's name is a {type(key).__name__}, not a str")


def _attributes(item: Any) -> Iterator[tuple[str, float]]:
    if not isinstance(item, dict):
        for key in item:
            yield _text(key), 1.0
        return
    for key, value in item.items():
        name = _text(key)
        if isinstance(value, dict | list | set | frozenset | tuple):
            for inner, weight in _attributes(value):
                yield f"{name}:{inner}", weight
        elif isinstance(value, str | bytes):
            yield f"{name}:{_text(value)}", 1.0
        else:
            try:
                weight = float(value)
            except (TypeError, ValueError):
                kind = type(value).__name__
                raise InputError(
                    f'attribute "{name}": the value is a {kind}, not a str, a number, a dict or '
                    "a list of str"
                ) from None
            if not math.isfinite(weight):
                raise InputError(f'attribute "{name}": the value is {weight}')
            yield name, weight
