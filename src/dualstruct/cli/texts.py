"""What ``dualstruct predict`` does with texts, and ``dualstruct convert`` with files of them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dualstruct.cli.columns import token_blocks
from dualstruct.cli.files import text_format
from dualstruct.cli.output import tell, write_bytes
from dualstruct.errors import InputError
from dualstruct.estimators.texts import label_documents, labelled_documents

if TYPE_CHECKING:
    from dualstruct.cli.options import Reading, Splitting, Wanted
    from dualstruct.data.tokenizing import Splitter
    from dualstruct.estimators import SequenceTagger
    from dualstruct.texts import Document
    from dualstruct.texts.alignment import Alignment

#: Bytes that are printed at a time.
_PIECE = 1 << 16


@dataclass(frozen=True)
class Output:
    """Where predictions go, and in which format; None is as the input suggests."""

    format: str | None = None
    path: Path | None = None


def predict_texts(
    tagger: SequenceTagger,
    file: str,
    text: Splitting | None,
    wanted: Wanted,
    reading: Reading,
    output: Output,
) -> bool:
    """Write documents with what is found in them; False if columns are to be printed instead."""
    found = "text" if text is not None else text_format(file, reading.texts.format, None)
    if output.format is None and output.path is None and found in (None, "text"):
        return False
    if wanted.k_best is not None or wanted.marginals:
        option = "--marginals" if wanted.k_best is None else "--k-best"
        raise InputError(f"{option} is for columns and --json; documents take --confidence")
    confidence = wanted.confidence or tagger.temperature_ is not None
    blocks: Iterator[Iterable[Document]]
    if found is None:
        blocks = _of_columns(tagger, file, reading, confidence)
    elif text is not None:
        blocks = _of_lines(tagger, file, text, confidence)
    else:
        from dualstruct.texts import iter_documents

        read = iter_documents(file, found)
        blocks = iter([label_documents(tagger, read, confidence=confidence)])
    _put_out(blocks, output, found)
    return True


def _of_lines(
    tagger: SequenceTagger, file: str, text: Splitting, confidence: bool
) -> Iterator[Iterable[Document]]:
    """The lines of plain text, labelled as they come."""
    from dualstruct.texts.documents import split_documents
    from dualstruct.texts.formats.plain import document_lines

    for block in document_lines(file):
        split_documents(block, text.tokenizer(tagger.tokenizer_))
        yield label_documents(tagger, block, confidence=confidence)


def document_sentences(tagger: SequenceTagger, file: str, format: str) -> Iterator[list[str]]:
    """The sentences of a file of texts."""
    from dualstruct.texts import iter_documents
    from dualstruct.texts.corpora import document_blocks

    for block in document_blocks(iter_documents(file, format), tagger.tokenizer_):
        for document in block:
            yield from document.words()


def _of_columns(
    tagger: SequenceTagger, file: str, reading: Reading, confidence: bool
) -> Iterator[Iterable[Document]]:
    """Documents of a column file's sentences, labelled with all their columns."""
    from dualstruct.texts.documents import joined

    for block in token_blocks(file, tagger, reading.columns, reading.label_column):
        made = [joined([_words(sentence)]) for sentence in block]
        yield labelled_documents(tagger, made, block.tokens, confidence)


def _words(sentence: Any) -> list[str]:
    return [token if isinstance(token, str) else token[0] for token in sentence]


def _put_out(blocks: Iterator[Iterable[Document]], output: Output, found: str | None) -> None:
    from dualstruct.texts import write_documents
    from dualstruct.texts.formats import FORMATS, format_named, format_of_name

    if output.format is not None:
        chosen = format_named(output.format)
    elif output.path is not None:
        chosen = format_of_name(output.path)
    else:  # as it came, if that can be printed
        chosen = FORMATS[found or "jsonl"]
        if chosen.write is None:
            chosen = FORMATS["jsonl"]
    if output.path is not None:
        write_documents(output.path, chain.from_iterable(blocks), chosen.name)
        return
    if chosen.write is None:
        raise InputError(
            f"--format {chosen.name} cannot be printed; "
            + ("--output names its folder" if chosen.write_folder else "it is only read")
        )
    with io.BufferedWriter(_Printed(), _PIECE) as out:
        chosen.write(_flushing(blocks, out), out)


def _flushing(blocks: Iterator[Iterable[Document]], out: IO[bytes]) -> Iterator[Document]:
    """The documents; what was written of a block is printed before the next one is read."""
    for block in blocks:
        yield from block
        out.flush()


class _Printed(io.RawIOBase):
    """Standard output, for those who write bytes."""

    def write(self, data: Any) -> int:
        write_bytes(bytes(data))
        return len(data)

    def writable(self) -> bool:
        return True


def convert_documents(
    source: str,
    target: Path,
    read_as: str | None,
    write_as: str | None,
    label: str | None,
    tokenizer: Splitter,
    alignment: Alignment,
) -> dict[str, Any]:
    """Write the documents of a file in another format."""
    from dualstruct.texts import iter_documents, write_documents
    from dualstruct.texts.alignment import label_spans
    from dualstruct.texts.corpora import document_blocks
    from dualstruct.texts.formats import format_named, format_of_name
    from dualstruct.texts.formats.columns import with_spans

    chosen = format_of_name(target) if write_as is None else format_named(write_as)
    counts = [0, 0, 0]

    def documents() -> Iterator[Document]:
        for block in document_blocks(iter_documents(source, read_as, label), tokenizer):
            for document in block:
                if not chosen.of_tokens:
                    document = with_spans(document)
                elif document.labels is None and document.spans is not None:
                    labels = document.by_sentence(alignment.labels(document))
                    document.spans = label_spans(document, labels)
                counts[0] += 1
                counts[1] += len(document.spans or ())
                counts[2] += len(document.labels or ())
                yield document

    write_documents(target, documents(), chosen.name)
    for note in alignment.notes():
        tell(note)
    if not counts[0]:
        tell(f"there are no documents in {source}")
    return {
        "target": str(target),
        "format": chosen.name,
        "documents": counts[0],
        "spans": counts[1],
        "labels": counts[2],
    }
