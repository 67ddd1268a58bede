"""Files of CoNLL-U and CoNLL-X: from a file to a :class:`Treebank`, and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import IO, Any

from dualstruct.data.cutting import whole_sentences
from dualstruct.data.opening import PathOrFile, name_of, read_bytes, read_pieces
from dualstruct.data.treebank import ConlluSentence, Treebank
from dualstruct.data.writing import replace_file
from dualstruct.errors import InputError

__all__ = [
    "ConlluSentence",
    "Treebank",
    "iter_conllu",
    "looks_like_conllu",
    "read_conllu",
    "write_conllu",
]


def read_conllu(path: PathOrFile, *, trees: str | None = None) -> Treebank:
    """Read a CoNLL-U or CoNLL-X file (``.gz``, ``.xz`` and ``.bz2`` are unpacked).

    Parameters
    ----------
    path : path or file object
        ``"-"`` is standard input.
    trees : {None, "one-root", "many-roots"}
        Check that every sentence is a tree, with one word under the root (as CoNLL-U requires)
        or with any number of them (as CoNLL-X allows).

    Examples
    --------
    >>> from dualstruct.datasets import english_path
    >>> read_conllu(english_path(), trees="one-root")
    <english.conllu: 578 sentences, 7,148 words>
    """
    if trees not in (None, "one-root", "many-roots"):
        raise InputError(f"trees is {trees!r}, not one-root, many-roots or None")
    name = name_of(path)
    treebank = Treebank(read_bytes(path), name)
    if not len(treebank):
        raise InputError(f"{name}: it has no words")
    if trees is not None:
        treebank.check_trees(single_root=trees == "one-root")
    return treebank


def iter_conllu(path: PathOrFile, *, piece: int = 1 << 20) -> Iterator[Treebank]:
    """Read a file a few sentences at a time, in memory that does not grow with its length.

    Together, the treebanks are the file.

    Examples
    --------
    >>> from dualstruct.datasets import english_path
    >>> sum(len(treebank) for treebank in iter_conllu(english_path(), piece=10_000))
    578
    """
    return treebanks_of(read_pieces(path, piece), name_of(path))


def treebanks_of(pieces: Iterable[bytes], name: str) -> Iterator[Treebank]:
    """The sentences of a file that comes piece by piece."""
    empty = True
    held, held_lines = b"", 0
    for block, before in whole_sentences(pieces):
        treebank = Treebank(held + block, name, lines=before - held_lines)
        if len(treebank):
            empty = False
            held, held_lines = b"", 0
            yield treebank
        else:  # comments without words belong to the sentence after them
            held += block
            held_lines = held.count(b"\n")
    if empty:
        raise InputError(f"{name}: it has no words")
    if held:
        yield Treebank(held, name)


def write_conllu(
    path: str | os.PathLike[str] | IO[Any], sentences: Treebank | Iterable[ConlluSentence]
) -> None:
    """Write sentences; a treebank is written with the bytes that it was read from.

    The file is written to a temporary file and then renamed, so it is never incomplete.

    Examples
    --------
    >>> import sys
    >>> write_conllu(sys.stdout, Treebank.from_columns([["Hello"]], heads=[[0]]))
    1	Hello	_	_	_	_	0	_	_	_
    <BLANKLINE>
    """
    data = bytes(Treebank.from_sentences(sentences))
    if not isinstance(path, str | os.PathLike):
        if hasattr(path, "encoding"):
            path.write(data.decode())
        else:
            path.write(data)
        return
    replace_file(path, data)


def looks_like_conllu(data: bytes) -> bool:
    """Whether the first row of a file has ten columns and a number for its word.

    >>> looks_like_conllu(b"# text = Hi\\n1\\tHi" + b"\\t_" * 8), looks_like_conllu(b"Hi O\\n")
    (True, False)
    """
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1000):
        if line.strip() and not line.startswith(b"#"):
            cells = line.split(b"\t")
            return len(cells) == 10 and cells[0].split(b"-")[0].split(b".")[0].isdigit()
    return False
