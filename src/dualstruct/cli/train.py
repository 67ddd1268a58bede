"""The command ``dualstruct train``: its options are the settings of the estimators."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dualstruct.cli.files import check_outputs
from dualstruct.cli.options import (
    Columns,
    FileFormat,
    Json,
    LabelColumn,
    Misaligned,
    Overlapping,
    Reading,
    TokenizerOption,
)
from dualstruct.cli.output import print_json, say, tell
from dualstruct.cli.parameters import OPTIONS, Argument, Option
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.tasks.parsing.settings import PARSERS, ParserSettings
from dualstruct.tasks.tagging.settings import TAGGERS, TaggerSettings
from dualstruct.training.settings import Option as Setting
from dualstruct.training.settings import options_of

if TYPE_CHECKING:
    from dualstruct.compressing import Compression
    from dualstruct.training.results import FitResult

#: The settings of each task, and how it is called.
TASKS: dict[str, type] = {
    "tag": TaggerSettings,
    "parse": ParserSettings,
    "tag+parse": ParserSettings,
    "tokenize": TaggerSettings,
    "pipeline": ParserSettings,
}
#: Options beside the settings that are for some tasks only.
ONLY_FOR = {
    "out_of_core": ("tag",),
    "label_column": ("tag",),
    "columns": ("tag",),
    "folds": ("tag+parse", "pipeline"),
    "format": ("tag",),
    "misaligned": ("tag",),
    "overlapping": ("tag",),
    "tokenizer": ("tag",),
}


def flag_of(name: str, option: Setting) -> str:
    """What a setting is called on the command line."""
    return option.flag or f"--{name.replace('_', '-')}"


def with_settings(without: tuple[str, ...] = ()) -> Callable[[Any], Any]:
    """A command whose ``**settings`` are options, one for each setting of any task but some."""
    return partial(_with_settings, without)


def _with_settings(without: tuple[str, ...], command: Any) -> Any:
    found: dict[str, tuple[Setting, Any]] = {}
    for kind in TASKS.values():
        for name, known in options_of(kind).items():
            if name not in without:
                found.setdefault(name, known)
    signature = inspect.signature(command, eval_str=True)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    options = []
    for name, (option, default) in found.items():
        flag = flag_of(name, option)
        shown = option.default or _shown(default)
        declared = Option(
            f"{flag}/--no-{flag[2:]}" if option.type is bool else flag,
            help=option.help,
            default=shown,
            metavar=option.metavar or "",
            choices=option.choices,
            panel=option.panel or OPTIONS,
        )
        annotation: Any = Annotated[option.type | None, declared]
        options.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
            )
        )
    command.__signature__ = signature.replace(parameters=[*own, *options])
    command.__annotations__ = {each.name: each.annotation for each in [*own, *options]}
    return command


def _shown(default: Any) -> str:
    """A default in the help; what is off or left open needs no word."""
    if default is True:
        return "yes"
    return "" if default in (None, False) else str(default)


def given_settings(task: str, values: dict[str, Any]) -> dict[str, Any]:
    """The settings that were given, refused if they are of another task."""
    known = options_of(TASKS[task])
    given = {}
    for name, value in values.items():
        if value is None:
            continue
        if name not in known:
            other = next(other for other, kind in TASKS.items() if name in options_of(kind))
            option = options_of(TASKS[other])[name][0]
            flag = flag_of(name, option)
            if value is False:
                flag = f"--no-{flag[2:]}"
            raise InputError(f"{flag} is for --task {other}")
        option = known[name][0]
        try:
            given[name] = option.parse(value)
        except InputError as problem:
            if str(problem).startswith("'"):
                raise InputError(f"{flag_of(name, option)} is {problem}") from None
            raise
    return given


TrainFiles = Annotated[
    list[str],
    Argument(
        metavar="TRAIN",
        help="Texts with spans, column files, or CoNLL-U for trees (.gz and .xz "
        "as well); - is standard input.",
    ),
]
ModelToWrite = Annotated[Path, Option("--model", help="Where to write the model.")]
Task = Annotated[
    str,
    Option(
        metavar="tag|parse|tag+parse|tokenize|pipeline",
        help="tag: labels. parse: trees. tag+parse: tags and trees from words. "
        "tokenize: words and sentences in text. pipeline: all of these with "
        "lemmas and morphology, from raw text.",
    ),
]
Dev = Annotated[
    Path | None, Option(help="Development data: keep the weights with the best score on them.")
]
Start = Annotated[Path | None, Option("--start", help="Continue training from this model.")]
OutOfCore = Annotated[
    Path | None,
    Option(
        metavar="DIR",
        help="Store hashed features in this folder, for data larger than memory.",
        panel=TAGGERS,
    ),
]
Tune = Annotated[
    float | None,
    Option(
        metavar="SECONDS",
        help="First choose the settings that are not given, within this time "
        "(see dualstruct tune).",
    ),
]
Size = Annotated[
    str | None,
    Option(
        metavar="SIZE",
        help="Compress the model to at most this size, for example 1MB (see dualstruct compress).",
    ),
]
Folds = Annotated[
    int | None,
    Option(
        help="The number of folds with which tag+parse and pipeline tag their "
        "training sentences. Default: 5.",
        panel=PARSERS,
    ),
]


@with_settings()
def train(
    train: TrainFiles,
    model: ModelToWrite,
    task: Task = "tag",
    dev: Dev = None,
    start: Start = None,
    out_of_core: OutOfCore = None,
    label_column: LabelColumn = None,
    columns: Columns = None,
    folds: Folds = None,
    format: FileFormat = None,
    misaligned: Misaligned = None,
    overlapping: Overlapping = None,
    tokenizer: TokenizerOption = None,
    tune: Tune = None,
    size: Size = None,
    as_json: Json = False,
    **settings: Any,
) -> None:
    """Train a tagger on texts or columns, or a parser on trees.

    Texts: JSONL ({"text": ..., "spans": [{"start", "end", "label"}]}, also as written by Prodigy,
    doccano, LightTag and GLiNER), a BRAT folder, or a Label Studio export. Column files: one token
    per line, columns separated by tabs or spaces, the label last, a blank line between sentences.
    Trees: CoNLL-U or CoNLL-X. Ctrl-C stops training and saves the best model so far.
    """
    from dualstruct.cli.models import learner_of

    started, cpu_started = time.perf_counter(), time.process_time()
    special = {
        "out_of_core": out_of_core,
        "label_column": label_column,
        "columns": columns,
        "folds": folds,
        "format": format,
        "misaligned": misaligned,
        "overlapping": overlapping,
        "tokenizer": tokenizer,
    }
    task = task_of(task, train)
    _check_task(task, special)
    _check_files(train, model, dev, start, task, settings, divided=out_of_core is not None)
    _check_size(size, tune)
    if tune is not None:
        from dualstruct.cli.tune import train_tuned

        train_tuned(train, model, task, dev, start, tune, special, as_json, settings)
        return
    given = given_settings(task, settings) | {"verbose": sys.stderr.isatty()}
    report, result = learner_of(task)(train, dev, start, model, given, **special)
    if report is not None:  # otherwise another process of the job prints it
        read = Reading(label_column, columns, settings["threads"] or 1)
        small = None if size is None else _made_small(model, dev, read, size)
        _finish(report, result, started, cpu_started, small, as_json)


def task_of(task: str, files: list[str]) -> str:
    """The task as asked for; what a project of trees is for is a parser."""
    if task != "tag":
        return task
    from dualstruct.texts.treebanks import holds_trees

    trees = [file for file in files if holds_trees(file)]
    if trees and len(trees) < len(files):
        raise InputError(f"{trees[0]} is a project of trees: --task parse trains a parser on it")
    return "parse" if trees else task


def _check_task(task: str, special: dict[str, Any]) -> None:
    """Refuse an unknown task, and options that are for another one."""
    if task not in TASKS:
        raise InputError(
            f"--task is {task!r}; it must be tag, parse, tag+parse, tokenize or pipeline"
        )
    for name, value in special.items():
        if value is not None and task not in ONLY_FOR[name]:
            raise InputError(f"--{name.replace('_', '-')} is for --task {ONLY_FOR[name][0]}")


def _check_files(
    train: list[str],
    model: Path,
    dev: Path | None,
    start: Path | None,
    task: str,
    settings: dict[str, Any],
    divided: bool,
) -> None:
    """Refuse at once what would cost a training run; ``divided`` files may be patterns."""
    engine, workers, address = (settings[name] for name in ("engine", "workers", "address"))
    checkpoint, resume = settings["checkpoint"], settings["resume"]
    read = [*train, dev, start, *(settings[name] for name in ("features", "clusters", "cost"))]
    # Several workers write their checkpoints into a folder.
    check_outputs([model, checkpoint if engine is None else None], read)
    if resume and checkpoint is None:
        raise InputError("--resume needs --checkpoint, the file to resume from")
    if engine is not None or workers is not None or address is not None:
        from dualstruct.cli import workers as cli_workers

        solver = settings["solver"] or "auto"
        cli_workers.check(engine, workers, address, solver, settings["averaged"])
        cli_workers.check_files([dev] if divided else [*train, dev], checkpoint)
    if resume and engine != "mpi" and checkpoint is not None and not checkpoint.exists():
        tell(f"there is no {checkpoint} yet; starting from the beginning")


def _check_size(size: str | None, tune: float | None) -> None:
    """Before anything is trained."""
    if size is None:
        return
    from dualstruct.compressing import parse_size

    parse_size(size)
    if tune is not None:
        raise InputError("--tune writes an ordinary model: run dualstruct compress after it")


def _made_small(model: Path, dev: Path | None, read: Reading, size: str) -> Compression[Any]:
    """Compress the model that training wrote."""
    from dualstruct.cli.compress import compressed_file

    try:
        return compressed_file(model, model, None if dev is None else str(dev), read, size=size)
    except InputError as problem:
        raise InputError(f"{problem}; {model} holds the model as trained") from None


def _finish(
    report: dict[str, Any],
    result: FitResult,
    started: float,
    cpu_started: float,
    small: Compression[Any] | None,
    as_json: bool,
) -> None:
    """Say what training arrived at."""
    if small is not None:
        report["compressed"] = small.summary()
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
        if small is not None:
            say(small)


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
        f"{plural(report['sentences'], 'sentence')}, {plural(report['tokens'], 'token')}, "
        f"{plural(report['labels'], 'label')}, "
        + (
            report.get("trees")
            or f"{plural(report['features'], 'feature')} ({report['templates']})"
        )
    )
    for name, share in report.get("coverage", {}).items():
        say(f"{name}: {100 * share:.1f} % of the tokens")
    if "workers" in report:
        say(f"{plural(report['workers'], 'worker')} ({report['engine']}), {report['solver']}")
    say(result)
    say(
        "wall time: "
        + ", ".join(f"{what} {seconds:.2f} s" for what, seconds in split.items())
        + (f"; memory {report['peak_memory_mb']:.0f} MB" if report["peak_memory_mb"] else "")
    )
    say(f"model written to {report['model']}")
