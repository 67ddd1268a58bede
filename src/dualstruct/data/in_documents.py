"""Sentences that belong to documents: what is said of a word in one of them holds for others."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct.data.beside import Beside
from dualstruct.data.columns import ColumnSentences
from dualstruct.data.documents import numbered
from dualstruct.errors import InputError
from dualstruct.printable import plural

__all__ = ["InDocuments", "documents_of", "in_blocks", "in_documents", "seen", "words_of"]


class InDocuments(Beside):
    """Sentences with the document of each; use it wherever sentences are expected.

    Column files have documents of their own where lines ``-DOCSTART-`` or ``# newdoc`` begin them.
    Without any, each sentence is a document.

    Parameters
    ----------
    tokens : sentences
        Lists of words, tuples, dicts …, or ``read_columns(...).tokens``.
    documents : one name or number per sentence
        Sentences of the same name are of one document.

    Examples
    --------
    >>> X = InDocuments([["Ada", "sings"], ["She", "hums"], ["Bo"]], ["a", "a", "b"])
    >>> documents_of(X).tolist()
    [0, 0, 1]
    >>> documents_of([["Ada", "sings"], ["Bo"]]).tolist()
    [0, 1]
    """

    def __init__(self, tokens: Any, documents: Sequence[Hashable] | NDArray[Any]) -> None:
        super().__init__(tokens)
        names = np.asarray(documents).tolist() if hasattr(documents, "tolist") else list(documents)
        if len(names) != len(self.tokens):
            raise InputError(
                f"{plural(len(self.tokens), 'sentence')}, but documents for {len(names)}"
            )
        try:
            self.documents = numbered(names)
        except TypeError:
            raise InputError("documents are names or numbers, one for each sentence") from None

    def select(self, chosen: ArrayLike) -> InDocuments:
        """Some of the sentences, by their numbers (from 0)."""
        numbers = np.asarray(chosen, dtype=np.int64)
        return InDocuments(_chosen(self.tokens, numbers), documents_of(self)[numbers])


def seen(X: Any, with_documents: bool) -> Any:
    """Sentences as an extractor takes them, which may not know documents."""
    return X if with_documents or not isinstance(X, InDocuments) else X.tokens


def in_documents(X: Any, documents: Any) -> Any:
    """Sentences in the documents that were given, or as they are."""
    return X if documents is None else InDocuments(X, documents)


def has_documents(X: Any) -> bool:
    """Whether it is known which sentences are of one document."""
    inner = getattr(X, "tokens", None)
    return getattr(X, "documents", None) is not None or (inner is not None and has_documents(inner))


def documents_of(X: Any) -> NDArray[np.int64]:
    """The document of each sentence; without any, each sentence is one."""
    found = getattr(X, "documents", None)
    if found is not None:
        numbers: NDArray[np.int64] = found
        return numbers
    inner = getattr(X, "tokens", None)
    return np.arange(len(X), dtype=np.int64) if inner is None else documents_of(inner)


def in_blocks(X: Any, size: int) -> Iterator[Any]:
    """Sentences in blocks of so many, or a few more where a document would be divided."""
    if not has_documents(X):
        waiting = iter(X)
        while sentences := list(islice(waiting, size)):
            yield sentences
        return
    documents, begin = documents_of(X), 0
    if not (np.diff(documents) >= 0).all():  # sentences of one document stand apart
        yield X
        return
    for end in [*(np.flatnonzero(np.diff(documents)) + 1).tolist(), len(documents)]:
        if end - begin >= size or (end == len(documents) and end > begin):
            yield _chosen(X, np.arange(begin, end))
            begin = end


def words_of(X: Any) -> list[list[str]]:
    """The word of each token: its first column; "" where tokens are attributes."""
    inner = getattr(X, "tokens", None)
    if inner is not None:
        return words_of(inner)
    if isinstance(X, ColumnSentences) and X.n_columns > 1:
        return [list(sentence) for sentence in X.columns([0])]
    return [[_word(token) for token in sentence] for sentence in X]


def _word(token: Any) -> str:
    if isinstance(token, str):
        return token
    first = token[0] if isinstance(token, tuple) and token else ""
    return first if isinstance(first, str) else ""


def _chosen(X: Any, numbers: NDArray[np.int64]) -> Any:
    return X.select(numbers) if hasattr(X, "select") else [X[i] for i in numbers.tolist()]
