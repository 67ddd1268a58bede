"""The command ``dualstruct train``."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualstruct.cli.files import check_outputs, column_numbers, located, read
from dualstruct.cli.options import Columns, Json, LabelColumn, Threads
from dualstruct.cli.output import print_json, say, tell
from dualstruct.errors import InputError

if TYPE_CHECKING:
    from dualstruct.training.loop import FitResult

#: Headings in the help of train.
TAGGERS = "Options of taggers"
PARSERS = "Options of parsers"
WORKERS = "Training on several workers"
#: For taggers; parsers have one of their own.
_DEFAULT_C = 0.1


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
        typer.Option(help="squared_hinge, hinge, crf, softmax_margin, ramp or perceptron."),
    ] = "squared_hinge",
    beta: Annotated[float | None, typer.Option(help="Sharpness of softmax_margin.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Weight of costs in softmax_margin.")] = None,
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
    seconds: Annotated[
        float | None, typer.Option(help="Stop after so many seconds (wall).")
    ] = None,
    patience: Annotated[
        int, typer.Option(help="Stop after so many passes without a better dev score.")
    ] = 5,
    certify_every: Annotated[
        int | None,
        typer.Option(help="Certify the gap after every so many passes, for a trace to plot."),
    ] = None,
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
    xpos: Annotated[
        bool, typer.Option(help="Let the parser look at XPOS tags.", rich_help_panel=PARSERS)
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
    from dualstruct.labels.costs import parse_class_weights, read_costs

    started, cpu_started = time.perf_counter(), time.process_time()
    # Several workers write their checkpoints into a folder.
    file = checkpoint if engine is None else None
    check_outputs([model, file], [*train, dev, features, start, clusters, cost])
    if resume and checkpoint is None:
        raise InputError("--resume needs --checkpoint, what to go on from")
    if engine is not None or workers is not None or address is not None:
        from dualstruct.cli import workers as cli_workers

        cli_workers.check(engine, workers, address, task, solver, averaged)
        cli_workers.check_files([*train, dev], checkpoint)
    if resume and engine != "mpi" and checkpoint is not None and not checkpoint.exists():
        tell(f"there is no {checkpoint} yet; starting anew")
    settings: dict[str, Any] = {
        "loss": loss,
        "beta": beta,
        "gamma": gamma,
        "solver": solver,
        "gap": gap,
        "passes": passes,
        "seconds": seconds,
        "patience": patience,
        "certify_every": certify_every,
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
        "--no-xpos": not xpos,
        "--no-morphology": not morphology,
        "--clusters": clusters is not None,
        "--bad-trees": bad_trees != "error",
    }
    if task in ("parse", "tag+parse"):
        from dualstruct.cli import trees as cli_trees

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
                "xpos": xpos,
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
        from dualstruct.cli import workers as cli_workers

        place = label_column, column_numbers(columns)
        sentences, tokens, reading = cli_workers.learn_columns(
            tagger, start is not None, train, dev, *place
        )
        if tagger.rank_ != 0:  # another process of the job writes and tells
            return
        split = {"read": reading}
    else:
        learn = tagger.fit if start is None else tagger.partial_fit
        dev_data = None if dev is None else read(str(dev), label_column, columns)
        judged = None if dev_data is None else (dev_data.tokens, dev_data.labels)
        if out_of_core is not None:
            chosen_columns = column_numbers(columns)
            with contextlib.nullcontext() if dev_data is None else located(dev_data):
                tagger.fit_large(
                    train[0], out_of_core, judged, label_column=label_column, columns=chosen_columns
                )
            split, (sentences, tokens) = {}, tagger.read_
        else:
            data = read(train[0], label_column, columns)
            split = {"read": time.perf_counter() - started}
            with located(dev_data or data):
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
        "certified": result.certified,
        "passes": result.passes,
        "best_pass": result.best_pass,
        "dev_score": result.dev_score,
        "dev_metric": result.dev_metric,
        "inference_calls": result.inference_calls,
        "cuts": result.cuts,
        "wall_seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu_started,
        "peak_memory_mb": _peak_memory_mb(),
        "stopped_by": result.stopped_by,
    }
    report["seconds"] = report["wall_seconds"]  # its name before
    if as_json:
        print_json(report)
    else:
        _print_training(report, result)


def _peak_memory_mb() -> float | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def _print_training(report: dict[str, Any], result: FitResult) -> None:
    split = report["seconds_split"]
    say(
        f"{report['sentences']:,} sentences, {report['tokens']:,} tokens, "
        f"{report['labels']:,} labels, "
        + (report.get("trees") or f"{report['features']:,} features ({report['templates']})")
    )
    if "workers" in report:
        say(f"{report['workers']} workers ({report['engine']}), {report['solver']}")
    say(result)
    say(
        "wall time: "
        + ", ".join(f"{what} {seconds:.2f} s" for what, seconds in split.items())
        + (f"; memory {report['peak_memory_mb']:.0f} MB" if report["peak_memory_mb"] else "")
    )
    say(f"model written to {report['model']}")
