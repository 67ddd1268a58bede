"""Trainings that are done, on disk: an experiment that was interrupted resumes after the last one.

A file of lines, one training each: a key (what was trained on, with which settings) and the run. A
key that comes again within one experiment is told apart by its number. A line that was cut off when
the program was ended is left out.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .curves import Run


class Store:
    """The trainings of one experiment and seed; without a path nothing is kept.

    Parameters
    ----------
    path : path, optional
        The file; it need not exist.
    read : callable
        Makes a run of what JSON has of it.
    """

    def __init__(self, path: Path | None, read: Callable[[dict[str, Any]], Run]) -> None:
        self._path, self._read = path, read
        self._met: Counter[str] = Counter()
        self._known: dict[str, Any] = {}
        self.taken = 0  #: how many trainings were found there
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                self._known[record["key"]] = record["run"]

    def run(self, what: Any, train: Callable[[], Run]) -> Run:
        """The training of this description: the one that is kept, or a new one."""
        text = json.dumps([version("dualstruct"), what], sort_keys=True)
        short = hashlib.sha256(text.encode()).hexdigest()[:24]
        self._met[short] += 1
        key = f"{short}-{self._met[short]}"
        if key in self._known:
            self.taken += 1
            return self._read(self._known[key])
        found = train()
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as lines:
                lines.write(json.dumps({"key": key, "run": asdict(found)}) + "\n")
        return found
