"""Each worker's share of the data: of files, of which it keeps its own sentences only, or of lists.

Which sentences those are follows from their number, the number of workers and the seed
(:func:`partition`), whether they come from one file, from several, or from memory. A worker goes
through the files twice: once to count sentences, once to pick its own. It holds and parses no
others, and nobody sends examples.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.columns import column_format, parse_column_file
from dualstruct.data.conllu import Treebank
from dualstruct.data.cutting import BLANK_LINES, is_blank, whole_sentences
from dualstruct.data.examples import count
from dualstruct.data.opening import name_of, read_pieces
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.renamed import old_names
from dualstruct.workers.communicator import Communicator, SingleWorker, partition
from dualstruct.workers.merging import agree

#: As much of a file says how it is to be read.
_BEGINNING = 1 << 16
#: The lines of a text that are tokens, counted from 1.
TokenLines = Callable[[bytes], Sequence[int] | NDArray[np.int64]]
_LINE = re.compile(r"\bline (\d+)")

__getattr__ = old_names(
    __name__, {"Held": "data.sources.InMemory", "Lent": "data.sources.InObjectStore"}
)


@dataclass(frozen=True)
class Share:
    """What one worker has of the data."""

    X: Any
    y: Any  #: None where X holds the truth as well
    numbers: NDArray[np.int64]  #: which sentences these are, of all, counted from 0
    text: TextShare | None = None  #: where in files they stand
    weights: dict[str, Any] = field(default_factory=dict)  #: of sentences and tokens, by name

    def with_weights(self, weights: dict[str, Any]) -> Share:
        """The same with weights, those that are given."""
        given = {name: weight for name, weight in weights.items() if weight is not None}
        return replace(self, weights=given)

    def chosen(self, numbers: NDArray[np.int64]) -> Share:
        """Some of the examples, by their places in this share."""
        y = None if self.y is None else choose(self.y, numbers)
        weights = {name: choose(given, numbers) for name, given in self.weights.items()}
        return Share(choose(self.X, numbers), y, self.numbers[numbers], weights=weights)

    @property
    def examples(self) -> NDArray[np.int64]:
        """A number for each example, among all workers': of what is streamed, once it is read."""
        return self.X.numbers if isinstance(self.X, Numbered) else self.numbers

    @property
    def tokens(self) -> int:
        """How many there are, where examples have such a thing."""
        lengths = getattr(self.X, "lengths", None)
        if lengths is not None:
            return int(lengths.sum())
        return sum(len(x) if hasattr(x, "__len__") else 1 for x in self.X)

    def lasting(self) -> AbstractContextManager[None]:
        """While it lasts there is what the examples keep on disk, if they do."""
        keep: Callable[[], AbstractContextManager[None]] = getattr(self.X, "lasting", nullcontext)
        return keep()

    def where(self, sentence: int, token: int) -> str:
        """For messages: the place of a token of this share (both counted from 0)."""
        if self.text is not None:
            return self.text.where(sentence, token)
        return f"sentence {int(self.numbers[sentence]) + 1}, token {token + 1}"


@runtime_checkable
class Numbered(Protocol):
    """Examples that know their numbers only when they are read."""

    @property
    def numbers(self) -> NDArray[np.int64]: ...

    @property
    def blocks(self) -> Iterator[Any]: ...


class Source(Protocol):
    """Where examples are."""

    def share(self, workers: Communicator, seed: int, needed: bool = True) -> Share:
        """This worker's; all workers ask together. If they are needed, no worker may have none."""

    def whole(self) -> Share:
        """All of them, for one worker."""


@dataclass(frozen=True)
class TextShare:
    """Some sentences of some files."""

    data: bytes
    names: list[str]  # of the files
    file_of: list[int]  # [sentences]
    line_of: list[int]  # [sentences] first line in its file, counted from 1
    own_lines: list[int]  # [sentences] first line in data, counted from 1
    numbers: NDArray[np.int64]  # [sentences] which ones of all files
    token_lines: TokenLines  # of a text, counted from 1

    def place(self, line: int) -> tuple[str, int]:
        """The file and line in which a line of ``data`` (counted from 1) stands."""
        i = max(int(np.searchsorted(self.own_lines, line, side="right")) - 1, 0)
        return self.names[self.file_of[i]], self.line_of[i] + line - self.own_lines[i]

    def lines(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The lines in the files of lines of ``data``."""
        if not len(self.own_lines):
            return numbers
        at = np.maximum(np.searchsorted(self.own_lines, numbers, side="right") - 1, 0)
        shift: NDArray[np.int64] = np.array(self.line_of) - np.array(self.own_lines)
        return numbers + shift[at]

    def where(self, sentence: int, token: int) -> str:
        rest = b"\n".join(self.data.split(b"\n")[self.own_lines[sentence] - 1 :])
        line = int(self.token_lines(rest)[token])
        name, line = self.place(self.own_lines[sentence] + line - 1)
        return f"{name}, line {line}"

    def explain(self, problem: InputError) -> InputError:
        """A problem with ``data``, described with files and lines that a user knows."""
        found = _LINE.search(str(problem))
        if found is None:
            return InputError(str(problem))
        name, line = self.place(int(found[1]))
        rest = str(problem)[found.end() :].lstrip(": ")
        # Other lines that it speaks of are of the same share.
        rest = _LINE.sub(lambda other: "line {1} of {0}".format(*self.place(int(other[1]))), rest)
        return InputError(f"{name}, line {line}: {rest}")


def _sentences(path: Path, token_lines: TokenLines) -> Iterator[tuple[bytes, int]]:
    """The sentences of a file one by one, unchanged, each with its first line."""
    held, line = b"", 1
    for block, before in whole_sentences(read_pieces(path)):
        if not before:
            block = block.removeprefix(b"\xef\xbb\xbf")
        begin = 0
        ends = [match.end() for match in BLANK_LINES.finditer(block)]
        for end in [*ends, len(block)]:
            text = held + block[begin:end]
            begin = end
            if not is_blank(text) and (text.lstrip()[:1] not in b"#-" or len(token_lines(text))):
                yield text, line
                held = b""
                line += text.count(b"\n")
            else:  # comments without words belong to the sentence after them
                held = text


def _word_lines(text: bytes) -> list[int]:
    """The lines of a treebank that are not comments, counted from 1."""
    lines = enumerate(text.split(b"\n"), 1)
    return [number for number, line in lines if line.strip() and line[:1] != b"#"]


def text_share(
    paths: Sequence[Path],
    workers: Communicator,
    seed: int,
    token_lines: TokenLines,
    needed: bool = True,
) -> TextShare:
    """This worker's sentences of some files, which must be the same for all workers.

    Parameters
    ----------
    paths : files, ``.gz``, ``.xz`` and ``.bz2`` too
    workers : Communicator
    seed : int
        Who gets what follows from it, from the files and from the number of workers.
    token_lines : callable
        Which lines of a text are tokens, counted from 1.
    needed : bool
        Whether every worker must have a sentence.
    """
    counts: list[int] = []
    contents: dict[str, Any] = {}
    for path in paths:
        known = hashlib.blake2b()
        found = 0
        for text, _ in _sentences(path, token_lines):
            known.update(text)
            found += 1
        counts.append(found)
        # Files of the same name in several folders come one after the other.
        contents.setdefault(f"sentences in {name_of(path)}", []).append(found)
        contents.setdefault(f"content of {name_of(path)}", []).append(known.hexdigest())
    agree(workers, contents)
    sentences = sum(counts)
    if needed and not sentences:
        raise InputError(f"{name_of(paths[0])}: it has no words")
    mine = share_numbers(sentences, workers, seed, needed)
    wanted = np.zeros(sentences, dtype=bool)
    wanted[mine] = True
    kept: list[bytes] = []
    file_of, line_of, own_lines = [], [], []
    number, own_line = 0, 1
    for file, path in enumerate(paths):
        for text, line in _sentences(path, token_lines):
            if wanted[number]:
                text = _with_blank_line(text)
                kept.append(text)
                file_of.append(file)
                line_of.append(line)
                own_lines.append(own_line)
                own_line += text.count(b"\n")
            number += 1
    names = [name_of(path) for path in paths]
    return TextShare(b"".join(kept), names, file_of, line_of, own_lines, mine, token_lines)


def _with_blank_line(text: bytes) -> bytes:
    """The last sentence of a file may lack it, and another one may come after it here."""
    text = text if text.endswith(b"\n") else text + b"\n"
    return text if BLANK_LINES.search(text, max(len(text) - 100, 0)) else text + b"\n"


def share_numbers(
    examples: int, workers: Communicator, seed: int, needed: bool = True
) -> NDArray[np.int64]:
    """Which examples this worker gets."""
    if examples < workers.size and not needed:  # the last workers get none
        return np.arange(examples, dtype=np.int64)[workers.rank : workers.rank + 1]
    return partition(examples, workers.size, seed)[workers.rank]


def paths_of(given: Any) -> tuple[Path, ...] | None:
    """The files that data were given as, if they were."""
    if isinstance(given, str | os.PathLike):
        return (Path(given),)
    if (
        isinstance(given, list | tuple)
        and given
        and all(isinstance(each, os.PathLike) for each in given)
    ):
        return tuple(Path(each) for each in given)
    return None


def check_paths(paths: Sequence[Path]) -> None:
    for path in paths:
        if str(path) == "-":
            raise InputError("standard input cannot be divided among workers; give a file")
        if not path.is_file():
            raise InputError(f"{path}: there is no such file")


@dataclass(frozen=True)
class ColumnFiles:
    """Column files, as :func:`dualstruct.read_columns` reads them, for ``SequenceTagger.fit``.

    >>> ColumnFiles((Path("a.txt"), Path("b.txt.gz")), label_column=1, columns=(0,)).columns
    (0,)
    """

    paths: tuple[Path, ...]
    label_column: int = -1
    columns: tuple[int, ...] | None = None

    def share(self, workers: Communicator, seed: int, needed: bool = True) -> Share:
        format = self._format()
        text = text_share(self.paths, workers, seed, format.token_lines, needed)
        if not len(text.numbers):
            nothing: list[list[str]] = []
            return Share(nothing, nothing, text.numbers, text)
        with _translating_lines(text):
            file = parse_column_file(
                text.names[0], text.data, format, self.columns, self.label_column
            )
        return Share(file.tokens, file.labels, text.numbers, text)

    def whole(self) -> Share:
        return self.share(SingleWorker(), 0)

    def _format(self) -> _core.ColumnFormat:
        """How all files are to be read, from the beginning of the first that has tokens."""
        for path in self.paths:
            held = b""
            for piece in read_pieces(path):
                held += piece
                format = column_format(name_of(path), held)
                if format.n_columns and len(held) >= _BEGINNING:
                    return format
            format = column_format(name_of(path), held)
            if format.n_columns:
                return format
        return format


@dataclass(frozen=True)
class TreeFiles:
    """CoNLL-U and CoNLL-X files, for ``DependencyParser.fit``.

    >>> len(TreeFiles((Path("a.conllu"), Path("b.conllu.xz"))).paths)
    2
    """

    paths: tuple[Path, ...]

    def share(self, workers: Communicator, seed: int, needed: bool = True) -> Share:
        text = text_share(self.paths, workers, seed, _word_lines, needed)
        with _translating_lines(text):
            treebank = Treebank(text.data, text.names[0])
        treebank.lines = text.lines(treebank.lines)
        return Share(treebank, None, text.numbers, text)

    def whole(self) -> Share:
        return self.share(SingleWorker(), 0)


@dataclass(frozen=True)
class InMemory:
    """Examples in memory, which every worker can reach."""

    X: Any
    y: Any = None
    weights: dict[str, Any] = field(default_factory=dict)  #: for each example, by name

    def whole(self) -> Share:
        return Share(self.X, self.y, np.arange(count(self.X)), weights=self.weights)

    def share(self, workers: Communicator, seed: int, needed: bool = True) -> Share:
        return self.whole().chosen(share_numbers(count(self.X), workers, seed, needed))

    def lend(self, ray: Any, workers: int, seed: int, needed: bool = True) -> InObjectStore:
        """The shares in Ray's store, from which each worker takes its own."""

        def share(rank: int) -> Share:
            return self.share(_Place(rank, workers), seed, needed)

        return InObjectStore([ray.put(share(rank)) for rank in range(workers)])


@dataclass(frozen=True)
class InObjectStore:
    """Shares that were sent to Ray's store once; a worker that restarts takes its own again."""

    shares: list[Any]

    def share(self, workers: Communicator, seed: int, needed: bool = True) -> Share:
        import ray

        mine: Share = ray.get(self.shares[workers.rank])
        return mine

    def whole(self) -> Share:
        raise NotImplementedError("Ray's store holds shares only")


def weighed(source: Source, **weights: Any) -> Source:
    """The examples with weights of their own, where there are any."""
    given = {name: weight for name, weight in weights.items() if weight is not None}
    if not given:
        return source
    if not isinstance(source, InMemory):
        raise InputError(f"{next(iter(given))} is for sentences in memory, not for files")
    for name, weight in given.items():
        if count(weight) != count(source.X):
            raise InputError(
                f"{name} has {plural(count(weight), 'entry')} for "
                f"{plural(count(source.X), 'example')}"
            )
    return replace(source, weights=given)


class _Place(SingleWorker):
    """A worker that has nothing to say."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size


@contextmanager
def _translating_lines(text: TextShare) -> Iterator[None]:
    """Tells problems of a share with the files and lines that a user knows."""
    try:
        yield
    except InputError as error:
        raise text.explain(error) from None


def choose(examples: Any, numbers: NDArray[np.int64]) -> Any:
    """Some of the examples, whatever holds them."""
    if hasattr(examples, "select"):
        return examples.select(numbers)
    if hasattr(examples, "shape"):
        return examples[numbers]
    return [examples[i] for i in numbers.tolist()]
