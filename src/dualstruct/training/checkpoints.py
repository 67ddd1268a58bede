"""Checkpoints of a run on several workers, in a folder that all of them see.

    run/checkpoint-7-a3f9.rank-0-of-2   what a worker resumes from: duals and cuts, w, seed, trace
    run/checkpoint-7-a3f9.rank-1-of-2
    run/checkpoint-7-a3f9.manifest      written last: the size and the checksum of each of them

Without its manifest a checkpoint is not finished. Numbers count up; the letters after them are
drawn again each time that the workers start, so that those of a lost driver, which may still be at
work for a while, write over nobody's files. Two checkpoints are kept. To resume, the workers look
for the last one of which all files are whole; there may be more of them, or fewer, than wrote it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.schema import Range, fit_type, parse_json
from dualstruct.data.writing import OutputError, replace_file
from dualstruct.errors import InputError
from dualstruct.solvers.solver import present_settings
from dualstruct.training.results import TracePoint
from dualstruct.workers.communicator import Communicator

MANIFEST_FORMAT = "dualstruct checkpoint manifest"
MANIFEST_VERSION = 1
#: Seconds that a shared file system gets to show one machine what another one has written.
SEEN_AFTER = 60.0

_NAME = re.compile(r"\.?checkpoint-(\d+)-([0-9a-f]+)\.(manifest|rank-\d+-of-\d+)(\..*)?")
#: What a worker finds in the place of its file, as the workers inform each other.
_FAULTS = (
    "",
    "is not there",
    "is cut short or too long",
    "is damaged: its checksum does not match",
)


class _Name(NamedTuple):
    number: int
    tag: int  #: of the start that wrote it

    def __str__(self) -> str:
        return f"checkpoint-{self.number}-{self.tag:04x}"


class Found(NamedTuple):
    """A checkpoint to resume from."""

    paths: tuple[Path, ...]  #: the files of all workers
    passes: int
    settings: dict[str, Any]  #: of the run that wrote it
    divided_anew: bool  #: whether other workers wrote it than there are now


class Checkpoints:
    """All workers call the same methods, together."""

    def __init__(self, folder: str | Path, communicator: Communicator) -> None:
        self.folder = Path(folder)
        self._workers = communicator
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            if self.folder.exists():
                raise OutputError(
                    f"{folder} is a file; checkpoints of several workers need a folder"
                ) from None
            raise OutputError(f"{folder} could not be made: {error.strerror or error}") from None
        before = self._names() if communicator.rank == 0 else []
        numbers = self._from_first([part for name in before for part in name])
        #: Of checkpoints that were there before, newest first.
        self._before = [_Name(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]
        [tag] = self._from_first([secrets.randbelow(1 << 16)])
        self._next = _Name(1 + max(numbers[::2], default=0), tag)
        self._last = self._before[0] if self._before else None  # to be kept beside the next

    @property
    def others_were_here(self) -> bool:
        """Whether there are checkpoints from before this run."""
        return bool(self._before)

    def write(self, passes: int, settings: dict[str, Any], save: Callable[[Path], None]) -> None:
        """A checkpoint of all workers; ``save`` writes this worker's file, all or nothing."""
        name, workers = self._next, self._workers
        own = self._file(name, workers.rank)
        save(own)
        sizes = np.zeros((workers.size, 3), dtype=np.int64)  # [workers, bytes and checksum]
        sizes[workers.rank] = [own.stat().st_size, *_checksum(own)]
        sizes = workers.allreduce(sizes)  # nobody gets here before all are written
        if workers.rank == 0:
            self._wait_for_files(name, sizes[:, 0].tolist())
            manifest = {
                "format": MANIFEST_FORMAT,
                "version": MANIFEST_VERSION,
                "passes": passes,
                "workers": workers.size,
                "settings": settings,
                "files": [
                    {
                        "name": self._file(name, rank).name,
                        "bytes": int(sizes[rank, 0]),
                        "checksum": sizes[rank, 1:].tolist(),
                    }
                    for rank in range(workers.size)
                ],
            }
            replace_file(self._manifest(name), _signed(manifest))
            self._remove_before(name)
        self._last, self._next = name, name._replace(number=name.number + 1)

    def newest(self) -> Found | None:
        """The last checkpoint that is whole, on which all workers agree; others are reported."""
        damaged: list[str] = []
        found = None
        for name in self._before:
            manifest, fault = self._read_manifest(name)
            if manifest is not None:
                fault = self._fault(name, manifest)
            if not fault:
                assert manifest is not None
                self._last = name
                files = tuple(
                    self._file(name, k, manifest.workers) for k in range(manifest.workers)
                )
                anew = manifest.workers != self._workers.size
                found = Found(files, manifest.passes, manifest.settings, anew)
                break
            damaged.append(fault)
        if damaged and found is None:
            raise InputError(
                f"no checkpoint in {self.folder} can be used: {'; '.join(damaged)}. All workers "
                "must see the same folder; without resume training starts from the beginning"
            )
        if damaged and found is not None and self._workers.rank == 0:
            self._workers.tell(
                f"{'; '.join(damaged)}: the checkpoint before it is used, of pass {found.passes}"
            )
        return found

    def _fault(self, name: _Name, manifest: _Manifest) -> str:
        """What is wrong with the workers' files, on all workers alike; empty if nothing is."""
        size, faults = manifest.workers, []
        own = np.zeros(size, dtype=np.int64)
        for rank in range(self._workers.rank, size, self._workers.size):  # each judges some
            own[rank] = _judge(self._file(name, rank, size), manifest.files[rank])
        for rank, code in enumerate(self._workers.allreduce(own).tolist()):
            if code:
                faults.append(f"{self._file(name, rank, size)} {_FAULTS[code]}")
        return ", ".join(faults)

    def _read_manifest(self, name: _Name) -> tuple[_Manifest | None, str]:
        """The first worker reads it for all; or what is wrong with it."""
        path, data = self._manifest(name), b""
        if self._workers.rank == 0 and path.exists():
            try:
                data = path.read_bytes()
            except OSError as error:
                raise InputError(f"{path} could not be read: {error.strerror or error}") from None
        there = bool(self._from_first([int(path.exists())])[0])
        data = bytes(self._from_first(list(data)))
        if not there:
            return None, f"{name} in {self.folder} was not finished"
        return _verified(data), f"{path} is damaged or cut short"

    def _from_first(self, numbers: list[int]) -> list[int]:
        """The first worker's list, on all."""
        [length] = self._workers.broadcast(np.array([len(numbers)])).tolist()
        own = np.zeros(length, dtype=np.int64)
        if self._workers.rank == 0:
            own[:] = numbers
        shared: list[int] = self._workers.broadcast(own).tolist()
        return shared

    def _names(self) -> list[_Name]:
        names = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted({_Name(int(name[1]), int(name[2], 16)) for name in names if name})[::-1]

    def _file(self, name: _Name, rank: int, size: int | None = None) -> Path:
        return self.folder / f"{name}.rank-{rank}-of-{size or self._workers.size}"

    def _manifest(self, name: _Name) -> Path:
        return self.folder / f"{name}.manifest"

    def _wait_for_files(self, name: _Name, sizes: list[int]) -> None:
        deadline = time.monotonic() + SEEN_AFTER
        for rank, size in enumerate(sizes):
            path = self._file(name, rank)
            while not (path.exists() and path.stat().st_size == size):
                if time.monotonic() > deadline:
                    raise OutputError(
                        f"worker 0 has waited {SEEN_AFTER:g} seconds to see {path}, which worker "
                        f"{rank} has written: checkpoints need a folder that all workers share"
                    )
                os.listdir(self.folder)  # makes network file systems look again
                time.sleep(0.05)

    def _remove_before(self, name: _Name) -> None:
        """But for the last one. Manifests go first: what has one is whole."""
        for path in sorted(self.folder.iterdir(), key=lambda path: path.suffix != ".manifest"):
            found = _NAME.fullmatch(path.name)
            if found:
                other = _Name(int(found[1]), int(found[2], 16))
                if other.number < name.number and other != self._last:
                    path.unlink(missing_ok=True)


def _judge(path: Path, expected: _File) -> int:
    """Which of _FAULTS a file has."""
    try:
        if path.stat().st_size != expected.bytes:
            return 2
        return 0 if _checksum(path) == list(expected.checksum) else 3
    except FileNotFoundError:
        return 1
    except OSError as error:
        raise InputError(f"{path} could not be read: {error.strerror or error}") from None


def _checksum(path: Path) -> list[int]:
    """128 bits, as two numbers that workers can add zeros to."""
    total = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            total.update(block)
    numbers: NDArray[np.int64] = np.frombuffer(total.digest(), dtype="<i8")
    return [int(number) for number in numbers]


def _signed(manifest: dict[str, Any]) -> bytes:
    body = json.dumps(manifest, indent=1)
    digest = hashlib.blake2b(body.encode(), digest_size=16).hexdigest()
    return f"{body}\n{digest}\n".encode()


@dataclass(frozen=True)
class _File:
    """What a worker wrote."""

    name: str
    bytes: Annotated[int, Range(0)]
    checksum: tuple[int, int]


@dataclass(frozen=True)
class _Manifest:
    format: str
    version: int
    passes: Annotated[int, Range(0)]
    workers: Annotated[int, Range(1)]
    settings: dict[str, Any]
    files: list[_File]


def _verified(data: bytes) -> _Manifest | None:
    """What was signed; None if it is not what was written."""
    body, _, digest = data.rstrip(b"\n").rpartition(b"\n")
    if not data.endswith(b"\n") or digest.decode("ascii", "replace") != (
        hashlib.blake2b(body, digest_size=16).hexdigest()
    ):
        return None
    manifest = fit_type(_Manifest, parse_json(body, "the manifest of a checkpoint"), "manifest")
    if manifest.format != MANIFEST_FORMAT or manifest.version > MANIFEST_VERSION:
        raise InputError("the checkpoints were written by a later dualstruct: update it to resume")
    if len(manifest.files) != manifest.workers:
        raise InputError(
            f"manifest.files is a list of {len(manifest.files)}; one per worker is expected"
        )
    return manifest


def place_of(
    checkpoint: str | Path | None, communicator: Communicator | None
) -> Path | Checkpoints | None:
    """Where one worker, or several, leave what is needed to resume."""
    if checkpoint is None or communicator is None:
        return None if checkpoint is None else Path(checkpoint)
    return Checkpoints(checkpoint, communicator)


@dataclass(frozen=True)
class SavedRun:
    """What a checkpoint says of a run, besides arrays."""

    fingerprint: dict[str, Any]
    iterate: dict[str, Any]
    trace: list[TracePoint]
    best_score: float | None
    best_pass: Annotated[int, Range(0, 2**62)]
    cpu_seconds: Annotated[float, Range(0)]
    unproven: int = 0


def check_same_run(path: Path, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Refuse a checkpoint of another problem or solver."""
    for name in ("loss", "C", "solver", "settings"):
        if name not in theirs:
            raise InputError(f"{path} does not say which {name} it was written with")
    for name, stored in theirs.items():
        value = present_settings(stored, ours[name]) if name == "settings" else stored
        if ours.get(name) != value:
            if name in ("data", "center", "weights"):
                raise InputError(f"{path} was written by a run on other data")
            raise InputError(
                f"{path} was written by another run: its {name} is {value}, here {ours.get(name)}"
            )
