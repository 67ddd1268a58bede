"""What the defaults' differences from the papers are worth: each solver beside itself as published.

    python benchmarks/published.py [--data FOLDER] [--corpus chunking] [--sentences N] [--seconds S]

One row of docs/differences.md for each row of the solvers' registry ``published`` whose settings
are not the default's. Solvers with a dual run to a gap of 1 % (or S CPU seconds), others 10 passes;
both sides in one process, one thread, in turn.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from dualstruct import Problem, Stopping, fit
from dualstruct.experiments.options import Options
from dualstruct.experiments.tasks import Task, load_task
from dualstruct.solvers import SOLVERS, Solver
from measuring import DATA

#: The weight of a loss that suits it on these corpora.
C_OF = {"hinge": 0.1, "squared_hinge": 0.1, "ramp": 0.1}


def measure(task: Task, solver: Solver, loss: str, seconds: float) -> str:
    """CPU seconds, how it ended and the score on test data."""
    problem = Problem(task.structure, loss, C_OF[loss])
    iterate = solver.start(problem, 0)
    gap = 0.01 if iterate.can_end and solver.convex else None
    passes = None if gap else 10
    started = time.process_time()

    def over(point: Any, iterate: Any) -> bool:
        return time.process_time() - started > seconds

    stopping = Stopping(gap=gap, passes=passes)
    result = fit(problem, solver, stopping, callbacks=[over])
    spent = time.process_time() - started
    certificate = problem.certify(result.w, result.dual)
    ending = f"P {certificate.primal:,.1f}"
    if certificate.gap is not None:
        ending += f", gap {100 * certificate.gap:.2f} %"
    return (
        f"{spent:.1f} s, {result.passes} passes, {ending}, {task.metric} "
        f"{100 * task.test(result.w):.2f} ({result.stopped_by})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--corpus", default="chunking")
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--only", help="Only this solver.")
    options = parser.parse_args()
    task = load_task(options.corpus, Options(data=options.data, sentences=options.sentences))
    print(task.sizes())
    for name, kind in SOLVERS.items():
        changed = {source: given for source, given in kind.published.items() if given}
        if not changed or (options.only and options.only != name):
            continue
        loss = next(each for each in kind.losses if each in C_OF)
        print(
            f"{name}, {loss}, default: {measure(task, kind(), loss, options.seconds)}", flush=True
        )
        for source, given in changed.items():
            text = measure(task, kind(**given), loss, options.seconds)
            print(f"{name}, {loss}, {source}: {text}", flush=True)


if __name__ == "__main__":
    main()
