"""From texts to spans: documents with what a tagger finds in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from dualstruct.texts.alignment import label_spans, marks_spans
from dualstruct.texts.corpora import document_blocks
from dualstruct.texts.documents import Document, TextSpan

if TYPE_CHECKING:
    from dualstruct.estimators.tagger import SequenceTagger

__all__ = ["label_documents", "labelled_documents"]


def label_documents(
    tagger: SequenceTagger, documents: Iterable[Document], *, confidence: bool = False
) -> Iterator[Document]:
    """Documents with the spans, or the labels of tokens, that a tagger predicts.

    They are taken some at a time, so that memory stays bounded. Texts are split as the tagger's
    training data were, unless they come with tokens.

    Parameters
    ----------
    tagger : SequenceTagger
    documents : documents
    confidence : bool
        Whether spans get their probabilities; the tagger must be calibrated.

    Examples
    --------
    >>> from dualstruct import SequenceTagger
    >>> X, y = [["Ada", "sings"], ["Bo", "left"]], [["B-PER", "O"], ["B-PER", "O"]]
    >>> tagger = SequenceTagger(features="ner").fit(X, y)
    >>> [found] = label_documents(tagger, [Document("Ada left.")])
    >>> found.spans
    [TextSpan(start=0, end=3, label='PER', probability=None)]
    """
    for block in document_blocks(documents, tagger.tokenizer_):
        yield from labelled_documents(
            tagger, block, [row for each in block for row in each.words()], confidence
        )


def labelled_documents(
    tagger: SequenceTagger, documents: list[Document], X: object, confidence: bool
) -> Iterator[Document]:
    """The same for documents with tokens, X being their sentences as the tagger takes them."""
    of_spans = marks_spans(tagger.classes_.tolist())
    if confidence:
        sure = iter(tagger.predict_confidence(X))  # type: ignore[arg-type]
    else:
        rows = iter(tagger.predict(X))  # type: ignore[arg-type]
    for document in documents:
        count = len(document.sentences or [0]) - 1
        spans = None
        if confidence:
            judged = list(islice(sure, count))
            found = [each.labels for each in judged]
        else:
            found = list(islice(rows, count))
        if of_spans:
            spans = label_spans(document, found)
        if confidence and spans is not None:
            numbers = [entity.probability for each in judged for entity in each.entities]
            spans = [
                TextSpan(a, b, label, round(p, 6))
                for (a, b, label, _), p in zip(spans, numbers, strict=True)
            ]
        labels = None if of_spans else [label for row in found for label in row]
        yield replace(document, spans=spans, labels=labels)
