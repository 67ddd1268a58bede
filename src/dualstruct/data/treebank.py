"""Sentences with lemmas, parts of speech, morphology, heads and relations.

A :class:`Treebank` keeps the file as it is, byte for byte, beside a table of its words; what is
changed is changed in the file. So nothing is lost on the way from reading to writing: comments,
multi-word tokens, empty nodes, line ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.data.columns import ColumnSentences
from dualstruct.data.documents import document_names
from dualstruct.data.opening import in_file
from dualstruct.errors import InputError
from dualstruct.outputs import Outputs
from dualstruct.printable import plural

#: The columns of a file that hold strings, with their place among its ten.
FILE_COLUMN = {
    "forms": 1,
    "lemmas": 2,
    "upos": 3,
    "xpos": 4,
    "feats": 5,
    "relations": 7,
    "deps": 8,
    "misc": 9,
}

_HEAD = 6

#: And their place in the core's table.
TABLE_COLUMN = {name: place for place, name in enumerate(FILE_COLUMN)}

#: The parts of speech of Universal Dependencies.
UPOS = frozenset((
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "PUNCT", "SCONJ", "SYM", "VERB", "X",
))  # fmt: skip

_NO_FAULT, _NO_HEAD, _TWO_ROOTS, _CYCLE = range(4)


@dataclass
class ConlluSentence:
    """One sentence, column by column; a column has an entry for each word."""

    forms: list[str]
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]
    heads: list[int]  #: the number of the head, counted from 1; 0 is the root, -1 is none
    relations: list[str]
    deps: list[str]
    misc: list[str]
    comments: list[str] = field(default_factory=list)  #: with their ``#``
    #: Ranges and empty nodes: the number of words before them, and the line.
    others: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.forms)

    def comment(self, key: str) -> str:
        """The value of a comment such as ``# sent_id = 12``; empty without one."""
        for comment in self.comments:
            name, equals, value = comment[1:].partition("=")
            if equals and name.strip() == key:
                return value.strip()
        return ""

    @property
    def sent_id(self) -> str:
        return self.comment("sent_id")

    @property
    def text(self) -> str:
        return self.comment("text")

    def misc_of(self, word: int) -> dict[str, str]:
        """What MISC says of a word (counted from 0), by key."""
        return attributes(self.misc[word])

    @property
    def entities(self) -> list[str]:
        """The BIO label that MISC gives each word as ``Entity=``, O without one."""
        return [attributes(cell).get("Entity", "O") for cell in self.misc]

    def __str__(self) -> str:
        """The sentence exactly as in a file, with the blank line after it."""
        lines = list(self.comments)
        others = iter([*self.others, (len(self) + 1, "")])
        before, other = next(others)
        columns = [self.forms, self.lemmas, self.upos, self.xpos, self.feats]
        columns += [["_" if head < 0 else str(head) for head in self.heads]]
        columns += [self.relations, self.deps, self.misc]
        for number, cells in enumerate(zip(*columns, strict=True), 1):
            while before < number:
                lines.append(other)
                before, other = next(others)
            lines.append("\t".join([str(number), *cells]))
        while before <= len(self):
            lines.append(other)
            before, other = next(others)
        return "\n".join([*lines, "", ""])


def attributes(cell: str) -> dict[str, str]:
    """A cell of FEATS or MISC by key.

    >>> attributes("Case=Nom|Number=Sing"), attributes("_")
    ({'Case': 'Nom', 'Number': 'Sing'}, {})
    """
    if cell == "_":
        return {}
    pairs = (item.partition("=") for item in cell.split("|"))
    return {key: value for key, _, value in pairs}


class Treebank(Sequence[ConlluSentence]):
    """The sentences of a CoNLL-U or CoNLL-X file, behaving like a list of sentences.

    Attributes
    ----------
    forms, lemmas, upos, xpos, feats, relations, deps, misc : ColumnSentences
        A column, sentence by sentence; strings are made when they are read.
    heads : int32 array [words]
        Of all words; 0 is the root, -1 means none (``_``).
    sentences : int64 array [sentences + 1]
        The first word of each sentence.

    Examples
    --------
    >>> from dualstruct import read_conllu
    >>> from dualstruct.datasets import english_path
    >>> treebank = read_conllu(english_path())
    >>> len(treebank), treebank.upos[0][:3], treebank[0].heads[:3]
    (578, ['DET', 'PROPN', 'PROPN'], [4, 4, 4])
    >>> bytes(treebank) == english_path().read_bytes()
    True
    >>> treebank.replace(lemmas=treebank.forms)[0].lemmas == treebank[0].forms
    True
    """

    forms: ColumnSentences
    lemmas: ColumnSentences
    upos: ColumnSentences
    xpos: ColumnSentences
    feats: ColumnSentences
    relations: ColumnSentences
    deps: ColumnSentences
    misc: ColumnSentences

    def __init__(
        self, data: bytes, name: str = "treebank", *, lines: NDArray[np.int64] | int = 0
    ) -> None:
        """``lines``: where the words are in the file, or how many lines there are before."""
        before = lines if isinstance(lines, int) else 0
        try:
            table, heads, numbers, places = _core.parse_conllu(data, before)
        except InputError as problem:
            raise InputError(in_file(name, problem)) from None
        self.name = name
        self.table = table
        self.heads = heads
        self.lines = numbers if isinstance(lines, int) else lines
        self.sentences: NDArray[np.int64] = table.sentences
        heads.flags.writeable = False  # new heads have to reach the file: see replace
        self._data = data
        self._places = places

    def __getattr__(self, name: str) -> ColumnSentences:
        if name not in TABLE_COLUMN:
            raise AttributeError(f"a Treebank has no {name!r}")
        return self.columns(name)

    def columns(self, *names: str) -> ColumnSentences:
        """Some of the columns, side by side, in the form that the taggers' features take.

        >>> from dualstruct.datasets import load_english
        >>> load_english().columns("forms", "upos")[0][0]
        ('The', 'DET')
        """
        return ColumnSentences(self.table, [TABLE_COLUMN[name] for name in names])

    @classmethod
    def from_columns(
        cls,
        forms: Sequence[Sequence[str]],
        heads: Any = None,
        name: str = "treebank",
        **columns: Any,
    ) -> Treebank:
        """Make a treebank from lists: a list for each sentence.

        >>> made = Treebank.from_columns([["Ada", "sings"]], upos=[["PROPN", "VERB"]])
        >>> print(bytes(made).decode(), end="")  # doctest: +NORMALIZE_WHITESPACE
        1   Ada     _   PROPN   _   _   _   _   _   _
        2   sings   _   VERB    _   _   _   _   _   _
        <BLANKLINE>
        """
        rows = (
            [f"{number}\t{form}" + 8 * "\t_" for number, form in enumerate(sentence, 1)]
            for sentence in _checked(forms, "forms")
            if len(sentence)
        )
        blank = cls("".join("\n".join([*row, "", ""]) for row in rows).encode(), name)
        return blank.replace(heads=heads, **columns)

    @classmethod
    def from_sentences(
        cls, sentences: Iterable[ConlluSentence], name: str = "treebank"
    ) -> Treebank:
        """Make a treebank from sentences one by one."""
        if isinstance(sentences, Treebank):
            return sentences
        return cls("".join(map(str, sentences)).encode(), name)

    def replace(self, heads: Any = None, **columns: Any) -> Treebank:
        """The same file with other cells in some columns; everything else stays as it is.

        Parameters
        ----------
        heads : optional
            An array with an entry for each word, or a list for each sentence; -1 writes ``_``.
        columns : optional
            A list of strings for each sentence; or the number of each word's string, and the
            strings; or None to keep the column.
        """
        changed = []
        words = len(self.heads)
        if heads is not None:
            flat = self._flat(heads, "heads")
            if flat.size and (flat < -1).any():
                raise InputError("a head is negative; -1 stands for none, 0 for the root")
            most = int(flat.max(initial=0))
            strings = ["_", *map(str, range(most + 1))]
            changed.append((_HEAD, flat + np.int32(1), strings))
        for name, given in columns.items():
            if name not in FILE_COLUMN:
                raise InputError(f"there is no column {name!r}; there are {', '.join(FILE_COLUMN)}")
            if given is not None:
                changed.append((FILE_COLUMN[name], *self._encoded(given, name)))
        data = _core.rewrite_conllu(self._data, words, changed)
        return Treebank(data, self.name, lines=self.lines)

    def _flat(self, heads: Any, name: str) -> NDArray[np.int32]:
        if isinstance(heads, np.ndarray) and heads.ndim == 1 and heads.dtype != object:
            if len(heads) != len(self.heads):
                raise InputError(f"{plural(len(self.heads), 'word')}, but {len(heads)} {name}")
            return np.ascontiguousarray(heads, dtype=np.int32)
        self._check_lengths(heads, name)
        return np.fromiter(chain.from_iterable(heads), np.int32, len(self.heads))

    def _encoded(self, given: Any, name: str) -> tuple[NDArray[np.int32], list[str]]:
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], np.ndarray):
            numbers_of_words, strings = given
            if len(numbers_of_words) != len(self.heads):
                raise InputError(
                    f"{plural(len(self.heads), 'word')}, but {len(numbers_of_words)} {name}"
                )
            return np.ascontiguousarray(numbers_of_words, dtype=np.int32), list(strings)
        self._check_lengths(given, name)
        if isinstance(given, ColumnSentences):
            return given.encoded()
        numbers: dict[str, int] = {}
        cells = chain.from_iterable(_checked(given, name))
        ids = (numbers.setdefault(cell, len(numbers)) for cell in cells)
        return np.fromiter(ids, np.int32, len(self.heads)), list(numbers)

    def _check_lengths(self, given: Any, name: str) -> None:
        if len(given) != len(self):
            raise InputError(f"{plural(len(self), 'sentence')}, but {name} for {len(given)}")
        lengths = self.lengths
        theirs = given.lengths if isinstance(given, ColumnSentences) else [len(x) for x in given]
        wrong = np.flatnonzero(lengths != theirs)
        if len(wrong):
            i = int(wrong[0])
            raise InputError(
                f"sentence {i + 1}: {plural(lengths[i], 'word')}, but "
                f"{plural(theirs[i], 'entry')} in {name}"
            )

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many words each sentence has."""
        return np.diff(self.sentences)

    def select(self, chosen: ArrayLike) -> Treebank:
        """Some of the sentences, by their numbers (from 0), with all that belongs to them."""
        numbers = np.asarray(chosen, dtype=np.int64)
        view = memoryview(self._data)
        data = b"".join(view[self._places[i] : self._places[i + 1]] for i in numbers)
        spans = [self.lines[self.sentences[i] : self.sentences[i + 1]] for i in numbers]
        lines = np.concatenate(spans) if spans else np.zeros(0, np.int64)
        return Treebank(data, self.name, lines=lines)

    @overload
    def __getitem__(self, index: int) -> ConlluSentence: ...
    @overload
    def __getitem__(self, index: slice) -> Treebank: ...
    def __getitem__(self, index: int | slice) -> ConlluSentence | Treebank:
        if isinstance(index, slice):
            return self.select(range(len(self))[index])
        i = range(len(self))[index]
        begin, end = (int(at) for at in self.sentences[i : i + 2])
        columns = {name: self.table.cells(at, begin, end) for name, at in TABLE_COLUMN.items()}
        comments, others = self._other_lines(i)
        heads = self.heads[begin:end].tolist()
        return ConlluSentence(heads=heads, comments=comments, others=others, **columns)

    def _other_lines(self, i: int) -> tuple[list[str], list[tuple[int, str]]]:
        comments: list[str] = []
        others: list[tuple[int, str]] = []
        words = 0
        for line in self._lines_of(i):
            mark = line.partition("\t")[0]
            if line.startswith("#"):
                comments.append(line)
            elif "-" in mark or "." in mark:
                others.append((words, line))
            elif mark.strip():
                words += 1
        return comments, others

    @property
    def byte_places(self) -> NDArray[np.int64]:
        """Where each sentence begins in the file, with its comments, and where the last ends."""
        return self._places

    def text(self, i: int) -> str:
        """A sentence exactly as in the file, comments and blank line included."""
        return self._data[self._places[i] : self._places[i + 1]].decode("utf-8-sig")

    def _lines_of(self, i: int) -> Iterator[str]:
        # splitlines would also split at the line ends of Unicode, which a word may hold.
        return (line.removesuffix("\r") for line in self.text(i).split("\n"))

    def sent_id(self, i: int) -> str:
        """The sentence's ``sent_id``; empty if it has none."""
        for line in self._lines_of(i):
            if not line.startswith("#"):
                break
            key, equals, value = line[1:].partition("=")
            if equals and key.strip() == "sent_id":
                return value.strip()
        return ""

    @cached_property
    def _number_of_id(self) -> dict[str, int]:
        return {self.sent_id(i): i for i in reversed(range(len(self)))}

    def find(self, sentence: str) -> int:
        """The number (from 0) of the sentence with a ``sent_id``, or of one counted from 1."""
        if sentence in self._number_of_id and sentence:
            return self._number_of_id[sentence]
        if sentence.isdecimal() and len(sentence) < 20 and 1 <= int(sentence) <= len(self):
            return int(sentence) - 1
        raise InputError(
            f"{self.name}: there is no sentence {sentence!r}; it has "
            f"{plural(len(self), 'sentence')}, "
            "counted from 1, and no such sent_id"
        )

    def documents(self) -> list[str]:
        """The document of each sentence (``# newdoc id = …``); empty if the file has none."""
        if b"newdoc" not in self._data:
            return []
        return document_names(self._other_lines(i)[0] for i in range(len(self)))

    def where(self, i: int, word: int) -> str:
        """File, line and ``sent_id`` of a word (both counted from 0), for messages."""
        line = self.lines[self.sentences[i] + word]
        sent_id = self.sent_id(i)
        return f"{self.name}, line {line}" + (f" (sent_id {sent_id})" if sent_id else "")

    def faults(self, single_root: bool = False) -> dict[int, str]:
        """The sentences that are not trees, by number (from 0), with what is wrong and where."""
        kinds, words = _core.tree_faults(self.heads, self.sentences, single_root)
        return {
            i: f"{self.where(i, int(words[i]))}: {self._describe(i, kinds[i], words[i])}"
            for i in np.flatnonzero(kinds).tolist()
        }

    def _describe(self, i: int, fault: int, word: int) -> str:
        heads = self.heads[self.sentences[i] : self.sentences[i + 1]]
        if fault == _NO_HEAD:
            return f"word {word + 1} has no head"
        if fault == _TWO_ROOTS:
            first = int(np.flatnonzero(heads == 0)[0])
            return f"words {first + 1} and {word + 1} are both roots: two trees in one sentence"
        cycle = [word + 1]
        while heads[cycle[-1] - 1] != cycle[0]:
            cycle.append(int(heads[cycle[-1] - 1]))
        return f"the heads go round in a cycle: {' → '.join(map(str, [*cycle, cycle[0]]))}"

    def check_trees(self, single_root: bool = False) -> None:
        """Raise an error for sentences that are not trees.

        Parameters
        ----------
        single_root : bool
            Whether only one word may be attached to the root, as in CoNLL-U; CoNLL-X allows more.
        """
        for message in self.faults(single_root).values():
            raise InputError(message)

    def crossing_arcs(self) -> NDArray[np.int64]:
        """The number of arcs of each sentence that cross another one."""
        return _core.crossing_arcs(self.heads, self.sentences)

    def __len__(self) -> int:
        return len(self.table)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """One entry per sentence: so scikit-learn puts treebanks together."""
        return Outputs(self).__array__(dtype, copy)

    def __bytes__(self) -> bytes:
        """The file."""
        return self._data

    def __eq__(self, other: object) -> bool:
        return bytes(self) == bytes(other) if isinstance(other, Treebank) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._data, self.name, np.array(self.lines))

    def __repr__(self) -> str:
        return f"<{self.name}: {plural(len(self), 'sentence')}, {plural(len(self.heads), 'word')}>"


def _restored(data: bytes, name: str, lines: NDArray[np.int64]) -> Treebank:
    return Treebank(data, name, lines=lines)


def _checked(column: Iterable[Sequence[str]], name: str) -> Iterator[Sequence[str]]:
    """The sentences of a column whose cells can be written."""
    good: set[str] = set()
    for i, cells in enumerate(column, 1):
        if isinstance(cells, str):
            raise InputError(f"sentence {i}: a list of {name} is expected, not a str")
        for word, cell in enumerate(cells, 1):
            if cell in good:
                continue
            if not isinstance(cell, str):
                raise InputError(
                    f"sentence {i}, word {word}: a str is expected in {name}, not a "
                    f"{type(cell).__name__}"
                )
            if not cell or any(mark in cell for mark in "\t\n\r"):
                raise InputError(
                    f"sentence {i}, word {word}: {cell!r} cannot be written, because it is empty "
                    "or has a tab or a line end in it"
                )
            good.add(cell)
        yield cells
