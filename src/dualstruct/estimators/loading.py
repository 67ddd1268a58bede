"""Model files of any kind."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dualstruct.data.arrays import format_of
from dualstruct.data.opening import begins_with, is_text
from dualstruct.errors import InputError

if TYPE_CHECKING:
    from dualstruct.estimators.parser import DependencyParser
    from dualstruct.estimators.pipeline import ParsingPipeline
    from dualstruct.estimators.tagger import SequenceTagger
    from dualstruct.estimators.tokenizer import LearnedTokenizer

AnyModel: TypeAlias = "SequenceTagger | DependencyParser | ParsingPipeline | LearnedTokenizer"

#: The formats of model files, and whose they are: what is needed is imported, and no more.
KINDS = {
    "dualstruct parser": ("parser", "DependencyParser"),
    "dualstruct pipeline": ("pipeline", "ParsingPipeline"),
    "dualstruct tagger": ("tagger", "SequenceTagger"),
    "dualstruct tokenizer": ("tokenizer", "LearnedTokenizer"),
}


def load_model(path: str | Path) -> AnyModel:
    """Read a model file of any kind.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from dualstruct import SequenceTagger
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.dstruct"
    ...     SequenceTagger().fit([["a", "dog"]], [["DET", "NOUN"]]).save(path)
    ...     load_model(path).predict([["dog"]])
    [['NOUN']]
    """
    try:
        kind = format_of(path)
    except InputError as problem:
        raise _other_file(path) or problem from None
    if kind == "dualstruct structured svm":
        raise InputError(
            f"{path} is a model of StructuredSVM, which only Python code with its structure opens: "
            "StructuredSVM.load(path, structure)"
        )
    if kind not in KINDS:
        raise InputError(f"{path} is a {kind} file, not a model")
    module, name = KINDS[kind]
    model: AnyModel = getattr(import_module(f"dualstruct.estimators.{module}"), name).load(path)
    return model


def _other_file(path: str | Path) -> InputError | None:
    """What a file is that people take for a model of ours."""
    for program, beginning in (("CRFsuite", b"lCRF"), ("Wapiti", b"#mdl#")):
        if begins_with(path, beginning):
            return InputError(
                f"{path} is a model of {program}; dualstruct convert makes it one of dualstruct"
            )
    if is_text(path):
        return InputError(f"{path} is a text file, not a model written by dualstruct train")
    return None
