"""The command ``dualstruct tune``: settings that are chosen on the training data."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dualstruct.cli.files import (
    check_outputs,
    column_numbers,
    places,
    read,
    read_corpus,
    text_format,
)
from dualstruct.cli.options import Columns, Json, LabelColumn, TextOptions
from dualstruct.cli.output import print_json, say, watching
from dualstruct.cli.parameters import Option
from dualstruct.cli.train import TrainFiles, flag_of, given_settings, task_of, with_settings
from dualstruct.errors import InputError
from dualstruct.training.settings import options_of

if TYPE_CHECKING:
    from dualstruct.estimators.base import Estimator

#: Seconds for choosing and training.
BUDGET = 60
#: Options of ``train`` that mean nothing where many short runs are compared.
NOT_TUNED = ("checkpoint", "resume", "engine", "workers", "address", "certify_every", "threads")


@with_settings(without=(*NOT_TUNED, "features"))
def tune(
    train: TrainFiles,
    task: Annotated[str, Option(metavar="tag|parse", help="tag: labels; parse: trees.")] = "tag",
    dev: Annotated[
        Path | None,
        Option(help="Development data for the comparison. Default: folds of the training data."),
    ] = None,
    budget: Annotated[
        float,
        Option(metavar="SECONDS", help="Wall time for the search and the final training together."),
    ] = BUDGET,
    trials: Annotated[
        int | None,
        Option(
            help="A number of runs instead of a time, so that every machine chooses "
            "the same settings.",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        Option(
            metavar="f1|accuracy|las|uas",
            help="The score to compare. Default: f1 for spans, accuracy for "
            "other labels, las for trees.",
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        Option(
            metavar="PRESET|FILE",
            help="auto, a preset or a template file. May be repeated: all are compared.",
        ),
    ] = None,
    model: Annotated[Path | None, Option("--model", help="Where to write the model.")] = None,
    plot: Annotated[
        Path | None,
        Option(metavar="FILE.svg", help="Draw the candidates to this SVG file."),
    ] = None,
    label_column: LabelColumn = None,
    columns: Columns = None,
    as_json: Json = False,
    **settings: Any,
) -> None:
    """Choose loss, C, passes and other settings, and train with them.

    Options that you give are not changed; the others are chosen. Ctrl-C ends the search and trains
    with the best settings so far.
    """
    task = task_of(task, train)
    if task not in _DATA:
        raise InputError(f"--task is {task!r}; tune supports tag and parse")
    if task != "tag" and features:
        raise InputError("--features is for --task tag")
    check_outputs([model, plot], [*train, dev, *(features or ())])
    from dualstruct.tuning import tune as search
    from dualstruct.tuning.budget import check_seconds

    check_seconds(budget, "--budget")
    given = given_settings(task, settings) | ({"features": features[0]} if features else {})
    started, cpu_started = time.perf_counter(), time.process_time()
    estimator, data, held_out = _DATA[task](train, dev, label_column, columns)
    estimator.set_params(**given)
    with watching("tuning") as watch:
        tuned = search(
            estimator,
            *data,
            dev=held_out,
            budget=None if trials is not None else budget,
            trials=trials,
            metric=metric,
            other_features=(features or [])[1:],
            fixed=given,
            watch=watch,
        )
    if model is not None:
        tuned.save(model)
    if plot is not None:
        from dualstruct.data.writing import replace_file

        replace_file(plot, tuned.candidates_.svg().encode())
    best = next(row for row in tuned.candidates_ if row.chosen)
    report = {
        "settings": tuned.settings_,
        "metric": tuned.candidates_.metric,
        "score": best.score,
        "certain": tuned.candidates_.certain,
        "candidates": tuned.candidates_.to_dicts(),
        "gap": tuned.result_.gap,
        "certified": tuned.result_.certified,
        "coverage": getattr(tuned, "coverage_", {}),
        "model": None if model is None else str(model),
        "wall_seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu_started,
    }
    if as_json:
        print_json(report)
        return
    terminal = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    say(tuned.candidates_.table(terminal))
    certain = tuned.candidates_.certain
    if certain > 0:
        say(
            "A candidate replaces the given settings only if it is ahead by "
            f"{certain:.1f} standard errors: with so many, a smaller lead is likely to be chance."
        )
    say()
    say(f"chosen: {best.name}")
    for name, share in report["coverage"].items():
        say(f"{name}: {100 * share:.1f} % of the tokens")
    say(f"trained: {tuned.result_}")
    say(f"the same again: {_command(train, task, given | tuned.settings_, model)}")
    say(f"wall time: {report['wall_seconds']:.1f} s, CPU {report['cpu_seconds']:.1f} s")
    if model is not None:
        say(f"model written to {model}")


def train_tuned(
    train: list[str],
    model: Path,
    task: str,
    dev: Path | None,
    start: Path | None,
    budget: float,
    special: dict[str, Any],
    as_json: bool,
    settings: dict[str, Any],
) -> None:
    """``train --tune``: the same with the options of ``train``."""
    from dualstruct.tuning.budget import check_seconds

    check_seconds(budget, "--tune")
    refused = {"start": start, **special, **{name: settings.pop(name) for name in NOT_TUNED}}
    columns, label_column = refused.pop("columns"), refused.pop("label_column")
    for name, value in refused.items():
        if value is not None:
            raise InputError(f"--tune does without --{name.replace('_', '-')}")
    features = settings.pop("features")
    tune(
        train,
        task=task,
        dev=dev,
        budget=budget,
        features=None if features is None else [features],
        model=model,
        label_column=label_column,
        columns=columns,
        as_json=as_json,
        **settings,
    )


def _labels(
    files: list[str], dev: Path | None, label_column: str | None, columns: str | None
) -> tuple[Estimator[Any], tuple[Any, ...], Any]:
    from dualstruct.data.sources import ColumnFiles, check_paths
    from dualstruct.estimators import SequenceTagger

    held_out = None if dev is None else read(str(dev), label_column, columns)
    judged = None if held_out is None else (held_out.tokens, held_out.labels)
    if len(files) == 1:
        data = read(files[0], label_column, columns)
        return SequenceTagger(), (data.tokens, data.labels), judged
    if (found := text_format(files[0], None, label_column)) is not None:
        corpus = read_corpus(files, found, label_column, TextOptions())
        return SequenceTagger(), (corpus.tokens, corpus.labels), judged
    place, columns = places(label_column, columns)
    chosen = column_numbers(columns)
    several = ColumnFiles(tuple(map(Path, files)), place, None if chosen is None else tuple(chosen))
    check_paths(several.paths)
    share = several.whole()
    return SequenceTagger(), (share.X, share.y), judged


def _trees(
    files: list[str], dev: Path | None, label_column: str | None, columns: str | None
) -> tuple[Estimator[Any], tuple[Any, ...], Any]:
    from dualstruct.cli.trees import read_all
    from dualstruct.estimators import DependencyParser
    from dualstruct.texts.treebanks import read_trees

    for name, value in (("label-column", label_column), ("columns", columns)):
        if value is not None:
            raise InputError(f"--{name} is for --task tag")
    judged = None if dev is None else read_trees(dev)
    return DependencyParser(), (read_all(files),), judged


_DATA: dict[str, Callable[..., tuple[Any, tuple[Any, ...], Any]]] = {
    "tag": _labels,
    "parse": _trees,
}


def _command(files: list[str], task: str, settings: dict[str, Any], model: Path | None) -> str:
    """How to train with these settings without choosing again."""
    from dualstruct.cli.train import TASKS
    from dualstruct.tuning.candidates import shown

    known = options_of(TASKS[task])
    parts = ["dualstruct", "train", *files, *([] if task == "tag" else ["--task", task])]
    for name, value in settings.items():
        option = known[name][0]
        flag = flag_of(name, option)
        if option.type is bool:
            parts.append(flag if value else f"--no-{flag[2:]}")
        else:
            parts += [flag, shown(value)]
    return shlex.join([*parts, "--model", str(model or "model.dstruct")])
