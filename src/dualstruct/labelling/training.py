"""Retraining: in a thread, or in a separate process that yields to whatever else runs.

Threads share one interpreter, and annotators would wait for it. So with many answers another
process trains. It reads a line of JSON for the task and one for each sentence, saves the model as a
file and says so; then it looks for suspects, and says which. ``end`` kills it at any time.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import IO, Any

from dualstruct.errors import InputError
from dualstruct.labelling.kinds import Kind, find_kind
from dualstruct.labelling.models import Example, Maker, Model
from dualstruct.labelling.sentences import Sentence

__all__ = ["InProcess", "InThread", "Task", "Training", "trained"]


@dataclass(frozen=True)
class Task:
    """What there is to train on, and to look for."""

    examples: list[Example]
    measured: list[Example] = field(default_factory=list)  #: to calibrate with
    suspected: list[Example] = field(default_factory=list)  #: among which suspects are looked for
    others: list[Sentence] = field(default_factory=list)  #: that the model will be asked about


def trained(maker: Maker, task: Task, is_over: Callable[[], bool]) -> Model:
    """A model, calibrated where that is possible."""
    model = maker.make(task.examples, task.others, is_over)
    if task.measured:
        model.calibrate(task.measured)
    return model


class Training(ABC):
    """A training on its way."""

    @abstractmethod
    def model(self) -> Model | None:
        """The model, once it is there; None where it cannot be made in this way."""

    @abstractmethod
    def suspects(self) -> list[tuple[int, float]]:
        """Of those that are suspected the ones that probably are wrong; after the model."""

    @abstractmethod
    def end(self) -> None:
        """Give up what it has, whether it is ready or not."""


class InThread(Training):
    """Trains when asked, in the thread that asks."""

    def __init__(self, maker: Maker, task: Task, is_over: Callable[[], bool]) -> None:
        self._maker, self._task, self._is_over = maker, task, is_over
        self._made: Model | None = None

    def model(self) -> Model | None:
        self._made = trained(self._maker, self._task, self._is_over)
        return self._made

    def suspects(self) -> list[tuple[int, float]]:
        return self._made.suspects(self._task.suspected) if self._made is not None else []

    def end(self) -> None:
        """There is nothing to give up."""


class InProcess(Training):
    """Trains in another process.

    Parameters
    ----------
    kind : Kind
    start : path, optional
        The file of a model to begin with.
    maker : Maker
        Reads what the other process made.
    task : Task
    """

    def __init__(self, kind: Kind, start: Path | None, maker: Maker, task: Task) -> None:
        self._kind, self._start, self._maker, self._task = kind, start, maker, task
        self._folder = tempfile.TemporaryDirectory(prefix="dualstruct-")
        # It begins in an empty folder: nothing is imported from wherever the user is.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dualstruct.labelling.training"],
            cwd=self._folder.name,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def model(self) -> Model | None:
        path = Path(self._folder.name) / "model.dstruct"
        stream = self._process.stdin
        assert stream is not None
        try:
            for line in self._lines(path):
                stream.write(line + b"\n")
            stream.close()
        except (OSError, ValueError):  # it has ended, or was ended
            return None
        if self._said() is None:
            return None
        return self._maker.load(path, self._task.others)

    def suspects(self) -> list[tuple[int, float]]:
        said = self._said() or []
        return [(number, score) for number, score in said]

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):
                stream.close()
        self._folder.cleanup()

    def _lines(self, target: Path) -> Iterator[bytes]:
        start = None if self._start is None else str(self._start.absolute())
        groups = (self._task.examples, self._task.measured, self._task.suspected)
        counts = list(map(len, groups))
        yield _line({"kind": self._kind.name, "start": start, "to": str(target), "counts": counts})
        for group in groups:
            for each in group:
                words, tags = each.sentence.words, each.sentence.tags
                yield _line([words, tags, each.labels, each.weights, each.known])

    def _said(self) -> Any:
        """What it says next; None if it has ended."""
        assert self._process.stdout is not None
        try:
            line = self._process.stdout.readline()
        except ValueError:  # it was ended
            return None
        return json.loads(line) if line.endswith(b"\n") else None


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _example(line: bytes) -> Example:
    words, tags, labels, weights, known = json.loads(line)
    tokens = list(pairwise(accumulate(map(len, words), initial=0)))
    sentence = Sentence(0, "", "".join(words), tokens, tags)
    return Example(
        sentence,
        tuple(labels),
        None if weights is None else tuple(weights),
        None if known is None else tuple(known),
    )


def work(read: IO[bytes], write: IO[bytes]) -> None:
    """What the other process does."""
    asked = json.loads(read.readline())
    groups: Sequence[list[Example]] = [
        [_example(read.readline()) for _ in range(count)] for count in asked["counts"]
    ]
    examples, measured, suspected = groups
    start = None if asked["start"] is None else Path(asked["start"])
    maker = find_kind(asked["kind"]).maker(start)
    model = trained(maker, Task(examples, measured), lambda: False)
    model.save(Path(asked["to"]))
    write.write(_line("saved") + b"\n")
    write.flush()
    write.write(_line(model.suspects(suspected) if suspected else []) + b"\n")
    write.flush()


def main() -> None:
    if hasattr(os, "nice"):
        os.nice(19)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked for it ends it
    try:
        work(sys.stdin.buffer, sys.stdout.buffer)
    except (BrokenPipeError, InputError):
        sys.exit(1)  # it is tried again in a thread, which says what is wrong


if __name__ == "__main__":
    main()
