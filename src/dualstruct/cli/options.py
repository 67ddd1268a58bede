"""Arguments and options that several commands have."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dualstruct.cli.parameters import Argument, Option
from dualstruct.errors import InputError

if TYPE_CHECKING:
    from dualstruct.data.tokenizing import Splitter

Model = Annotated[Path, Argument(help="A model file written by train.")]
Columns = Annotated[
    str | None,
    Option(
        help="The columns that make up a token, counted from 0, for example 0,2. "
        "Default: all except the label."
    ),
]
LabelColumn = Annotated[
    str | None,
    Option(
        metavar="COLUMN",
        help="The column of the label, counted from 0, or from the end if "
        "negative (default: -1). CoNLL-U: upos, xpos, feats or misc:KEY; "
        "CSV and JSON: a name.",
    ),
]
#: The same for a model, which knows how its training file was read.
SameColumns = Annotated[
    str | None,
    Option("--columns", help="The columns that make up a token. Default: as in training."),
]
SameLabelColumn = Annotated[
    str | None,
    Option(
        "--label-column",
        metavar="COLUMN",
        help="The column of the label. Default: as in training.",
    ),
]
FileFormat = Annotated[
    str | None,
    Option(
        "--format",
        metavar="FORMAT",
        choices=("conll", "conllu", "jsonl", "brat", "labelstudio", "csv", "spacy", "parquet"),
        help="The format of the files: conll, conllu, jsonl, brat, labelstudio, "
        "csv, spacy or parquet. Default: detected from their content.",
    ),
]
Misaligned = Annotated[
    str | None,
    Option(
        metavar="move|drop|refuse",
        help="Spans that do not begin and end with a token: move them to the "
        "tokens that they touch, drop them, or refuse the file. Default: "
        "move.",
    ),
]
Overlapping = Annotated[
    str | None,
    Option(
        metavar="refuse|longest",
        help="Spans that overlap: refuse the file, or keep the longest span. Default: refuse.",
    ),
]
Json = Annotated[bool, Option("--json", help="Print one JSON object and nothing else.")]
Threads = Annotated[int, Option(min=1, help="Threads for inference.")]
Text = Annotated[
    bool,
    Option(
        "--text",
        help="The input is plain text; it is split into sentences and words.",
    ),
]
Presplit = Annotated[
    bool,
    Option("--presplit", help="With --text: one sentence per line, words separated by spaces."),
]
TokenizerOption = Annotated[
    str | None,
    Option(
        "--tokenizer",
        metavar="SETTINGS|FILE",
        help="How to split text: settings such as hyphens=keep,sentences=lines, or a "
        "model trained with --task tokenize. Default: as in training.",
    ),
]


@dataclass(frozen=True)
class TextOptions:
    """How files of texts are read."""

    format: str | None = None
    misaligned: str | None = None
    overlapping: str | None = None
    tokenizer: Splitter | None = None


@dataclass(frozen=True)
class Splitting:
    """How plain text is to be split."""

    asked: Splitter | None  #: None: as the model says

    def tokenizer(self, own: Splitter | None = None) -> Splitter:
        """What was asked for, or else the model's own, or else the rules."""
        from dualstruct.data.tokenizing import Tokenizer

        return self.asked or own or Tokenizer()


def splitting(text: bool, presplit: bool, tokenizer: str | None) -> Splitting | None:
    """What the options say; None if it is no plain text."""
    if presplit and not text:
        raise InputError("--presplit says how --text is split; give both")
    if presplit and tokenizer is not None:
        raise InputError("--presplit splits at spaces only; leave out --tokenizer")
    if tokenizer is not None and not text:
        raise InputError("--tokenizer says how --text is split; give both")
    if not text:
        return None
    if presplit:
        from dualstruct.data.tokenizing import Tokenizer

        return Splitting(Tokenizer("blanks", "lines"))
    return Splitting(None if tokenizer is None else asked_tokenizer(tokenizer))


def asked_tokenizer(settings: str) -> Splitter:
    """What --tokenizer says: settings, or the file of a tokenizer that was learned."""
    from dualstruct.data.tokenizing import Tokenizer

    if Path(settings).is_file():
        from dualstruct.estimators import LearnedTokenizer

        return LearnedTokenizer.load(settings)
    try:
        return Tokenizer.parse(settings)
    except InputError as problem:
        raise InputError(f"--tokenizer {settings}: {problem}") from None


@dataclass(frozen=True)
class Reading:
    """How a model's files are read; what is None is as in training."""

    label_column: str | None
    columns: str | None
    threads: int
    texts: TextOptions = field(default_factory=lambda: TextOptions())


@dataclass(frozen=True)
class Wanted:
    """What predictions are printed with."""

    k_best: int | None
    marginals: bool
    confidence: bool
