"""The same experiment several times, each with another seed: how much is chance.

Every run's report is kept in a folder of its own, and is not made again as long as options and
version are the same: an experiment that was interrupted, or is to be repeated more often, continues
from there. A relation is then judged by the mean of all runs (times by their median).
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .curves import Point, Run
from .options import Options
from .report import Figure, Line, Panel, Relation, Report, Table, options_record, signed


def repeated(
    run: Callable[[Options], Report], name: str, options: Options, repeats: int, folder: Path
) -> Report:
    """So many runs, with the seeds from the given one on, as one report."""
    reports: list[Report] = []
    for seed in range(options.seed, options.seed + repeats):
        of_seed = replace(options, seed=seed)
        place = folder / f"seed-{seed}"
        report = earlier(place / f"{name}.json", of_seed)
        if report is None:
            report = run(of_seed)
            report.spent = report.cpu_seconds()
            report.write(place)
        reports.append(report)
        if report.interrupted:
            break
    return together(reports)


def earlier(path: Path, options: Options) -> Report | None:
    """The report of a complete run of this version with the same options, if there is one."""
    if not path.exists():
        return None
    record = json.loads(path.read_text())
    same = record["options"] == options_record(options) and record["versions"]["dualstruct"] == (
        version("dualstruct")
    )
    if record["interrupted"] or not same:
        return None
    report = Report(record["experiment"], record["title"], options, notes=record["notes"])
    report.spent = record["cpu_seconds"]
    report.tables = [Table(**table) for table in record["tables"]]
    report.figures = [_figure(figure) for figure in record["figures"]]
    report.relations = [
        Relation(**{**relation, "below": _or_infinite(relation["below"])})
        for relation in record["relations"]
    ]
    report.runs = [
        Run(**{**run, "points": [Point(**point) for point in run["points"]]})
        for run in record["runs"]
    ]
    return report


def _or_infinite(value: float | None) -> float:
    return math.inf if value is None else value  # JSON has no infinity


def _figure(record: dict[str, Any]) -> Figure:
    panels = [
        Panel(**{**panel, "lines": [Line(**line) for line in panel["lines"]]})
        for panel in record["panels"]
    ]
    return Figure(**{**record, "panels": panels})


def together(reports: Sequence[Report]) -> Report:
    """One report of several: means and spreads."""
    first = reports[0]
    if len(reports) == 1:
        return first
    seeds = ", ".join(str(report.options.seed) for report in reports)
    whole = Report(first.name, first.title, first.options)
    for report in reports:
        for note in report.notes:
            everywhere = all(note in other.notes for other in reports)
            text = note if everywhere else f"seed {report.options.seed}: {note}"
            if text not in whole.notes:
                whole.note(text)
    whole.note(
        f"{len(reports)} runs with the seeds {seeds}: numbers are means, ± is the standard "
        "deviation between runs, times are medians; figures are of the first run"
    )
    whole.tables = [
        replace(
            tables[0],
            rows=[
                [merged_cell(cells) for cells in zip(*rows, strict=True)]
                for rows in zip(*(table.rows for table in tables), strict=True)
            ],
        )
        for tables in zip(*(report.tables for report in reports), strict=False)
    ]
    whole.figures = first.figures
    whole.relations = [
        merged_relation(relations)
        for relations in zip(*(report.relations for report in reports), strict=False)
    ]
    whole.runs = [run for report in reports for run in report.runs]
    whole.spent = sum(report.cpu_seconds() for report in reports)
    whole.interrupted = any(report.interrupted for report in reports)
    return whole


def merged_cell(cells: Sequence[str]) -> str:
    """What stands in a table for several runs.

    >>> merged_cell(["93.10", "93.30"]), merged_cell(["0.1", "0.1"]), merged_cell(["a", "b"])
    ('93.20 ± 0.14', '0.1', 'a / b')
    """
    if len(set(cells)) == 1:
        return cells[0]
    try:
        numbers = [float(cell.replace(",", "")) for cell in cells]
    except ValueError:
        return " / ".join(dict.fromkeys(cells))
    digits = max(len(cell.partition(".")[2]) for cell in cells)
    mean, spread = statistics.mean(numbers), statistics.stdev(numbers)
    return f"{mean:.{digits}f} ± {spread:.{digits}f}"


def merged_relation(relations: Sequence[Relation]) -> Relation:
    """The claim judged by all runs."""
    first = relations[0]
    assert all(relation.claim == first.claim for relation in relations)
    held, count = sum(relation.holds for relation in relations), len(relations)
    values = [relation.value for relation in relations if relation.value is not None]
    if len(values) < count:  # no number: what most runs say
        value, holds = None, held > count / 2
        measured = "; ".join(dict.fromkeys(relation.measured for relation in relations))
    else:
        value = statistics.median(values) if first.kind == "ratio" else statistics.mean(values)
        holds = first.above <= value <= first.below and value != 0
        measured = _spread(first.kind, values)
    why = next((relation.why for relation in relations if relation.holds == holds), first.why)
    return replace(
        first, holds=holds, value=value, measured=f"{measured}; in {held} of {count} runs", why=why
    )


def _spread(kind: str, values: Sequence[float]) -> str:
    if kind == "ratio":
        middle = statistics.median(values)
        return f"{middle:.1f} times as fast ({min(values):.1f} to {max(values):.1f})"
    mean, spread = statistics.mean(values), statistics.stdev(values)
    if kind == "share":
        return f"{100 * mean:.0f} ± {100 * spread:.0f} % of the time"
    chance = abs(mean) < 2 * spread / math.sqrt(len(values))
    doubt = ", less than twice its standard error" if chance else ""
    return f"by {signed(mean)} ± {spread:.2f}{doubt}"
