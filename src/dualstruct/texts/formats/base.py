"""What a format is: how files of it are known, read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dualstruct.data.opening import PathOrFile
from dualstruct.errors import InputError
from dualstruct.texts.documents import Document, shortened

__all__ = ["Format", "refuse_labels"]


@dataclass(frozen=True)
class Format:
    """One file of this folder each, and one row in ``FORMATS``."""

    name: str
    about: str  #: for people
    endings: tuple[str, ...]  #: how names of such files end
    #: The documents of a file, one by one; where the labels are, if it leaves a choice.
    read: Callable[[PathOrFile, str | None], Iterator[Document]]
    #: Whether a file that begins with these bytes is one, whatever its name.
    fits: Callable[[bytes], bool] = lambda _: False
    #: Writes documents one by one; None if it is only read.
    write: Callable[[Iterable[Document], IO[bytes]], None] | None = None
    #: The same where a format is a folder of files.
    write_folder: Callable[[Iterable[Document], str], None] | None = None
    #: Whether a folder is one; those that no format claims are BRAT's.
    fits_folder: Callable[[Path], bool] = lambda _: False
    of_tokens: bool = False  #: whether spans are written as labels of tokens
    needs_library: str | None = None  #: what has to be installed for it
    is_text: bool = True  #: whether its files are text


def refuse_labels(document: Document, format: str) -> None:
    """What a format would lose that has room for spans alone."""
    if document.labels:
        raise InputError(
            f"{document.where or 'the document'}: its tokens have labels, such as "
            f"{shortened(document.labels[0])}, and {format} has spans alone; jsonl, conll, conllu, "
            "csv, parquet, arrow and spacy keep them"
        )
