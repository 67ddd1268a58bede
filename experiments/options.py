"""What a user may say about an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dualstruct.errors import InputError


@dataclass(frozen=True)
class Options:
    """How large an experiment is, and where its data are.

    Parameters
    ----------
    data : path, optional
        The folder with the corpora (``dualstruct datasets`` describes it); without it, quick
        experiments use the corpus that comes with dualstruct.
    quick : bool
        A small version: few sentences, few passes, two settings instead of six.
    sentences : int, optional
        The most training sentences of any task.
    sentences_of : dict
        The most of these tasks, by name, instead.
    test_sentences : int, optional
        The most test sentences of any task.
    seconds : float, optional
        The most CPU seconds of any curve.
    seed : int
        Everything random follows from it, also which sentences are taken where not all are.
    tasks : tuple of str
        Only these of an experiment's tasks; all if there are none.
    """

    data: Path | None = None
    quick: bool = False
    sentences: int | None = None
    seconds: float | None = None
    seed: int = 0
    tasks: tuple[str, ...] = ()
    sentences_of: Mapping[str, int] = field(default_factory=dict)
    test_sentences: int | None = None

    def most_sentences(self, full: int | None = None, task: str = "") -> int | None:
        """The most training sentences of a task whose full size is ``full`` (None: all)."""
        asked = self.sentences_of.get(task, self.sentences)
        limits = [full, asked, 400 if self.quick and asked is None else None]
        return min((limit for limit in limits if limit is not None), default=None)

    def passes(self, full: int, quick: int = 5) -> int:
        """How many passes a curve has."""
        return min(full, quick) if self.quick else full

    def seconds_at_most(self, full: float) -> float:
        """The limit of a curve that has to have one."""
        return full if self.seconds is None else self.seconds

    def chosen(self, tasks: dict[str, Any]) -> dict[str, Any]:
        """Those of an experiment's tasks that were asked for."""
        for name in self.tasks:
            if name not in tasks:
                raise InputError(
                    f"there is no task {name!r} in this experiment; there is {', '.join(tasks)}"
                )
        return {name: tasks[name] for name in self.tasks or tasks}
