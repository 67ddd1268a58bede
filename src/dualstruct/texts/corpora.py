"""Files of texts as taggers learn from them: sentences of tokens with labels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.columns import ColumnSentences
from dualstruct.data.layout import ColumnLayout
from dualstruct.data.opening import PathOrFile, name_of
from dualstruct.data.shards import find_shards
from dualstruct.data.sources import Source
from dualstruct.data.streams import StreamedBlocks, StreamedFiles
from dualstruct.data.tokenizing import Splitter, Tokenizer
from dualstruct.data.writing import replacing
from dualstruct.errors import InputError
from dualstruct.labels.schemes import Scheme, convert_scheme
from dualstruct.texts.alignment import Alignment, Misaligned, Overlapping
from dualstruct.texts.documents import Document, split_documents
from dualstruct.texts.formats import find_format, format_named, format_of_name

__all__ = ["TextCorpus", "iter_documents", "read_texts", "write_documents"]

#: Characters of text that are split at a time.
_BLOCK = 1 << 20


class TextCorpus:
    """Sentences of texts with their labels, as ``read_columns`` has those of a column file.

    Attributes
    ----------
    tokens : ColumnSentences
        The words; they know how the texts were split.
    labels : list of lists of str
        B-, I- and O for spans; or the labels of the tokens, where the file has those.
    texts : list of Document
    notes : list of str
        What was done with spans that do not fall on tokens, as sentences.
    """

    def __init__(
        self, name: str, documents: Sequence[Document], tokenizer: Splitter, alignment: Alignment
    ) -> None:
        self.name = name
        split_documents(documents, tokenizer)
        self.texts = list(documents)
        words: list[list[str]] = []
        self.labels: list[list[str]] = []
        self._places: list[tuple[int, int]] = []  # [sentences] document, first token
        annotated = False
        for number, document in enumerate(documents):
            flat = document.labels
            annotated = annotated or flat is not None or document.spans is not None
            if flat is None or document.spans is not None:
                flat = alignment.labels(document)
            self.labels += [list(row) for row in document.by_sentence(flat)]
            words += document.words()
            self._places += [(number, first) for first in (document.sentences or [0])[:-1]]
        if not words:
            raise InputError(f"{name}: it has no words")
        self.annotated = annotated
        self.notes = alignment.notes()
        split_by = next((each.split_by for each in documents if each.split_by is not None), None)
        layout = ColumnLayout((0,), 1, 2, tokenizer=split_by)
        table = _core.TokenTable.from_sentences(words)
        self.tokens = ColumnSentences(table, [0], layout=layout)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def forms(self) -> ColumnSentences:
        """The words, as :class:`~dualstruct.data.columns.ColumnFile` has them."""
        return self.tokens

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each sentence."""
        return self.tokens.lengths

    def documents(self) -> list[str]:
        """The document of each sentence: its id, or where it is."""
        names = [str(each.metadata.get("id") or each.where) for each in self.texts]
        return [names[number] for number, _ in self._places]

    def in_scheme(self, scheme: Scheme | None) -> list[list[str]]:
        """The labels as a model has them that learned in another scheme."""
        if scheme in (None, "iob2") or not any(d.spans for d in self.texts):
            return self.labels
        return convert_scheme(self.labels, scheme, "iob2")

    def where(self, sentence: int, token: int) -> str:
        """The file, line and characters of a token (both counted from 0), for messages."""
        number, first = self._places[sentence]
        document = self.texts[number]
        start, end = document.places[first + token]
        return f"{document.where}, characters {start}-{end}"


def iter_documents(
    source: Any, format: str | None = None, label: str | None = None
) -> Iterator[Document]:
    """The documents of a file, one by one; memory does not grow with the file.

    Parameters
    ----------
    source : path, file object or datasets.Dataset
        ``"-"`` is standard input; formats that are folders take their path.
    format : str, optional
        A name of ``FORMATS``; found by the content otherwise.
    label : str, optional
        Where the labels are: ``upos``, ``xpos``, ``feats`` or ``misc:KEY`` of CoNLL-U, the name of
        a column of CSV or of a field of JSON, the number of a column.

    Examples
    --------
    >>> import io
    >>> rows = io.StringIO('{"text": "Ada sings", "label": [[0, 3, "PER"]]}')
    >>> next(iter_documents(rows, "jsonl")).spans
    [TextSpan(start=0, end=3, label='PER', probability=None)]
    """
    chosen = format_named(format) if format is not None else find_format(source)
    yield from chosen.read(source, label)


def read_texts(
    sources: Any,
    format: str | None = None,
    *,
    label: str | None = None,
    tokenizer: Splitter | None = None,
    misaligned: Misaligned = "move",
    overlapping: Overlapping = "refuse",
) -> TextCorpus:
    """Read files of texts with marked spans, to learn from them or to score on them.

    Parameters
    ----------
    sources : path, file object or datasets.Dataset, or several
        Lines of JSON (Prodigy, doccano, LightTag, GLiNER, ``{"text", "spans"}``), a folder of BRAT,
        an export of Label Studio, CoNLL-U, CSV, columns, or what the library datasets writes.
    format : str, optional
        Which of them it is; found by the content otherwise.
    label : str, optional
        Where the labels are, as for :func:`iter_documents`.
    tokenizer : Tokenizer, optional
        How texts are split that come without tokens; ``tagger.tokenizer_`` is a model's own.
    misaligned : {"move", "drop", "refuse"}
        What becomes of a span that does not begin and end with a token: moved to the tokens that it
        touches, left out, or refused.
    overlapping : {"refuse", "longest"}
        Spans that overlap: refuse them, or keep the longer one.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO('{"text": "Ada Wu sings.", "label": [[0, 6, "PER"]]}')
    >>> corpus = read_texts(file, "jsonl")
    >>> list(corpus.tokens), corpus.labels
    ([['Ada', 'Wu', 'sings', '.']], [['B-PER', 'I-PER', 'O', 'O']])
    """
    several = list(sources) if isinstance(sources, list | tuple) else [sources]
    documents = [one for each in several for one in iter_documents(each, format, label)]
    name = ", ".join(name_of(each) for each in several)
    return TextCorpus(name, documents, tokenizer or Tokenizer(), Alignment(misaligned, overlapping))


class TextBlocks:
    """Files of texts as ``fit_large`` takes them: some sentences with their labels at a time."""

    def __init__(
        self,
        sources: Sequence[str | os.PathLike[str]],
        format: str | None = None,
        *,
        label: str | None = None,
        tokenizer: Splitter | None = None,
        alignment: Alignment | None = None,
    ) -> None:
        self._sources, self._format, self._label = sources, format, label
        self._tokenizer = tokenizer or Tokenizer()
        self.alignment = alignment or Alignment()

    def stream(self, folder: str | os.PathLike[str]) -> Source:
        """Where a tagger's examples come from; BRAT and standard input are for one worker."""
        if any(source == "-" or os.path.isdir(source) for source in self._sources):
            return StreamedBlocks(self.blocks(self._sources), folder)
        return StreamedFiles(find_shards(self._sources), self.blocks, folder)

    def blocks(
        self, sources: Sequence[PathOrFile]
    ) -> Iterator[tuple[ColumnSentences, list[list[str]]]]:
        """The sentences of some of the files."""
        for source in sources:
            documents = iter_documents(source, self._format, self._label)
            for block in document_blocks(documents, self._tokenizer, tokens=False):
                corpus = TextCorpus(name_of(source), block, self._tokenizer, self.alignment)
                yield corpus.tokens, corpus.labels


def document_blocks(
    documents: Iterable[Document], tokenizer: Splitter, size: int = _BLOCK, tokens: bool = True
) -> Iterator[list[Document]]:
    """Documents, some at a time; with tokens, unless ``tokens`` is False."""
    waiting = iter(documents)
    while True:
        block: list[Document] = []
        characters = 0
        for document in waiting:
            block.append(document)
            characters += len(document.text) + 1
            if characters >= size:
                break
        if not block:
            return
        if tokens:
            split_documents(block, tokenizer)
        yield block


def write_documents(
    target: str | os.PathLike[str] | IO[bytes],
    documents: Iterable[Document],
    format: str | None = None,
) -> None:
    """Write documents, one by one; a file is written beside its place and then renamed.

    Parameters
    ----------
    target : path or binary file object
    documents : documents
        Formats of tokens want them split.
    format : str, optional
        A name of ``FORMATS``; by the ending of the name otherwise.

    Examples
    --------
    >>> import io
    >>> out = io.BytesIO()
    >>> write_documents(out, [Document("Ada")], "jsonl")
    >>> out.getvalue()
    b'{"text": "Ada"}\\n'
    """
    chosen = format_named(format) if format is not None else format_of_name(str(target))
    if chosen.write_folder is not None:
        if not isinstance(target, str | os.PathLike):
            raise InputError(f"{chosen.name} is a folder of files, and needs the name of one")
        chosen.write_folder(documents, os.fspath(target))
    elif chosen.write is None:
        raise InputError(f"{chosen.name} is read, but not written")
    elif isinstance(target, str | os.PathLike):
        with replacing(target) as file:
            chosen.write(documents, file)
    else:
        chosen.write(documents, target)
