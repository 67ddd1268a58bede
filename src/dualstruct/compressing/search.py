"""How many weights a model needs, and how many bits each: tried on development data, or by size."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from dualstruct.compressing.nameless import without_names
from dualstruct.compressing.rounding import round_weights, weight_arrays
from dualstruct.compressing.sizes import parse_size, show_size
from dualstruct.data.arrays import as_json, packed_arrays
from dualstruct.errors import InputError
from dualstruct.estimators.storage import Stored

ModelT = TypeVar("ModelT", bound=Stored)

#: The shares of the weights that are tried, from all to one in 200.
_SHARES = [0.96**k for k in range(130)]
#: The bits of a weight that are tried.
_BITS = (8, 6)
_ALL_BITS = range(3, 9)
#: Without development data and without a size, the squares of what is lost add up to this share of
#: those of all weights, at most.
_LOST = 0.01


@dataclass(frozen=True)
class Compression(Generic[ModelT]):
    """A compressed model, its sizes and scores."""

    model: ModelT  #: predicts, explains and calibrates as before; ``save`` writes a small file
    size: int  #: bytes of its file
    size_before: int
    weights: int  #: how many are not 0
    weights_before: int
    bits: int  #: of each weight
    score: float | None = None  #: on development data, if there were some
    score_before: float | None = None

    def save(self, path: str | Path) -> None:
        """Write the model."""
        self.model.save(path)

    def summary(self) -> dict[str, Any]:
        """Everything but the model, for JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)[1:]}

    def __str__(self) -> str:
        said = (
            f"{show_size(self.size_before)} before, {show_size(self.size)} now: {self.weights:,} "
            f"of {self.weights_before:,} weights, {self.bits} bits each"
        )
        if self.score is None or self.score_before is None:
            return said
        return f"{said}; score {100 * self.score_before:.2f} before, {100 * self.score:.2f} now"


def compress(
    model: ModelT,
    dev: Any = None,
    *,
    loss_of: float = 0.0005,
    size: int | str | None = None,
    bits: int | None = None,
    names: bool = True,
    watch: Callable[[Compression[ModelT]], object] | None = None,
) -> Compression[ModelT]:
    """A small copy of a model: fewer weights, a few bits each, names packed.

    Parameters
    ----------
    model : any trained model
    dev : (X, y) or trees, optional
        Data that was not trained on. The result is the smallest file whose score is at most
        ``loss_of`` lower than before. Without it (and without ``size``) weights are dropped and
        rounded until what is lost has 1 % of the squares of all.
    loss_of : float
        How much the score may fall: 0.0005 is 0.05 per cent points.
    size : int or str, optional
        The largest acceptable file, such as ``"450KB"``. The result is the model with the best
        score that fits, or without development data the one with the smallest change.
    bits : int, optional
        Bits of a weight, from 3 to 8; chosen between 8 and 6 by default.
    names : bool
        Whether the names of features are kept. Without them the file does not say which words were
        trained on; the model predicts, but cannot explain or learn further.
    watch : function, optional
        Called with every attempt.

    Examples
    --------
    >>> from dualstruct import SequenceTagger
    >>> from dualstruct.datasets import load_english
    >>> trees = load_english("train")
    >>> tagger = SequenceTagger().fit(trees.forms, trees.upos)
    >>> small = compress(tagger, size="40KB")
    >>> small.size <= 40_000 < small.size_before
    True
    >>> small.model.predict([["She", "sold", "it"]])
    [['PRON', 'VERB', 'PRON']]
    """
    if not 0 <= loss_of <= 1:
        raise InputError(f"loss_of is {loss_of}; it must be a number from 0 to 1")
    if bits is not None and bits not in _ALL_BITS:
        raise InputError(f"bits is {bits}; it must be a number from 3 to 8")
    wanted = None if size is None else parse_size(size)
    judged = None if dev is None else dev if isinstance(dev, tuple) else (dev,)
    trials = _Trials(model, judged, names, watch)
    choices = _BITS if bits is None else (bits,)
    if wanted is not None:
        return trials.within(wanted, choices)
    if judged is not None:
        return trials.scoring(loss_of, choices)
    return trials.near(_LOST, choices)


class _Trials(Generic[ModelT]):
    """Compressed copies of a model."""

    def __init__(
        self,
        model: ModelT,
        dev: tuple[Any, ...] | None,
        names: bool,
        watch: Callable[[Compression[ModelT]], object] | None,
    ) -> None:
        # A copy has no features without weights, so that rows are those of its state.
        self._model = copy.copy(model)
        self._model.is_compressed_ = False
        self._dev, self._names, self._watch = dev, names, watch
        metadata, self._arrays = self._model.state()
        self._metadata = as_json(metadata)
        self._uses = {} if dev is None else self._model.weight_uses(*dev)
        self._size = self._size_of(self._model)
        self._score = self._judge(self._model)
        self._many = weight_arrays(self._arrays)
        self._before = self._count(self._arrays)
        self._tried: dict[tuple[float, int], Compression[ModelT]] = {}

    def _judge(self, model: ModelT) -> float | None:
        return None if self._dev is None else float(model.score(*self._dev))  # type: ignore[attr-defined]

    def _count(self, arrays: dict[str, Any]) -> int:
        return sum(int(np.count_nonzero(arrays[name])) for name in self._many)

    @staticmethod
    def _size_of(model: ModelT) -> int:
        return len(packed_arrays(model.model_format, *model.stored_state()))

    def _rounded(self, keep: float, bits: int) -> dict[str, Any]:
        return {
            name: round_weights(array, keep, bits, self._uses.get(name))
            for name, array in self._many.items()
        }

    def at(self, keep: float, bits: int) -> Compression[ModelT]:
        """With a share of the weights."""
        if (keep, bits) not in self._tried:
            arrays = self._arrays | self._rounded(keep, bits)
            model = copy.copy(self._model)
            model.restore(self._metadata, arrays)
            if not self._names:
                metadata, nameless = without_names(*model.state())
                model.restore(as_json(metadata), nameless)
            model.is_compressed_ = True
            sizes = (self._size_of(model), self._size)
            counts = (self._count(arrays), self._before)
            found = Compression(model, *sizes, *counts, bits, self._judge(model), self._score)
            self._tried[keep, bits] = found
            if self._watch is not None:
                self._watch(found)
        return self._tried[keep, bits]

    def scoring(self, loss_of: float, choices: Sequence[int]) -> Compression[ModelT]:
        """The smallest that loses no more than this."""

        def good(keep: float, bits: int) -> bool:
            found = self.at(keep, bits)
            assert found.score is not None
            assert found.score_before is not None
            return found.score >= found.score_before - loss_of

        for bits in choices:
            self._last(lambda keep, bits=bits: good(keep, bits))  # type: ignore[misc]
        kept = [found for place, found in self._tried.items() if good(*place)]
        if not kept:
            raise InputError(
                f"even with all weights at {max(choices)} bits the score falls by more than "
                f"{loss_of}: give a larger --loss-of, or a size"
            )
        return min(kept, key=lambda found: found.size)

    def within(self, size: int, choices: Sequence[int]) -> Compression[ModelT]:
        """The best of those that are no larger than this."""
        fitting = []
        for bits in choices:
            fits = self._last(lambda keep, bits=bits: self.at(keep, bits).size > size)  # type: ignore[misc]
            place = 0 if fits is None else fits + 1
            if place < len(_SHARES):
                fitting.append((_SHARES[place], bits))
        if not fitting:
            smallest = min(found.size for found in self._tried.values())
            share = 100 * min(_SHARES)
            raise InputError(
                f"the model cannot be made as small as {show_size(size)}: "
                f"{show_size(smallest)} is the smallest, with {share:.1f} % of its weights"
            )
        if self._dev is None:
            return self.at(*min(fitting, key=lambda place: self._lost(*place)))
        return max((self.at(*place) for place in fitting), key=lambda found: found.score or 0)

    def near(self, most: float, choices: Sequence[int]) -> Compression[ModelT]:
        """The smallest of those whose weights have changed by no more than this."""
        found = []
        for bits in choices:
            last = self._last(lambda keep, bits=bits: self._lost(keep, bits) <= most)  # type: ignore[misc]
            if last is not None:
                found.append(self.at(_SHARES[last], bits))
        return min(found, key=lambda each: each.size) if found else self.at(1.0, max(choices))

    def _lost(self, keep: float, bits: int) -> float:
        """The squares of what is lost, as a share of those of all weights."""
        rounded = self._rounded(keep, bits)
        lost = sum(float(np.sum((self._many[k] - w) ** 2.0)) for k, w in rounded.items())
        return lost / max(sum(float(np.sum(w**2.0)) for w in self._many.values()), 1e-300)

    @staticmethod
    def _last(holds: Callable[[float], bool]) -> int | None:
        """The last of the shares for which something holds that holds for those before it, too."""
        low, high = -1, len(_SHARES)
        while high - low > 1:
            middle = (low + high) // 2
            if holds(_SHARES[middle]):
                low = middle
            else:
                high = middle
        return None if low < 0 else low
