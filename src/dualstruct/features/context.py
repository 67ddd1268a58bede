"""Features that a token has from beyond its sentence, beside those that it has of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.in_documents import documents_of, seen, words_of
from dualstruct.features.attributes import AttributeExtractor
from dualstruct.features.base import FeatureExtractor
from dualstruct.features.joining import JoinedExtractor

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ContextExtractor", "DocumentExtractor", "document_attributes"]

#: How many other occurrences of a word are looked at, those nearest.
NEAREST = 3

#: Strings for each token of each sentence.
Attributes = list[list[list[str]]]


class ContextExtractor(JoinedExtractor):
    """Another extractor's features, and strings that a token has from all sentences together."""

    @classmethod
    def beside(cls, inner: FeatureExtractor, min_count: int) -> Self:
        """Strings that are to be learned beside the features of another extractor."""
        hash_bits = getattr(inner, "hash_bits", None)
        return cls([inner, AttributeExtractor(hash_bits=hash_bits, min_count=min_count)])

    @property
    def uses_documents(self) -> bool:
        return True

    @abstractmethod
    def views(self, X: Any) -> tuple[Any, Attributes]:
        """The sentences as the other extractor takes them, and the strings of their tokens."""


class DocumentExtractor(ContextExtractor):
    """Another extractor's features, and those of the same word elsewhere in the document."""

    kind = "document"
    no_parts = ("document", "vectors")

    def views(self, X: Any) -> tuple[Any, Attributes]:
        return seen(X, False), document_attributes(words_of(X), documents_of(X))


def document_attributes(words: Sequence[Sequence[str]], documents: NDArray[np.int64]) -> Attributes:
    """What the other occurrences of each word in its document say.

    Whether it is also there in lower case, or capitalised within a sentence; and the words beside
    the nearest ones, for words that are capitalised somewhere in the document.

    Examples
    --------
    >>> words = [["Turin", "wins"], ["fans", "of", "Turin", "sing"]]
    >>> document_attributes(words, np.array([0, 0]))[0]
    [['elsewhere:capitalised', 'elsewhere[-1]=of', 'elsewhere[1]=sing'], []]
    >>> document_attributes(words, np.array([0, 1]))[0]
    [[], []]
    """
    places: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for i, (sentence, document) in enumerate(zip(words, documents.tolist(), strict=True)):
        for t, word in enumerate(sentence):
            places[document, word.lower()].append((i, t))
    found: Attributes = [[[] for _ in sentence] for sentence in words]
    for occurrences in places.values():
        if len(occurrences) == 1:
            continue
        forms = [words[i][t] for i, t in occurrences]
        upper = [form[:1].isupper() for form in forms]
        if not any(upper):
            continue
        within = [up and t > 0 for up, (_, t) in zip(upper, occurrences, strict=True)]
        for k, (i, t) in enumerate(occurrences):
            strings = found[i][t]
            if sum(within) > within[k]:
                strings.append("elsewhere:capitalised")
            if len(upper) - sum(upper) > (not upper[k]):
                strings.append("elsewhere:lower")
            around = range(max(k - NEAREST, 0), min(k + 1 + NEAREST, len(occurrences)))
            nearest = sorted(around, key=lambda other: abs(other - k))[1 : NEAREST + 1]
            beside: dict[str, None] = {}  # each once, in the order of nearness
            for j, s in (occurrences[other] for other in nearest):
                if s > 0:
                    beside[f"elsewhere[-1]={words[j][s - 1]}"] = None
                if s + 1 < len(words[j]):
                    beside[f"elsewhere[1]={words[j][s + 1]}"] = None
            strings.extend(beside)
    return found
