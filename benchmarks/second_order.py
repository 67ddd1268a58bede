"""What sums over second-order trees cost: a pass of DCA with the CRF beside one with the hinge.

    python benchmarks/second_order.py [--data FOLDER] [--sentences N] [--passes P]

English trees are projective (exact sums by the chart), Danish ones are not (loopy belief
propagation, beside AD3 for the hinge). CPU seconds of one thread, the two losses in turn.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from dualstruct import Problem
from dualstruct.experiments.options import Options
from dualstruct.experiments.tasks import load_task
from dualstruct.solvers import DCA
from measuring import DATA


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--passes", type=int, default=3)
    options = parser.parse_args()
    for name in ("English trees", "Danish trees"):
        task = load_task(name, Options(data=options.data), options.sentences, order=2)
        print(task.sizes())
        solver = DCA()
        iterates = {
            loss: solver.start(Problem(task.structure, loss, 0.1), 0) for loss in ("hinge", "crf")
        }
        spent: dict[str, list[float]] = {loss: [] for loss in iterates}
        for _ in range(options.passes):
            for loss, iterate in iterates.items():
                started = time.process_time()
                solver.run_pass(iterate)
                spent[loss].append(time.process_time() - started)
        for loss, iterate in iterates.items():
            each = ", ".join(f"{seconds:.2f}" for seconds in spent[loss])
            clamped, score = iterate.memory["clamped"], 100 * task.test(iterate.w)
            print(f"  {loss:6} passes of {each} s; clamped {clamped}; UAS {score:.2f}")
        print(f"  ratio of the last passes {spent['crf'][-1] / spent['hinge'][-1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
