"""The models of the page demo.md: trained and exported when the site is built."""

from __future__ import annotations

from pathlib import Path

from dualstruct import DependencyParser, SequenceTagger
from dualstruct.datasets import load_english
from dualstruct.errors import InputError
from dualstruct.exporting import export_model


def write_models(folder: Path) -> None:
    """Write the taggers and the parser into a folder, a folder each.

    Where dualstruct was built without a compiler for WebAssembly there is no parser, and the page
    says so.
    """
    train = load_english("train")
    names = SequenceTagger(features="ner", loss="crf")
    names.fit(train.forms, [sentence.entities for sentence in train])
    tags = SequenceTagger(features="pos").fit(train.forms, train.upos)
    folder.mkdir(exist_ok=True)
    export_model(names, folder / "names", "js")
    export_model(tags, folder / "tags", "js")
    # It sees what the page has of a word: the word and the tag that the tagger gives it.
    parser = DependencyParser(lemma=False, hash_bits=14).fit(train)
    try:
        export_model(parser, folder / "trees", "wasm")
    except InputError as problem:
        print(f"demo: {problem}")
