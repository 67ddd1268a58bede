"""Balamurugan et al. 2011, "A Sequential Dual Method for Structural SVMs": Tables 2 to 4 and
Figures 1 to 4.

Of their five corpora three are free: CoNLL (chunking, 8,936 and 2,012 sentences), BioNLP (JNLPBA,
18,546 and 3,856) and BioCreative (BC2GM, the first 7,500 and 5,000); for their two of parts of
speech the English Web Treebank stands in. Their C weighs the hinge loss of one example, as ours.
The 1-slack cutting planes stop by the rule of their authors (0.1 an example) or at the time limit;
SDM gets half of that, and its own time is that to the dual objective that they had reached. SGD
trains a CRF for 50 passes with the defaults of the program that they used, in which C is 1;
choosing its first step size counts. Not in the paper: SGD with the loss and C of SDM, which tells
whether a score is one of the model or of the solver. Table 4 is Algorithm 3 as published, to its
own end: ψ_i ≤ τ = 0.25 of every example.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dualstruct.solvers import SDM, SGD, CuttingPlane, Iterate

from .curves import ENDLESS, GROWING, Point, Run, learn, scored, seconds_to, trainer
from .options import Options
from .report import Line, Panel, Report, percent
from .tasks import Task, load_task

#: Tasks: what they are called there, and the most sentences.
TASKS: dict[str, tuple[str, int | None]] = {
    "chunking": ("CoNLL", None),
    "jnlpba": ("BioNLP", None),
    "bc2gm": ("BioCreative", 7500),
    "EWT POS": ("WSJPOS", None),
}
QUICK: dict[str, tuple[str, int | None]] = {
    "English entities": ("BioNLP", None),
    "English POS": ("WSJPOS", None),
}
#: Table 2: seconds of SDM and of the cutting planes.
PUBLISHED_PLANES = {
    ("WSJPOS", 0.1): (285, 2771),
    ("WSJPOS", 1.0): (710, 4616),
    ("BioNLP", 0.1): (77, 696),
    ("BioNLP", 1.0): (188, 999),
    ("CoNLL", 0.1): (55, 1015),
    ("CoNLL", 1.0): (110, 1372),
    ("BioCreative", 0.1): (15, 51),
    ("BioCreative", 1.0): (43, 91),
}
#: Table 3: seconds of SDM and of SGD.
PUBLISHED_SGD = {"WSJPOS": (207, 7656), "BioNLP": (67, 700), "CoNLL": (65, 865),
                 "BioCreative": (31, 79)}  # fmt: skip
#: Table 4: sentences, and seconds at C = 0.1 and 1.
PUBLISHED_GROWTH = {450: (12, 14), 900: (18, 28), 1800: (32, 45), 3600: (53, 92), 7200: (77, 160)}
#: Figures 2 and 3 look at these at a third C.
MANY_C = ("BioNLP", "WSJPOS")
SGD_C = 1.0
TEN_TIMES = 10.0


def run(options: Options, report: Report) -> None:
    names = options.chosen(TASKS if options.data is not None else QUICK)
    limit = options.seconds_at_most(1.0 if options.quick else 1800.0)
    planes_rows, sgd_rows = [], []
    pairs: dict[tuple[str, float], tuple[Run, Run]] = {}
    sgd_panels, tasks = [], {}
    for name, (original, most) in report.each(names):
        task = tasks[original] = load_task(name, options, most)
        report.note(f"{task.sizes()}; {original} there")
        report.progress(task.sizes())
        train = trainer(task, report.add, seconds=limit, seed=options.seed)
        for C in (0.1, 1.0, 10.0) if original in MANY_C else (0.1, 1.0):
            plane = train("cutting planes", "hinge", C, CuttingPlane(epsilon=0.1), every=GROWING)
            sdm = train("SDM", "hinge", C, SDM(), seconds=plane.seconds / 2, every=GROWING)
            pairs[original, C] = (sdm, plane)
            planes_rows.append(against_planes(report, task, original, C, sdm, plane, limit))
        passes = options.passes(50, 20)
        sgd = train("SGD for CRFs", "crf", SGD_C, SGD(), passes=passes)
        sdm = train("SDM", "hinge", 0.1, SDM(), until=score_reaches(sgd.score))
        hinge = train("SGD, SDM's loss", "hinge", 0.1, SGD(), passes=passes, every=passes)
        larger = pairs[original, SGD_C][0]
        sgd_rows.append(against_sgd(report, task, original, sdm, sgd, hinge, larger))
        longer = pairs[original, 0.1][0]  # the same, but it goes on
        sgd_panels.append(score_panel(task.name, task.metric, [longer, sgd]))
    at_tenth = [
        plane.seconds / (seconds_to_dual(sdm, last_dual(plane)) or plane.seconds)
        for (_, C), (sdm, plane) in pairs.items()
        if C == 0.1
    ]
    tenfold = sum(ratio >= TEN_TIMES for ratio in at_tenth)
    theirs = [PUBLISHED_PLANES[name, C] for name, C in pairs if C == 0.1]
    published = ", ".join(f"{plane / sdm:.1f}" for sdm, plane in theirs)
    report.relation(
        "SDM an order of magnitude faster than the cutting planes on most corpora, C = 0.1",
        tenfold > len(at_tenth) / 2,
        f"{tenfold} of {len(at_tenth)}: {', '.join(f'{ratio:.0f} times' for ratio in at_tenth)}",
        f"the paper's own times on these corpora have the ratios {published}",
    )
    report.table(
        "Table 2: CPU seconds to the dual objective at which the cutting planes ended",
        ["task", "C", "SDM", "cutting planes", "ended by", "ratio", "published ratio"],
        planes_rows,
    )
    report.table(
        f"Table 3: CPU seconds to the last test score of SGD for CRFs ({passes} passes at most)",
        ["task", "score", "SDM", "SGD", "passes of SGD", "ratio", "published ratio"],
        sgd_rows,
    )
    if "WSJPOS" in tasks:
        growth(options, report, tasks["WSJPOS"], limit)
    figures(report, tasks, pairs, sgd_panels)


def last_dual(run: Run) -> float:
    return run.points[-1].dual or 0.0


def seconds_to_dual(run: Run, value: float) -> float | None:
    """When a run's dual objective first reached a value; None if never."""
    reached = (p.seconds for p in run.points if p.dual is not None and p.dual >= value)
    return next(reached, None)


def score_reaches(value: float) -> Callable[[Point, Iterate], bool]:
    return lambda point, iterate: point.score is not None and point.score >= value


def best_of(run: Run) -> float:
    return max(p.score for p in run.points if p.score is not None)


def against_planes(
    report: Report, task: Task, original: str, C: float, sdm: Run, plane: Run, limit: float
) -> list[str | float | None]:
    seconds = seconds_to_dual(sdm, last_dual(plane))
    theirs = PUBLISHED_PLANES.get((original, C))
    published = None if theirs is None else theirs[1] / theirs[0]
    claim = f"{task.name}, C = {C:g}: SDM at the cutting planes' last dual objective before them"
    text = "" if published is None else f" (published: {published:.1f} times)"
    reached = (sdm.points[-1].dual or 0.0) / (last_dual(plane) or 1.0)
    report.quicker(
        claim, seconds, plane.seconds, published=text,
        why=f"SDM had {sdm.seconds:.1f} s, made {sdm.points[-1].passes} passes and came to "
        f"{100 * reached:.1f} % of that objective; the cutting planes made "
        f"{plane.points[-1].passes} in {plane.seconds:.1f} s",
    )  # fmt: skip
    ended = "time" if plane.seconds >= limit else "their rule"
    ratio = None if seconds is None else plane.seconds / seconds
    return [
        f"{task.name} ({original})", C, seconds, plane.seconds, ended,
        None if ratio is None else f"{ratio:.1f}",
        None if published is None else f"{published:.1f}",
    ]  # fmt: skip


def against_sgd(
    report: Report, task: Task, original: str, sdm: Run, sgd: Run, hinge: Run, larger: Run
) -> list[str | float | None]:
    """A row of Table 3. ``hinge`` is SGD with SDM's loss and C, ``larger`` SDM with SGD's C."""
    seconds = seconds_to(sdm, sgd.score)
    first = seconds_to(sgd, sgd.score)
    theirs = PUBLISHED_SGD[original]
    published = theirs[1] / theirs[0]
    report.quicker(
        f"{task.name}: SDM at the last test score of SGD before SGD's end",
        seconds,
        sgd.seconds,
        published=f" at {percent(sgd.score)} (published: {published:.1f} times)",
        why=f"SDM came to {percent(best_of(sdm))} in {sdm.seconds:.1f} s, and with C = {SGD_C:g} "
        f"to {percent(best_of(larger))} in {larger.seconds:.1f} s. The two learn different models, "
        f"the hinge loss at C = 0.1 and a CRF at C = {SGD_C:g}: SGD with the loss and C of SDM "
        f"ends at {percent(hinge.score)}",
    )
    if seconds is not None and first is not None and first < sgd.seconds:
        report.note(
            f"{task.name}: SGD itself first had its last score after {first:.2f} s; the paper "
            "counts all passes"
        )
    ratio = None if seconds is None else f"{sgd.seconds / seconds:.1f}"
    return [
        f"{task.name} ({original})", percent(sgd.score), seconds, sgd.seconds,
        str(sgd.points[-1].passes), ratio,
        f"{published:.1f}",
    ]  # fmt: skip


def growth(options: Options, report: Report, task: Task, limit: float) -> None:
    """Table 4: τ-optimality on the first 1/16, 1/8 … of the sentences, with their own features.

    These runs end by themselves, so they get ten times as long as the others.
    """
    sizes = [len(task.structure) // share for share in (16, 8, 4, 2, 1)]
    runs: dict[float, list[Run]] = {0.1: [], 1.0: []}
    for n in sizes:
        part = load_task(task.name, options, n)
        for C, of_C in runs.items():
            found = learn(
                part, f"SDM, n = {n}", "hinge", C, SDM(as_published=True), seconds=10 * limit,
                seed=options.seed, every=ENDLESS,
            )  # fmt: skip
            report.add(found)
            of_C.append(found)

    def shown(run: Run) -> str:
        return f"{'> ' if run.seconds >= 10 * limit else ''}{run.seconds:.3g}"

    published = list(PUBLISHED_GROWTH.items())
    report.table(
        f"Table 4: CPU seconds of SDM to τ-optimality on {task.name}",
        ["sentences", "C = 0.1", "C = 1", "published: sentences", "C = 0.1", "C = 1"],
        [
            [f"{n:,}", shown(runs[0.1][k]), shown(runs[1.0][k]), f"{published[k][0]:,}",
             *map(float, published[k][1])]
            for k, n in enumerate(sizes)
        ],
    )  # fmt: skip
    for number, (C, of_C) in enumerate(runs.items()):
        ours = exponent(sizes, [run.seconds for run in of_C])
        theirs = exponent(list(PUBLISHED_GROWTH), [t[number] for t in PUBLISHED_GROWTH.values()])
        passes = [run.points[-1].passes for run in of_C]
        report.relation(
            f"{task.name}, C = {C:g}: the time grows at most in proportion to the sentences",
            ours <= 1.15,
            f"as n^{ours:.2f} (published: n^{theirs:.2f})",
            f"it took {passes[0]} passes of {sizes[0]:,} sentences and {passes[-1]} of "
            f"{sizes[-1]:,}",
        )


def exponent(sizes: list[int], times: list[float]) -> float:
    """b of the line through log t = a + b log n."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(times, 1e-6)), 1)[0])


def score_panel(title: str, metric: str, runs: list[Run]) -> Panel:
    lines = [Line(run.label, *scored(run)) for run in runs]
    return Panel(title, "CPU seconds", f"test {metric}", lines, log_x=True)


def dual_panel(title: str, runs: list[Run]) -> Panel:
    best = max(last_dual(run) for run in runs)
    lines = []
    for run in runs:
        below = [(p.seconds, 1 - p.dual / best) for p in run.points if p.dual is not None]
        kept = [(x, y) for x, y in below if y > 0 and math.isfinite(y)]
        lines.append(Line(run.label, [x for x, _ in kept], [y for _, y in kept]))
    title_y = "relative lack of dual"
    return Panel(title, "CPU seconds", title_y, lines, log_x=True, log_y=True)


def both_panels(task: Task, title: str, runs: list[Run]) -> tuple[Panel, Panel]:
    return dual_panel(title, runs), score_panel(title, task.metric, runs)


def figures(
    report: Report,
    tasks: dict[str, Task],
    pairs: dict[tuple[str, float], tuple[Run, Run]],
    sgd_panels: list[Panel],
) -> None:
    report.figure("figure1", "Figure 1: SDM and SGD for CRFs", sgd_panels)
    for number, original in ((2, "BioNLP"), (3, "WSJPOS")):
        if original not in tasks:
            continue
        task = tasks[original]
        chosen = [(C, list(runs)) for (name, C), runs in pairs.items() if name == original]
        report.figure(
            f"figure{number}",
            f"Figure {number}: SDM and cutting planes on {task.name} at three values of C",
            [
                panel
                for C, runs in chosen
                for panel in both_panels(task, f"{task.name}, C = {C:g}", runs)
            ],
        )
    chosen_tasks = [(tasks[name], list(runs)) for (name, C), runs in pairs.items() if C == 0.1]
    report.figure(
        "figure4",
        "Figure 4: SDM and cutting planes at C = 0.1",
        [panel for task, runs in chosen_tasks for panel in both_panels(task, task.name, runs)],
    )
