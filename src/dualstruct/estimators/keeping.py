"""Models that keep how text is split into words: by rules, or by a tokenizer that was learned."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from dualstruct.data.schema import fit_type, inner_arrays
from dualstruct.data.tokenizing import Splitter, Tokenizer
from dualstruct.tasks.base import State

_KEY = "tokenizer"  # in model files


class KeepsTokenizer:
    """Has a tokenizer, which its file holds if it was learned."""

    _tokenizer: Splitter | None = None

    def _usual_tokenizer(self) -> Tokenizer | None:
        """The rules by which training data were split, if that is known."""
        return None

    @property
    def tokenizer_(self) -> Splitter:
        """How text is split: as the training data were, or by the rules where that is not known.

        It can be set, to a :class:`~dualstruct.LearnedTokenizer` too; the model's file holds it.
        """
        return self._tokenizer or self._usual_tokenizer() or Tokenizer()

    @tokenizer_.setter
    def tokenizer_(self, tokenizer: Splitter) -> None:
        self._tokenizer = tokenizer

    def _with_tokenizer(self, state: State) -> State:
        """A state, and that of the tokenizer."""
        if self._tokenizer is None:
            return state
        metadata, arrays = self._tokenizer.stored()
        metadata = {**state[0], _KEY: metadata}
        return metadata, {**state[1], **{f"{_KEY}.{name}": a for name, a in arrays.items()}}

    def restore(self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Become what a state described, with its tokenizer."""
        super().restore(metadata, arrays)  # type: ignore[misc]
        self._restore_tokenizer(metadata, arrays)

    def _restore_tokenizer(self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        if metadata.get(_KEY) is None:
            self._tokenizer = None
            return
        from dualstruct.estimators.tokenizer import LearnedTokenizer

        stored = fit_type(dict[str, Any], metadata[_KEY], _KEY)
        if LearnedTokenizer.is_stored(stored):
            learned = LearnedTokenizer()
            learned.restore(stored, inner_arrays(arrays, _KEY))
            self._tokenizer = learned
        else:
            self._tokenizer = fit_type(Tokenizer, stored, _KEY)
