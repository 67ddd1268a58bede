"""Prediction in Ray Data: ``ds.map_batches(dualstruct.ray.Tagger("ner.dstruct"))``.

Nothing of Ray is imported here. What map_batches sends to its workers is the name of the model's
file; each worker opens it once.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualstruct.errors import InputError

if TYPE_CHECKING:
    from dualstruct.estimators import SequenceTagger

__all__ = ["Tagger"]


class Tagger:
    """Labels batches of words, or finds spans in batches of texts.

    A batch has a column ``tokens`` (lists of words), and gets ``labels``; or a column ``text``, and
    gets ``spans``, each with its start and end in characters, its label and its text.

    Parameters
    ----------
    model : path
        A tagger's file, which all workers can read.

    Examples
    --------
    >>> from dualstruct import SequenceTagger
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = f"{folder}/ner.dstruct"
    ...     y = [["B-PER", "O", "B-LOC"]]
    ...     SequenceTagger("ner").fit([["Ada", "left", "Rome"]], y).save(path)
    ...     Tagger(path)({"text": ["Ada left Rome"]})["spans"][0][1]["label"]
    'LOC'
    """

    def __init__(self, model: str | Path) -> None:
        self.model = str(Path(model).resolve())
        if not Path(self.model).is_file():
            raise InputError(f"{model}: there is no such file")

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        tagger = _opened(self.model)
        if "tokens" in batch:
            given = [[str(word) for word in words] for words in batch["tokens"]]
            found = iter(tagger.predict([words for words in given if words]))
            return {**batch, "labels": [next(found) if words else [] for words in given]}
        if "text" not in batch:
            shown = ", ".join(batch)
            raise InputError(f'a batch with {shown} has neither a column "tokens" nor "text"')
        return {**batch, "spans": _spans(tagger, [str(text) for text in batch["text"]])}


@cache
def _opened(model: str) -> SequenceTagger:
    from dualstruct.estimators import SequenceTagger

    return SequenceTagger.load(model)


def _spans(tagger: SequenceTagger, texts: list[str]) -> list[list[dict[str, Any]]]:
    from dualstruct.estimators.texts import label_documents
    from dualstruct.texts import Document

    found = label_documents(tagger, [Document(text) for text in texts])
    return [
        [
            {"start": a, "end": b, "label": label, "text": each.text[a:b]}
            for a, b, label, _ in each.spans or ()
        ]
        for each in found
    ]
