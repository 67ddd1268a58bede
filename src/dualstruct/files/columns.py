"""Column files: one token a line, its columns side by side, a blank line between sentences.

The text stays in the core, where every distinct string is kept once; sentences become Python
lists only when somebody looks at them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.files.opening import PathOrFile, in_file, name_of, read_bytes
from dualstruct.files.writing import replace_file

__all__ = ["ColumnFile", "ColumnSentences", "read_columns", "write_columns"]

Sentence = list[str] | list[tuple[str, ...]]


class ColumnSentences(Sequence[Any]):
    """Sentences of a column file, behaving like a list of lists.

    A token is a ``str`` if there is one column, else a tuple of ``str``. Slices are lazy, too.

    Examples
    --------
    >>> import io
    >>> tokens = read_columns(io.StringIO("a DT O\\ndog NN O\\n\\nruns VBZ O\\n")).tokens
    >>> len(tokens), tokens[0]
    (2, [('a', 'DT'), ('dog', 'NN')])
    >>> tokens[1:] == [[("runs", "VBZ")]]
    True
    """

    def __init__(
        self, table: _core.TokenTable, columns: Sequence[int], sentences: range | None = None
    ) -> None:
        self._table = table
        self._columns = tuple(columns)
        self._sentences = range(len(table)) if sentences is None else sentences

    @property
    def n_columns(self) -> int:
        """How many columns a token has."""
        return len(self._columns)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each sentence."""
        chosen: NDArray[np.int64] = np.diff(self._table.sentences)[self._indices()]
        return chosen

    def table(self) -> _core.TokenTable:
        """The core's table of exactly these sentences and columns."""
        everything = range(len(self._table))
        if self._sentences == everything and self._columns == tuple(range(self._table.n_columns)):
            return self._table
        return self._table.select(self._indices(), list(self._columns))

    def columns(self, chosen: Sequence[int]) -> ColumnSentences:
        """The same sentences with some of the columns, counted from 0."""
        return ColumnSentences(self._table, [self._columns[k] for k in chosen], self._sentences)

    def select(self, chosen: ArrayLike) -> ColumnSentences:
        """Some of the sentences, by their numbers (from 0)."""
        numbers = self._indices()[np.asarray(chosen, dtype=np.int64)]
        return ColumnSentences(
            self._table.select(numbers, list(self._columns)), range(self.n_columns)
        )

    def encoded(self) -> tuple[NDArray[np.int32], list[str]]:
        """The tokens of the only column as numbers, and the strings that the numbers stand for.

        Examples
        --------
        >>> import io
        >>> labels = read_columns(io.StringIO("a B\\nb O\\n\\nc B\\n")).labels
        >>> labels.encoded()
        (array([0, 1, 0], dtype=int32), ['B', 'O'])
        """
        if self.n_columns != 1:
            raise InputError(f"one column can be encoded, not {self.n_columns}")
        table = self.table()
        return np.array(table.ids(0)), table.strings(0)

    def _indices(self) -> NDArray[np.int64]:
        return np.arange(
            self._sentences.start, self._sentences.stop, self._sentences.step, dtype=np.int64
        )

    def __len__(self) -> int:
        return len(self._sentences)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> ColumnSentences: ...
    def __getitem__(self, index: int | slice) -> Sentence | ColumnSentences:
        if isinstance(index, slice):
            return ColumnSentences(self._table, self._columns, self._sentences[index])
        sentence = self._sentences[index]
        begin, end = (int(at) for at in self._table.sentences[sentence : sentence + 2])
        columns = [self._table.cells(column, begin, end) for column in self._columns]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(
            mine == theirs for mine, theirs in zip(self, other, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_lists, (list(self), self.n_columns)

    def __repr__(self) -> str:
        return f"<{len(self)} sentences, {int(self.lengths.sum())} tokens>"


def _from_lists(sentences: list[Sentence], n_columns: int) -> ColumnSentences:
    return ColumnSentences(_core.TokenTable.from_sentences(sentences), range(n_columns))


@dataclass(frozen=True)
class ColumnFile:
    """What :func:`read_columns` returns.

    Attributes
    ----------
    tokens : ColumnSentences
        The sentences without their labels.
    labels : ColumnSentences
        The labels; asking for them is an error if the file has none.
    """

    tokens: ColumnSentences
    _labels: ColumnSentences | None
    name: str
    _source: PathOrFile

    @property
    def has_labels(self) -> bool:
        """Whether one of the columns was read as labels."""
        return self._labels is not None

    @property
    def labels(self) -> ColumnSentences:
        """The labels, sentence by sentence."""
        if self._labels is None:
            raise InputError(f"{self.name}: it was read without labels (label_column=None)")
        return self._labels

    def __len__(self) -> int:
        return len(self.tokens)

    def where(self, sentence: int, token: int) -> str:
        """The file's name and the line of a token (both counted from 0), for messages."""
        place = f"sentence {sentence + 1}, token {token + 1}"
        if not isinstance(self._source, str | os.PathLike) or self._source == "-":
            return f"{self.name}, {place}"
        before = int(self.tokens.lengths[:sentence].sum()) + token
        lines = enumerate(read_bytes(self._source).split(b"\n"), 1)
        filled = (number for number, line in lines if line.strip())
        return f"{self.name}, line {next(islice(filled, before, None))}"


def read_columns(
    path: PathOrFile,
    *,
    label_column: int | None = -1,
    columns: Sequence[int] | None = None,
    separator: str | None = None,
) -> ColumnFile:
    """Read a column file.

    Parameters
    ----------
    path : path or file object
        Files that end in ``.gz``, ``.xz`` or ``.bz2`` are unpacked; ``"-"`` is standard input.
    label_column : int or None
        Where the label is, counted from 0, or from the end if negative; None if there is none.
    columns : sequence of int, optional
        Which columns make up the tokens; all but the label unless given.
    separator : str, optional
        What stands between columns: a tab if the first line has one, else blanks. A blank
        stands for any run of blanks and tabs; other separators are taken one by one.

    Examples
    --------
    >>> import io
    >>> file = read_columns(io.StringIO("Ada B-PER\\nlives O\\n\\nHello O\\n"))
    >>> file.tokens[0], file.labels[0]
    (['Ada', 'lives'], ['B-PER', 'O'])
    """
    name = name_of(path)
    data = read_bytes(path)
    if b'"dualstruct"' in data[:200]:
        raise InputError(f"{name}: this is a dualstruct model, not a column file")
    try:
        table = _core.TokenTable.parse(data, separator or "")
    except InputError as problem:
        raise InputError(in_file(name, problem)) from None

    count = table.n_columns

    def column_number(column: int, what: str) -> int:
        if not -count <= column < count:
            raise InputError(
                f"{name}: there is no column {column} for {what}; the file has {count}"
                f" column{'s' if count > 1 else ''}, numbered from 0"
            )
        return column % count

    labels = None
    if label_column is not None:
        label_column = column_number(label_column, "the labels")
        labels = ColumnSentences(table, [label_column])
    if columns is None:
        chosen = [column for column in range(count) if column != label_column]
    else:
        chosen = [column_number(column, "the tokens") for column in columns]
    if not chosen:
        raise InputError(
            f"{name}: its only column was taken for the labels, which leaves none for the"
            " tokens: a label in a column of its own is missing"
        )
    return ColumnFile(ColumnSentences(table, chosen), labels, name, path)


def write_columns(
    path: str | os.PathLike[str] | IO[str],
    tokens: Iterable[Iterable[Any]],
    labels: Iterable[Iterable[str]] | None = None,
    *,
    separator: str = "\t",
) -> None:
    """Write a column file, the label last.

    A file is written beside its place and then renamed, so that a half-written one is never seen.

    Examples
    --------
    >>> import sys
    >>> write_columns(sys.stdout, [["Ada", "sings"], ["Hello"]], [["B", "O"], ["O"]], separator=" ")
    Ada B
    sings O
    <BLANKLINE>
    Hello O
    <BLANKLINE>
    """
    text = _format_columns(tokens, labels, separator)
    if not isinstance(path, str | os.PathLike):
        path.write(text)
        return
    replace_file(path, text.encode())


def _format_columns(
    tokens: Iterable[Iterable[Any]], labels: Iterable[Iterable[str]] | None, separator: str
) -> str:
    forbidden = {separator, "\n", "\r"} | ({"\t"} if separator == " " else set())
    lines: list[str] = []
    label_rows = None if labels is None else [list(row) for row in labels]
    sentences = [list(sentence) for sentence in tokens]
    if label_rows is not None and len(label_rows) != len(sentences):
        raise InputError(f"{len(sentences)} sentences, but {len(label_rows)} rows of labels")
    for number, sentence in enumerate(sentences, 1):
        if label_rows is not None and len(label_rows[number - 1]) != len(sentence):
            raise InputError(
                f"sentence {number}: {len(sentence)} tokens,"
                f" but {len(label_rows[number - 1])} labels"
            )
        for at, token in enumerate(sentence):
            cells = [token] if isinstance(token, str) else list(token)
            if label_rows is not None:
                cells.append(label_rows[number - 1][at])
            line = separator.join(cells)
            spoiled = any(mark in cell for cell in cells for mark in forbidden)
            if spoiled or not line.strip(" \t") or (separator == " " and "" in cells):
                raise InputError(
                    f"sentence {number}, token {at + 1}: {cells!r} cannot be written, because a"
                    " cell is empty or has a separator or a line end in it"
                )
            lines.append(line)
        lines.append("")
    return "\n".join(lines) + "\n" if lines else ""
