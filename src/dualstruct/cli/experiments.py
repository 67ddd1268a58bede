"""The commands ``dualstruct experiment`` and ``dualstruct datasets``: the papers' experiments, and
the corpora that they need."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from dualstruct.cli.options import Json
from dualstruct.cli.output import print_json, say, tell
from dualstruct.cli.parameters import Argument, Option
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.screen import Screen

Data = Annotated[
    Path | None,
    Option(
        help="The folder with the corpora.",
        metavar="FOLDER",
        environment="DUALSTRUCT_DATA",
    ),
]


def experiment(
    name: Annotated[
        str | None, Argument(help="The experiment; without a name, all are listed.")
    ] = None,
    data: Data = None,
    quick: Annotated[
        bool,
        Option(
            help="Run a small version; without --data, on the corpus that comes with dualstruct."
        ),
    ] = False,
    out: Annotated[
        Path, Option(metavar="FOLDER", help="The folder for tables, figures and JSON.")
    ] = Path("results"),
    seconds: Annotated[
        float | None, Option(min=0, help="The maximum number of CPU seconds per curve.")
    ] = None,
    sentences: Annotated[
        list[str] | None,
        Option(
            metavar="N|TASK=N",
            help="The maximum number of training sentences of every task, or of one. May be "
            "repeated.",
        ),
    ] = None,
    test_sentences: Annotated[
        int | None, Option(min=20, help="The maximum number of test sentences per task.")
    ] = None,
    task: Annotated[list[str] | None, Option(help="Run only this task. May be repeated.")] = None,
    seed: Annotated[int, Option(min=0, help="The random seed.")] = 0,
    repeats: Annotated[
        int | None,
        Option(
            min=1,
            help="Repeat the experiment with this many seeds and judge by the means; "
            "results that are already in --out are reused.",
            default="5; with --quick 1",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        Option(help="Write the results in --out to this page, without running anything."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Reproduce a paper's experiment: its tables, figures and claims.

    After an interruption, the same command resumes.
    """
    from importlib import import_module

    experiments = import_module("dualstruct.experiments")
    if page is not None:
        update = import_module("dualstruct.experiments.page").update
        names = experiments.EXPERIMENTS if name is None else [name]
        tell(f"{page}: written from the results of {', '.join(update(page, out, names))}")
        return
    if name is None and as_json:
        titles = {known: title for known, (_, title) in experiments.EXPERIMENTS.items()}
        print_json({"experiments": titles})
        return
    if name is None:
        for known, (_, title) in experiments.EXPERIMENTS.items():
            say(f"{known:18}{title}")
        return
    if name not in experiments.EXPERIMENTS:
        known = ", ".join(experiments.EXPERIMENTS)
        raise InputError(f"there is no experiment {name!r}; choose one of {known}")
    if seconds == float("inf"):
        raise InputError("--seconds is infinite; without a limit, leave it out")
    if data is None and not quick:
        raise InputError(
            f"{name} needs corpora: name their folder with --data (dualstruct datasets says how "
            "to get them), or see a small version with --quick"
        )
    if data is not None and not data.is_dir():
        raise InputError(f"{data} is not a folder; dualstruct datasets says how to get the corpora")
    most, most_of = experiments.read_limits(sentences or ())
    options = experiments.Options(
        data=data, quick=quick, sentences=most, sentences_of=most_of, seconds=seconds, seed=seed,
        tasks=tuple(task or ()), test_sentences=test_sentences,
    )  # fmt: skip
    runs = repeats or (1 if quick else experiments.FULL_REPEATS)
    report = experiments.run_experiment(name, options, runs, out)
    if as_json:
        print_json(report.for_json())
    else:
        report.show(Screen())
    written = report.write(out)
    tell(f"written: {', '.join(map(str, written))}")
    if report.figures and not any(path.suffix == ".png" for path in written):
        tell("no figures: pip install 'dualstruct[experiments]' for them")
    if report.interrupted:
        raise KeyboardInterrupt


def datasets(
    name: Annotated[str | None, Argument(help="A corpus; without a name, all are listed.")] = None,
    data: Data = None,
    download: Annotated[
        bool,
        Option(
            "--download", help="Download the corpus into the folder, if its licence allows this."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """List the corpora of the experiments and where to get them."""
    from dualstruct.datasets import corpora

    if name is not None and name not in corpora.CORPORA:
        raise InputError(f"there is no corpus {name!r}; choose one of {', '.join(corpora.CORPORA)}")
    names = list(corpora.CORPORA) if name is None else [name]
    if download:
        if name is None or data is None:
            raise InputError("a download needs the name of a corpus and a folder: --data FOLDER")
        for path in corpora.download(name, data):
            tell(f"{path} downloaded")
    if as_json:
        print_json({"corpora": {each: _facts(each, data) for each in names}})
        return
    for each in names:
        _describe(each, data)
    if data is None:
        say("\n--data FOLDER checks what is there; with --download it is fetched first.")


def _facts(name: str, data: Path | None) -> dict[str, Any]:
    """What there is to say of a corpus, for JSON."""
    from dualstruct.datasets import corpora

    corpus = corpora.CORPORA[name]
    found = None if data is None else corpora.check(name, data)
    parts: dict[str, dict[str, Any]] = {}
    for part, wanted in corpus.parts.items():
        parts[part] = {"sentences": wanted.sentences, "tokens": wanted.tokens}
        if found is not None:
            path = found[part].path
            parts[part] |= {"path": None if path is None else str(path), "same": found[part].same}
    return {
        "what": corpus.what,
        "licence": corpus.licence,
        "how": corpus.how,
        "downloadable": corpus.downloadable,
        "parts": parts,
    }


def _describe(name: str, data: Path | None) -> None:
    from dualstruct.datasets import corpora

    corpus = corpora.CORPORA[name]
    say(f"{name}: {corpus.what}")
    found = None if data is None else corpora.check(name, data)
    if found is None or any(part.path is None for part in found.values()):
        say(f"  licence: {corpus.licence}")
        say(f"  get it from: {corpus.how}")
        if corpus.downloadable:
            say(f"  or: dualstruct datasets {name} --download --data FOLDER")
    for part, wanted in corpus.parts.items():
        size = f"{plural(wanted.sentences, 'sentence')}, {plural(wanted.tokens, 'token')}"
        if found is None:
            say(f"  {name}/{part}{corpus.ending}: {size}")
            continue
        there = found[part]
        if there.path is None:
            say(f"  {part}: missing ({os.path.join(name, part + corpus.ending)}, {size})")
        elif there.same:
            say(f"  {part}: {size}, as it should be")
        elif (there.sentences, there.tokens) == (wanted.sentences, wanted.tokens):
            say(f"  {part}: {size}, but other words or labels: another release?")
        else:
            say(
                f"  {part}: {plural(there.sentences, 'sentence')}, "
                f"{plural(there.tokens, 'token')}, where {size} "
                "are expected"
            )
