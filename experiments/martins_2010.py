"""Martins et al. 2010, "Aggressive Online Learning of Structured Classifiers": Table 1 and
Figures 3 and 4.

Their losses with β and γ are ours; C = 1/(λm) is ours, too. Their entities (CoNLL 2003) are not
free: WNUT-17 and JNLPBA stand in. Trees are those of the English Web Treebank and of the Danish
Dependency Treebank (theirs in a later release), without relations, scored without punctuation.
Each (β, γ) and C is trained once, by DCA, and C is chosen by the development score of that run; a
run on all training sentences with this C has the test score. SGD has the rate η/(1 + (t − 1)/m),
with η chosen on development data after one pass. Passes are theirs: 50 for entities, 10 for trees.
Not in the paper: DCA with the C that is best after one pass, since SGD's rate is chosen so.

The second-order trees of Figure 4 have siblings and grandparents. English ones are projective here,
so their sums are exact; Danish ones are not, and loopy belief propagation estimates them, as in the
paper. An estimated loss below 0 is taken for 0 and counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dualstruct.errors import InputError
from dualstruct.losses import Loss, SoftmaxMargin, find_loss
from dualstruct.solvers import DCA, LBFGS, SGD, Iterate

from .chang_yih_2013 import best_score
from .curves import Run, attempt, choose, learn, scored, trainer
from .options import Options
from .report import Line, Panel, Report, percent, shown
from .tasks import Task, load_task

INFINITE = float("inf")
PAIRS = ((1, 0), (1, 1), (1, 3), (1, 5), (3, 1), (5, 1), (INFINITE, 1))
#: Table 1: F1 of entities, UAS of English trees, in the order of PAIRS.
PUBLISHED = {
    "NER": (85.48, 85.54, 85.65, 85.72, 85.55, 85.48, 85.41),
    "parsing": (90.76, 90.95, 91.04, 91.01, 90.94, 90.91, 90.75),
}


@dataclass(frozen=True)
class Grid:
    """A task of Table 1."""

    kind: str
    most: int | None  #: training sentences
    passes: int
    Cs: tuple[float, ...]


ENTITY_CS, TREE_CS = (0.01, 0.1, 1.0, 10.0), (0.001, 0.01, 0.1, 1.0)
TASKS = {
    "wnut17": Grid("NER", None, 50, ENTITY_CS),
    "jnlpba": Grid("NER", None, 50, ENTITY_CS),
    "English trees": Grid("parsing", None, 10, TREE_CS),
}
QUICK = {
    "English entities": Grid("NER", None, 3, (0.1, 1.0)),
    "English heads": Grid("parsing", 100, 2, (0.01, 0.1)),
}
LANGUAGES, QUICK_LANGUAGES = ("English trees", "Danish trees"), ("English heads",)
PASSES_OF_TREES = 10
QUICK_TREES = 100  #: training sentences
RATES = tuple(10.0**e for e in range(-3, 3))
TREE_RATES = tuple(10.0**e for e in range(-3, 1))


def loss_of(beta: float, gamma: float) -> Loss:
    return find_loss("hinge") if beta == INFINITE else SoftmaxMargin(float(beta), float(gamma))


def run(options: Options, report: Report) -> None:
    grids = options.chosen(TASKS if options.data is not None else QUICK)
    columns = ["task", "", *(name_of(*pair) for pair in PAIRS)]
    rows: list[list[str]] = []
    best_C: dict[str, float] = {}
    tagged: Task | None = None
    for name, grid in report.each(grids):
        task = load_task(name, options, grid.most)
        if tagged is None and grid.kind == "NER":
            tagged = task
        report.note(task.sizes())
        report.progress(task.sizes())
        best = [best_of(options, report, task, grid, *pair) for pair in PAIRS]
        best_C[name] = best[0].C
        published = PUBLISHED[grid.kind]
        rows += [
            [f"{task.name} ({task.metric})", "C", *(f"{run.C:g}" for run in best)],
            ["", "development", *(percent(run.dev) for run in best)],
            ["", "test", *(percent(run.score) for run in best)],
            [f"{grid.kind} there", "test", *(f"{score:.2f}" for score in published)],
        ]
        compare_family(report, task, grid, best)
    report.table("Table 1: the family of losses, C chosen on development data", columns, rows)
    if tagged is not None:
        entities(options, report, tagged)
    names = LANGUAGES if options.data is not None else QUICK_LANGUAGES
    if names[0] in best_C:
        trees(options, report, names, best_C[names[0]])


def name_of(beta: float, gamma: float) -> str:
    inside = f"{'∞' if beta == INFINITE else f'{beta:g}'}, {gamma:g}"
    return inside + (" CRF" if (beta, gamma) == (1, 0) else " SVM" if beta == INFINITE else "")


def best_of(
    options: Options, report: Report, task: Task, grid: Grid, beta: float, gamma: float
) -> Run:
    """A run on all sentences with the C that was best on development data."""
    loss, label = loss_of(beta, gamma), f"DCA, {name_of(beta, gamma)}"
    common: dict[str, Any] = {"passes": grid.passes, "seconds": options.seconds,
                              "seed": options.seed}  # fmt: skip
    C, scores = choose(task, label, loss, grid.Cs, DCA(), **common)
    found = learn(task, label, loss, C, DCA(), every=1000, **common)
    report.add(found)
    return replace(found, dev=scores[C])


def compare_family(report: Report, task: Task, grid: Grid, best: list[Run]) -> None:
    crf, *middle, svm = best
    chosen = max(middle, key=lambda run: run.dev or 0.0)
    published = PUBLISHED[grid.kind]
    theirs = max(published[1:-1])
    highest = max(middle, key=lambda run: run.score)
    for end, label, value in ((crf, "CRF", published[0]), (svm, "SVM", published[-1])):
        report.compare(
            f"{task.name}: the middle of the family, chosen on development data, above the {label}",
            chosen.score,
            end.score,
            theirs - value,
            f"chosen was {chosen.label.removeprefix('DCA, ')}; on development data the difference "
            f"is {100 * ((chosen.dev or 0) - (end.dev or 0)):+.2f}, on test data the best of the "
            f"middle is {highest.label.removeprefix('DCA, ')} with {percent(highest.score)}, "
            f"{100 * (highest.score - end.score):+.2f}",
        )


def chosen_rate(
    options: Options, task: Task, loss: Loss, C: float, rates: tuple[float, ...]
) -> tuple[float, str]:
    """The η with the best development score after one pass; and the scores of all, in words."""
    scores = {}
    for eta0 in rates:
        solver = SGD("lecun", eta0)
        try:
            found = attempt(task, "SGD", loss, C, solver, passes=1, seed=options.seed)
            scores[eta0] = found.score
        except InputError:  # it diverges
            scores[eta0] = -1.0
    tried = ", ".join(f"{percent(max(s, 0.0))} with {eta0:g}" for eta0, s in scores.items())
    return max(scores, key=lambda eta0: (scores[eta0], -eta0)), tried


def entities(options: Options, report: Report, task: Task) -> None:
    """Figure 3: DCA, SGD and L-BFGS on the CRF."""
    loss = loss_of(1, 0)
    passes = options.passes(50)
    common: dict[str, Any] = {"seconds": options.seconds, "seed": options.seed}
    train = trainer(task, report.add, passes=passes, **common)

    def objective(iterate: Iterate) -> dict[str, float]:
        return {"primal": iterate.problem.primal(iterate.answer())}

    panels = []
    for C in (0.1, 1.0, 10.0):
        eta0, _ = chosen_rate(options, task, loss, C, RATES)
        dca, sgd, lbfgs = (
            train(label, loss, C, solver, dev=task.dev, keep=objective)
            for label, solver in (
                ("DCA", DCA()), ("SGD", SGD("lecun", eta0)), ("L-BFGS", LBFGS()),
            )
        )  # fmt: skip
        for other in (sgd, lbfgs):
            report.compare(
                f"{task.name}, C = {C:g}: DCA ends above {other.label}",
                dca.score,
                other.score,
                why="on development data the difference is "
                f"{100 * ((dca.dev or 0.0) - (other.dev or 0.0)):+.2f}"
                + (f", with η = {eta0:g} for SGD" if other is sgd else "")
                + f"; the objective ended at {shown(dca.kept.get('primal'))} for DCA and at "
                f"{shown(other.kept.get('primal'))} for {other.label}; on test data at best DCA "
                f"had {best_score(dca)} and {other.label} {best_score(other)}",
            )
        panels.append(by_pass(f"{task.name}, C = {C:g}", task, [dca, sgd, lbfgs]))
    report.figure("figure3", "Figure 3: the CRF by DCA, SGD and L-BFGS", panels)


def trees(options: Options, report: Report, names: tuple[str, ...], C: float) -> None:
    """Figure 4: DCA and SGD on trees, arc by arc and with pairs of arcs."""
    panels = []
    loss = loss_of(1, 0)
    for order in (1, 2):
        for name in names:
            limited = name if order == 1 or options.quick else f"{name}, order 2"
            task = load_task(limited, options, QUICK_TREES if options.quick else None, order)
            if order == 2 or name != names[0]:  # Table 1 has said the others
                report.note(task.sizes())
            report.progress(task.sizes())
            train = trainer(
                task, report.add, passes=options.passes(PASSES_OF_TREES, 2),
                seconds=options.seconds, seed=options.seed,
            )  # fmt: skip
            dca = train("DCA", loss, C, DCA(), keep=clamped_of)
            clamped = dca.kept.get("clamped", 0)
            met = len(task.structure) * len(dca.points)
            eta0, tried = chosen_rate(options, task, loss, C, TREE_RATES)
            sgd = train("SGD", loss, C, SGD("lecun", eta0))
            early = sorted({1, min(3, len(dca.points), len(sgd.points))})
            other_C = "" if order == 2 else for_one_pass(options, task, loss, sgd, early)
            title = f"{name}, {'arc by arc' if order == 1 else 'second order'}"
            panels.append(by_pass(title, task, [dca, sgd]))
            for passes in early:
                ours, theirs = (run.points[passes - 1].score or 0.0 for run in (dca, sgd))
                if order == 1:
                    report.compare(
                        f"{title}: DCA above SGD after pass {passes}",
                        ours,
                        theirs,
                        why=f"SGD had its rate ({eta0:g}) chosen by the score after one pass, and "
                        f"{len(TREE_RATES)} passes more to do so (on development data {tried}); "
                        f"{other_C}; at the end of {len(sgd.points)} passes the difference is "
                        f"{100 * (dca.score - sgd.score):+.2f}",
                    )
                elif passes > 1:
                    report.compare(
                        f"{title}: DCA behind SGD after pass {passes}",
                        theirs,
                        ours,
                        why="in the paper 15 % of the examples had no update, because loopy "
                        "belief propagation gave them a negative loss; here that happened to "
                        f"{clamped:,} of {met:,}",
                    )
    report.figure(
        "figure4",
        f"Figure 4: CRFs of trees by DCA and SGD at C = {C:g}",
        panels,
    )


def for_one_pass(options: Options, task: Task, loss: Loss, sgd: Run, early: list[int]) -> str:
    """DCA has no rate; what it has after the first passes if its C is chosen for one pass."""
    common: dict[str, Any] = {"seconds": options.seconds, "seed": options.seed}
    C, _ = choose(task, "DCA, one pass", loss, TREE_CS, DCA(), passes=1, **common)
    dca = learn(task, "DCA, C for one pass", loss, C, DCA(), passes=early[-1], **common)
    by = [
        f"{100 * ((dca.points[n - 1].score or 0.0) - (sgd.points[n - 1].score or 0.0)):+.2f} "
        f"after pass {n}"
        for n in early[: len(dca.points)]
    ]
    return f"with C = {C:g}, chosen by one pass of DCA, the difference is {' and '.join(by)}"


def clamped_of(iterate: Iterate) -> dict[str, int]:
    """How often an estimated loss was below 0."""
    return {"clamped": int(iterate.memory["clamped"])}


def by_pass(title: str, task: Task, runs: list[Run]) -> Panel:
    lines = [
        Line(run.label, [p.passes for p in run.points if p.score is not None], scored(run)[1])
        for run in runs
    ]
    return Panel(title, "passes", f"test {task.metric}", lines)
