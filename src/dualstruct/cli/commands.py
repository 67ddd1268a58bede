"""All commands: where each is, what it does in a line, and examples for its help.

Nothing else is imported here, so that ``dualstruct --help`` answers at once; a command is imported
when it is run.
"""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """A command."""

    place: str  #: its module in ``dualstruct.cli``, and its function
    does: str  #: the first line of its help
    examples: tuple[str, ...]


ABOUT = "Linear structured prediction by dual methods."
#: The variable by which a shell asks what may come next (``completing.py``).
COMPLETING = "_DUALSTRUCT_COMPLETE"

#: By what people want.
GROUPS: dict[str, dict[str, Known]] = {
    "Learn": {
        "label": Known(
            "label:label",
            "Label texts on a page while a tagger or parser learns from every answer.",
            (
                "label names.db --text letters.txt --labels PER,LOC",
                "label names.db --export names.jsonl",
            ),
        ),
        "train": Known(
            "train:train",
            "Train a tagger on texts with marked spans or on a column file, or a parser on trees.",
            (
                "train train.txt --dev dev.txt --features ner --model ner.dstruct",
                "train texts.jsonl --model ner.dstruct",
                "train trees.conllu --task parse --model en.dstruct",
            ),
        ),
        "tune": Known(
            "tune:tune",
            "Choose loss, C, passes and the like on the training data, and train with them.",
            ("tune train.txt --features ner --budget 60 --model ner.dstruct",),
        ),
        "calibrate": Known(
            "confidence:calibrate",
            "Fit the temperature that makes a model's scores probabilities, and keep it in its "
            "file.",
            ("calibrate ner.dstruct dev.txt",),
        ),
        "clusters": Known(
            "clusters:clusters",
            "Cluster words by the words beside them (Brown clusters), or by their vectors, for "
            "templates.",
            ("clusters raw.txt --out clusters.txt",),
        ),
    },
    "Use": {
        "predict": Known(
            "predict:predict",
            "Label or parse new sentences, or find spans in texts.",
            (
                "predict ner.dstruct new.txt",
                "predict ner.dstruct --text < letter.txt",
                "predict en.dstruct new.conllu --json",
                "predict ner.dstruct 'texts/*.jsonl' --out labelled --engine local --workers 4",
            ),
        ),
        "serve": Known(
            "serve:serve",
            "Open a page for a model: type a sentence, see its labels or tree, and why.",
            ("serve ner.dstruct", "serve new.dstruct old.dstruct"),
        ),
        "convert": Known(
            "convert:convert",
            "Turn data into another format, or a model into one of CRFsuite's or Wapiti's or back.",
            (
                "convert texts.jsonl texts.conll",
                "convert model.crfsuite model.dstruct",
                "convert affiliations.dstruct model.wapiti",
            ),
        ),
        "compress": Known(
            "compress:compress",
            "Make a model small: fewer weights, few bits for each, names packed.",
            (
                "compress ner.dstruct small.dstruct --dev dev.txt",
                "compress ner.dstruct small.dstruct --size 450KB",
            ),
        ),
        "export": Known(
            "export:export",
            "Write a model as a program that needs no dualstruct: Python or JavaScript.",
            (
                "export ner.dstruct ner.py",
                "export ner.dstruct ner --target js",
                "export trees.dstruct trees --target wasm",
                "export model.crfsuite tagger.py --weights beside",
            ),
        ),
    },
    "Understand": {
        "evaluate": Known(
            "evaluate:evaluate",
            "Score a model, or the labels or trees of one file against those of another one.",
            (
                "evaluate ner.dstruct test.txt",
                "evaluate ner.dstruct test.txt --errors --confusion",
                "evaluate gold.conllu predicted.conllu --html mistakes.html",
            ),
        ),
        "compare": Known(
            "compare:compare",
            "Compare two models, or two files of predictions, on a file with what is true.",
            ("compare old.dstruct new.dstruct test.txt",),
        ),
        "explain": Known(
            "explain:explain",
            "Show which features and transitions made each label, or each arc, beat the runner-up.",
            (
                'explain ner.dstruct "Ada lives in Turin"',
                "explain ner.dstruct test.txt --gold --most 3",
            ),
        ),
        "suspects": Known(
            "suspects:suspects",
            "Rank training sentences with which the model disagrees, with what it says instead.",
            ("suspects ner.dstruct train.txt --top 50",),
        ),
        "draw": Known(
            "draw:draw",
            "Draw dependency trees: arcs over the words, in the terminal, as SVG or on an HTML "
            "page.",
            ("draw parsed.conllu --sentence 3", "draw gold.conllu parsed.conllu"),
        ),
        "inspect": Known(
            "predict:inspect",
            "Show what a model has learned: its strongest weights and transitions, if it is a "
            "tagger.",
            ("inspect ner.dstruct --label B-LOC --top 20",),
        ),
    },
    "Try": {
        "demo": Known(
            "predict:demo",
            "Train on the corpus that comes with dualstruct, and tag and parse new sentences.",
            ("demo", "demo --files practice"),
        ),
        "experiment": Known(
            "experiments:experiment",
            "Run a paper's experiment again: its tables, its figures, and whether its claims hold.",
            ("experiment", "experiment chang-yih-2013 --quick"),
        ),
        "datasets": Known(
            "experiments:datasets",
            "How to obtain the corpora of the experiments, and whether those in a folder are "
            "complete.",
            ("datasets", "datasets conll2000 --data corpora --download"),
        ),
    },
}
COMMANDS = {name: known for group in GROUPS.values() for name, known in group.items()}


def overview() -> str:
    """What ``dualstruct --help`` says."""
    lines = ["Usage: dualstruct COMMAND [OPTIONS] ...", "", ABOUT]
    for title, group in GROUPS.items():
        lines += ["", title]
        lines += [f"  {name:11}{known.does}" for name, known in group.items()]
    lines += [
        "",
        "dualstruct COMMAND --help shows its options and examples, dualstruct --version the",
        "version; dualstruct --install-completion: the shell completes commands and options.",
    ]
    return "\n".join(lines)


def examples(name: str) -> str:
    """What stands under the help of a command."""
    lines = [f"  dualstruct {each}" for each in COMMANDS[name].examples]
    return "\n".join(["Examples:", *lines])
