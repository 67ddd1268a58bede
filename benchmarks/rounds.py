"""DCD as published beside its default, which goes several rounds on excerpts: CPU seconds to a gap.

    python benchmarks/rounds.py [--data FOLDER] [--corpora NAME ...] [--runs 3] [--gap 0.01]

Chains with the default settings (squared hinge, C = 0.1), one thread. Both ways take turns.
Certificates, one after every pass from the fourth on, are not counted. Where the gap is not
reached within --passes, the row says where it ended.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dualstruct import Problem
from dualstruct.solvers import DCD
from dualstruct.structures import Chain
from measuring import DATA, Clock
from phases import CORPORA

WAYS = {"as published": DCD(rounds=1), "default": DCD()}
FIRST = 4  #: the first pass after which the gap is looked at


def train(chain: Chain, solver: DCD, gap: float, passes: int) -> tuple[int, float, float]:
    """Passes, CPU seconds and the gap at the end."""
    problem = Problem(chain, C=0.1)
    iterate, seconds, reached = solver.start(problem, 0), 0.0, float("inf")
    for number in range(1, passes + 1):
        clock = Clock()
        solver.run_pass(iterate)
        seconds += clock.lap()
        if number >= FIRST:
            iterate.rebuild()
            reached = problem.certify(iterate.w, iterate.dual()).gap
            if reached <= gap:
                break
    return number, seconds, reached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--passes", type=int, default=60)
    options = parser.parse_args()
    print("| corpus | way | passes | gap | CPU s | of as published |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in options.corpora:
        chain = CORPORA[name](options.data)
        seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(options.runs):
            ends = {}
            for way, solver in WAYS.items():
                passes, took, gap = train(chain, solver, options.gap, options.passes)
                seconds[way].append(took)
                ends[way] = f"{passes} | {100 * gap:.2f} %"
        before = min(seconds["as published"])
        for way, taken in seconds.items():
            span = f"{min(taken):.2f} to {max(taken):.2f}"
            print(f"| {name} | {way} | {ends[way]} | {span} | {min(taken) / before:.2f} |")


if __name__ == "__main__":
    main()
