"""Commands with arguments for which each has something to say, and the files that they need."""

from __future__ import annotations

from pathlib import Path

from dualstruct import (
    DependencyParser,
    ParsingPipeline,
    SequenceTagger,
    write_columns,
    write_conllu,
)
from dualstruct.crfsuite.conversion import crfsuite_from_tagger
from dualstruct.crfsuite.files import write_crfsuite
from dualstruct.datasets import load_english
from dualstruct.labelling import Project
from dualstruct.texts import iter_documents

PART = load_english("train")[::8]
WORDS, LABELS = [s.forms for s in PART], [s.entities for s in PART]

#: Each command with arguments for which it has something to say; {} is the folder of the files.
COMMANDS = {
    "label": ["{}/project.db", "--export", "{}/exported.jsonl"],
    "train": ["{}/names.txt", "--model", "{}/new.dstruct", "--passes", "1"],
    "tune": ["{}/names.txt", "--trials", "2", "--passes", "1"],
    "predict": ["{}/tagger.dstruct", "{}/names.txt"],
    "evaluate": ["{}/tagger.dstruct", "{}/names.txt"],
    "compare": ["{}/tagger.dstruct", "{}/names.txt", "{}/names.txt"],
    "explain": ["{}/tagger.dstruct", "{}/names.txt", "--sentence", "1"],
    "calibrate": ["{}/calibrated.dstruct", "{}/names.txt"],
    "suspects": ["{}/tagger.dstruct", "{}/names.txt", "--folds", "0"],
    "clusters": ["{}/words.txt", "--clusters", "2", "--out", "{}/new.clusters"],
    "draw": ["{}/trees.conllu", "--sentence", "1"],
    "inspect": ["{}/tagger.dstruct"],
    "compress": ["{}/tagger.dstruct", "{}/small.dstruct"],
    "export": ["{}/tagger.dstruct", "{}/exported.py"],
    "convert": ["{}/model.crfsuite", "{}/converted.dstruct"],
    "serve": ["{}/tagger.dstruct", "--port", "0", "--no-browser"],
    "demo": [],
    "experiment": [],
    "datasets": [],
}
PLAIN = {name: [name, *arguments] for name, arguments in COMMANDS.items()}
#: And other ways through the same commands.
WAYS = {
    **PLAIN,
    "version": ["--version"],
    "help": ["train", "--help"],
    "train json": ["train", *COMMANDS["train"], "--json"],
    "train trees": [
        "train", "{}/trees.conllu", "--task", "parse", "--model", "{}/p", "--passes", "1",
        "--hash-bits", "12",
    ],
    "predict json": ["predict", *COMMANDS["predict"], "--json"],
    "predict k best": ["predict", *COMMANDS["predict"], "--k-best", "2"],
    "predict trees": ["predict", "{}/parser.dstruct", "{}/trees.conllu"],
    "predict trees json": ["predict", "{}/parser.dstruct", "{}/trees.conllu", "--json"],
    "predict words": ["predict", "{}/pipeline.dstruct", "{}/words.txt", "--text"],
    "evaluate json": ["evaluate", *COMMANDS["evaluate"], "--json"],
    "evaluate trees": ["evaluate", "{}/parser.dstruct", "{}/trees.conllu"],
    "evaluate two files": ["evaluate", "{}/trees.conllu", "{}/trees.conllu"],
    "evaluate two files of labels": ["evaluate", "{}/names.txt", "{}/names.txt"],
    "evaluate errors": ["evaluate", *COMMANDS["evaluate"], "--errors", "--confusion"],
    "evaluate errors of trees": [
        "evaluate", "{}/parser.dstruct", "{}/trees.conllu", "--errors", "--by", "length",
    ],
    "compare trees": ["compare", "{}/parser.dstruct", "{}/pipeline.dstruct", "{}/trees.conllu"],
    "predict marginals": ["predict", *COMMANDS["predict"], "--marginals"],
    "predict confidence": ["predict", *COMMANDS["predict"], "--confidence"],
    "explain html": ["explain", *COMMANDS["explain"], "--format", "html"],
    "explain json": ["explain", *COMMANDS["explain"], "--format", "json"],
    "explain wrong labels": ["explain", *COMMANDS["evaluate"], "--gold", "--most", "500"],
    "explain wrong arcs": [
        "explain", "{}/parser.dstruct", "{}/trees.conllu", "--gold", "--sentence", "1",
    ],
    "explain trees": ["explain", "{}/parser.dstruct", "{}/trees.conllu", "--sentence", "1"],
    "suspects tsv": ["suspects", *COMMANDS["suspects"], "--format", "tsv"],
    "suspects json": ["suspects", *COMMANDS["suspects"], "--format", "json"],
    "inspect json": ["inspect", *COMMANDS["inspect"], "--json"],
    "inspect trees": ["inspect", "{}/parser.dstruct"],
    "draw two files": ["draw", "{}/trees.conllu", "{}/trees.conllu", "--sentence", "1"],
    "svg": ["draw", "{}/trees.conllu", "--svg", "{}/tree.svg"],
}  # fmt: skip
#: Ways that read standard input.
READING = {
    "train": ["train", "-", "--model", "{}/new.dstruct"],
    "train trees": ["train", "-", "--task", "parse", "--model", "{}/new.dstruct"],
    "predict": ["predict", "{}/tagger.dstruct"],
    "predict json": ["predict", "{}/tagger.dstruct", "--json"],
    "predict text": ["predict", "{}/tagger.dstruct", "--text"],
    "predict trees": ["predict", "{}/parser.dstruct"],
    "predict words": ["predict", "{}/pipeline.dstruct"],
    "predict lines": ["predict", "{}/pipeline.dstruct", "--text"],
    "evaluate": ["evaluate", "{}/tagger.dstruct", "-"],
    "evaluate trees": ["evaluate", "{}/parser.dstruct", "-"],
    "explain": ["explain", "{}/tagger.dstruct"],
    "explain trees": ["explain", "{}/parser.dstruct"],
    "calibrate": ["calibrate", "{}/tagger.dstruct", "-"],
    "suspects": ["suspects", "{}/tagger.dstruct", "-"],
    "draw": ["draw", "-"],
}


def make_files(made: Path, mark: str = "é", label_mark: str = "") -> Path:
    """Models and files, in a folder, with marks in their words and labels."""
    words = [[f"{word}{mark}" if t == 0 else word for t, word in enumerate(s)] for s in WORDS]
    labels = [[label.replace("LOC", f"ŁOC{label_mark}") for label in s] for s in LABELS]
    write_columns(made / "names.txt", words, labels)
    with Project(made / "project.db") as project:
        project.add(iter_documents(made / "names.txt", "conll"))
    (made / "words.txt").write_text(f"Zo{mark} sings .\n", encoding="utf-8")
    trees = load_english("train")[::24]
    trees = trees.replace(
        forms=[[f"{word}{mark}" for word in s] for s in trees.forms],
        relations=[[f"{name}{label_mark}" for name in s] for s in trees.relations],
    )
    write_conllu(made / "trees.conllu", trees)
    tagger = SequenceTagger(features="ner", loss="crf", passes=2).fit(words, labels)
    tagger.save(made / "tagger.dstruct")
    tagger.save(made / "calibrated.dstruct")
    by_words = SequenceTagger(features="word[0]", passes=1).fit(words, labels)
    write_crfsuite(made / "model.crfsuite", crfsuite_from_tagger(by_words))
    DependencyParser(hash_bits=12, passes=1).fit(trees).save(made / "parser.dstruct")
    quick = DependencyParser(hash_bits=12, passes=1)
    ParsingPipeline(parser=quick, folds=2).fit(trees).save(made / "pipeline.dstruct")
    return made
