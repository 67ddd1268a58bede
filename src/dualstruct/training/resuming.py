"""What a run leaves to be resumed from: one worker a file, several workers a folder.

As many workers as wrote a checkpoint continue bit for bit. Others have other examples: each reads
what the previous workers left, one file after the other, and takes the cuts of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.arrays import read_arrays, write_arrays
from dualstruct.data.schema import fit_type, stored_array
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.problem import Problem
from dualstruct.solvers import Iterate, Solver
from dualstruct.solvers.base import Part
from dualstruct.structures.base import digest_of
from dualstruct.training.checkpoints import Checkpoints, Found, SavedRun, check_same_run
from dualstruct.training.results import TracePoint
from dualstruct.workers.communicator import CommunicationError

if TYPE_CHECKING:
    from dualstruct.workers.communicator import Communicator

CHECKPOINT_FORMAT = "dualstruct checkpoint"
#: A checkpoint is written sooner than asked for if the last one is so many seconds old.
CHECKPOINT_SECONDS = 60.0
#: What of a run is one worker's own, and another's with another division of the examples.
_OF_A_WORKER = ("data", "weights", "worker")
#: Of a checkpoint of several workers: the numbers of its examples among all.
_EXAMPLES = "examples"


class Run(Protocol):
    """What is saved of a run."""

    problem: Problem
    solver: Solver
    iterate: Iterate
    trace: list[TracePoint]
    best_w: NDArray[np.float32] | None
    best_score: float | None
    best_pass: int

    @property
    def cpu_seconds(self) -> float: ...

    @property
    def unproven(self) -> int: ...

    def restore(self, saved: SavedRun, arrays: dict[str, NDArray[Any]]) -> None: ...


class Resuming:
    """A run and the place of its checkpoints, if it has one."""

    def __init__(self, run: Run, place: Path | Checkpoints | None) -> None:
        self._run = run
        self._place = place
        self._saved = time.perf_counter()

    def is_due(self, every: int) -> bool:
        """Whether it is time for a checkpoint, by the passes or by the first worker's clock."""
        if self._place is None:
            return False
        waited = time.perf_counter() - self._saved > CHECKPOINT_SECONDS
        communicator = self._run.problem.communicator
        if communicator is not None:
            waited = bool(communicator.broadcast(np.array([int(waited)]))[0])
        return waited or len(self._run.trace) % every == 0

    def save(self) -> None:
        if isinstance(self._place, Checkpoints):
            self._place.write(len(self._run.trace), self._settings(), self._write)
        elif self._place is not None:
            self._write(self._place)
        self._saved = time.perf_counter()

    def go_on(self, resume: bool) -> None:
        """From the last checkpoint, if this is asked for and there is one."""
        place, communicator = self._place, self._run.problem.communicator
        if not isinstance(place, Checkpoints):
            if place is not None and resume and place.exists():
                self._read(place)
            return
        assert communicator is not None
        if not resume and not communicator.attempt:
            if place.others_were_here:  # and must not be resumed from after a fault
                self.save()
            return
        found = place.newest()
        if found is not None:
            check_same_run(found.paths[0], found.settings, self._settings())
            if found.divided_anew:
                self._redeal(found, communicator)
            else:
                self._read(found.paths[communicator.rank])
            self._check_same_weights(communicator)
        if communicator.attempt and communicator.rank == 0:
            communicator.tell(
                "there is no checkpoint yet: training starts from the beginning"
                if found is None
                else f"training resumes from the checkpoint of pass {found.passes}"
            )

    def _settings(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to be resumed from, on all workers."""
        problem, solver = self._run.problem, self._run.solver
        center = problem.center
        return {
            "center": None if center is None else digest_of([center.array]),
            "loss": problem.loss.name,
            "C": problem.C,
            "solver": solver.name,
            "settings": solver.settings(),
            "averaged": solver.averaged,
        }

    def _fingerprint(self) -> dict[str, Any]:
        """The same, and what is this worker's own."""
        problem = self._run.problem
        communicator = problem.communicator
        weights = problem.structure.example_weights
        return {
            "data": problem.structure.digest(),
            "weights": None if weights is None else digest_of([weights]),
            "seed": self._run.iterate.seed,
            "worker": None if communicator is None else [communicator.rank, communicator.size],
            **self._settings(),
        }

    def _check_same_weights(self, communicator: Communicator) -> None:
        weights = [self._run.iterate.w.array, self._run.iterate.answer().array]
        own = np.frombuffer(bytes.fromhex(digest_of(weights)), dtype=np.int64)
        if (communicator.broadcast(own) != own).any():
            raise InputError(
                f"the checkpoints do not belong together: worker {communicator.rank} has other "
                "weights than worker 0"
            )

    def _write(self, path: Path) -> None:
        run = self._run
        counters, arrays = run.iterate.state()
        if run.best_w is not None:
            arrays["best_w"] = run.best_w
        if run.problem.communicator is not None and run.problem.examples is not None:
            arrays[_EXAMPLES] = run.problem.examples
        learned = run.problem.structure.state()
        arrays |= {f"structure.{name}": array for name, array in learned.items()}
        metadata = {
            "fingerprint": self._fingerprint(),
            "iterate": counters,
            "trace": [asdict(point) for point in run.trace],
            "best_score": run.best_score,
            "best_pass": run.best_pass,
            "cpu_seconds": run.cpu_seconds,
            "unproven": run.unproven,
        }
        write_arrays(path, CHECKPOINT_FORMAT, metadata, arrays)

    def _read(self, path: Path) -> None:
        saved, arrays = _opened(path)
        check_same_run(path, saved.fingerprint, self._fingerprint())
        try:
            self._run.restore(saved, arrays)
        except InputError as error:
            raise InputError(f"{path} cannot be resumed from: {error}") from None

    def _redeal(self, found: Found, communicator: Communicator) -> None:
        """From a checkpoint of another number of workers."""
        workers = plural(len(found.paths), "worker")
        own = self._run.problem.examples
        if own is None:
            raise InputError(
                f"{found.paths[0]} was written by {workers}, and here there are "
                f"{communicator.size}: these examples have no numbers to divide it anew by"
            )
        reader = _Dealt(found.paths, own, self._fingerprint())
        try:
            metadata, arrays = self._run.iterate.redealt(iter(reader))
            taken = int(communicator.allreduce(np.array([reader.taken]))[0])
            if taken != reader.examples or reader.taken != len(own):
                raise InputError("it is of other examples")
            assert reader.first is not None
            saved, shared = reader.first
            if "best_w" in shared:
                arrays["best_w"] = shared["best_w"]
            self._run.restore(replace(saved, iterate=metadata), arrays)
        except CommunicationError:
            raise
        except InputError as error:
            raise InputError(
                f"{found.paths[0]} was written by {workers} and cannot be resumed from by "
                f"{communicator.size}: {error}"
            ) from None


class _Dealt:
    """What the previous workers left, one at a time, and which of it is this worker's."""

    def __init__(
        self, paths: tuple[Path, ...], own: NDArray[np.int64], fingerprint: dict[str, Any]
    ) -> None:
        self._paths = paths
        self._own, self._order = own, np.argsort(own, kind="stable")
        self._same = {k: each for k, each in fingerprint.items() if k not in _OF_A_WORKER}
        self.examples = self.taken = 0
        self.first: tuple[SavedRun, dict[str, NDArray[Any]]] | None = None

    def __iter__(self) -> Iterator[Part]:
        for path in self._paths:
            saved, arrays = _opened(path)
            same = {k: each for k, each in saved.fingerprint.items() if k not in _OF_A_WORKER}
            check_same_run(path, same, self._same)
            if any(name.startswith("structure.") for name in arrays):
                raise InputError("what its structure has learned belongs to its examples")
            if _EXAMPLES not in arrays:
                raise InputError("it does not say which examples are whose")
            theirs = stored_array(arrays, _EXAMPLES, np.int64)
            yield self._part(saved, arrays, theirs)
            if self.first is None:
                shared = {name: arrays[name] for name in ("best_w",) if name in arrays}
                self.first = saved, shared

    def _part(
        self, saved: SavedRun, arrays: dict[str, NDArray[Any]], theirs: NDArray[np.int64]
    ) -> Part:
        at = np.minimum(np.searchsorted(self._own, theirs, sorter=self._order), len(self._own) - 1)
        places = self._order[at]
        mine = self._own[places] == theirs
        self.examples += len(theirs)
        self.taken += int(mine.sum())
        return Part(saved.iterate, arrays, np.flatnonzero(mine), places[mine])


def _opened(path: Path) -> tuple[SavedRun, dict[str, NDArray[Any]]]:
    metadata, arrays = read_arrays(path, CHECKPOINT_FORMAT)
    try:
        return fit_type(SavedRun, metadata), arrays
    except InputError as error:
        raise InputError(f"{path} is damaged: {error}") from None
