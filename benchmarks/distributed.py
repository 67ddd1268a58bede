"""Training on several machines: passes, work, bytes, memory and time, and what 32 would do.

    python benchmarks/distributed.py [--data FOLDER] [--json FILE] [--plot FILE] [--only NAME …]
                                     [--sentences N] [--most PASSES]

convergence-*   Passes until the gap is 1 % and 0.1 %, for 1 to 32 workers simulated in one process,
                of BQO and ADMM; the simple average and iterative mixing (of MIRA) have no dual, and
                are judged by the primal of the same problem against the best dual of all runs.
                Features are hashed into few rows, so that 32 sets of weights fit into one machine.
                A worker's CPU time and the bytes that it gives to sums are counted; from them
                follows what 32 machines on 10 GbE would take.
allreduce       The sum of 2^22 float32 on four Ray workers of this machine.
wall            One and two Ray workers train the parser to the same gap.
memory          What a worker holds: its share of the data and its cuts, and the weights.

By default some hundred sentences are taken, because 32 simulated machines share the cores of one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from measuring import DATA, in_own_process

CORPORA = {
    "chunking": "conll2000/train.txt.xz",
    "parsing": "ud_english_ewt/train.conllu.xz",
}
WORKERS = (1, 2, 4, 8, 16, 32)
STRATEGIES = ("bqo", "admm", "simple-average", "iterative-mixing")
C = {"chunking": 0.01, "parsing": 0.001}
#: How the whole corpora are trained: weights, and examples relative to those simulated.
FULL_WEIGHTS = {"chunking": 2**18 * 32, "parsing": 2**20 * 16 + 2**16 * 64}
TEN_GBE = 1.25e9  # bytes per second
LATENCY = 50e-6  # seconds a message
SENTENCES = int(os.environ.get("DUALSTRUCT_SENTENCES", "0"))
MOST = int(os.environ.get("DUALSTRUCT_PASSES", "100"))


def structure_of(data: Path, corpus: str, sentences: int) -> Any:
    """The first sentences of a corpus as a structure with few weights, and how many there are."""
    if corpus == "chunking":
        from dualstruct import read_columns
        from dualstruct.features import make_extractor
        from dualstruct.labels.names import Labels
        from dualstruct.structures import Chain

        file = read_columns(data / CORPORA[corpus])
        some = sentences or 300
        rows = make_extractor("chunking-small", hash_bits=12).fit(file.tokens[:some])
        labels = Labels.learn(file.labels[:some])
        truth = labels.encode(file.labels[:some], rows.sentences)
        return Chain(rows, len(labels), truth), len(file)
    from dualstruct import read_conllu
    from dualstruct.labels.names import Labels
    from dualstruct.tasks.parsing.model import TreeShape, make_tree, present_sources

    whole = read_conllu(data / CORPORA[corpus])
    treebank = whole.select(range(sentences or 80))
    labels = Labels.learn(treebank.relations)
    relations = labels.encode(treebank.relations, treebank.sentences)
    shape = TreeShape(True, True, 12, 8, 0.5)
    sources = present_sources(treebank, {})
    tree = make_tree(treebank, sources, None, len(labels), shape, None, treebank.heads, relations)
    return tree, len(whole)


class Counting:
    """A communicator that counts the bytes this worker gives to sums."""

    def __init__(self, workers: Any) -> None:
        self._workers = workers
        self.rank, self.size = workers.rank, workers.size
        self.bytes = 0

    @property
    def interrupted(self) -> bool:
        return self._workers.interrupted

    def allreduce(self, array: Any) -> Any:
        self.bytes += array.nbytes
        return self._workers.allreduce(array)

    def broadcast(self, array: Any, root: int = 0) -> Any:
        return self._workers.broadcast(array, root)

    def barrier(self) -> None:
        self._workers.barrier()


def simulate(structure: Any, corpus: str, strategy: str, workers: int, most: int) -> dict[str, Any]:
    """The primal after each pass, and what a pass costs a worker."""
    from dualstruct import DCD, MIRA, Problem
    from dualstruct.distributed import (
        ADMM,
        BQO,
        IterativeMixing,
        SimpleAverage,
        partition,
        run_local,
    )
    from dualstruct.structures import Subset

    inner = DCD(revisits=1) if corpus == "parsing" else DCD()
    solver = {
        "bqo": BQO(inner),
        "admm": ADMM(inner),
        "simple-average": SimpleAverage(inner),
        "iterative-mixing": IterativeMixing(MIRA()),
    }[strategy]
    shares = partition(len(structure), workers)

    def work(communicator: Any) -> dict[str, Any]:
        counting = Counting(communicator)
        own = Subset(structure, shares[communicator.rank])
        problem = Problem(own, "squared_hinge", C[corpus], communicator=counting)
        trained = problem
        if strategy == "iterative-mixing":
            trained = Problem(own, "hinge", C[corpus], communicator=counting)
        iterate = solver.start(trained, 0)
        if solver.averaged:
            iterate.start_averaging(solver.linear_average)
        primals, duals, gaps, cpu, sent = [], [], [], [], []
        for _ in range(most):
            before, bytes_before = time.thread_time(), counting.bytes
            solver.run_pass(iterate)
            cpu.append(time.thread_time() - before)
            sent.append(counting.bytes - bytes_before)
            primals.append(problem.primal(iterate.answer()))
            dual = iterate.dual()
            duals.append(dual)
            gaps.append(None if dual is None else (primals[-1] - dual) / primals[-1])
            if gaps[-1] is not None and gaps[-1] <= 0.001:
                break
        return {"primal": primals, "dual": duals, "gap": gaps, "cpu": cpu, "bytes": sent}

    found = run_local(workers, work)
    slowest = np.max([each["cpu"] for each in found], axis=0)
    return {
        "primal": found[0]["primal"],
        "dual": found[0]["dual"][-1],
        "duals": found[0]["dual"],
        "gap": found[0]["gap"],
        "cpu": float(np.median(slowest)),
        "bytes": int(statistics.median(found[0]["bytes"])),
    }


def convergence(data: Path, corpus: str) -> dict[str, Any]:
    structure, whole = structure_of(data, corpus, SENTENCES)
    runs: dict[str, Any] = {}
    for strategy in STRATEGIES:
        for workers in WORKERS:
            print(f"  {corpus}: {strategy} on {workers} …", file=sys.stderr, flush=True)
            # Without a dual they soon stand still.
            most = {"bqo": MOST, "admm": MOST // 2}.get(strategy, MOST // 8)
            runs[f"{strategy} {workers}"] = simulate(structure, corpus, strategy, workers, most)
    return {
        "sentences": len(structure),
        "whole": whole,
        "weights": int(structure.core.dimension),
        # The best bound that any run proved, and what it may lack.
        "optimum": max(run["dual"] for run in runs.values() if run["dual"] is not None),
        "least_primal": min(min(run["primal"]) for run in runs.values()),
        "most": MOST,
        "runs": runs,
    }


def passes_to(run: dict[str, Any], optimum: float, share: float) -> int | None:
    """The first pass that is certified so close to the optimum, or without a dual has been."""
    if run["dual"] is not None:
        return next((n for n, gap in enumerate(run["gap"], 1) if gap <= share), None)
    for number, primal in enumerate(run["primal"], 1):
        if primal - optimum <= share * abs(optimum):
            return number
    return None


def passes_of_dual(run: dict[str, Any], optimum: float, share: float) -> int | None:
    """The first pass whose dual is so close to the optimum: it comes long before its proof."""
    for number, dual in enumerate(run["duals"], 1):
        if optimum - dual <= share * abs(optimum):
            return number
    return None


def allreduce(data: Path, corpus: str) -> dict[str, Any]:
    from dualstruct.distributed import run_ray

    def work(communicator: Any) -> list[float]:
        array = np.full(2**22, communicator.rank, dtype=np.float32)
        seconds = []
        for _ in range(7):
            communicator.barrier()
            started = time.perf_counter()
            communicator.allreduce(array)
            seconds.append(time.perf_counter() - started)
        return seconds

    found = np.max(run_ray(4, work), axis=0)
    return {"seconds": sorted(float(each) for each in found), "load": os.getloadavg()[0]}


def wall(data: Path, corpus: str) -> dict[str, Any]:
    """Two Ray workers against one, both to a gap of 10 %, each reading its share of the file."""
    import tempfile

    from dualstruct import DependencyParser, read_conllu, write_conllu

    whole = read_conllu(data / CORPORA["parsing"])
    some = whole.select(range(SENTENCES or len(whole)))
    found: dict[str, Any] = {"sentences": len(some)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.conllu"
        write_conllu(path, some)
        for workers in (1, 2):
            parser = DependencyParser(
                engine="ray", workers=workers, gap=0.1, passes=100, hash_bits=14
            )
            parser.fit(path)
            result = parser.result_
            found[str(workers)] = {
                "seconds": result.seconds,
                "cpu_seconds": result.cpu_seconds,
                "passes": result.passes,
                "gap": result.gap,
                "load": os.getloadavg()[0],
            }
    return found


def memory(data: Path, corpus: str) -> dict[str, Any]:
    """Peak memory of one worker's process that reads its share and trains, by number of workers."""
    import tempfile

    from dualstruct import read_conllu, write_conllu

    some = read_conllu(data / CORPORA["parsing"])
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.conllu"
        write_conllu(path, some)
        for workers in (1, 2, 4, 8):
            import subprocess

            command = [sys.executable, __file__, "--share", str(path), str(workers)]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            found[str(workers)] = json.loads(done.stdout)
    return found


def share_memory(path: Path, workers: int) -> dict[str, float]:
    """What the first of so many workers holds after a pass over its share, without the others."""
    from dualstruct import DCD, Problem
    from dualstruct.data import sources
    from dualstruct.labels.names import Labels
    from dualstruct.tasks.parsing.model import TreeShape, make_tree, present_sources

    def resident() -> float:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 2**20

    sources.agree = lambda workers, values: None  # there is nobody to ask
    empty = resident()
    treebank = sources.TreeFiles((path,)).share(sources._Place(0, workers), 0).X
    labels = Labels.learn(treebank.relations)
    relations = labels.encode(treebank.relations, treebank.sentences)
    shape = TreeShape(True, True, 18, 14, 0.5)
    sources = present_sources(treebank, {})
    tree = make_tree(treebank, sources, None, len(labels), shape, None, treebank.heads, relations)
    solver = DCD(revisits=1)
    iterate = solver.start(Problem(tree, "squared_hinge", 0.01), 0)
    solver.run_pass(iterate)
    weights = tree.core.dimension * 4 / 2**20
    held = resident() - empty
    return {"sentences": len(treebank), "held_mb": held, "weights_mb": weights}


RUNS = {
    "convergence-chunking": (convergence, "chunking"),
    "convergence-parsing": (convergence, "parsing"),
    "allreduce": (allreduce, ""),
    "wall": (wall, "parsing"),
    "memory": (memory, "parsing"),
}


def extrapolated(found: dict[str, Any], corpus: str, workers: int) -> tuple[float, float] | None:
    """Seconds of work and of sums until the dual is within 1 %, of the whole corpus."""
    run = found["runs"][f"bqo {workers}"]
    passes = passes_of_dual(run, found["optimum"], 0.01)
    if passes is None:
        return None
    # A pass costs a worker something for each of its sentences and something for each weight.
    measured = [found["runs"][f"bqo {k}"]["cpu"] for k in WORKERS]
    design = np.array([[1 / k, 1.0] for k in WORKERS])
    by_sentences, by_weights = np.linalg.lstsq(design, np.array(measured), rcond=None)[0]
    larger = FULL_WEIGHTS[corpus] / found["weights"]
    work = by_sentences / workers * found["whole"] / found["sentences"]
    work += max(by_weights, 0.0) * larger
    sums = 0.0
    if workers > 1:
        bytes_sent = 2 * run["bytes"] * larger * (workers - 1) / workers
        sums = bytes_sent / TEN_GBE + 4 * workers * LATENCY
    return passes * work, passes * sums


def report(results: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=110)
    for corpus in CORPORA:
        found = results.get(f"convergence-{corpus}")
        if found is None:
            continue
        console.print(
            f"{corpus}: {found['sentences']} sentences, {found['weights']:,} weights; passes to "
            f"1 % / 0.1 %, at most {found['most']}; the optimum is known to "
            f"{100 * (found['least_primal'] / found['optimum'] - 1):.2g} %"
        )
        table = Table("workers", *(str(k) for k in WORKERS), box=None)
        for strategy in STRATEGIES:
            cells = []
            for workers in WORKERS:
                run = found["runs"][f"{strategy} {workers}"]
                wanted = [passes_to(run, found["optimum"], share) for share in (0.01, 0.001)]
                best = min(run["primal"]) / found["optimum"] - 1
                reached = " / ".join("–" if n is None else str(n) for n in wanted)
                cells.append(reached if wanted[0] else f"– ({100 * best:.0f} %)")
            table.add_row(strategy, *cells)
        bqo = [found["runs"][f"bqo {k}"] for k in WORKERS]
        near = [[passes_of_dual(run, found["optimum"], s) for s in (0.01, 0.001)] for run in bqo]
        table.add_row(
            "bqo, its dual",
            *(" / ".join("–" if n is None else str(n) for n in pair) for pair in near),
        )
        table.add_row("CPU ms per pass and worker", *(f"{1000 * run['cpu']:.0f}" for run in bqo))
        table.add_row("KB a pass and rank", *(f"{run['bytes'] / 1000:,.0f}" for run in bqo))
        console.print(table)
        table = Table("whole corpus, dual within 1 %, 10 GbE", *(str(k) for k in WORKERS), box=None)
        times = [extrapolated(found, corpus, k) for k in WORKERS]
        for name, part in (("seconds of work", 0), ("seconds of sums", 1)):
            table.add_row(name, *("–" if each is None else f"{each[part]:.1f}" for each in times))
        known = [each for each in times if each is not None]
        console.print(table)
        if known:
            best = min(range(len(times)), key=lambda k: sum(times[k]) if times[k] else np.inf)
            console.print(f"the quickest is {WORKERS[best]} machines\n")
    if "allreduce" in results:
        found = results["allreduce"]
        console.print(
            f"allreduce of 2^22 float32 on 4 Ray workers: best {found['seconds'][0]:.3f} s, median "
            f"{statistics.median(found['seconds']):.3f} s (load {found['load']:.1f})"
        )
    if "wall" in results:
        found = results["wall"]
        for workers in ("1", "2"):
            run = found[workers]
            console.print(
                f"{workers} Ray workers, parser on {found['sentences']} sentences to 10 %: "
                f"{run['passes']} passes, {run['seconds']:.1f} s, CPU {run['cpu_seconds']:.1f} s a "
                f"worker (load {run['load']:.1f})"
            )
        ratio = [found["2"][name] / found["1"][name] for name in ("seconds", "cpu_seconds")]
        console.print(f"two against one: {ratio[0]:.2f} of the time, {ratio[1]:.2f} of the CPU")
    if "memory" in results:
        table = Table("workers", *results["memory"], box=None)
        for name in ("sentences", "held_mb", "weights_mb"):
            table.add_row(name, *(f"{each[name]:,.0f}" for each in results["memory"].values()))
        console.print(table)


def plot(results: dict[str, Any], path: Path) -> None:
    """Distance from the optimum by pass, one panel a corpus and number of workers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    corpora = [corpus for corpus in CORPORA if f"convergence-{corpus}" in results]
    shown = (1, 4, 32)
    figure, axes = pyplot.subplots(
        len(corpora), len(shown), figsize=(10, 3 * len(corpora)), squeeze=False, sharey="row"
    )
    for row, corpus in zip(axes, corpora, strict=True):
        found = results[f"convergence-{corpus}"]
        for axis, workers in zip(row, shown, strict=True):
            for strategy in STRATEGIES:
                primal = np.array(found["runs"][f"{strategy} {workers}"]["primal"])
                distance = np.maximum(primal / found["optimum"] - 1, 1e-4)
                axis.semilogy(range(1, len(primal) + 1), distance, label=strategy)
            axis.set_title(f"{corpus}, {workers} machine{'s' if workers > 1 else ''}")
            axis.set_xlabel("passes")
        row[0].set_ylabel("primal above the optimum")
    axes[0][0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with conll2000 …")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument("--from-json", type=Path, help="report these figures, measure nothing")
    parser.add_argument("--plot", type=Path, help="draw the convergence into this PNG")
    parser.add_argument("--sentences", type=int, help="so many of each corpus")
    parser.add_argument("--most", type=int, help="passes of a simulated run")
    parser.add_argument("--only", nargs="*", choices=RUNS, default=list(RUNS))
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    parser.add_argument("--share", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.share:
        print(json.dumps(share_memory(Path(options.share[0]), int(options.share[1]))))
        return
    if options.run:
        measure, corpus = RUNS[options.run]
        print(json.dumps(measure(options.data, corpus)))
        return
    if options.from_json:
        results = json.loads(options.from_json.read_text())
    else:
        if not (options.data / CORPORA["chunking"]).exists():
            sys.exit(f"no corpora in {options.data}: name a folder with --data or DUALSTRUCT_DATA")
        if options.sentences:
            os.environ["DUALSTRUCT_SENTENCES"] = str(options.sentences)
        if options.most:
            os.environ["DUALSTRUCT_PASSES"] = str(options.most)
        results = {}
        for name in options.only:
            results[name] = in_own_process(__file__, name, options.data)
            if options.json:  # what is measured is kept, whatever comes after
                options.json.write_text(json.dumps(results))
    report(results)
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
