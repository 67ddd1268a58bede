"""The command ``dualstruct``: train, predict, evaluate, explain, draw, inspect, convert, serve,
clusters, demo, and the papers' experiments with their corpora (``cli_experiments``).

Results go to standard output, everything else to standard error. Heavy imports happen inside
the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualstruct.cli.building import app_of, run_alone
from dualstruct.cli.commands import COMMANDS
from dualstruct.cli.files import check_not_read, check_outputs
from dualstruct.cli.options import (
    Json,
    LabelColumn,
    Model,
    Presplit,
    Reading,
    SameColumns,
    SameLabelColumn,
    Text,
    TextOptions,
    Threads,
    TokenizerOption,
    Wanted,
    asked_tokenizer,
    splitting,
)
from dualstruct.cli.output import console, say, tell
from dualstruct.errors import InputError


def predict(
    model: Model,
    file: Annotated[
        str,
        typer.Argument(
            help="A column file, with or without labels, or CoNLL-U for parsers; - is standard "
            "input."
        ),
    ] = "-",
    k_best: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="The k best labellings or trees of each sentence."),
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add the probability of each label or head.")
    ] = False,
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            help="Add the probability of each label or head, of each entity, and of the whole "
            "sentence; the model must be calibrated.",
        ),
    ] = False,
    text: Text = False,
    presplit: Presplit = False,
    tokenizer: TokenizerOption = None,
    label_column: SameLabelColumn = None,
    columns: SameColumns = None,
    format: Annotated[
        str | None,
        typer.Option(
            help="What to write: jsonl, conll, conllu, csv, labelstudio, spacy, parquet, or brat "
            "(with --output). "
            "Default: as the file is; columns for --text.",
            show_default=False,
        ),
    ] = None,
    input_format: Annotated[
        str | None,
        typer.Option(help="The format of the file, if its content does not tell."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write to this file or folder instead of printing.")
    ] = None,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Label or parse new sentences, or find spans in texts.

    Texts (--text, lines of JSON, BRAT, Label Studio) give one object for each with --format jsonl:
    {"text", "tokens", "spans": [{"start", "end", "label", "text", "probability"}]}, places in
    characters from 0; probabilities if the model is calibrated.

    A tagger prints all columns, with the predicted label in the place of a label that is there, or
    last; comments (# …) and -DOCSTART- lines before sentences are kept. With --k-best, each
    labelling follows a line "# rank score", with --confidence each sentence a line "# probability"
    and one "# entity" for each entity. A parser prints CoNLL-U with everything else kept; a
    tag+parse model also takes one token per line.
    """
    from dualstruct.cli.models import open_model
    from dualstruct.cli.texts import Output

    reading = Reading(label_column, columns, threads, TextOptions(input_format))
    split = splitting(text, presplit, tokenizer)
    if output is not None:
        check_not_read(output, [model, file])
    wanted = Wanted(k_best, marginals, confidence)
    place = Output(format, output)
    open_model(model).predict(file, split, wanted, reading, as_json, place)


def inspect(
    model: Model,
    label: Annotated[str | None, typer.Option(help="Only the weights of this label.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many weights to show.")] = 15,
    as_json: Json = False,
) -> None:
    """Show what a model has learned: its strongest weights and transitions, if it is a tagger."""
    from dualstruct.cli.models import open_model

    open_model(model).inspect(label, top, as_json)


def convert(
    source: Annotated[
        Path,
        typer.Argument(
            help="A file of texts, tokens or labels in any format that train reads; or a tagger "
            "that train wrote, or a CRFsuite model file."
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            help="The file to write. Of data: .jsonl, .conll, .conllu, .csv, .labelstudio.json, "
            ".spacy, .parquet, or a folder .brat. Of models the other kind: .dstruct is ours, "
            ".crfsuite (.crfmodel, .crf, .model) CRFsuite's."
        ),
    ],
    read_as: Annotated[
        str | None, typer.Option("--from", help="The format of the data, if it is not found.")
    ] = None,
    write_as: Annotated[
        str | None, typer.Option("--to", help="The format to write, if the name does not tell.")
    ] = None,
    label_column: LabelColumn = None,
    tokenizer: TokenizerOption = None,
) -> None:
    """Turn data into another format, or a model into one of CRFsuite's or back.

    Data: lines of JSON, BRAT, Label Studio, CoNLL-U, CSV, columns, spaCy's DocBin and Parquet, each
    into each.
    """
    from dualstruct.data.opening import is_text

    data = source.is_dir() or (is_text(source) and not _is_model(source))
    if data or _needs_library(source, read_as):
        from dualstruct.cli.texts import convert_documents

        check_not_read(target, [source])
        from dualstruct.data.tokenizing import Tokenizer

        split_as = Tokenizer() if tokenizer is None else asked_tokenizer(tokenizer)
        convert_documents(str(source), target, read_as, write_as, label_column, split_as)
        return
    from dualstruct.crfsuite.conversion import (
        END,
        START,
        crfsuite_from_tagger,
        tagger_from_crfsuite,
    )
    from dualstruct.crfsuite.files import is_crfsuite, read_crfsuite, write_crfsuite
    from dualstruct.data.arrays import format_of
    from dualstruct.estimators import SequenceTagger

    if is_crfsuite(source):
        kind = "dualstruct"
        _check_ending(target, kind)
        check_outputs([target], [source])
        found = read_crfsuite(source)
        tagger_from_crfsuite(found).save(target)
    else:
        kind = "CRFsuite"
        if format_of(source) != SequenceTagger.model_format:
            raise InputError(f"{source} holds no tagger, and CRFsuite knows nothing else")
        tagger = SequenceTagger.load(source)
        _check_ending(target, kind)
        if target.exists() and not is_crfsuite(target):
            raise InputError(f"{target} exists and is not a CRFsuite model; choose another name")
        found = crfsuite_from_tagger(tagger)
        write_crfsuite(target, found)
    say(
        f"{len(found.labels):,} labels, {len(found.attributes):,} attributes; "
        f"{kind} model written to {target}"
    )
    if kind == "CRFsuite" and {START, END} & set(found.attributes):
        tell(f"the first item of a sequence needs the attribute {START}, the last one {END}")


def _needs_library(path: Path, format: str | None) -> bool:
    """Whether these are data in a format that is no text: DocBin, Parquet."""
    from dualstruct.texts.formats import find_format, format_named

    if not path.is_file():
        return False
    chosen = find_format(path) if format is None else format_named(format)
    return chosen.needs_library is not None


def _is_model(path: Path) -> bool:
    from dualstruct.crfsuite.files import is_crfsuite
    from dualstruct.data.opening import read_pieces

    return is_crfsuite(path) or b'"dualstruct"' in next(read_pieces(path, 200), b"")


#: How the names of the files that convert writes end, by whose they are.
ENDINGS = {"dualstruct": (".dstruct",), "CRFsuite": (".crfsuite", ".crfmodel", ".crf", ".model")}


def _check_ending(target: Path, kind: str) -> None:
    """A name that promises another format than is written is a mistake."""
    known = ENDINGS[kind]
    if target.suffix and target.suffix not in known:
        raise InputError(
            f"{target}: a {kind} model would be written there, whose name ends in "
            f"{', '.join(known)}; convert knows dualstruct's models and CRFsuite's, no others"
        )


def demo() -> None:
    """Train on the corpus that comes with dualstruct, and tag and parse new sentences."""
    from dualstruct.demo import run_demo

    run_demo(console())


if TYPE_CHECKING:
    app: typer.Typer


def __getattr__(name: str) -> Any:
    """``app`` is the whole command line, made when somebody asks for it."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = whole = app_of(COMMANDS)
    return whole


def main() -> None:
    """Run the command line; whatever goes wrong is one sentence, never a traceback."""
    run_alone(sys.argv[1:2])


if __name__ == "__main__":
    main()
