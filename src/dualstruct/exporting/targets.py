"""What models can be exported to: a file and a row for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dualstruct.estimators import DependencyParser, SequenceTagger
from dualstruct.exporting.javascript import javascript_files
from dualstruct.exporting.python import python_files
from dualstruct.exporting.wasm import wasm_parser_files, wasm_tagger_files

__all__ = ["TARGETS", "Target"]

#: From a model, the name of what is written, and whether weights lie beside the code, to files:
#: their names in the folder, and what is in them.
Make = Callable[[Any, str, bool], dict[str, bytes]]


@dataclass(frozen=True)
class Target:
    """A language, and how a model becomes a program in it."""

    name: str
    does: str
    folder: bool  #: whether a folder is written, and not a file
    kinds: Mapping[str, Make]  #: by what a model file says of itself


TARGETS = {
    each.name: each
    for each in (
        Target(
            "python",
            "one file of plain Python",
            False,
            {SequenceTagger.model_format: python_files},
        ),
        Target(
            "js",
            "an ES module with its types, for Node and browsers",
            True,
            {SequenceTagger.model_format: javascript_files},
        ),
        Target(
            "wasm",
            "the core in WebAssembly, with an ES module and its types; taggers and parsers",
            True,
            {
                SequenceTagger.model_format: wasm_tagger_files,
                DependencyParser.model_format: wasm_parser_files,
            },
        ),
    )
}
