"""CPU time and memory of a program that opens a model, and of opening alone.

    python benchmarks/opening.py [--model FILE] [--runs 12]

New processes in turn: Python alone, with numpy, with dualstruct and the model; each with one thread
of OpenBLAS, and with as many as numpy starts when nothing is said. Medians of CPU milliseconds
(of all threads) and the most memory. Then the same file opened again and again in one process, and
what that makes for 10 MB. Without --model: the chunking model of conll2000, default settings.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from dualstruct import SequenceTagger, load_model, read_columns
from measuring import DATA, best_of

#: What the programs do; {} stands for the model's file.
PROGRAMS = {
    "Python alone": "pass",
    "import numpy": "import numpy",
    "import dualstruct": "import dualstruct",
    "open the model": "import dualstruct; dualstruct.load_model({!r})",
}


#: What each says at its end: CPU seconds, and the most memory since it is this program (Linux).
SAY = """
import time
used = time.process_time()
import re
with open("/proc/self/status") as status:
    memory = re.search(r"VmHWM:\\s*(\\d+)", status.read())
print(used, memory[1])
"""


def measured(program: str, threads: str | None) -> tuple[float, float]:
    """CPU milliseconds and peak memory, in MB, of a new process."""
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    if threads is not None:
        environment["OPENBLAS_NUM_THREADS"] = threads
    command = [sys.executable, "-c", program + SAY]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    seconds, kilobytes = map(float, done.stdout.split())
    return 1000 * seconds, kilobytes / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", type=Path, help="a model file; otherwise one is trained")
    parser.add_argument("--runs", type=int, default=12)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = asked.model
        if path is None:
            path = Path(folder) / "chunks.dstruct"
            train = read_columns(DATA / "conll2000" / "train.txt.xz")
            SequenceTagger(features="chunking").fit(train.tokens, train.labels).save(path)
        report(path, asked.runs)


def report(path: Path, runs: int) -> None:
    size = path.stat().st_size / 1e6
    print(f"a model of {size:.2f} MB; {runs} runs each, {os.cpu_count()} cores\n")
    print("| program | CPU ms, one thread of OpenBLAS | CPU ms | memory, MB |")
    print("| --- | --- | --- | --- |")
    cases = [(name, threads) for name in PROGRAMS for threads in ("1", None)]
    found: dict[tuple[str, str | None], list[tuple[float, float]]] = {case: [] for case in cases}
    for _ in range(runs):
        for name, threads in cases:
            found[name, threads].append(measured(PROGRAMS[name].format(str(path)), threads))
    for name in PROGRAMS:
        one, all_threads = (
            statistics.median(t for t, _ in found[name, threads]) for threads in ("1", None)
        )
        memory = max(mb for _, mb in found[name, None])
        print(f"| {name} | {one:.0f} | {all_threads:.0f} | {memory:.0f} |")
    seconds, _ = best_of(20, lambda: load_model(path))
    print(f"\nopened again: {1000 * seconds:.1f} ms, {10_000 * seconds / size:.1f} ms for 10 MB")


if __name__ == "__main__":
    main()
