"""Examples that are read once, some at a time, because memory does not hold them all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.examples import count
from dualstruct.data.leftovers import own_folder
from dualstruct.data.shards import Shard, deal
from dualstruct.data.sources import Share
from dualstruct.errors import InputError
from dualstruct.workers.communicator import Communicator, SingleWorker
from dualstruct.workers.merging import agree

#: Sentences and their labels, as many as fit in memory.
Block = tuple[Any, Any]
#: No file has more examples: their numbers are this times the file's, and on.
MOST_IN_FILE = 1 << 40
#: The sentences of some files, block by block.
ReadBlocks = Callable[[Sequence[str]], Iterable[Block]]


class Stream:
    """One worker's examples: blocks that are read once, and a folder for what is made of them.

    Parameters
    ----------
    blocks : iterable of pairs of a number and a block
        The number is that of the block's first example among all workers'.
    folder : path
        Where there is room; it is made if need be.
    """

    def __init__(self, blocks: Iterable[tuple[int, Block]], folder: str | Path) -> None:
        self._blocks = blocks
        self._numbers: list[NDArray[np.int64]] = []
        self._parent = folder
        self.folder = Path()  #: while it lasts
        self.lengths: NDArray[np.int64] = np.zeros(0, np.int64)  #: of the sentences, once read

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def blocks(self) -> Iterator[Block]:
        """The blocks, once."""
        for first, block in self._blocks:
            self._numbers.append(np.arange(first, first + count(block[0]), dtype=np.int64))
            yield block

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Of the examples that were read, among all workers'."""
        return np.concatenate([np.zeros(0, np.int64), *self._numbers])

    @contextmanager
    def lasting(self) -> Iterator[None]:
        """A folder of its own in the one that was given; what is in it is removed at the end."""
        with ExitStack() as held:
            try:
                Path(self._parent).mkdir(parents=True, exist_ok=True)
                self.folder = held.enter_context(own_folder(self._parent))
            except OSError as problem:
                raise InputError(f"{self._parent}: {problem.strerror or problem}") from None
            yield


@dataclass(frozen=True)
class StreamedBlocks:
    """Blocks for one worker."""

    blocks: Iterable[Block]
    folder: str | os.PathLike[str]

    def whole(self) -> Share:
        return _share(Stream(_numbered(self.blocks), Path(self.folder)))

    def share(self, workers: Communicator, seed: int, needed: bool = True) -> Share:
        raise NotImplementedError("blocks are for one worker")


@dataclass(frozen=True)
class StreamedFiles:
    """Files, each worker's own: whole files where there are enough, else every n-th block."""

    shards: tuple[Shard, ...]
    read: ReadBlocks = field(repr=False)
    folder: str | os.PathLike[str]

    def whole(self) -> Share:
        return self.share(SingleWorker(), 0)

    def share(self, workers: Communicator, seed: int, needed: bool = True) -> Share:
        found = [[shard.name, shard.size, shard.version] for shard in self.shards]
        agree(workers, {"files to learn from": found})
        blocks: Iterable[tuple[int, Block]]
        if len(self.shards) >= workers.size:
            blocks = self._checked(deal(self.shards, workers.size)[workers.rank])
        else:
            blocks = islice(self._checked(self.shards), workers.rank, None, workers.size)
        return _share(Stream(blocks, Path(self.folder)))

    def _checked(self, shards: Sequence[Shard]) -> Iterator[tuple[int, Block]]:
        """The numbered blocks of files that are after reading what they were before."""
        for shard in shards:
            shard.check()
            yield from _numbered(self.read([shard.name]), self.shards.index(shard) * MOST_IN_FILE)
            shard.check()


def _numbered(blocks: Iterable[Block], first: int = 0) -> Iterator[tuple[int, Block]]:
    for block in blocks:
        yield first, block
        first += count(block[0])


def _share(stream: Stream) -> Share:
    return Share(stream, None, np.zeros(0, np.int64))
