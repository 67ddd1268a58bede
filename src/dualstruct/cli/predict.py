"""The commands ``dualstruct predict``, ``inspect`` and ``demo``.

Results go to standard output, everything else to standard error. In all commands heavy imports
happen inside the functions, so that ``--help`` answers at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dualstruct.cli.files import check_not_read
from dualstruct.cli.options import (
    Json,
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
    splitting,
)
from dualstruct.cli.output import print_json, say
from dualstruct.cli.parameters import Argument, Option
from dualstruct.screen import Screen


def predict(
    model: Model,
    file: Annotated[
        str,
        Argument(
            help="A column file, with or without labels, or CoNLL-U for parsers; - "
            "is standard input. With --out also a folder, a pattern or a URL."
        ),
    ] = "-",
    k_best: Annotated[
        int | None,
        Option(min=1, max=1000, help="Print the N best label sequences or trees of each sentence."),
    ] = None,
    marginals: Annotated[
        bool, Option("--marginals", help="Add the probability of each label or head.")
    ] = False,
    confidence: Annotated[
        bool,
        Option(
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
        Option(
            metavar="FORMAT",
            choices=("jsonl", "conll", "conllu", "csv", "labelstudio", "spacy", "parquet", "brat"),
            help="The output format: jsonl, conll, conllu, csv, labelstudio, spacy, "
            "parquet, or brat (with --output). Default: that of the input; "
            "columns for --text.",
        ),
    ] = None,
    input_format: Annotated[
        str | None,
        Option(metavar="FORMAT", help="The format of the input, if it is not recognised."),
    ] = None,
    output: Annotated[
        Path | None, Option(help="Write to this file or folder instead of printing.")
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="Label many files, each into a file of the same name in this "
            "folder. The same command resumes.",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        Option(
            metavar="local|ray|mpi",
            help="With --out: run workers as threads (local), on a Ray cluster, or in an MPI job.",
        ),
    ] = None,
    workers: Annotated[int | None, Option(min=1, help="With --out: the number of workers.")] = None,
    address: Annotated[
        str | None, Option(help="With --engine ray: the address of a running cluster.")
    ] = None,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Label or parse new sentences, or find spans in texts.

    For texts (--text, JSONL, BRAT, Label Studio), --format jsonl prints one object per text:
    {"text", "tokens", "spans": [{"start", "end", "label", "text", "probability"}]}. Offsets count
    characters from 0; probabilities are present if the model is calibrated.

    For column files, a tagger prints all columns and replaces the label, or appends it if there is
    none; comments (#) and -DOCSTART- lines are kept. With --k-best, a line "# rank score" comes
    before each label sequence; with --confidence, a line "# probability" and a line "# entity" for
    each entity come before each sentence. A parser prints CoNLL-U and keeps everything else in the
    file; a tag+parse model also reads one token per line.
    """
    from dualstruct.cli.models import open_model
    from dualstruct.cli.texts import Output

    where = {"engine": engine, "workers": workers, "address": address}
    if out is not None or any(value is not None for value in where.values()):
        from dualstruct.cli.shards import label_many

        options = {
            "k_best": k_best,
            "marginals": marginals,
            "confidence": confidence,
            "text": text,
            "presplit": presplit,
            "tokenizer": tokenizer,
            "label_column": label_column,
            "columns": columns,
            "format": format,
            "input_format": input_format,
            "threads": threads,
            "json": as_json,
        }
        label_many(model, file, out, output, where, options)
        return
    reading = Reading(label_column, columns, threads, TextOptions(input_format))
    split = splitting(text, presplit, tokenizer)
    if output is not None:
        check_not_read(output, [model, file])
    wanted = Wanted(k_best, marginals, confidence)
    place = Output(format, output)
    open_model(model).predict(file, split, wanted, reading, as_json, place)


def inspect(
    model: Model,
    label: Annotated[str | None, Option(help="Show only the weights of this label.")] = None,
    top: Annotated[int, Option(min=1, help="How many weights to show.")] = 15,
    as_json: Json = False,
) -> None:
    """Show a tagger's strongest weights and transitions."""
    from dualstruct.cli.models import open_model

    open_model(model).inspect(label, top, as_json)


def demo(
    files: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="Write example files into this folder instead: train, dev and test "
            "as columns (.txt), texts with spans (.jsonl) and trees (.conllu).",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train on the built-in corpus, then tag and parse new sentences."""
    if files is not None:
        from dualstruct.practice import write_files

        written = [str(path) for path in write_files(files)]
        if as_json:
            print_json({"files": written})
        else:
            say(f"written: {', '.join(written)}")
        return
    from dualstruct.demo import run_demo

    found = run_demo(Screen(quiet=as_json))
    if as_json:
        print_json(found)
