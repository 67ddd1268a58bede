"""Column files: one token per line, its columns side by side, a blank line between sentences.

The text stays in the core, where every distinct string is kept once; sentences become Python
lists only when somebody looks at them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import IO, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.data.documents import document_names, numbered
from dualstruct.data.layout import ColumnLayout
from dualstruct.data.opening import (
    PathOrFile,
    in_file,
    lines_of,
    name_of,
    read_bytes,
    refuse_json,
)
from dualstruct.data.writing import replace_file
from dualstruct.errors import InputError
from dualstruct.printable import plural

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
        self,
        table: _core.TokenTable,
        columns: Sequence[int],
        sentences: range | None = None,
        layout: ColumnLayout | None = None,
        documents: NDArray[np.int64] | None = None,
    ) -> None:
        self._table = table
        self._columns = tuple(columns)
        self._sentences = range(len(table)) if sentences is None else sentences
        #: How the file was read that these are the tokens of, if they are all that was chosen.
        self.layout = layout
        self._documents = documents  # [sentences of the table]

    @property
    def documents(self) -> NDArray[np.int64] | None:
        """The document of each sentence, if the file says where documents begin."""
        return None if self._documents is None else self._documents[self._indices()]

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
        columns = [self._columns[k] for k in chosen]
        return ColumnSentences(self._table, columns, self._sentences, documents=self._documents)

    def select(self, chosen: ArrayLike) -> ColumnSentences:
        """Some of the sentences, by their numbers (from 0)."""
        numbers = self._indices()[np.asarray(chosen, dtype=np.int64)]
        table = self._table.select(numbers, list(self._columns))
        documents = None if self._documents is None else self._documents[numbers]
        return ColumnSentences(
            table, range(self.n_columns), layout=self.layout, documents=documents
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
            chosen = self._sentences[index]
            return ColumnSentences(self._table, self._columns, chosen, self.layout, self._documents)
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
        return _from_lists, (list(self), self.n_columns, self.layout, self.documents)

    def __repr__(self) -> str:
        return f"<{plural(len(self), 'sentence')}, {plural(int(self.lengths.sum()), 'token')}>"


def _from_lists(
    sentences: list[Sentence],
    n_columns: int,
    layout: ColumnLayout | None = None,
    documents: NDArray[np.int64] | None = None,
) -> ColumnSentences:
    table = _core.TokenTable.from_sentences(sentences)
    return ColumnSentences(table, range(n_columns), layout=layout, documents=documents)


@dataclass(frozen=True, eq=False)
class ColumnFile:
    """What :func:`read_columns` returns.

    Attributes
    ----------
    tokens : ColumnSentences
        The sentences without their labels.
    labels : ColumnSentences
        The labels; asking for them is an error if the file has none.
    other_lines : dict
        Comments and other lines that are not tokens, by sentence and how many of its tokens come
        before them; blank lines between them, and those after them, are there, too.

    Examples
    --------
    >>> import io
    >>> file = read_columns(io.StringIO("# id 7\\nAda B-PER\\n\\n-DOCSTART- O\\n\\nHello O\\n"))
    >>> list(file.tokens), file.other_lines
    ([['Ada'], ['Hello']], {(0, 0): ['# id 7'], (1, 0): ['-DOCSTART- O', '']})
    """

    tokens: ColumnSentences
    _labels: ColumnSentences | None
    name: str
    other_lines: dict[tuple[int, int], list[str]]
    _table: _core.TokenTable
    _format: _core.ColumnFormat
    _source: PathOrFile | None

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

    @property
    def n_columns(self) -> int:
        """How many columns the file has, labels included."""
        return self._table.n_columns

    @property
    def is_conllu(self) -> bool:
        """Whether it looks like CoNLL-U: ten columns, the first of which numbers the words."""
        return self._format.numbered

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each sentence."""
        return self.tokens.lengths

    @property
    def forms(self) -> ColumnSentences:
        """The first column of the tokens: usually the words."""
        return self.tokens.columns([0])

    def __len__(self) -> int:
        return len(self.tokens)

    def choose(self, columns: Sequence[int] | None, label_column: int | None) -> ColumnFile:
        """The same file with other columns for tokens and labels, as :func:`read_columns` has them.

        >>> import io
        >>> file = read_columns(io.StringIO("Ada NNP B-PER\\n"))
        >>> file.choose([0], 1).labels[0]
        ['NNP']
        """
        count = self.n_columns

        def number(column: int, what: str) -> int:
            if not -count <= column < count:
                raise InputError(
                    f"{self.name}: there is no column {column} for {what}; the file has {count}"
                    f" column{'s' if count > 1 else ''}, numbered from 0"
                )
            return column % count

        label = None if label_column is None else number(label_column, "the labels")
        if columns is None:
            chosen = tuple(column for column in range(count) if column != label)
        else:
            chosen = tuple(number(column, "the tokens") for column in columns)
        if not chosen:
            raise InputError(
                f"{self.name}: its only column was taken for the labels, which leaves none for the"
                " tokens: a label in a column of its own is missing"
            )
        layout = ColumnLayout(chosen, label, count, self._format.comments)
        documents = numbered(self.documents()) if self.other_lines else None
        tokens = ColumnSentences(self._table, chosen, layout=layout, documents=documents)
        labels = None if label is None else ColumnSentences(self._table, [label])
        return replace(self, tokens=tokens, _labels=labels)

    def unlike(self, layout: ColumnLayout) -> InputError:
        """An error that says that the file cannot be read as another one was."""
        return InputError(
            f"{self.name} has {plural(self.n_columns, 'column')}, but the model was trained with "
            f"{layout}; name the columns of this file (--columns, --label-column; columns, "
            "label_column), or label plain text with predict --text"
        )

    def where(self, sentence: int, token: int) -> str:
        """The file's name and the line of a token (both counted from 0), for messages."""
        place = f"sentence {sentence + 1}, token {token + 1}"
        if not isinstance(self._source, str | os.PathLike) or self._source == "-":
            return f"{self.name}, {place}"
        before = int(self.tokens.lengths[:sentence].sum()) + token
        return f"{self.name}, line {self._token_lines[before]}"

    @cached_property
    def _token_lines(self) -> NDArray[np.int64]:
        assert isinstance(self._source, str | os.PathLike)
        return self._format.token_lines(read_bytes(self._source))

    def documents(self) -> list[str]:
        """The document of each sentence (``-DOCSTART-``); empty if the file has none."""
        return document_names(self.other_lines.get((i, 0), ()) for i in range(len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        everything = ColumnSentences(self._table, range(self.n_columns))
        source = self._source if isinstance(self._source, str | os.PathLike) else None
        layout = self.tokens.layout
        assert layout is not None
        state = self.name, self.other_lines, self._format, source, layout.columns, layout.label
        return _restored_file, (everything, *state)


def _restored_file(
    everything: ColumnSentences,
    name: str,
    other_lines: dict[tuple[int, int], list[str]],
    format: _core.ColumnFormat,
    source: PathOrFile | None,
    columns: tuple[int, ...],
    label: int | None,
) -> ColumnFile:
    table = everything.table()
    file = ColumnFile(everything, None, name, other_lines, table, format, source)
    return file.choose(columns, label)


def read_columns(
    path: PathOrFile,
    *,
    label_column: int | None = -1,
    columns: Sequence[int] | None = None,
    separator: str | None = None,
    comments: bool | None = None,
) -> ColumnFile:
    """Read a column file: one token per line, a blank line between sentences.

    Some lines are not tokens. Before the first token of a sentence these are lines whose first cell
    is ``-DOCSTART-``, and comments: lines that begin with ``# `` (with the blank), if they have
    another number of columns than the tokens, or if all sentences of the file begin with such a
    line. Elsewhere, and with as many columns as the others, ``#`` is a token. In CoNLL-U all lines
    before a sentence that begin with ``#`` are comments, and ranges (``1-2``) and empty nodes
    (``1.1``) are not tokens. :attr:`ColumnFile.other_lines` keeps them.

    Parameters
    ----------
    path : path or file object
        Files that end in ``.gz``, ``.xz`` or ``.bz2`` are unpacked; ``"-"`` is standard input.
    label_column : int or None
        The column of the label, counted from 0, or from the end if negative; None if there is none.
    columns : sequence of int, optional
        The columns that make up a token; all except the label by default.
    separator : str, optional
        The separator of columns: a tab if the first token has one, else spaces. A space
        stands for any run of spaces and tabs; other separators are used literally.
    comments : bool, optional
        True if every line before a sentence that begins with ``# `` is a comment, whatever its
        columns; False if only those are with another number of columns. Default: the file decides.

    Examples
    --------
    >>> import io
    >>> file = read_columns(io.StringIO("Ada B-PER\\nlives O\\n\\nHello O\\n"))
    >>> file.tokens[0], file.labels[0]
    (['Ada', 'lives'], ['B-PER', 'O'])
    """
    name, data = name_of(path), read_bytes(path)
    format = column_format(name, data, separator, comments)
    return parse_column_file(name, data, format, columns, label_column, path)


def read_like(
    path: PathOrFile,
    layout: ColumnLayout,
    columns: Sequence[int] | None = None,
    label_column: int | None = None,
) -> ColumnFile:
    """Read a column file with labels as another one was read, unless asked otherwise.

    Parameters
    ----------
    path : path or file object
    layout : ColumnLayout
        Of the other file: ``tagger.layout_``.
    columns, label_column : optional
        As for :func:`read_columns`; by default as in the other file.

    Examples
    --------
    >>> import io
    >>> layout = read_columns(io.StringIO("Ada NNP B-PER\\n"), columns=[0]).tokens.layout
    >>> read_like(io.StringIO("Bo NNP B-PER\\nsings VBZ O\\n"), layout).tokens[0]
    ['Bo', 'sings']
    """
    file = read_columns(path, label_column=None, comments=layout.comments or None)
    if columns is None and label_column is None:
        found = layout.labelled(file.n_columns)
        if found is None or (file.is_conllu and file.n_columns != layout.width):
            raise file.unlike(layout)
        return file.choose(*found)
    like = file.n_columns == layout.width
    if columns is None and like:
        columns = layout.columns
    if label_column is None:
        label_column = layout.label if like and layout.label is not None else -1
    return file.choose(columns, label_column)


def column_format(
    name: str, beginning: bytes, separator: str | None = None, comments: bool | None = None
) -> _core.ColumnFormat:
    """How a file is to be read that begins like this; other kinds of files are refused."""
    if b'"dualstruct"' in beginning[:200]:
        raise InputError(f"{name}: this is a dualstruct model, not a column file")
    refuse_json(name, beginning)
    return _core.ColumnFormat.of(beginning, separator or "", comments)


def parse_column_file(
    name: str,
    data: bytes,
    format: _core.ColumnFormat,
    columns: Sequence[int] | None,
    label_column: int | None,
    source: PathOrFile | None = None,
) -> ColumnFile:
    """What was read from a file, or a part of one, of a known format."""
    if format.numbered and columns is None and label_column == -1:
        raise InputError(
            f"{name}: this looks like CoNLL-U; --task parse and --task tag+parse (read_conllu) "
            "learn its trees; for a tagger, name its columns: --columns 1 --label-column 3 "
            "(columns=[1], label_column=3) for words and UPOS"
        )
    try:
        table, others = _core.parse_columns(data, format)
    except InputError as problem:
        raise InputError(in_file(name, problem)) from None
    lines = {
        (sentence, tokens): lines_of(text.removesuffix("\n")) for sentence, tokens, text in others
    }
    everything = ColumnSentences(table, range(table.n_columns))
    file = ColumnFile(everything, None, name, lines, table, format, source)
    return file.choose(columns, label_column)


def write_columns(
    path: str | os.PathLike[str] | IO[str],
    tokens: Iterable[Iterable[Any]],
    labels: Iterable[Iterable[str]] | None = None,
    *,
    separator: str = "\t",
) -> None:
    """Write a column file, the label last.

    The file is written to a temporary file and then renamed, so it is never incomplete.

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
        raise InputError(
            f"{plural(len(sentences), 'sentence')}, but {plural(len(label_rows), 'row')} of labels"
        )
    for number, sentence in enumerate(sentences, 1):
        if label_rows is not None and len(label_rows[number - 1]) != len(sentence):
            raise InputError(
                f"sentence {number}: {plural(len(sentence), 'token')},"
                f" but {plural(len(label_rows[number - 1]), 'label')}"
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
