"""The same experiment several times, each with another seed: how much is chance.

Every run's report is kept in a folder of its own, and is not made again as long as options and
version are the same: an experiment that was interrupted, or is to be repeated more often, continues
from there. A relation is judged by the mean of all runs (times by their median), with the bounds
that 95 % of 10,000 bootstrap draws of the runs stay within. Both sides of a relation are of the
same run, so runs are drawn in pairs. It is *confirmed* or *refuted* when all of that is on one side
of its limits, *not distinguishable* when it is not, and *not reached* when in most runs a learner
did not get where it should. Why it does not hold says the run that is nearest to the mean; where
runs differ too much to tell, how large a difference they would have shown is said as well.
"""

from __future__ import annotations

import json
import math
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .curves import read_run
from .options import Options
from .report import NOTHING, Figure, Line, Panel, Relation, Report, Table, options_record, signed

#: A number of a note; not one that is part of a name (wnut17, 2^12).
NUMBER = re.compile(r"(?<![\w^.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w^])")


def repeated(
    run: Callable[[Options, Path, tuple[int, int], float], Report],
    name: str,
    options: Options,
    repeats: int,
    folder: Path,
) -> Report:
    """So many runs, with the seeds from the given one on, as one report.

    ``run`` takes the options, the folder of the run, which of how many it is, and when the first
    of them began.
    """
    reports: list[Report] = []
    begun, made = time.time(), 0
    for number, seed in enumerate(range(options.seed, options.seed + repeats)):
        of_seed = replace(options, seed=seed)
        place = folder / f"seed-{seed}"
        report = earlier(place / f"{name}.json", of_seed)
        if report is None:
            report = run(of_seed, place, (made, repeats - number + made), begun)
            made += 1
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
    return None if record["interrupted"] or not same else read_report(record, options)


def read_report(record: dict[str, Any], options: Options) -> Report:
    """The report of which the record was written."""
    report = Report(record["experiment"], record["title"], options, notes=record["notes"])
    report.spent = record["cpu_seconds"]
    report.tables = [Table(**table) for table in record["tables"]]
    report.figures = [_figure(figure) for figure in record["figures"]]
    report.relations = [
        Relation(**{**relation, "below": _or_infinite(relation["below"])})
        for relation in record["relations"]
    ]
    report.runs = [read_run(run) for run in record["runs"]]
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
    for note in merged_notes([report.notes for report in reports]):
        whole.note(note)
    whole.note(
        f"{len(reports)} runs with the seeds {seeds}: numbers are means, ± is the standard "
        "deviation between runs, times are medians; bands of figures reach from the lowest run to "
        "the highest"
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
    whole.figures = [
        merged_figure(figures)
        for figures in zip(*(report.figures for report in reports), strict=False)
    ]
    whole.relations = [
        merged_relation(relations)
        for relations in zip(*(report.relations for report in reports), strict=False)
    ]
    whole.runs = [run for report in reports for run in report.runs]
    whole.repeats = len(reports)
    whole.spent = sum(report.cpu_seconds() for report in reports)
    whole.interrupted = any(report.interrupted for report in reports)
    return whole


def merged_notes(notes: Sequence[Sequence[str]]) -> list[str]:
    """The notes of several runs: those that differ in their numbers alone are one note.

    >>> merged_notes([["C = 0.1", "always"], ["C = 0.5", "always", "slow"]])
    ['C = 0.1 to 0.5', 'always', 'in 1 of 2 runs: slow']
    """
    alike: dict[tuple[str, int], list[str]] = {}
    for of_run in notes:
        met: Counter[str] = Counter()
        for note in of_run:
            form = NUMBER.sub("#", note)
            alike.setdefault((form, met[form]), []).append(note)
            met[form] += 1
    merged = []
    for same in alike.values():
        columns = zip(*(NUMBER.findall(note) for note in same), strict=True)
        numbers = iter([_from_to(column) for column in columns])
        text = NUMBER.sub(lambda _, numbers=numbers: next(numbers), same[0])  # type: ignore[misc]
        few = len(same) < len(notes)
        merged.append(f"in {len(same)} of {len(notes)} runs: {text}" if few else text)
    return merged


def _from_to(numbers: Sequence[str]) -> str:
    least, most = (limit(numbers, key=lambda n: float(n.replace(",", ""))) for limit in (min, max))
    return least if least == most else f"{least} to {most}"


def merged_cell(cells: Sequence[str]) -> str:
    """What stands in a table for several runs.

    >>> merged_cell(["93.10", "93.30"]), merged_cell(["0.1", "0.1"]), merged_cell(["a", "b"])
    ('93.20 ± 0.14', '0.1', 'a / b')
    >>> merged_cell(["1.5", "–", "1.7"])
    '1.6 ± 0.1 (in 2 of 3)'
    """
    if len(set(cells)) == 1:
        return cells[0]
    there = [cell for cell in cells if cell != NOTHING]
    few = f" (in {len(there)} of {len(cells)})" if len(there) < len(cells) else ""
    try:
        numbers = [float(cell.replace(",", "")) for cell in there]
    except ValueError:
        return " / ".join(dict.fromkeys(cells))
    digits = max(len(cell.partition(".")[2]) for cell in there)
    mean = f"{statistics.mean(numbers):.{digits}f}"
    spread = f" ± {statistics.stdev(numbers):.{digits}f}" if len(set(numbers)) > 1 else ""
    return mean + spread + few


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
    alike = [relation for relation in relations if relation.holds == holds] or [first]
    why = min(alike, key=lambda one: abs((one.value or 0.0) - (value or 0.0))).why
    verdict = verdict_of(relations)
    if verdict == "not distinguishable" and first.kind in ("difference", "share") and why:
        why += f"; {smallest_seen(values, first.kind)}"
    return replace(
        first, holds=holds, value=value, measured=f"{measured}; in {held} of {count} runs", why=why,
        verdict=verdict,
    )  # fmt: skip


def smallest_seen(values: Sequence[float], kind: str) -> str:
    """How large a difference has to be to be seen in runs that differ as these do.

    >>> smallest_seen([0.5, -0.4, 0.004, -0.1, 0.2], "difference")
    '5 runs that differ as these do show a difference of 0.27 or more'
    """
    low, high = bootstrap(np.array(values, dtype=float), median=False)
    least = (high - low) / 2
    text = f"{100 * least:.0f} %" if kind == "share" else signed(least).removeprefix("+")
    return f"{len(values)} runs that differ as these do show a difference of {text} or more"


def verdict_of(relations: Sequence[Relation]) -> str:
    """What the runs say of a claim, chance considered.

    >>> differences = [Relation("a", v > 0, "", "", v, "difference") for v in (0.3, 0.5, 0.4)]
    >>> verdict_of(differences)
    'confirmed'
    >>> verdict_of([*differences, Relation("a", False, "", "", -2.0, "difference")])
    'not distinguishable'
    """
    values = [relation.value for relation in relations]
    missing = sum(value is None or relation.measured == "not reached"
                  for value, relation in zip(values, relations, strict=True))  # fmt: skip
    if any(value is None for value in values):  # nothing to draw from: do all runs agree?
        held = sum(relation.holds for relation in relations)
        if 0 < held < len(relations):
            return "not distinguishable"
        return "confirmed" if held else "refuted"
    if missing > len(relations) / 2:
        return "not reached"
    low, high = bootstrap(np.array(values, dtype=float), relations[0].kind == "ratio")
    above, below = relations[0].above, relations[0].below
    if low >= above and high <= below and not low == high == 0:
        return "confirmed"
    return "refuted" if high < above or low > below or low == high == 0 else "not distinguishable"


def bootstrap(values: NDArray[np.float64], median: bool) -> tuple[float, float]:
    """Between what 95 % of the means (or medians) of draws from the runs are."""
    drawn = np.random.default_rng(0).choice(values, (10_000, len(values)))
    means = np.median(drawn, axis=1) if median else drawn.mean(axis=1)
    low, high = np.sort(means)[[250, 9749]]
    return float(low), float(high)


def merged_figure(figures: Sequence[Figure]) -> Figure:
    """Every line the mean of those of all runs, in a band from the lowest to the highest."""
    first = figures[0]
    panels = []
    for k, panel in enumerate(first.panels):
        of_runs = [figure.panels[k] for figure in figures if len(figure.panels) > k]
        lines = []
        for line in panel.lines:
            same = [each for other in of_runs for each in other.lines if each.label == line.label]
            lines.append(merged_line(same))
        panels.append(replace(panel, lines=lines))
    return replace(first, panels=panels)


def merged_line(lines: Sequence[Line]) -> Line:
    """The mean line, point by point; where runs have different numbers of them, where all have one.

    >>> merged_line([Line("a", [1, 2], [3, 4]), Line("a", [3, 4], [5, 6])]).x
    [2.0, 3.0]
    >>> merged_line([Line("a", [1, 2, 3], [3, 4, 5]), Line("a", [1, 2], [5, 6])]).y
    [4.0, 5.0]
    """
    first = lines[0]
    if any(len(line.x) == 0 for line in lines):
        return first
    if len({len(line.x) for line in lines}) == 1:
        x = np.mean([line.x for line in lines], axis=0).tolist()
        heights = np.array([line.y for line in lines])
    else:
        begin = max(min(line.x) for line in lines)
        end = min(max(line.x) for line in lines)
        x = [place for place in first.x if begin <= place <= end] or list(first.x)
        heights = np.array([np.interp(x, line.x, line.y) for line in lines])
    mean, low, high = heights.mean(axis=0), heights.min(axis=0), heights.max(axis=0)
    return replace(first, x=x, y=mean.tolist(), low=low.tolist(), high=high.tolist())


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
