"""The formats that texts come in: one file each, and one row here."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from dualstruct.data.examples import is_dataset
from dualstruct.data.opening import PathOrFile, name_of, read_pieces
from dualstruct.errors import InputError
from dualstruct.texts.formats.base import Format
from dualstruct.texts.formats.brat import BRAT
from dualstruct.texts.formats.columns import COLUMNS
from dualstruct.texts.formats.conllu import CONLLU
from dualstruct.texts.formats.csv_rows import CSV
from dualstruct.texts.formats.docbin import DOCBIN
from dualstruct.texts.formats.jsonl import JSONL
from dualstruct.texts.formats.labelstudio import LABEL_STUDIO
from dualstruct.texts.formats.parquet import ARROW, PARQUET
from dualstruct.texts.formats.plain import PLAIN
from dualstruct.texts.formats.project import PROJECT

__all__ = ["FORMATS", "Format", "find_format", "format_named", "format_of_name"]

#: By name. The first whose content fits is taken; then the first whose name fits.
FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        LABEL_STUDIO,
        JSONL,
        BRAT,
        CONLLU,
        CSV,
        PARQUET,
        ARROW,
        DOCBIN,
        PROJECT,
        COLUMNS,
        PLAIN,
    )
}
#: As much of a file is looked at.
_BEGINNING = 1 << 16


def format_named(name: str) -> Format:
    """The format of this name."""
    if name not in FORMATS:
        raise InputError(f"there is no format {name!r}; choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


def find_format(source: PathOrFile) -> Format:
    """Which format a file is in, by its content, or else by its name."""
    if is_dataset(source):
        return ARROW
    if isinstance(source, Mapping):  # a DatasetDict
        raise InputError(
            f"these are several datasets, {', '.join(map(str, source))}: give one of them, "
            'data["train"] for instance'
        )
    if not isinstance(source, str | os.PathLike):
        raise InputError(
            f"{name_of(source)}: the format is not clear; choose one of {', '.join(FORMATS)}"
        )
    if Path(source).is_dir():
        return next((each for each in FORMATS.values() if each.fits_folder(Path(source))), BRAT)
    return format_of(beginning_of(source), name_of(source))


def beginning_of(source: str | os.PathLike[str]) -> bytes:
    """The first bytes of a file."""
    if source == "-":  # what is looked at is still to be read
        peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
        try:
            return bytes(peek(1)) if peek is not None else b""
        except OSError:  # which whoever reads it reports
            return b""
    return next(read_pieces(source, _BEGINNING), b"")


def format_of_name(name: str | os.PathLike[str]) -> Format:
    """The format that a file to be written promises by its name."""
    for each in FORMATS.values():
        if str(name).endswith(each.endings):
            return each
    raise InputError(
        f"{name_of(name)}: the format is not clear from the name; choose one of "
        f"{', '.join(FORMATS)}"
    )


def format_of(beginning: bytes, name: str) -> Format:
    """The format of a file that begins like this, and has this name."""
    beginning = beginning.removeprefix(b"\xef\xbb\xbf")
    for each in FORMATS.values():
        if each.fits(beginning):
            return each
    suffixes = "".join(
        suffix for suffix in Path(name).suffixes if suffix not in (".gz", ".xz", ".bz2")
    )
    for each in FORMATS.values():
        if suffixes.endswith(each.endings):
            return each
    return COLUMNS
