"""What a format is: how files of it are known, read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from dualstruct.data.opening import PathOrFile
from dualstruct.texts.documents import Document

__all__ = ["Format"]


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
    of_tokens: bool = False  #: whether spans are written as labels of tokens
    needs_library: str | None = None  #: what has to be installed for it
    is_text: bool = True  #: whether its files are text
