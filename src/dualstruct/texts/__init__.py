"""Texts and the spans marked in them: documents, the formats that they come in, and what taggers
learn from them."""

from dualstruct.texts.corpora import TextCorpus, iter_documents, read_texts, write_documents
from dualstruct.texts.documents import Document, TextSpan

__all__ = [
    "Document",
    "TextCorpus",
    "TextSpan",
    "iter_documents",
    "read_texts",
    "write_documents",
]
