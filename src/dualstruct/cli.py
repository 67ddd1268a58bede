"""The command ``dualstruct``: train, predict, evaluate, explain, draw, inspect, convert, serve,
demo, and the papers' experiments with their corpora (``cli_experiments``).

Results go to standard output, everything else to standard error. Heavy imports happen inside
the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualstruct import cli_experiments
from dualstruct.cli_confidence import calibrate, confident_lines, reliability_of, warnings_shown
from dualstruct.cli_explain import explain
from dualstruct.cli_options import Columns, Json, LabelColumn, Model, Threads
from dualstruct.cli_serve import serve
from dualstruct.cli_suspects import suspects
from dualstruct.errors import DualstructError, InputError

if TYPE_CHECKING:
    from dualstruct.estimators import SequenceTagger
    from dualstruct.files.columns import ColumnFile
    from dualstruct.fit import FitResult

app = typer.Typer(
    help="Linear structured prediction by dual methods.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

#: Headings in the help of train.
TAGGERS = "Options of taggers"
PARSERS = "Options of parsers"
WORKERS = "Training on several workers"
#: For taggers; parsers have one of their own.
_DEFAULT_C = 0.1


def _show_version(wanted: bool) -> None:
    if wanted:
        from dualstruct import __version__

        print(f"dualstruct {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Its version.")
    ] = False,
) -> None:
    """Linear structured prediction by dual methods."""


@app.command()
def train(
    train: Annotated[
        list[str],
        typer.Argument(
            metavar="TRAIN…",
            help="Column files, or CoNLL-U for trees (.gz, .xz too); - is standard input.",
        ),
    ],
    model: Annotated[Path, typer.Option("--model", help="Where to write the model.")],
    task: Annotated[
        str,
        typer.Option(help="tag: labels; parse: trees; tag+parse: trees from words alone."),
    ] = "tag",
    dev: Annotated[
        Path | None, typer.Option(help="Development data: keep the weights that do best on it.")
    ] = None,
    features: Annotated[
        str,
        typer.Option(
            help="auto, a preset (chunking, pos, ner, ner-pos) or a template file: ours, or one of "
            "CRF++ or Wapiti.",
            rich_help_panel=TAGGERS,
        ),
    ] = "auto",
    dialect: Annotated[
        str,
        typer.Option(
            help="The template file's language: auto, dualstruct, crf++ or wapiti.",
            rich_help_panel=TAGGERS,
        ),
    ] = "auto",
    loss: Annotated[
        str,
        typer.Option(help="squared-hinge, hinge, crf, softmax-margin, ramp or perceptron."),
    ] = "squared-hinge",
    beta: Annotated[float | None, typer.Option(help="Sharpness of softmax-margin.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Weight of costs in softmax-margin.")] = None,
    solver: Annotated[
        str, typer.Option(help="auto, or one that takes the loss (docs/solvers.md lists them).")
    ] = "auto",
    C: Annotated[
        float | None,
        typer.Option(
            "-C",
            help="The weight of one sentence's loss; 0.1, for parsers 0.01.",
        ),
    ] = None,
    gap: Annotated[
        float | None, typer.Option(help="Stop at this certified gap; 0.01 is 1 %.")
    ] = None,
    passes: Annotated[int | None, typer.Option(help="Stop after so many passes.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after so many seconds.")] = None,
    patience: Annotated[
        int, typer.Option(help="Stop after so many passes without a better dev score.")
    ] = 5,
    seed: Annotated[int, typer.Option(help="Same seed, same model.")] = 0,
    threads: Threads = 1,
    hash_bits: Annotated[
        int | None, typer.Option(help="Hash features into 2^b weights, without a dictionary.")
    ] = None,
    min_count: Annotated[
        int, typer.Option(help="Leave out features seen fewer times.", rich_help_panel=TAGGERS)
    ] = 1,
    constraints: Annotated[
        str,
        typer.Option(
            help="auto, none, iob1, iob2, bilou or bioes: which labels may follow.",
            rich_help_panel=TAGGERS,
        ),
    ] = "auto",
    scheme: Annotated[
        str | None,
        typer.Option(
            help="Learn in this label scheme, for instance bilou.", rich_help_panel=TAGGERS
        ),
    ] = None,
    class_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="balanced|LABEL=WEIGHT",
            help="Weigh mistakes at this true label; may be repeated.",
            rich_help_panel=TAGGERS,
        ),
    ] = None,
    cost: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What mistakes cost: lines of true label, predicted label, cost.",
            rich_help_panel=TAGGERS,
        ),
    ] = None,
    unknown_label: Annotated[
        str | None,
        typer.Option(
            metavar="MARK",
            help="This label, ? for instance, stands for labels that nobody knows.",
            rich_help_panel=TAGGERS,
        ),
    ] = None,
    out_of_core: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep features on disk here, for files larger than memory; hashes them.",
            rich_help_panel=TAGGERS,
        ),
    ] = None,
    label_column: LabelColumn = -1,
    columns: Columns = None,
    averaged: Annotated[
        bool | None,
        typer.Option(help="Keep the average of the weights over all steps (parsers do)."),
    ] = None,
    order: Annotated[
        int,
        typer.Option(
            help="1: every arc by itself; 2: with neighbouring arcs, better and slower.",
            rich_help_panel=PARSERS,
        ),
    ] = 1,
    projective: Annotated[
        str,
        typer.Option(
            help="auto, yes or no: whether arcs of trees may not cross.", rich_help_panel=PARSERS
        ),
    ] = "auto",
    single_root: Annotated[
        str,
        typer.Option(
            help="auto, yes or no: whether trees have one word under the root.",
            rich_help_panel=PARSERS,
        ),
    ] = "auto",
    lemma: Annotated[
        bool, typer.Option(help="Let the parser look at lemmas.", rich_help_panel=PARSERS)
    ] = True,
    morphology: Annotated[
        bool, typer.Option(help="Let the parser look at morphology.", rich_help_panel=PARSERS)
    ] = True,
    clusters: Annotated[
        Path | None,
        typer.Option(
            help="Brown clusters for the parser: path, word, count.", rich_help_panel=PARSERS
        ),
    ] = None,
    bad_trees: Annotated[
        str,
        typer.Option(
            help="error or skip: what to do with sentences that are no trees.",
            rich_help_panel=PARSERS,
        ),
    ] = "error",
    folds: Annotated[
        int,
        typer.Option(
            help="In how many parts tag+parse tags its training sentences.", rich_help_panel=PARSERS
        ),
    ] = 5,
    start: Annotated[
        Path | None, typer.Option("--start", help="Go on from this model instead of from zero.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Save the state of training in this file now and then; workers need a folder."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on from the checkpoint.")] = False,
    engine: Annotated[
        str | None,
        typer.Option(
            help="local, ray or mpi: what workers run on; the solver is then bqo, admm, mixing or "
            "average, or what they run inside.",
            rich_help_panel=WORKERS,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Train on so many, each with a part of the data.", rich_help_panel=WORKERS
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="A running Ray cluster, auto for this machine's; one is started by default.",
            rich_help_panel=WORKERS,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a tagger on a column file, or a parser on trees.

    Column files have one token a line, columns separated by tabs or blanks, the label last, a
    blank line between sentences; trees come as CoNLL-U or CoNLL-X. Ctrl-C stops training and keeps
    the best model so far.
    """
    from dualstruct.estimators import SequenceTagger
    from dualstruct.estimators.costs import parse_class_weights, read_costs

    started, cpu_started = time.perf_counter(), time.process_time()
    # Several workers write their checkpoints into a folder.
    file = checkpoint if engine is None else None
    _check_outputs([model, file], [*train, dev, features, start, clusters, cost])
    if resume and checkpoint is None:
        raise InputError("--resume needs --checkpoint, what to go on from")
    if engine is not None or workers is not None or address is not None:
        from dualstruct import cli_workers

        cli_workers.check(engine, workers, address, task, solver, averaged)
        cli_workers.check_files([*train, dev], checkpoint)
    if resume and engine != "mpi" and checkpoint is not None and not checkpoint.exists():
        print(f"dualstruct: there is no {checkpoint} yet; starting anew", file=sys.stderr)
    settings: dict[str, Any] = {
        "loss": loss,
        "beta": beta,
        "gamma": gamma,
        "solver": solver,
        "gap": gap,
        "passes": passes,
        "seconds": seconds,
        "patience": patience,
        "seed": seed,
        "threads": threads,
        "verbose": sys.stderr.isatty(),
        "checkpoint": checkpoint,
        "resume": resume,
        "engine": engine,
        "workers": workers,
        "address": address,
    }
    chosen = {"C": C, "averaged": averaged, "hash_bits": hash_bits}
    settings |= {name: value for name, value in chosen.items() if value is not None}
    for_taggers = {
        "--features": features != "auto",
        "--dialect": dialect != "auto",
        "--min-count": min_count != 1,
        "--constraints": constraints != "auto",
        "--scheme": scheme is not None,
        "--class-weight": class_weight is not None,
        "--cost": cost is not None,
        "--unknown-label": unknown_label is not None,
        "--out-of-core": out_of_core is not None,
        "--label-column": label_column != -1,
        "--columns": columns is not None,
    }
    for_parsers = {
        "--order": order != 1,
        "--projective": projective != "auto",
        "--single-root": single_root != "auto",
        "--no-lemma": not lemma,
        "--no-morphology": not morphology,
        "--clusters": clusters is not None,
        "--bad-trees": bad_trees != "error",
    }
    if task in ("parse", "tag+parse"):
        from dualstruct import cli_trees

        _refuse(for_taggers, "--task tag")
        report, result = cli_trees.train(
            train,
            dev,
            start,
            None if task == "parse" else folds,
            {
                **settings,
                "projective": cli_trees.yes_or_no(projective, "--projective"),
                "single_root": cli_trees.yes_or_no(single_root, "--single-root"),
                "order": order,
                "lemma": lemma,
                "morphology": morphology,
                "clusters": clusters,
                "bad_trees": bad_trees,
            },
            model,
        )
        if report is None:  # another process of the job tells
            return
        _finish(report, result, started, cpu_started, as_json)
        return
    if task != "tag":
        raise InputError(f"--task is {task!r}; it is tag, parse or tag+parse")
    _refuse(for_parsers, "--task parse")
    tagger = SequenceTagger() if start is None else SequenceTagger.load(start)
    tagger.set_params(
        **{"C": _DEFAULT_C, "averaged": False, "hash_bits": None, **settings},
        features=features,
        dialect=dialect,
        constraints=None if constraints == "none" else constraints,
        scheme=scheme,
        min_count=min_count,
        cost=None if cost is None else read_costs(cost),
        class_weight=parse_class_weights(class_weight),
        unknown_label=unknown_label,
    )
    if out_of_core is not None and (engine is not None or len(train) > 1 or start is not None):
        raise InputError("--out-of-core takes one file, without --start and --engine")
    if engine is not None or len(train) > 1:
        from dualstruct import cli_workers

        place = label_column, _column_numbers(columns)
        sentences, tokens, reading = cli_workers.learn_columns(
            tagger, start is not None, train, dev, *place
        )
        if tagger.rank_ != 0:  # another process of the job writes and tells
            return
        split = {"read": reading}
    else:
        learn = tagger.fit if start is None else tagger.partial_fit
        dev_data = None if dev is None else _read(str(dev), label_column, columns)
        judged = None if dev_data is None else (dev_data.tokens, dev_data.labels)
        if out_of_core is not None:
            chosen_columns = _column_numbers(columns)
            with contextlib.nullcontext() if dev_data is None else _located(dev_data):
                tagger.fit_large(
                    train[0], out_of_core, judged, label_column=label_column, columns=chosen_columns
                )
            split, (sentences, tokens) = {}, tagger.read_
        else:
            data = _read(train[0], label_column, columns)
            split = {"read": time.perf_counter() - started}
            with _located(dev_data or data):
                learn(data.tokens, data.labels, dev=judged)
            sentences, tokens = len(data), int(data.tokens.lengths.sum())
    tagger.save(model)
    result = tagger.result_
    split |= {"features": tagger.feature_seconds_, "train": result.seconds}
    report = {
        "model": str(model),
        "sentences": sentences,
        "tokens": tokens,
        "labels": len(tagger.classes_),
        "features": tagger.n_features_,
        "templates": str(getattr(tagger, "features_", features)),
        "seconds_split": split,
    }
    report |= tagger.run_facts()
    _finish(report, result, started, cpu_started, as_json)


def _refuse(options: dict[str, bool], task: str) -> None:
    """Options that would do nothing are mistakes."""
    for name, given in options.items():
        if given:
            raise InputError(f"{name} is for {task}")


def _finish(
    report: dict[str, Any], result: FitResult, started: float, cpu_started: float, as_json: bool
) -> None:
    """Say what training arrived at."""
    report |= {
        "primal": result.primal,
        "dual": result.dual,
        "gap": result.gap,
        "passes": result.passes,
        "best_pass": result.best_pass,
        "dev_score": result.dev_score,
        "inference_calls": result.inference_calls,
        "cuts": result.cuts,
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu_started,
        "peak_memory_mb": _peak_memory_mb(),
        "stopped_by": result.stopped_by,
    }
    if as_json:
        _print_json(report)
    else:
        _print_training(report, result)


@app.command()
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
    text: Annotated[
        bool, typer.Option("--text", help="Each line is a sentence, words separated by blanks.")
    ] = False,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Label or parse new sentences.

    A tagger prints columns, the predicted label last; a label column that the file already has is
    left out. With --k-best, each labelling follows a line "# rank score", with --confidence each
    sentence a line "# probability" and one "# entity" for each entity. A parser prints CoNLL-U
    with everything else kept; a tag+parse model also takes one token a line.
    """
    from dualstruct.estimators import SequenceTagger, load_model

    tagger = load_model(model)
    if not isinstance(tagger, SequenceTagger):
        from dualstruct import cli_trees

        cli_trees.predict(tagger, file, text, k_best, marginals, confidence, threads, as_json)
        return
    tagger.set_params(threads=threads)
    if not as_json:
        for block in [_read_lines(file)] if text else _unlabelled_blocks(file, tagger):
            _print_labels(tagger, block, k_best, marginals, confidence)
        return
    sentences = _read_lines(file) if text else _read_unlabelled(file, tagger)
    if confidence:
        pairs = zip(sentences, tagger.predict_confidence(sentences, k_best or 1), strict=True)
        _print_json({"sentences": [{"tokens": list(x), **y.to_dict()} for x, y in pairs]})
        return
    outputs, probabilities = _outputs(tagger, sentences, k_best, marginals)
    rows = []
    for i, (tokens, found) in enumerate(zip(sentences, outputs, strict=True)):
        row: dict[str, Any] = {"tokens": list(tokens), "labels": found[0][1]}
        if probabilities is not None:
            row["marginals"] = probabilities[i][0]
        if k_best is not None:
            row["k_best"] = [{"score": score, "labels": labels} for score, labels in found]
        rows.append(row)
    _print_json({"sentences": rows})


def _outputs(
    tagger: SequenceTagger, sentences: Any, k_best: int | None, marginals: bool
) -> tuple[list[list[tuple[float, list[str]]]], list[list[list[float]]] | None]:
    """The best labellings of each sentence with their scores; the marginals of their labels."""
    if k_best is not None:
        outputs = tagger.predict_k_best(sentences, k_best)
    else:
        outputs = [[(0.0, labels)] for labels in tagger.predict(sentences)]
    if not marginals:
        return outputs, None
    with warnings_shown():
        return outputs, _probabilities(tagger, sentences, outputs)


def _print_labels(
    tagger: SequenceTagger, sentences: Any, k_best: int | None, marginals: bool, confidence: bool
) -> None:
    if confidence:
        sure = tagger.predict_confidence(sentences, k_best or 1)
        _write(confident_lines(sentences, sure, k_best is not None))
        return
    outputs, probabilities = _outputs(tagger, sentences, k_best, marginals)
    lines: list[str] = []
    for i, (tokens, found) in enumerate(zip(sentences, outputs, strict=True)):
        for rank, (score, labels) in enumerate(found):
            if k_best is not None:
                lines.append(f"# {rank + 1} {score:.6f}")
            for t, (token, label) in enumerate(zip(tokens, labels, strict=True)):
                cells = [token] if isinstance(token, str) else list(token)
                cells.append(label)
                if probabilities is not None:
                    cells.append(f"{probabilities[i][rank][t]:.4f}")
                lines.append("\t".join(cells))
            lines.append("")
    _write(lines)


@app.command()
def evaluate(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|GOLD",
            help="A model file that train wrote, or a CoNLL-U file with the true trees.",
        ),
    ],
    test: Annotated[
        str,
        typer.Argument(
            metavar="TEST|PREDICTED",
            help="What to score the model on (- is standard input), or a CoNLL-U file to score.",
        ),
    ],
    unseen_labels: Annotated[
        str, typer.Option(help="Labels never seen in training: warn, count (as mistakes) or error.")
    ] = "warn",
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence", help="Compare confidence with accuracy: bins, and the ECE of each kind."
        ),
    ] = False,
    reliability: Annotated[
        Path | None,
        typer.Option(help="Draw the same as reliability diagrams to this file, .svg or .png."),
    ] = None,
    label_column: LabelColumn = -1,
    columns: Columns = None,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Score a model, or one CoNLL-U file against another one.

    Labels: token accuracy, and precision, recall and F1 of spans as conlleval counts. Trees: UAS
    and LAS, with and without punctuation, as CoNLL-X and CoNLL-2018 count, by relation and
    distance.
    """
    from dualstruct import cli_trees
    from dualstruct.estimators import SequenceTagger, load_model

    if reliability is not None:
        from dualstruct.drawing.reliability import check_picture

        check_picture(reliability)
        _check_outputs([reliability], [model, test])
    asked = confidence or reliability is not None
    if cli_trees.is_treebank(model):
        if asked:
            raise InputError("confidence is that of a model, and a file of trees has none")
        _write([cli_trees.compare_files(model, test, as_json)])
        return
    tagger = load_model(model)
    if not isinstance(tagger, SequenceTagger):
        _write([cli_trees.evaluate(tagger, test, threads, as_json, asked, reliability)])
        return
    tagger.set_params(threads=threads, unseen_labels=unseen_labels)
    data = _read(test, label_column, columns)
    with _located(data):
        started = time.perf_counter()
        scores = tagger.evaluate(data.tokens, data.labels)
        seconds = time.perf_counter() - started
    diagrams = reliability_of(tagger, data.tokens, data.labels, reliability) if asked else {}
    report: dict[str, Any] = {
        "accuracy": scores.accuracy,
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "tokens": scores.tokens,
        "sentences": scores.sentences,
        "tokens_per_second": scores.tokens / seconds,
        "seconds": seconds,
        "per_type": {
            name: {
                "precision": each.precision,
                "recall": each.recall,
                "f1": each.f1,
                "support": each.support,
            }
            for name, each in scores.per_type.items()
        },
    }
    if asked:
        report["confidence"] = {name: each.to_dict() for name, each in diagrams.items()}
    if as_json:
        _print_json(report)
    else:
        print(scores.table())
        for each in diagrams.values():
            print(f"\n{each.table()}")
        print(f"{report['tokens_per_second']:,.0f} tokens a second, features included")


app.command()(explain)
app.command()(calibrate)
app.command()(suspects)


@app.command()
def draw(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A CoNLL-U file; - is standard input.")
    ],
    sentence: Annotated[
        str | None, typer.Option(help="Only this one: its sent_id, or its number from 1.")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Draw the sentence (the first unless named) to this file.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="How many sentences to draw at most.")] = 10,
    width: Annotated[
        int | None, typer.Option(min=20, help="How many columns to use; the terminal's by default.")
    ] = None,
) -> None:
    """Draw dependency trees: arcs over the words, in the terminal or as SVG."""
    from dualstruct.cli_trees import draw_file

    _write(draw_file(file, sentence, svg, width, most))


@app.command()
def inspect(
    model: Model,
    label: Annotated[str | None, typer.Option(help="Only the weights of this label.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many weights to show.")] = 15,
    as_json: Json = False,
) -> None:
    """Show what a model has learned: its strongest weights and transitions, if it is a tagger."""
    from dualstruct.estimators import SequenceTagger, load_model

    tagger = load_model(model)
    if not isinstance(tagger, SequenceTagger):
        from dualstruct import cli_trees

        _write([cli_trees.inspect(tagger, as_json)])
        return
    table = tagger.weights_
    strongest = table.strongest(top, label)
    transitions = table.transitions(top)
    pairs = table.strongest_pairs(top)
    summary = {
        "labels": table.labels,
        "features": tagger.n_features_,
        "nonzero_weights": len(table),
        "training": {k: v for k, v in tagger.result_.summary().items() if k != "trace"},
    }
    if as_json:
        weights = [row._asdict() for row in strongest]
        steps = [{"from": a, "to": b, "weight": weight} for a, b, weight in transitions]
        by_pair = [
            {"feature": row.feature, "from": row.before, "to": row.label, "weight": row.weight}
            for row in pairs
        ]
        lists = {"weights": weights, "transitions": steps} | ({"pairs": by_pair} if pairs else {})
        _print_json({**summary, **lists})
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(
        f"{len(table.labels)} labels, {tagger.n_features_:,} features, {len(table):,} weights",
        markup=False,
    )
    features = Table("weight", "label", "feature", box=None, title_justify="left")
    for row in strongest:
        features.add_row(_signed(row.weight), _plain(row.label), _plain(row.feature))
    steps_table = Table("weight", "from", "to", box=None)
    for a, b, weight in transitions:
        steps_table.add_row(_signed(weight), _plain(a), _plain(b))
    console.print(features)
    console.print()
    console.print(steps_table)
    if pairs:
        pairs_table = Table("weight", "from", "to", "feature", box=None)
        for pair in pairs:
            cells = (pair.before, pair.label, pair.feature)
            pairs_table.add_row(_signed(pair.weight), *map(_plain, cells))
        console.print()
        console.print(pairs_table)


@app.command()
def convert(
    source: Annotated[
        Path, typer.Argument(help="A tagger that train wrote, or a CRFsuite model file.")
    ],
    target: Annotated[Path, typer.Argument(help="The file to write, of the other kind.")],
) -> None:
    """Turn a CRFsuite model into one of ours, or a tagger of ours into a CRFsuite model."""
    from dualstruct.compat.conversion import END, START, crfsuite_from_tagger, tagger_from_crfsuite
    from dualstruct.estimators import SequenceTagger, load_model
    from dualstruct.files.crfsuite import is_crfsuite, read_crfsuite, write_crfsuite

    if is_crfsuite(source):
        _check_outputs([target], [source])
        found = read_crfsuite(source)
        tagger_from_crfsuite(found).save(target)
        kind = "dualstruct"
    else:
        tagger = load_model(source)
        if not isinstance(tagger, SequenceTagger):
            raise InputError(f"{source} holds no tagger, and CRFsuite knows nothing else")
        if target.exists() and not is_crfsuite(target):
            raise InputError(f"{target} exists and is not a CRFsuite model; choose another name")
        found = crfsuite_from_tagger(tagger)
        write_crfsuite(target, found)
        kind = "CRFsuite"
    print(
        f"{len(found.labels):,} labels, {len(found.attributes):,} attributes; "
        f"{kind} model written to {target}"
    )
    if kind == "CRFsuite" and {START, END} & set(found.attributes):
        print(
            f"the first item of a sequence needs the attribute {START}, the last one {END}",
            file=sys.stderr,
        )


app.command()(serve)


@app.command()
def demo() -> None:
    """Train on the corpus that comes with dualstruct, and tag and parse new sentences."""
    from dualstruct.demo import run_demo

    run_demo()


app.command()(cli_experiments.experiment)
app.command()(cli_experiments.datasets)


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(text)


def _signed(weight: float) -> Any:
    from rich.text import Text

    return Text(f"{weight:+.3f}", style="green" if weight > 0 else "red")


def _read(path: str, label_column: int, columns: str | None) -> ColumnFile:
    from dualstruct.files.columns import read_columns

    chosen = _column_numbers(columns)
    try:
        data = read_columns(path, label_column=label_column, columns=chosen)
    except InputError as error:
        if ".conllu" in path:
            raise InputError(_CONLLU.format(name=Path(path).name)) from error
        raise
    if chosen is None and data.tokens.n_columns == 9 and data.tokens[0][0][0] == "1":
        raise InputError(_CONLLU.format(name=data.name))
    return data


def _column_numbers(columns: str | None) -> list[int] | None:
    if columns is None:
        return None
    try:
        return [int(part) for part in columns.split(",")]
    except ValueError:
        raise InputError(f"--columns is {columns!r}; numbers such as 0,2 are wanted") from None


_CONLLU = (
    "{name}: this looks like CoNLL-U; --task parse and --task tag+parse learn its trees, and "
    "taggers take columns from a file without comments, for instance --columns 1 --label-column 3"
)


def _read_unlabelled(file: str, tagger: SequenceTagger) -> Any:
    """The tokens of a column file that may have a label column after the model's columns."""
    from dualstruct.files.columns import read_columns

    return _without_label(read_columns(file, label_column=None), tagger)


def _unlabelled_blocks(file: str, tagger: SequenceTagger) -> Iterator[Any]:
    """The same by blocks of sentences: what was read is labelled before the rest is read."""
    from dualstruct.files.blocks import read_blocks

    for block in read_blocks(file, label_column=None, block_bytes=1 << 20):
        yield _without_label(block, tagger)


def _without_label(data: ColumnFile, tagger: SequenceTagger) -> Any:
    wanted = tagger.n_columns_ or 1
    if data.tokens.n_columns not in (wanted, wanted + 1):
        raise InputError(
            f"{data.name}: the number of columns is {data.tokens.n_columns}; the model takes "
            f"{wanted}, with or without a label after them"
        )
    return data.tokens.columns(range(wanted))


def _read_lines(file: str) -> list[list[str]]:
    from dualstruct.files.opening import read_text

    return [line.split() for line in read_text(file).splitlines() if line.strip()]


def _probabilities(tagger: SequenceTagger, sentences: Any, outputs: Any) -> list[list[list[float]]]:
    """The marginal of each label that was put out."""
    import numpy as np

    found = []
    for marginals, labellings in zip(tagger.predict_marginals(sentences), outputs, strict=True):
        rows = []
        for _, labels in labellings:
            chosen = marginals[np.arange(len(labels)), tagger.class_indices(labels)]
            rows.append([round(float(p), 6) for p in chosen])
        found.append(rows)
    return found


@contextlib.contextmanager
def _located(data: ColumnFile) -> Iterator[None]:
    """Says where in the file an unseen label stands."""
    from dualstruct.estimators.labels import UnseenLabelError, UnseenLabelWarning

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except UnseenLabelError as error:
        found = error.found
        where = data.where(found.sentence, found.token)
        raise InputError(f"{where}: the label {found.label!r} was never seen in training") from None
    for warning in caught:
        message = str(warning.message)
        if isinstance(warning.message, UnseenLabelWarning):
            found = warning.message.found
            where = data.where(found.sentence, found.token)
            message = (
                f"{where}: the label {found.label!r} was never seen in training; "
                "such tokens count as mistakes"
            )
        print(f"dualstruct: {message}", file=sys.stderr)


def _check_outputs(written: list[Path | None], read: list[Any]) -> None:
    """A model that cannot be written, or would destroy data, must not cost a training run."""
    from dualstruct.files.arrays import check_target

    inputs = {Path(source).resolve() for source in read if source is not None}
    for path in written:
        if path is None:
            continue
        check_target(path)
        if path.resolve() in inputs and not path.suffix == ".dstruct":
            raise InputError(f"{path} is read by this command and cannot be written by it as well")


def _peak_memory_mb() -> float | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def _print_training(report: dict[str, Any], result: FitResult) -> None:
    split = report["seconds_split"]
    print(
        f"{report['sentences']:,} sentences, {report['tokens']:,} tokens, "
        f"{report['labels']:,} labels, "
        + (report.get("trees") or f"{report['features']:,} features ({report['templates']})")
    )
    if "workers" in report:
        print(f"{report['workers']} workers ({report['engine']}), {report['solver']}")
    print(result)
    print(
        ", ".join(f"{what} {seconds:.2f} s" for what, seconds in split.items())
        + (f", {report['peak_memory_mb']:.0f} MB" if report["peak_memory_mb"] else "")
    )
    print(f"model written to {report['model']}")


def _print_json(value: Any) -> None:
    _write([json.dumps(value, ensure_ascii=False)])


def _write(lines: list[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n" if lines else "")
    sys.stdout.flush()


def main() -> None:
    """Run the command line; a user's mistake is one sentence, never a traceback."""
    try:
        app()
    except DualstructError as error:
        print(f"dualstruct: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader, head for instance, has seen enough
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        print("dualstruct: interrupted", file=sys.stderr)
        sys.exit(130)
    except MemoryError:
        print("dualstruct: there is not enough memory for this", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
