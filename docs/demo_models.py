"""The taggers of the page demo.md: trained and exported when the site is built."""

from __future__ import annotations

from pathlib import Path

from dualstruct import SequenceTagger
from dualstruct.datasets import load_english
from dualstruct.exporting import export_model


def write_models(folder: Path) -> None:
    """Write the taggers into a folder, a folder each."""
    train = load_english("train")
    names = SequenceTagger(features="ner", loss="crf")
    names.fit(train.forms, [sentence.entities for sentence in train])
    tags = SequenceTagger(features="pos").fit(train.forms, train.upos)
    folder.mkdir(exist_ok=True)
    export_model(names, folder / "names", "js")
    export_model(tags, folder / "tags", "js")
