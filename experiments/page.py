"""The page of the documentation, from stored results: nothing of a section is written by hand.

A section of the page lies between two lines, ``<!-- results of NAME -->`` and ``<!-- end -->``. It
is replaced by what ``NAME.json`` of the results says (the command, sizes, tables, figures and
relations) and by what the experiment's file says of its settings. Sections without results, and
what is around them, stay.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from dualstruct.data.writing import replace_file
from dualstruct.errors import InputError

from . import EXPERIMENTS
from .options import Options
from .repeats import read_report
from .report import draw, duration

BEGIN, END = "<!-- results of {} -->", "<!-- end -->"


def update(page: Path, results: Path, names: Iterable[str]) -> list[str]:
    """Replace the sections of the experiments that the folder has results of; which those were."""
    text = page.read_text()
    done = []
    for name in names:
        path = results / f"{name}.json"
        if not path.exists():
            continue
        record = json.loads(path.read_text())
        pattern = re.escape(BEGIN.format(name)) + ".*?" + re.escape(END)
        section = f"{BEGIN.format(name)}\n{write_section(record, page.parent)}\n{END}"
        found = re.search(pattern, text, flags=re.DOTALL)
        if found is None:
            raise InputError(f"{page} has no line {BEGIN.format(name)!r} for its results")
        text = text[: found.start()] + section + text[found.end() :]
        done.append(name)
    if not done:
        raise InputError(f"{results} has no results; run experiments with --out {results} first")
    replace_file(page, text.encode())
    return done


def write_section(record: dict[str, Any], folder: Path) -> str:
    """What the page says of an experiment; its figures go to images/experiments beside the page."""
    report = read_report(record, Options())
    images = folder / "images" / "experiments"
    images.mkdir(parents=True, exist_ok=True)
    for figure in report.figures:
        draw(figure, images / f"{report.name}-{figure.name}.svg")
    machine = record["machine"]
    spent = duration(sum(run.seconds for run in report.runs))
    return "\n".join(
        [
            "<!-- not run: needs the corpora -->",
            f"```sh\n{command_of(record)}\n```",
            "",
            f"{report.verdict()} {machine['cores']} cores "
            f"({machine['processor'] or machine['system']}), dualstruct "
            f"{record['versions']['dualstruct']}, {record['started'][:10]}; the curves are {spent} "
            "long in all, choosing settings and scoring not counted.",
            "",
            settings_of(report.name),
            "",
            report.section(f"images/experiments/{report.name}-").rstrip(),
        ]
    )


def settings_of(name: str) -> str:
    """What the file of an experiment says below its title."""
    module, _ = EXPERIMENTS[name]
    text = import_module(f".{module}", __package__).__doc__ or ""
    return text.partition("\n\n")[2].strip()


def command_of(record: dict[str, Any]) -> str:
    """The command that the results came of."""
    options = record["options"]
    words = ["dualstruct", "experiment", record["experiment"]]
    words += ["--data", "FOLDER"] if options["data"] else []
    words += ["--quick"] if options["quick"] else []
    for name in ("sentences", "test_sentences", "seconds"):
        given = options.get(name)
        words += [] if given is None else [f"--{name.replace('_', '-')}", f"{given:g}"]
    for task, most in options.get("sentences_of", {}).items():
        words += ["--sentences", shlex.quote(f"{task}={most}")]
    for task in options["tasks"]:
        words += ["--task", shlex.quote(task)]
    words += ["--repeats", str(record.get("repeats", 1))]
    return " ".join(words)
