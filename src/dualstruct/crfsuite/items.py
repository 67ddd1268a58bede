"""Items as python-crfsuite takes them: what dicts, lists and sets say of a token."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.crfsuite.files import is_utf8
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
        if isinstance(pyseq, ItemSequence):
            self.core: _core.Items = pyseq.core
            return
        sequence = pyseq if isinstance(pyseq, list | tuple) else list(pyseq)
        try:
            self.core = _core.Items.read(sequence)
        except InputError:  # perhaps it has bytes, or iterables of another kind
            self.core = _core.Items.from_pairs([list(attributes_of(item)) for item in sequence])

    def items(self) -> list[dict[str, float]]:
        """The attributes and values of each token."""
        return [dict(pairs) for pairs in self.core.pairs()]

    def __getstate__(self) -> dict[str, Any]:
        return {"_pairs": self.core.pairs()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.core = _core.Items.from_pairs(state["_pairs"])

    def __len__(self) -> int:
        return len(self.core)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def rows_of(read: Callable[[Any], tuple[Any, ...]], xseq: Any) -> Rows:
    """A sequence as numbers; ``read`` is what the core has for it (``extend`` or ``transform``)."""
    if not isinstance(xseq, ItemSequence):
        sequence = xseq if isinstance(xseq, list | tuple) else list(xseq)
        try:
            _, offsets, ids, values = read([sequence])
            return offsets, ids, values
        except InputError:
            xseq = ItemSequence(sequence)
    _, offsets, ids, values = read(xseq.core)
    return offsets, ids, values


def _text(key: Any) -> str:
    if isinstance(key, str):
        if not is_utf8(key):
            raise InputError(f"the attribute {key!r} has half a surrogate pair in it")
        return key
    if isinstance(key, bytes):
        try:
            return key.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"the attribute {key!r} is not UTF-8 text") from None
    raise InputError(f"an attribute's name is a {type(key).__name__}, not a str")


def attributes_of(item: Any) -> Iterator[tuple[str, float]]:
    """What Python makes of an item that the core cannot read: names and values."""
    if not isinstance(item, dict):
        for key in item:
            yield _text(key), 1.0
        return
    for key, value in item.items():
        name = _text(key)
        if isinstance(value, dict | list | set | frozenset | tuple):
            for inner, weight in attributes_of(value):
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
