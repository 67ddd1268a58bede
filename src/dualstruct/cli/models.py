"""Models as the commands ask them: one class for labels, one for trees, one for tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dualstruct.estimators import load_model

if TYPE_CHECKING:
    from dualstruct.cli.tagging import TaggerCommands
    from dualstruct.cli.tokenizing import TokenizerCommands
    from dualstruct.cli.trees import TreeCommands

Commands: TypeAlias = "TaggerCommands | TreeCommands | TokenizerCommands"

#: By what a model file says of itself; what is needed is imported, and no more.
_COMMANDS = {
    "dualstruct tagger": ("tagging", "TaggerCommands"),
    "dualstruct parser": ("trees", "TreeCommands"),
    "dualstruct pipeline": ("trees", "TreeCommands"),
    "dualstruct tokenizer": ("tokenizing", "TokenizerCommands"),
}
_LEARNERS: dict[str, tuple[str, dict[str, bool]]] = {
    "tag": ("tagging", {}),
    "parse": ("trees", {}),
    "tokenize": ("tokenizing", {}),
    "tag+parse": ("trees", {"jackknifed": True}),
    "pipeline": ("trees", {"jackknifed": True, "from_text": True}),
}


def open_model(path: Path) -> Commands:
    """A model file, as the commands ask it."""
    model = load_model(path)
    module, name = _COMMANDS[model.model_format]
    commands: Commands = getattr(import_module(f"dualstruct.cli.{module}"), name)(model)
    return commands


def learner_of(task: str) -> Callable[..., Any]:
    """What trains a model for a task and writes it."""
    module, settings = _LEARNERS[task]
    return partial(import_module(f"dualstruct.cli.{module}").train, **settings)
