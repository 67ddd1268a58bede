"""Model files of any kind."""

from __future__ import annotations

from pathlib import Path

from dualstruct.data.arrays import format_of
from dualstruct.data.opening import begins_with, is_text
from dualstruct.errors import InputError
from dualstruct.estimators.parser import DependencyParser
from dualstruct.estimators.pipeline import ParsingPipeline
from dualstruct.estimators.tagger import SequenceTagger

AnyModel = SequenceTagger | DependencyParser | ParsingPipeline

_KINDS: dict[str, type[AnyModel]] = {
    kind.model_format: kind for kind in (SequenceTagger, DependencyParser, ParsingPipeline)
}


def load_model(path: str | Path) -> AnyModel:
    """Read a model file; it says itself what it holds.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.dstruct"
    ...     SequenceTagger().fit([["a", "dog"]], [["DET", "NOUN"]]).save(path)
    ...     load_model(path).predict([["dog"]])
    [['NOUN']]
    """
    if begins_with(path, b"lCRF"):
        raise InputError(
            f"{path} is a model of CRFsuite; dualstruct convert makes it one of dualstruct"
        )
    if begins_with(path, b"#mdl#"):
        raise InputError(
            f"{path} is a model of Wapiti; dualstruct convert makes it one of dualstruct"
        )
    if is_text(path):
        raise InputError(
            f"{path} is a text file, and a model is wanted, as dualstruct train writes"
        )
    kind = format_of(path)
    if kind not in _KINDS:
        raise InputError(f"{path} is a {kind} file, not a model")
    return _KINDS[kind].load(path)
