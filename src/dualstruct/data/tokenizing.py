"""From text to tokens and sentences; a model keeps how, and splits as its training data were split.

``Tokenizer`` has rules (docs/text.md); ``LearnedTokenizer`` of the estimators is learned. Tokens
are pieces of the text, and what lies between them is blank, so that a text is its tokens and gaps.
Places are counted in characters (code points), from 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import fit_type
from dualstruct.errors import InputError

__all__ = ["RunningText", "Splitter", "TokenPlaces", "Tokenizer"]


class TokenPlaces(NamedTuple):
    """The tokens of some texts, one text after the other."""

    table: _core.TokenTable  #: the words, by sentence
    starts: NDArray[np.int64]  # [tokens] characters of their text
    ends: NDArray[np.int64]
    texts: NDArray[np.int64]  # [texts + 1] first sentence of each


@dataclass(frozen=True)
class RunningText:
    """A text, and how it is split."""

    text: str
    tokens: list[tuple[int, int]]  #: first character, and the one behind the last
    sentences: list[int]  #: the first token of each, and how many there are
    words: dict[int, list[str]]  #: those of multiword tokens


class Splitter(ABC):
    """Splits texts into tokens and sentences."""

    @property
    def rules(self) -> Tokenizer | None:
        """Its settings, if it splits by rules."""
        return None

    @abstractmethod
    def split(self, texts: Sequence[str]) -> TokenPlaces:
        """The tokens of texts, and where they are."""

    @abstractmethod
    def stored(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file holds of it: metadata for JSON, and arrays."""

    def analyse(self, texts: Sequence[str]) -> list[RunningText]:
        """The texts with their tokens and sentences, and the words of multiword tokens."""
        found = self.split(texts)
        places = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
        firsts = found.table.sentences.tolist()
        rows = []
        for text, (a, b) in zip(texts, pairwise(found.texts.tolist()), strict=True):
            begin = firsts[a]
            sentences = [first - begin for first in firsts[a : b + 1]]
            rows.append(RunningText(text, places[begin : firsts[b]], sentences, {}))
        return rows

    def words_of(self, text: str) -> list[list[str]]:
        """The sentences of one text as lists of words."""
        table = self.split([text]).table
        ends = table.sentences.tolist()
        return [table.cells(0, begin, end) for begin, end in pairwise(ends)]


@dataclass(frozen=True)
class Tokenizer(Splitter):
    """How texts are split into tokens and sentences.

    Parameters
    ----------
    words : {"rules", "blanks"}
        By the rules below, or at spaces only.
    sentences : {"rules", "lines", "whole"}
        By punctuation and lines, one per line, or one per text.
    contractions : {"split", "keep"}
        ``don't`` as ``do n't`` and ``it's`` as ``it 's``, or as one token.
    hyphens : {"split", "keep"}
        ``London-based`` as three tokens or as one; numbers (``2024-05-01``) are always one.
    abbreviations : tuple of str
        Words that keep a period after them, in addition to those that are known (``Mr.``).

    Examples
    --------
    >>> Tokenizer().words_of("Paris, it's Dr. Wu's home. See www.wu.org!")
    [['Paris', ',', 'it', "'s", 'Dr.', 'Wu', "'s", 'home', '.'], ['See', 'www.wu.org', '!']]
    >>> Tokenizer(contractions="keep", sentences="whole").words_of("It's here. Isn't it?")
    [["It's", 'here', '.', "Isn't", 'it', '?']]
    """

    words: Literal["rules", "blanks"] = "rules"
    sentences: Literal["rules", "lines", "whole"] = "rules"
    contractions: Literal["split", "keep"] = "split"
    hyphens: Literal["split", "keep"] = "split"
    abbreviations: tuple[str, ...] = ()

    def split(self, texts: Sequence[str]) -> TokenPlaces:
        """The tokens of texts, and where they are.

        Examples
        --------
        >>> found = Tokenizer().split(["Ada  sings.", "Bo"])
        >>> found.starts.tolist(), found.ends.tolist(), found.texts.tolist()
        ([0, 5, 10, 0], [3, 10, 11, 2], [0, 1, 2])
        """
        core = _core.Tokenizer(
            self.words,
            self.sentences,
            self.contractions == "split",
            self.hyphens == "split",
            list(self.abbreviations),
        )
        return TokenPlaces(*core.tokenize(list(texts)))

    @property
    def rules(self) -> Tokenizer:
        """Itself."""
        return self

    def stored(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return asdict(self), {}

    @classmethod
    def parse(cls, text: str) -> Tokenizer:
        """From ``hyphens=keep,sentences=lines``, or one word: ``rules`` or ``blanks``.

        Examples
        --------
        >>> Tokenizer.parse("hyphens=keep,abbreviations=Bhf.").abbreviations
        ('Bhf.',)
        >>> Tokenizer.parse("blanks").words
        'blanks'
        """
        given: dict[str, object] = {}
        for part in text.split(","):
            name, sign, value = part.strip().partition("=")
            if not sign:
                name, value = "words", name
            if name not in cls.__dataclass_fields__:
                known = ", ".join(cls.__dataclass_fields__)
                raise InputError(f"a tokenizer has no setting {name!r}; it has {known}")
            if name == "abbreviations":
                given[name] = [*given.get(name, []), value]  # type: ignore[misc]
            else:
                given[name] = value
        return fit_type(cls, given)
