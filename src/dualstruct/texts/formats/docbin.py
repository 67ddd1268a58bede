"""spaCy's DocBin: documents with entities, in one compressed file.

Texts and entities are read; the tokens are ours, so that new text is split as training was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Any

from dualstruct.data.opening import PathOrFile, name_of, read_bytes
from dualstruct.errors import InputError
from dualstruct.libraries import library
from dualstruct.texts.documents import Document, TextSpan
from dualstruct.texts.formats.base import Format

__all__ = ["DOCBIN", "doc_of"]


def _spacy(name: str) -> Any:
    return library(name, "spacy", "the format spacy")


def read(source: PathOrFile, label: str | None = None) -> Iterator[Document]:
    """``label`` may be ``tag`` or ``pos``: then the labels of spaCy's tokens are read.

    Without it they are entities, or tags where no entities are known.
    """
    name = name_of(source)
    tokens = _spacy("spacy.tokens")
    vocabulary = _spacy("spacy").blank("xx").vocab
    data = read_bytes(source)
    try:
        docs = tokens.DocBin().from_bytes(data).get_docs(vocabulary)
        for number, doc in enumerate(docs, 1):
            document = _document(doc, label, f"{name}, document {number}")
            document.check()
            yield document
    except InputError:
        raise
    except Exception as problem:  # whatever its parts raise at bytes that are no DocBin
        raise InputError(f"{name}: spaCy cannot read it ({problem})") from None


def _document(doc: Any, label: str | None, where: str) -> Document:
    if label is None and doc.has_annotation("TAG") and not doc.has_annotation("ENT_IOB"):
        label = "tag"
    if label is not None:
        if label not in ("tag", "pos"):
            raise InputError(f"the label column is {label!r}; of spaCy it is tag or pos")
        words = [token for token in doc if not token.is_space]
        places = [(token.idx, token.idx + len(token)) for token in words]
        labels = [getattr(token, f"{label}_") or "_" for token in words]
        ends = [k for k, token in enumerate(words) if k and token.is_sent_start] + [len(words)]
        return Document(doc.text, None, places, [0, *ends], labels, where=where)
    spans = None
    if doc.has_annotation("ENT_IOB"):
        spans = [TextSpan(each.start_char, each.end_char, each.label_) for each in doc.ents]
    return Document(doc.text, spans, where=where)


def doc_of(document: Document, vocabulary: Any) -> Any:
    """A document as spaCy's: its tokens, and tokens of spaces where there is more than one."""
    words: list[str] = []
    spaces: list[bool] = []
    firsts: list[bool] = []
    place = 0
    text = document.text
    starts = set(document.sentences or [])
    for number, (start, end) in enumerate(document.places):
        _add_gap(words, spaces, firsts, text[place:start])
        words.append(text[start:end])
        spaces.append(False)
        firsts.append(number in starts)
        place = end
    _add_gap(words, spaces, firsts, text[place:])
    doc = _spacy("spacy.tokens").Doc(vocabulary, words, spaces, sent_starts=firsts)
    if document.spans is not None:
        found = [
            doc.char_span(a, b, label, alignment_mode="expand") for a, b, label, _ in document.spans
        ]
        doc.set_ents(
            _spacy("spacy.util").filter_spans([each for each in found if each is not None])
        )
    if document.labels is not None:
        named = iter(document.labels)
        for token in doc:
            if not token.is_space:
                token.tag_ = next(named)
    return doc


def _add_gap(words: list[str], spaces: list[bool], firsts: list[bool], gap: str) -> None:
    if gap.startswith(" ") and words:
        spaces[-1] = True
        gap = gap[1:]
    if gap:
        words.append(gap)
        spaces.append(False)
        firsts.append(False)


def write(documents: Iterable[Document], out: IO[bytes]) -> None:
    vocabulary = _spacy("spacy").blank("xx").vocab
    held = _spacy("spacy.tokens").DocBin(store_user_data=False)
    for document in documents:
        held.add(doc_of(document, vocabulary))
    out.write(held.to_bytes())


DOCBIN = Format(
    "spacy", "spaCy's DocBin", (".spacy",), read, write=write, needs_library="spacy", is_text=False
)
