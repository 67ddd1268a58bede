"""Models as the commands ask them: one class for labels, one for trees, one for tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dualstruct.cli import tagging, tokenizing, trees
from dualstruct.cli.tagging import TaggerCommands
from dualstruct.cli.tokenizing import TokenizerCommands
from dualstruct.cli.trees import TreeCommands
from dualstruct.estimators import (
    DependencyParser,
    LearnedTokenizer,
    ParsingPipeline,
    SequenceTagger,
    load_model,
)

Commands = TaggerCommands | TreeCommands | TokenizerCommands

#: By what a model file says of itself.
_COMMANDS: dict[str, Callable[[Any], Commands]] = {
    SequenceTagger.model_format: TaggerCommands,
    DependencyParser.model_format: TreeCommands,
    ParsingPipeline.model_format: TreeCommands,
    LearnedTokenizer.model_format: TokenizerCommands,
}
_LEARNERS: dict[str, Callable[..., Any]] = {
    "tag": tagging.train,
    "parse": trees.train,
    "tokenize": tokenizing.train,
    "tag+parse": partial(trees.train, jackknifed=True),
    "pipeline": partial(trees.train, jackknifed=True, from_text=True),
}


def open_model(path: Path) -> Commands:
    """A model file, as the commands ask it."""
    model = load_model(path)
    return _COMMANDS[model.model_format](model)


def learner_of(task: str) -> Callable[..., Any]:
    """What trains a model for a task and writes it."""
    return _LEARNERS[task]
