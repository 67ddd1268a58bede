"""From texts to spans: documents with what a tagger finds in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstruct.data.sources import choose
from dualstruct.errors import InputError
from dualstruct.texts.alignment import label_spans, marks_spans
from dualstruct.texts.corpora import document_blocks
from dualstruct.texts.documents import Document, TextSpan

if TYPE_CHECKING:
    from dualstruct.estimators.tagger import SequenceTagger

__all__ = ["label_documents", "labelled_documents"]


def label_documents(
    tagger: SequenceTagger, documents: Iterable[Document | str], *, confidence: bool = False
) -> Iterator[Document]:
    """Documents with the spans, or the labels of tokens, that a tagger predicts.

    They are processed in blocks, so memory use is bounded. Texts are split as the tagger's
    training data were, unless they come with tokens.

    Parameters
    ----------
    tagger : SequenceTagger
    documents : documents, or texts
    confidence : bool
        Whether spans get their probabilities; the tagger must be calibrated.

    Examples
    --------
    >>> from dualstruct import SequenceTagger
    >>> X, y = [["Ada", "sings"], ["Bo", "left"]], [["B-PER", "O"], ["B-PER", "O"]]
    >>> tagger = SequenceTagger(features="ner").fit(X, y)
    >>> [found] = label_documents(tagger, ["Ada left."])
    >>> found.spans
    [TextSpan(start=0, end=3, label='PER', probability=None)]
    """
    if isinstance(documents, str):
        raise InputError("documents is one text; a list of texts is expected, [text]")
    given = (Document(each) if isinstance(each, str) else each for each in documents)
    for block in document_blocks(given, tagger.tokenizer_):
        yield from labelled_documents(
            tagger, block, [row for each in block for row in each.words()], confidence
        )


def labelled_documents(
    tagger: SequenceTagger, documents: list[Document], X: Sequence[Any], confidence: bool
) -> Iterator[Document]:
    """The same for documents with tokens, X being their sentences as the tagger takes them."""
    of_spans = marks_spans(tagger.classes_.tolist())
    rows = tagger.predict(X)
    sure = _entities(tagger, X, rows) if confidence and of_spans else None
    begin = 0
    for document in documents:
        end = begin + len(document.sentences or [0]) - 1
        found = rows[begin:end]
        if not of_spans:
            labels = [label for row in found for label in row]
            yield replace(document, spans=None, labels=labels)
        elif sure is None:
            yield replace(document, spans=label_spans(document, found), labels=None)
        else:
            numbers = [p for k in range(begin, end) for p in sure.get(k, ())]
            spans = [
                TextSpan(a, b, label, p)
                for (a, b, label, _), p in zip(label_spans(document, found), numbers, strict=True)
            ]
            yield replace(document, spans=spans, labels=None)
        begin = end


def _entities(
    tagger: SequenceTagger, X: Sequence[Any], rows: Sequence[Sequence[str]]
) -> dict[int, list[float]]:
    """The probabilities of the spans, by sentence; those without spans are not looked at."""
    chosen = [k for k, row in enumerate(rows) if any(label != "O" for label in row)]
    judged = tagger.predict_confidence(choose(X, np.array(chosen, dtype=np.int64)))
    return {
        k: [round(entity.probability, 6) for entity in each.entities]
        for k, each in zip(chosen, judged, strict=True)
    }
