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


ABOUT = "Train and use taggers, parsers and models of other structured outputs."
#: The variable by which a shell asks what may come next (``completing.py``).
COMPLETING = "_DUALSTRUCT_COMPLETE"

#: By what people want.
GROUPS: dict[str, dict[str, Known]] = {
    "Learn": {
        "label": Known(
            "label:label",
            "Label texts on a page while a model learns from every answer.",
            (
                "label names.db --text letters.txt --labels PER,LOC",
                "label names.db --export names.jsonl",
            ),
        ),
        "train": Known(
            "train:train",
            "Train a tagger on texts or columns, or a parser on trees.",
            (
                "train train.txt --dev dev.txt --features ner --model ner.dstruct",
                "train texts.jsonl --model ner.dstruct",
                "train trees.conllu --task parse --model en.dstruct",
            ),
        ),
        "tune": Known(
            "tune:tune",
            "Choose loss, C, passes and other settings, and train with them.",
            ("tune train.txt --features ner --budget 60 --model ner.dstruct",),
        ),
        "calibrate": Known(
            "confidence:calibrate",
            "Turn a model's scores into probabilities with development data.",
            ("calibrate ner.dstruct dev.txt",),
        ),
        "clusters": Known(
            "clusters:clusters",
            "Cluster words by their neighbours in raw text or by vectors.",
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
            "Open a web page for a model: its predictions and the reasons.",
            ("serve ner.dstruct", "serve new.dstruct old.dstruct"),
        ),
        "convert": Known(
            "convert:convert",
            "Convert data between formats, or models of CRFsuite and Wapiti.",
            (
                "convert texts.jsonl texts.conll",
                "convert model.crfsuite model.dstruct",
                "convert affiliations.dstruct model.wapiti",
            ),
        ),
        "compress": Known(
            "compress:compress",
            "Make a model smaller: fewer weights, fewer bits, packed names.",
            (
                "compress ner.dstruct small.dstruct --dev dev.txt",
                "compress ner.dstruct small.dstruct --size 450KB",
            ),
        ),
        "export": Known(
            "export:export",
            "Write a model as a program that does not need dualstruct.",
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
            "Score a model or a file of predictions on a test file.",
            (
                "evaluate ner.dstruct test.txt",
                "evaluate ner.dstruct test.txt --errors --confusion",
                "evaluate gold.conllu predicted.conllu --html mistakes.html",
            ),
        ),
        "compare": Known(
            "compare:compare",
            "Compare two models, and test whether they differ by chance.",
            ("compare old.dstruct new.dstruct test.txt",),
        ),
        "explain": Known(
            "explain:explain",
            "Show which features made a label or arc beat the runner-up.",
            (
                'explain ner.dstruct "Ada lives in Turin"',
                "explain ner.dstruct test.txt --gold --most 3",
            ),
        ),
        "suspects": Known(
            "suspects:suspects",
            "List the training sentences whose labels are most likely wrong.",
            ("suspects ner.dstruct train.txt --top 50",),
        ),
        "draw": Known(
            "draw:draw",
            "Draw dependency trees in the terminal, as SVG or on an HTML page.",
            ("draw parsed.conllu --sentence 3", "draw gold.conllu parsed.conllu"),
        ),
        "inspect": Known(
            "predict:inspect",
            "Show a tagger's strongest weights and transitions.",
            ("inspect ner.dstruct --label B-LOC --top 20",),
        ),
    },
    "Try": {
        "demo": Known(
            "predict:demo",
            "Train on the built-in corpus, then tag and parse new sentences.",
            ("demo", "demo --files practice"),
        ),
        "experiment": Known(
            "experiments:experiment",
            "Reproduce a paper's experiment: its tables, figures and claims.",
            ("experiment", "experiment chang-yih-2013 --quick"),
        ),
        "datasets": Known(
            "experiments:datasets",
            "List the corpora of the experiments and where to get them.",
            ("datasets", "datasets conll2000 --data corpora --download"),
        ),
    },
}
#: What to try first.
FIRST = (
    "demo --files .",
    "train train.jsonl --dev dev.jsonl --model ner.dstruct",
    "evaluate ner.dstruct test.jsonl",
    "predict ner.dstruct --text --format jsonl < letter.txt",
)
COMMANDS = {name: known for group in GROUPS.values() for name, known in group.items()}


def overview() -> str:
    """What ``dualstruct --help`` says."""
    lines = ["Usage: dualstruct COMMAND [OPTIONS] ...", "", ABOUT]
    for title, group in GROUPS.items():
        lines += ["", title]
        lines += [f"  {name:11}{known.does}" for name, known in group.items()]
    lines += [
        "",
        "Examples",
        *(f"  dualstruct {each}" for each in FIRST),
        "",
        "dualstruct COMMAND --help         the options of a command, with examples",
        "dualstruct --install-completion   let the shell complete commands and options",
        "dualstruct --version              the version",
    ]
    return "\n".join(lines)


def examples(name: str) -> str:
    """What stands under the help of a command."""
    lines = [f"  dualstruct {each}" for each in COMMANDS[name].examples]
    return "\n".join(["Examples:", *lines])
