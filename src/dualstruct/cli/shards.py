"""What ``dualstruct predict --out FOLDER`` does: many files, on several workers, each written once.

A worker runs the command for one file after the other and renames what it wrote when it is whole.
So a file in the folder is finished, and whoever runs the command again gets the rest. The manifest
in the folder says which model, options and files its contents are of.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dualstruct.cli.output import print_json, say
from dualstruct.data.shards import Shard, deal, find_shards
from dualstruct.data.writing import replace_file, replacing
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.workers.communicator import Communicator
from dualstruct.workers.engines import check_engine, run_on

MANIFEST = "dualstruct-predict.json"
_PACKED = (".gz", ".xz", ".bz2")
#: Seconds between two looks at how far the workers are.
_LOOK = 0.5


@dataclass(frozen=True)
class Labelling:
    """The work: what each worker does with its own files."""

    model: str
    shards: tuple[Shard, ...]
    folder: str
    arguments: tuple[str, ...]  #: of the command
    ending: str | None  #: of the files that are written; as that of what is read if None

    def __call__(self, workers: Communicator) -> int:
        written = 0
        for shard in deal(self.shards, workers.size)[workers.rank]:
            target = self.target(shard)
            if not target.exists():
                shard.check()
                self._write(shard, target)
                written += 1
        return written

    def target(self, shard: Shard) -> Path:
        """Where the predictions of a file are."""
        name = Path(shard.name.rpartition("/")[2])
        if name.suffix in _PACKED:
            name = name.with_suffix("")
        return Path(self.folder) / (name.name if self.ending is None else name.stem + self.ending)

    def check_targets(self) -> None:
        """Refuse files of the same name, of which one would replace the other."""
        taken: dict[Path, str] = {}
        for shard in self.shards:
            other = taken.setdefault(self.target(shard), shard.name)
            if other != shard.name:
                raise InputError(
                    f"{other} and {shard.name} would both be written to {self.target(shard)}"
                )

    def _write(self, shard: Shard, target: Path) -> None:
        command = [sys.executable, "-m", "dualstruct", "predict", self.model, shard.name]
        with replacing(target) as file:
            ran = subprocess.run(
                [*command, *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.PIPE,
            )
            if ran.returncode:
                said = ran.stderr.decode(errors="replace").strip().rpartition("\n")[2]
                problem = said.removeprefix("dualstruct: ") or f"exit code {ran.returncode}"
                raise InputError(f"{shard.name}: {problem.removeprefix(f'{shard.name}: ')}")
            shard.check()


def label_many(
    model: Path,
    source: str,
    folder: Path | None,
    output: Path | None,
    where: dict[str, Any],
    options: dict[str, Any],
) -> None:
    """Label many files, and say so; what is there already stays."""
    if folder is None:
        given = next(name for name, value in where.items() if value is not None)
        raise InputError(f"--{given} is for many files, which --out labels: give --out as well")
    if output is not None:
        raise InputError("--output is for one file, --out for many: give one of them")
    if source == "-":
        raise InputError("--out is for files: name a folder or a pattern, such as 'texts/*.jsonl'")
    if where["engine"] is None and where["workers"] is None:
        where = {**where, "engine": "local", "workers": 1}
    check_engine(**where)
    shards = find_shards([source])
    place = str(model.resolve()), shards, str(folder.resolve())
    work = Labelling(*place, _arguments(options), _ending(options))
    work.check_targets()
    _keep_manifest(work, model)
    targets = [work.target(shard) for shard in shards]
    before = sum(target.exists() for target in targets)
    with _shown(targets):
        run_on(where["engine"], where["workers"], work, address=where["address"])
    report = {"folder": str(folder), "files": len(shards), "labelled_before": before}
    if options["json"]:
        print_json(report)
    else:
        say(f"{plural(len(shards), 'file')} labelled in {folder}, {before} of them before")


def _arguments(options: dict[str, Any]) -> tuple[str, ...]:
    """Options as the command line has them."""
    given: list[str] = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            given.append(flag)
        elif value not in (None, False):
            given += [flag, str(value)]
    return tuple(given)


def _ending(options: dict[str, Any]) -> str | None:
    if options.get("json"):
        return ".json"
    if options.get("format") is None:
        return None
    from dualstruct.texts.formats import format_named

    return format_named(options["format"]).endings[0]


def _keep_manifest(work: Labelling, model: Path) -> None:
    """Say what the folder holds; refuse one that holds something else."""
    folder = Path(work.folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.blake2b(model.read_bytes(), digest_size=16).hexdigest()
    except OSError as problem:
        raise InputError(f"{problem.filename}: {problem.strerror}") from None
    ours = {
        "model": digest,
        "arguments": list(work.arguments),
        "files": {shard.name: [shard.size, shard.version] for shard in work.shards},
    }
    path = folder / MANIFEST
    if not path.exists():
        replace_file(path, json.dumps(ours, indent=1).encode())
        return
    try:
        theirs = json.loads(path.read_bytes())
        differing = [name for name in ours if theirs.get(name) != ours[name]]
    except (OSError, ValueError, AttributeError):
        differing = ["manifest"]
    if differing:
        raise InputError(
            f"{folder} holds predictions of another run ({' and '.join(differing)} differ): name "
            "another folder, or remove it"
        )


@contextmanager
def _shown(targets: Sequence[Path]) -> Iterator[None]:
    """While it lasts a terminal sees how many files are finished."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_LOOK):
            done = sum(target.exists() for target in targets)
            print(
                f"\r{done} of {plural(len(targets), 'file')}", end="", file=sys.stderr, flush=True
            )

    looking = threading.Thread(target=look, daemon=True)
    if sys.stderr.isatty():
        looking.start()
    try:
        yield
    finally:
        ended.set()
        if looking.is_alive():
            looking.join()
            print("\r\033[K", end="", file=sys.stderr, flush=True)
