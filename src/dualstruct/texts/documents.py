"""Documents: what every format is read as, and written from.

Places are characters (code points) of the text, from 0, the end not included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from dualstruct.data.tokenizing import Splitter, Tokenizer
from dualstruct.errors import InputError

_SURROGATE = re.compile("[\ud800-\udfff]")

__all__ = ["Document", "TextSpan", "joined", "split_documents"]


class TextSpan(NamedTuple):
    """A span of a text and its label."""

    start: int
    end: int
    label: str
    probability: float | None = None


@dataclass
class Document:
    """A text, with what is known of it.

    Attributes
    ----------
    text : str
    spans : list of TextSpan, or None
        The marked spans; None if the text was not annotated.
    tokens : list of (start, end), or None
    sentences : list of int, or None
        The first token of each sentence, and after the last one how many tokens there are.
    labels : list of str, or None
        A label for each token, where they are not spans (parts of speech).
    arcs : list of str, or None
        The head of each token, by its number in the sentence, and its relation: ``3:nsubj``.
    tags : list of str, or None
        The part of speech of each token, if the labels are others.
    metadata : dict
        Other data of the text, kept if the format has room for them.
    where : str
        The file and line that it is from, for messages.
    split_by : Tokenizer, or None
        Who gave it tokens, if it came without.

    Examples
    --------
    >>> document = Document("Ada sings.", [TextSpan(0, 3, "PER")])
    >>> split_documents([document], Tokenizer())
    >>> document.tokens, document.words()
    ([(0, 3), (4, 9), (9, 10)], [['Ada', 'sings', '.']])
    """

    text: str
    spans: list[TextSpan] | None = None
    tokens: list[tuple[int, int]] | None = None
    sentences: list[int] | None = None
    labels: list[str] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    where: str = ""
    split_by: Tokenizer | None = None
    arcs: list[str] | None = None
    tags: list[str] | None = None

    def words(self) -> list[list[str]]:
        """The sentences as lists of words."""
        text = self.text
        return [[text[a:b] for a, b in tokens] for tokens in self.by_sentence(self.places)]

    def by_sentence(self, given: Sequence[Any]) -> list[Any]:
        """Values for each token, sentence by sentence."""
        assert self.sentences is not None
        return [given[a:b] for a, b in pairwise(self.sentences)]

    @property
    def places(self) -> list[tuple[int, int]]:
        """Where its tokens are; it must have been split."""
        if self.tokens is None:
            raise InputError(f"{self.where or 'the document'}: it was not split into tokens")
        return self.tokens

    def check(self) -> None:
        """Raise an error for places that are not in the text."""
        size = len(self.text)
        if lone := _SURROGATE.search(self.text):
            raise InputError(
                f"{self.where}: character {lone.start() + 1} is half of a surrogate pair, which is "
                "no character"
            )
        if "\0" in self.text:
            raise InputError(
                f"{self.where}: character {self.text.index(chr(0)) + 1} is NUL, which no text has"
            )
        for span in self.spans or ():
            if not 0 <= span.start < span.end <= size:
                raise InputError(
                    f"{self.where}: the span {named(span)} is not in the text, which has {size:,} "
                    "characters"
                )
            if not span.label:
                raise InputError(f"{self.where}: the span {named(span)} has no label")


def named(span: TextSpan, text: str = "") -> str:
    """A span for messages."""
    said = f" {shortened(text[span.start : span.end])}" if text else ""
    return f"{span.start}-{span.end}{f' {span.label}' if span.label else ''}{said}"


def shortened(text: str) -> str:
    """Some text for a message: in quotes and never long."""
    return ascii(text) if len(text) <= 40 else f"{text[:37]!a}…"


def joined(
    sentences: Iterable[Sequence[str]], labels: Iterable[Sequence[str]] | None = None, **more: Any
) -> Document:
    """A document of words: spaces between them, a line for each sentence.

    Examples
    --------
    >>> document = joined([["Ada", "sings"], ["Bo"]])
    >>> document.text, document.sentences, document.tokens
    ('Ada sings\\nBo', [0, 2, 3], [(0, 3), (4, 9), (10, 12)])
    """
    words, tokens, firsts, place = [], [], [0], 0
    for sentence in sentences:
        for word in sentence:
            tokens.append((place, place + len(word)))
            place += len(word) + 1
        words.append(" ".join(sentence))
        firsts.append(len(tokens))
    flat = None if labels is None else [label for row in labels for label in row]
    return Document("\n".join(words), None, tokens, firsts, flat, **more)


def split_documents(documents: Sequence[Document], tokenizer: Splitter) -> None:
    """Give those documents tokens and sentences that have none."""
    wanted = [each for each in documents if each.tokens is None]
    if not wanted:
        return
    try:
        found = tokenizer.split([each.text for each in wanted])
    except InputError:
        for each in wanted:
            each.check()
        raise
    places = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
    firsts, texts = found.table.sentences.tolist(), found.texts.tolist()
    for each, (a, b) in zip(wanted, pairwise(texts), strict=True):
        begin = firsts[a]
        each.split_by = tokenizer.rules
        each.tokens = places[begin : firsts[b]]
        each.sentences = [first - begin for first in firsts[a : b + 1]]
