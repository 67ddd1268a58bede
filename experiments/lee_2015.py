"""Lee et al. 2015, "Distributed Training of Structured SVM": Figure 1, a to d.

Their Penn Treebank is not free: the English Web Treebank stands in, parts of speech and trees
without relations. C = 0.1 weighs the squared hinge loss of one example, as ours. Features are
hashed, as there, so that the machines need not agree on numbers for them. The eight machines are
simulated by threads of one process that take turns, so that each computes as if it had a core to
itself (``simulating``). Between two sums the machine that is slowest counts, by the CPU clock of
its own thread, and the adding is divided among all. What a network would need is a model (10 GbE)
and stands in the table alone; what a machine needs to get its memory before the first round is not
counted. θ of BQO is the number of machines, as there. All local problems are solved by one pass of
DCD a round; the perceptrons mix their weights after every pass. Every strategy has the time that
BQO takes for its rounds. Not in the paper: BQO as dualstruct has it by default (θ of a weight
follows from how many machines move it, three rounds with inference a pass and rounds without), BQO
with this θ alone, and second-order trees, whose inference takes most of the time, as it does in the
paper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dualstruct import Problem
from dualstruct.distributed import ADMM, BQO, IterativeMixing, SimpleAverage, partition
from dualstruct.solvers import DCD, Perceptron, Solver
from dualstruct.structures import Subset
from dualstruct.training.loop import REBUILD_EVERY

from .chang_yih_2013 import best_score
from .curves import ENDLESS, STORE, Point, Run, lead, scored, seconds_to
from .options import Options
from .report import Line, Panel, Report, percent, signed
from .simulating import Stage, Worker, take_turns
from .simulating import seconds as time_of
from .tasks import Task, load_task

C = 0.1
MACHINES = 8
NETWORK = 10.0  #: Gbit/s


@dataclass(frozen=True)
class Setting:
    """A task, how much of it, and for how long."""

    kind: str
    most: int | None
    rounds: int
    order: int = 1


TASKS = {
    "EWT POS": Setting("POS", None, 25),
    "English trees": Setting("DP", None, 12),
    "English trees, order 2": Setting("DP", None, 12, 2),
}
QUICK = {"English POS": Setting("POS", None, 5), "English heads": Setting("DP", 200, 3)}
#: Features of parts of speech are hashed into so many bits; those of trees are hashed anyway.
HASH_BITS = 16
DEFAULT = "8, by default"


def run(options: Options, report: Report) -> None:
    settings = options.chosen(TASKS if options.data is not None else QUICK)
    compared, scaled, rows = [], [], []
    for name, setting in report.each(settings):
        task = load_task(name, options, setting.most, setting.order, hash_bits=HASH_BITS)
        weights = len(task.structure.new_weights().array)
        report.note(f"{task.sizes()}, {weights / 1e6:.1f} million weights")
        report.progress(task.sizes())
        inner = DCD() if setting.kind == "POS" else DCD(1)

        def simulated(
            label: str, loss: str, solver: Solver, machines: int, rounds: int,
            seconds: float | None = options.seconds, task: Task = task,
        ) -> Run:  # fmt: skip
            found = simulate(task, label, loss, solver, machines, rounds, seconds, options.seed)
            report.add(found)
            return found

        bqo = simulated(
            "BQO", "squared_hinge", by_the_paper(inner, MACHINES), MACHINES, setting.rounds
        )
        others = [
            simulated(label, loss, solver, MACHINES, ENDLESS, bqo.seconds)
            for label, loss, solver in (
                ("ADMM", "squared_hinge", ADMM(inner)),
                ("distributed perceptron", "perceptron", IterativeMixing(Perceptron())),
                ("simple average", "squared_hinge", SimpleAverage(inner)),
            )
        ]
        compare_strategies(report, task, bqo, *others)
        by_machines = [
            *(
                simulated(machines_label(k), "squared_hinge", by_the_paper(inner, k), k,
                          setting.rounds)
                for k in (1, 2, 4)
            ),
            replace(bqo, label=machines_label(MACHINES)),
            simulated(DEFAULT, "squared_hinge", BQO(inner), MACHINES, ENDLESS, bqo.seconds),
        ]  # fmt: skip
        theta = simulated(
            "8, θ alone by default", "squared_hinge", BQO(inner, rounds_per_pass=1, revisits=0),
            MACHINES, ENDLESS, bqo.seconds,
        )  # fmt: skip
        rows += compare_machines(report, task, setting, by_machines, others[-1], theta)
        compared.append(panel(task, [bqo, *others]))
        scaled.append(panel(task, by_machines))
    report.table(
        "Figure 1c and 1d in numbers: BQO to 99.5 % of the last score on one machine",
        ["task", "score", "", *(machines_label(k) for k in (1, 2, 4, 8)), DEFAULT],
        rows,
    )
    report.figure("figure1ab", "Figure 1a, 1b: eight simulated machines", compared)
    report.figure("figure1cd", "Figure 1c, 1d: BQO on 1, 2, 4 and 8 machines", scaled)


def by_the_paper(inner: Solver, machines: int) -> BQO:
    return BQO(inner, theta=float(machines), rounds_per_pass=1, revisits=0)


def machines_label(count: int) -> str:
    return "1 machine" if count == 1 else f"{count} machines"


def simulate(
    task: Task,
    label: str,
    loss: str,
    solver: Solver,
    machines: int,
    rounds: int,
    seconds: float | None,
    seed: int,
) -> Run:
    """Train on so many machines, with the time that the slowest needs in each round."""

    def train() -> Run:
        return _simulate(task, label, loss, solver, machines, rounds, seconds, seed)

    store = STORE.get()
    if store is None:
        return train()
    what = [task.name, task.structure.digest(), label, loss, repr(solver), machines, rounds,
            seconds, seed]  # fmt: skip
    return store.run(what, train)


def _simulate(
    task: Task,
    label: str,
    loss: str,
    solver: Solver,
    machines: int,
    rounds: int,
    seconds: float | None,
    seed: int,
) -> Run:
    shares = partition(len(task.structure), machines, seed)

    def work(machine: Worker) -> tuple[list[Stage], list[Point], list[int]]:
        own = Subset(task.structure, shares[machine.rank])
        points: list[Point] = []
        ends: list[int] = []  # how many stages there are after each round
        with machine.not_counted():
            iterate = solver.start(Problem(own, loss, C, communicator=machine), seed)
        first = len(machine.stages)
        for number in range(1, rounds + 1):
            solver.run_pass(iterate)
            if number % REBUILD_EVERY == 0:
                iterate.rebuild()
            with machine.not_counted():
                ends.append(len(machine.stages))
                w = iterate.answer()  # the average may take them all
                score = task.test(w) if machine.rank == 0 else None
                points.append(Point(number, 0.0, score, None, iterate.dual()))
                mine = sum(stage.work + stage.adding for stage in machine.stages[first:])
                over = seconds is not None and mine > seconds
                if machine.allreduce(np.array([float(over)]))[0]:
                    break
        return machine.stages, points, ends

    found = take_turns(machines, work)
    _, points, ends = found[0]
    timed: list[Point] = []
    taken = {"work": 0.0, "network": 0.0, "bytes": 0.0}
    for point, begin, end in zip(points, [1, *ends], ends, strict=False):
        of_round = time_of([stages[begin:end] for stages, _, _ in found], NETWORK)
        taken = {name: taken[name] + of_round[name] for name in taken}
        if timed and seconds is not None and taken["work"] > seconds:
            break
        timed.append(replace(point, seconds=taken["work"]))
    each = {name: taken[name] / len(timed) for name in ("network", "bytes")}
    return Run(label, task.name, repr(solver), loss, C, timed, kept=each)


def compare_strategies(report: Report, task: Task, bqo: Run, *others: Run) -> None:
    simple = others[-1]
    for other in others:
        report.compare(
            f"{task.name}: BQO above {other.label} at the end of the same time",
            bqo.score,
            other.score,
            why=f"in that time BQO made {len(bqo.points)} rounds and it {len(other.points)}",
        )
        times, by = lead(bqo, other)
        share = float((by >= 0).mean())
        report.relation(
            f"{task.name}: BQO ahead of {other.label} most of the time",
            share > 0.5,
            f"{100 * share:.0f} % of the time",
            f"a round of it takes {each_round(other):.3f} s, one of BQO {each_round(bqo):.3f} s, "
            f"of which the pass over its sentences takes {each_round(simple):.3f} s (a round of "
            f"the simple average); BQO is ahead for good {for_good(times, by)}, and by "
            f"{signed(float(np.median(by)))} at half of all times",
            share,
            kind="share",
            above=0.5,
        )
        pairs = list(zip(bqo.points, other.points, strict=False))
        ahead = sum((p.score or 0.0) >= (q.score or 0.0) for p, q in pairs) / len(pairs)
        report.relation(
            f"{task.name}: BQO ahead of {other.label} after most rounds",
            ahead > 0.5,
            f"{100 * ahead:.0f} % of the rounds",
            "with θ = 8 the first rounds are careful",
            ahead,
            kind="share",
            above=0.5,
        )


def compare_machines(
    report: Report, task: Task, setting: Setting, runs: list[Run], simple: Run, theta: Run
) -> list[list[str | float | None]]:
    """Rows of the table. ``theta`` is BQO as published, but with the θ of dualstruct's default."""
    target = 0.995 * runs[0].score
    times = [seconds_to(run, target) for run in runs]
    rounds = [passes_to(run, target) for run in runs]
    one, eight = runs[0], runs[3]
    faster = each_round(one) / each_round(eight)
    facts = (
        f"a round is {faster:.1f} times as fast, but one machine needs {rounds[0]} rounds and "
        f"eight need {rounds[3] or f'more than the {len(eight.points)} that they had'}"
    )
    claim = f"{task.name}: eight machines are "
    if setting.kind == "DP":
        report.quicker(
            claim + "nearly eight times as fast (half of that counts)",
            times[3], times[0], MACHINES / 2, why=facts,
        )  # fmt: skip
        report.relation(
            f"{task.name}: a round of eight machines is nearly eight times as fast as one's (half "
            "of that counts)",
            faster >= MACHINES / 2,
            f"{faster:.1f} times as fast",
            f"{each_round(one):.3f} s and {each_round(eight):.3f} s, of which the pass over the "
            f"sentences of the slowest machine takes {each_round(simple):.3f} s (a round of the "
            "simple average), and adding up and copying the weights the rest",
            faster,
            kind="ratio",
            above=MACHINES / 2,
        )
    else:
        ratio = 0.0 if times[0] is None or times[3] is None else times[0] / times[3]
        report.relation(
            claim + "not much faster (less than half of eight times)",
            ratio < MACHINES / 2,
            f"{ratio:.1f} times as fast as one",
            facts,
            ratio,
            kind="ratio",
            below=MACHINES / 2,
        )
    report.quicker(
        f"{task.name}: eight machines with BQO by default get there before BQO as published",
        times[4], times[3], limit=eight.seconds,
        why=f"in that time it made {len(runs[4].points)} rounds of {each_round(runs[4]):.3f} s, as "
        f"published {len(eight.points)} of {each_round(eight):.3f} s; the score to reach is "
        f"{percent(target)}, at best it had {best_score(runs[4])}, as published "
        f"{best_score(eight)}, and with θ alone by default and rounds as published "
        f"{best_score(theta)}, {there(seconds_to(theta, target))}",
    )  # fmt: skip
    return [
        [task.name, percent(target), "seconds", *times],
        ["", "", "rounds", *(None if k is None else str(k) for k in rounds)],
        ["", "", "seconds a round", *map(each_round, runs)],
        ["", "", "network a round, a model", *(run.kept.get("network", 0.0) for run in runs)],
    ]


def there(seconds: float | None) -> str:
    return "never there" if seconds is None else f"there after {seconds:.2f} s"


def for_good(times: NDArray[np.float64], by: NDArray[np.float64]) -> str:
    """From when on a run is ahead of another one."""
    behind = times[by < 0]
    last = float(behind[-1]) if len(behind) else 0.0
    return "at no time" if last >= times[-1] else f"after {last:.2f} s"


def each_round(run: Run) -> float:
    return run.seconds / len(run.points)


def passes_to(run: Run, score: float) -> int | None:
    """The first pass with a score; None if there was none."""
    return next((p.passes for p in run.points if p.score is not None and p.score >= score), None)


def panel(task: Task, runs: list[Run]) -> Panel:
    lines = [Line(run.label, *scored(run)) for run in runs]
    return Panel(task.name, "seconds of the slowest machine", f"test {task.metric}", lines, True)
