"""Lee et al. 2015, "Distributed Training of Structured SVM": Figure 1, a to d.

Their Penn Treebank is not free: the English Web Treebank stands in, parts of speech and trees
without relations. C = 0.1 weighs the squared hinge loss of one example, as ours. The eight machines
are simulated by threads of one process. A round takes as long as the machine that is slowest in it,
by the CPU seconds of its own thread; what a network would need to add up the weights is not
counted, only the adding. θ of BQO is the number of machines, as there. All local problems are
solved by one pass of DCD a round; the perceptrons mix their weights after every pass.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from dualstruct import Problem, Stopping
from dualstruct.distributed import ADMM, BQO, IterativeMixing, SimpleAverage, fit_local
from dualstruct.fit import TracePoint
from dualstruct.solvers import DCD, Iterate, Perceptron, Solver

from .curves import Point, Run, score_at, scored, seconds_to, share_ahead
from .options import Options
from .report import Line, Panel, Report, percent
from .tasks import Task, load_task

C = 0.1
MACHINES = 8


@dataclass(frozen=True)
class Setting:
    """A task, how much of it, and for how long."""

    kind: str
    most: int | None
    rounds: int


TASKS = {"EWT POS": Setting("POS", None, 25), "English trees": Setting("DP", 4000, 12)}
QUICK = {"English POS": Setting("POS", None, 5), "English heads": Setting("DP", 200, 3)}


def run(options: Options, report: Report) -> None:
    settings = TASKS if options.data is not None else QUICK
    compared, scaled = [], []
    rows = []
    for name, setting in settings.items():
        task = load_task(name, options, setting.most)
        report.note(task.sizes())
        report.progress(task.sizes())
        inner = DCD() if setting.kind == "POS" else DCD(1)
        learners: list[tuple[str, str, Solver]] = [
            ("BQO", "squared_hinge", BQO(inner, theta=float(MACHINES), rounds_per_pass=1)),
            ("ADMM", "squared_hinge", ADMM(inner)),
            ("distributed perceptron", "perceptron", IterativeMixing(Perceptron())),
            ("simple average", "squared_hinge", SimpleAverage(inner)),
        ]
        runs = []
        for label, loss, solver in learners:
            found = simulate(options, task, label, loss, solver, MACHINES, setting.rounds)
            report.add(found)
            runs.append(found)
        compare_strategies(report, task, *runs)
        by_machines = [
            simulate(options, task, machines_label(k), "squared_hinge",
                     BQO(inner, theta=float(k), rounds_per_pass=1), k,
                     setting.rounds)
            for k in (1, 2, 4)
        ] + [Run(**{**vars(runs[0]), "label": machines_label(MACHINES)})]  # fmt: skip
        for found in by_machines[:-1]:
            report.add(found)
        rows += compare_machines(report, task, setting, by_machines)
        compared.append(panel(task, runs))
        scaled.append(panel(task, by_machines))
    report.table(
        "Figure 1c and 1d in numbers: BQO to 99.5 % of the last score on one machine",
        ["task", "score", *(machines_label(k) for k in (1, 2, 4, 8))],
        rows,
    )
    report.figure("figure1ab", "Figure 1a, 1b: eight simulated machines", compared, 2)
    report.figure("figure1cd", "Figure 1c, 1d: BQO on 1, 2, 4 and 8 machines", scaled, 2)


def machines_label(count: int) -> str:
    return "1 machine" if count == 1 else f"{count} machines"


def simulate(
    options: Options, task: Task, label: str, loss: str, solver: Solver, machines: int, rounds: int
) -> Run:
    """Train on so many machines, with the time that the slowest needs in each round."""
    spent: dict[int, list[float]] = {rank: [] for rank in range(machines)}
    clocks: dict[int, float] = {}
    points: list[Point] = []
    problem = Problem(task.structure, loss, C)

    def watch(trace: TracePoint, iterate: Iterate) -> bool:
        # Every machine calls this, from its own thread; the average may take them all.
        rank = iterate.communicator.rank  # type: ignore[attr-defined]
        now = time.thread_time()
        spent[rank].append(now - clocks.get(rank, 0.0))
        w = iterate.answer()
        if rank == 0:
            points.append(Point(trace.passes, 0.0, task.test(w), None, trace.dual))
        clocks[rank] = time.thread_time()
        limit = options.seconds
        return limit is not None and sum(spent[rank]) > limit

    fit_local(
        problem, solver, Stopping(passes=rounds), workers=machines, seed=options.seed,
        callbacks=[watch],
    )  # fmt: skip
    total = 0.0
    timed = []
    for k, point in enumerate(points):
        total += max(of_rank[k] for of_rank in spent.values())
        timed.append(Point(point.passes, total, point.score, None, point.dual))
    return Run(label, task.name, repr(solver), loss, C, timed)


def compare_strategies(report: Report, task: Task, bqo: Run, *others: Run) -> None:
    for other in others:
        share = share_ahead(bqo, other)
        report.compare(f"{task.name}: {bqo.label} ends above {other.label}", bqo.score, other.score)
        report.relation(
            f"{task.name}: {bqo.label} ahead of {other.label} at most times",
            share > 0.5,
            f"at {100 * share:.0f} % of the points of its curve",
            f"a round of it takes {each_round(other):.2f} s, one of BQO {each_round(bqo):.2f} s; "
            f"BQO passes it after {overtakes(bqo, other)}",
        )


def compare_machines(
    report: Report, task: Task, setting: Setting, runs: list[Run]
) -> list[list[str | float | None]]:
    target = 0.995 * runs[0].score
    times = [seconds_to(run, target) for run in runs]
    claim = f"{task.name}: eight machines are "
    ratio = None if times[0] is None or times[-1] is None else times[0] / times[-1]
    measured = "not reached" if ratio is None else f"{ratio:.1f} times as fast as one"
    rounds = [passes_to(run, target) for run in (runs[0], runs[-1])]
    rounds_text = f"one machine needs {rounds[0] or 'more'} rounds, eight {rounds[1] or 'more'}"
    if setting.kind == "DP":
        report.relation(
            claim + "nearly eight times as fast (half of that counts)",
            ratio is not None and ratio >= MACHINES / 2,
            measured,
            f"a round gains less where each machine expects seven others to move: {rounds_text}",
        )
    else:
        report.relation(
            claim + "not much faster (less than half of eight times)",
            ratio is not None and ratio < MACHINES / 2,
            measured,
            f"the simulated network costs nothing; {rounds_text}",
        )
    return [[task.name, percent(target), *times]]


def overtakes(run: Run, other: Run) -> str:
    """From when on a run is ahead of another one for good."""
    behind = [
        p.seconds
        for p in other.points
        for mine in [score_at(run, p.seconds)]
        if p.score is not None and (mine is None or mine < p.score)
    ]
    last = max(behind, default=0.0)
    return "its end, if at all" if last >= other.seconds else f"{last:.2f} s"


def each_round(run: Run) -> float:
    return run.seconds / len(run.points)


def passes_to(run: Run, score: float) -> int | None:
    """The first pass with a score; None if there was none."""
    return next((p.passes for p in run.points if p.score is not None and p.score >= score), None)


def panel(task: Task, runs: list[Run]) -> Panel:
    lines = [Line(run.label, *scored(run)) for run in runs]
    return Panel(task.name, "seconds of the slowest machine", f"test {task.metric}", lines, True)
