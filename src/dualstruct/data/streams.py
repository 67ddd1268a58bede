"""Examples that are read once, some at a time, because memory does not hold them all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.leftovers import own_folder
from dualstruct.data.shards import Shard, deal
from dualstruct.data.sources import Share
from dualstruct.errors import InputError
from dualstruct.workers.communicator import Communicator, SingleWorker
from dualstruct.workers.merging import agree

#: Sentences and their labels, as many as fit in memory.
Block = tuple[Any, Any]
#: The sentences of some files, block by block.
ReadBlocks = Callable[[Sequence[str]], Iterable[Block]]


class Stream:
    """One worker's examples: blocks that are gone over once, and a folder for what is made of them.

    Parameters
    ----------
    blocks : iterable of blocks
    folder : path
        Where there is room; it is made if need be.
    """

    def __init__(self, blocks: Iterable[Block], folder: str | Path) -> None:
        self.blocks = blocks
        self._parent = folder
        self.folder = Path()  #: while it lasts
        self.lengths: NDArray[np.int64] = np.zeros(0, np.int64)  #: of the sentences, once read

    def __len__(self) -> int:
        return len(self.lengths)

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
        return _share(Stream(self.blocks, Path(self.folder)))

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
        blocks: Iterable[Block]
        if len(self.shards) >= workers.size:
            blocks = self._checked(deal(self.shards, workers.size)[workers.rank])
        else:
            blocks = _every(self._checked(self.shards), workers.rank, workers.size)
        return _share(Stream(blocks, Path(self.folder)))

    def _checked(self, shards: Sequence[Shard]) -> Iterator[Block]:
        """The blocks of files that are after reading what they were before."""
        for shard in shards:
            shard.check()
            yield from self.read([shard.name])
            shard.check()


def _every(blocks: Iterable[Block], first: int, step: int) -> Iterator[Block]:
    for number, block in enumerate(blocks):
        if number % step == first:
            yield block


def _share(stream: Stream) -> Share:
    return Share(stream, None, np.zeros(0, np.int64))
