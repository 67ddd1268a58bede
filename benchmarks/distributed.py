"""Training on several machines: passes, work, bytes, memory and time, and what 32 would do.

    python benchmarks/distributed.py [--data FOLDER] [--json FILE] [--plot FILE] [--only NAME …]
                                     [--sentences N] [--most PASSES]

convergence-*   Passes until the gap is 1 % and 0.1 %, for 1 to 32 workers simulated in one process,
                of BQO and ADMM; the simple average and iterative mixing (of MIRA) have no dual, and
                are judged by the primal of the same problem against the best dual of all runs.
                Features are hashed into few rows, so that 32 sets of weights fit into one machine.
                A worker's CPU time and the bytes that it gives to sums are counted.
machines-*      Time until the dual is within 1 % of the best one known, on 1 machine (DCD) and on
                --machines (BQO), whole corpora unless --sentences says less. Workers take turns
                on one core and have their own CPU clocks; bytes are counted, and 10 and 25 GbE
                are a model (experiments/simulating.py).
allreduce       The sum of 2^22 float32 on four Ray workers of this machine.
wall            One and two Ray workers train the parser to the same gap.
memory          What a worker holds: its share of the data and its cuts, and the weights.

By default some hundred sentences are taken, because 32 simulated machines share the cores of one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from dualstruct.drawing.style import COLOURS, SETTINGS, name_lines
from measuring import DATA, in_own_process

CORPORA = {
    "chunking": "conll2000/train.txt.xz",
    "parsing": "ud_english_ewt/train.conllu.xz",
}
WORKERS = (1, 2, 4, 8, 16, 32)
STRATEGIES = ("bqo", "admm", "simple-average", "iterative-mixing")
#: What docs/images/distributed.svg shows: these numbers of workers, from stored results.
SHOWN = (1, 4, 32)
STORED = Path(__file__).parent / "results" / "distributed.json"
C = {"chunking": 0.01, "parsing": 0.001}
#: The C of the runs on whole corpora.
MACHINES_C = {"jnlpba": 0.1, "trees": 0.001, "second-order": 0.001}
#: BQO's settings for fast inference: what several machines exchange costs more than a pass there.
FEW_ROUNDS = {"rounds_per_pass": 1, "revisits": 2}
SENTENCES = int(os.environ.get("DUALSTRUCT_SENTENCES", "0"))
MOST = int(os.environ.get("DUALSTRUCT_PASSES", "100"))
MACHINES = int(os.environ.get("DUALSTRUCT_MACHINES", "8"))


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

    def allreduce_sparse(self, vector: Any, dimension: int) -> Any:
        self.bytes += vector.nbytes
        return self._workers.allreduce_sparse(vector, dimension)

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


def whole_structure(data: Path, corpus: str, sentences: int) -> Any:
    """A corpus as a user would train on it."""
    from dualstruct import DCD, Problem, Stopping, fit, read_columns, read_conllu
    from dualstruct.features import make_extractor
    from dualstruct.labels.names import Labels
    from dualstruct.structures import Chain
    from dualstruct.tasks.parsing.learning import SHARPNESS, THRESHOLD
    from dualstruct.tasks.parsing.model import SecondOrder, TreeShape, make_tree, present_sources

    if corpus == "jnlpba":
        file = read_columns(data / "jnlpba/train.txt.xz")
        some = sentences or len(file)
        rows = make_extractor("ner").fit(file.tokens[:some])
        labels = Labels.learn(file.labels[:some])
        return Chain(rows, len(labels), labels.encode(file.labels[:some], rows.sentences))
    whole = read_conllu(data / CORPORA["parsing"])
    treebank = whole.select(range(sentences or len(whole)))
    labels = Labels.learn(treebank.relations)
    relations = labels.encode(treebank.relations, treebank.sentences)
    bits = min(len(treebank.heads).bit_length() + 4, 20)
    shape = TreeShape(True, True, bits, bits - 4, 0.5)
    sources = present_sources(treebank, {})
    tree = make_tree(treebank, sources, None, len(labels), shape, None, treebank.heads, relations)
    if corpus == "trees":
        return tree
    second = SecondOrder(True, bits - 2, 10, THRESHOLD, SHARPNESS)
    quick = fit(Problem(tree, C=MACHINES_C[corpus]), DCD(revisits=1), Stopping(passes=3)).w
    pruner = second.sharpened(tree, quick)
    return second.structure(tree, second.prune(tree, pruner, keep_truth=True))


def machines(data: Path, corpus: str) -> dict[str, Any]:
    from dualstruct import DCD, Problem
    from dualstruct.distributed import BQO, partition
    from dualstruct.experiments.simulating import seconds, take_turns
    from dualstruct.structures import Subset
    from dualstruct.training.loop import REBUILD_EVERY

    structure = whole_structure(data, corpus, SENTENCES)
    inner, C = DCD() if corpus == "jnlpba" else DCD(revisits=1), MACHINES_C[corpus]

    def run(workers: int, goal: float | None, **few: Any) -> dict[str, Any]:
        shares = partition(len(structure), workers)

        def work(worker: Any) -> Any:
            own = Subset(structure, shares[worker.rank])
            problem = Problem(own, "squared_hinge", C, communicator=worker)
            solver = BQO(inner, **few) if workers > 1 else inner
            iterate = solver.start(problem, 0)
            duals, ends = [], []
            gap = None
            for number in range(1, MOST + 1):
                solver.run_pass(iterate)
                if number % REBUILD_EVERY == 0:
                    iterate.rebuild()
                with worker.not_counted():
                    duals.append(iterate.dual())
                    if duals[-1] >= (goal or math.inf) or number == MOST:
                        gap = problem.certify(iterate.answer(), duals[-1]).gap
                ends.append(len(worker.stages))
                if goal is not None and duals[-1] >= goal:
                    break
            return duals, ends, worker.stages, gap

        found = take_turns(workers, work)
        duals, ends, _, gap = found[0]
        passes = []
        for dual, end in zip(duals, ends, strict=True):
            stages = [each[2][:end] for each in found]
            passes.append({"dual": dual, "10": seconds(stages, 10), "25": seconds(stages, 25)})
        return {"passes": passes, "gap": gap}

    one = run(1, None)
    optimum = one["passes"][-1]["dual"]
    print(f"  {corpus}: one machine is done", file=sys.stderr, flush=True)
    return {
        "sentences": len(structure),
        "weights": int(structure.core.dimension),
        "optimum": optimum,
        "machines": MACHINES,
        "one": one,
        "many": run(MACHINES, 0.99 * optimum),
        "few rounds": run(MACHINES, 0.99 * optimum, **FEW_ROUNDS),
    }


def report_machines(console: Any, corpus: str, found: dict[str, Any]) -> None:
    optimum = found["optimum"]
    console.print(
        f"{corpus}: {found['sentences']:,} sentences, {found['weights']:,} weights; until the dual "
        f"is within 1 % of {optimum:.6g}, the best of {len(found['one']['passes'])} passes"
    )

    def reached(run: dict[str, Any]) -> int | None:
        passes = enumerate(run["passes"], 1)
        return next((n for n, each in passes if each["dual"] >= 0.99 * optimum), None)

    times: dict[str, dict[str, float]] = {}
    for name in (each for each in ("one", "many", "few rounds") if each in found):
        number = reached(found[name])
        machines = 1 if name == "one" else found["machines"]
        print_name = f"{machines} machines" + (f" ({name})" if name == "few rounds" else "")
        if number is None:
            last = found[name]["passes"][-1]
            console.print(
                f"  {print_name}: {100 * last['dual'] / optimum:.1f} % of it after "
                f"{len(found[name]['passes'])} passes, {last['10']['work']:.1f} s of work"
            )
            continue
        at = found[name]["passes"][number - 1]
        times[name] = {speed: at[speed]["work"] + at[speed]["network"] for speed in ("10", "25")}
        console.print(
            f"  {print_name}: {number} passes, {at['10']['work']:.2f} s of work, "
            f"{at['10']['bytes'] / 1e6:,.0f} MB a worker, {at['10']['network']:.2f} s on 10 GbE, "
            f"{at['25']['network']:.2f} s on 25 GbE; gap {100 * found[name]['gap']:.0f} %"
        )
        if name != "one" and "one" in times:
            gains = [times["one"][speed] / times[name][speed] for speed in ("10", "25")]
            console.print(
                f"    {gains[0]:.2f} times as fast on 10 GbE, {gains[1]:.2f} times on 25 GbE"
            )


RUNS = {
    "convergence-chunking": (convergence, "chunking"),
    "convergence-parsing": (convergence, "parsing"),
    "machines-jnlpba": (machines, "jnlpba"),
    "machines-trees": (machines, "trees"),
    "machines-second-order": (machines, "second-order"),
    "allreduce": (allreduce, ""),
    "wall": (wall, "parsing"),
    "memory": (memory, "parsing"),
}


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
    for name, found in results.items():
        if name.startswith("machines-"):
            report_machines(console, name.removeprefix("machines-"), found)
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


def store(results: dict[str, Any], path: Path) -> None:
    """Keep what the picture needs: the distances from the optimum in the panels that it shows."""
    stored = json.loads(path.read_text()) if path.exists() else {}
    for corpus in CORPORA:
        if f"convergence-{corpus}" in results:
            found = results[f"convergence-{corpus}"]
            stored[corpus] = {
                f"{strategy} {workers}": [
                    float(f"{each / found['optimum'] - 1:.3g}")
                    for each in found["runs"][f"{strategy} {workers}"]["primal"]
                ]
                for workers in SHOWN
                for strategy in STRATEGIES
            }
    stored |= {name: found for name, found in results.items() if name.startswith("machines-")}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(stored, indent=1).replace("\n   ", " ").replace("\n  ]", "]") + "\n")


def plot(stored: dict[str, dict[str, list[float]]], path: Path) -> None:
    """Distance from the optimum by pass, one panel per corpus and number of workers."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    shown = {corpus: stored[corpus] for corpus in CORPORA}
    with pyplot.rc_context(SETTINGS):
        figure, axes = pyplot.subplots(
            len(shown), len(SHOWN), figsize=(11, 2.8 * len(shown)), squeeze=False, sharey="row",
            layout="constrained",
        )  # fmt: skip
        for row, (corpus, runs) in zip(axes, shown.items(), strict=True):
            row[0].set(yscale="log", ylim=(1e-4, 20), ylabel="primal above the optimum")
            for axis, workers in zip(row, SHOWN, strict=True):
                ends = []
                for strategy, colour in zip(STRATEGIES, COLOURS, strict=False):
                    distance = np.maximum(runs[f"{strategy} {workers}"], 1e-4)
                    axis.plot(range(1, len(distance) + 1), distance, color=colour)
                    ends.append((strategy, colour, len(distance), distance[-1]))
                axis.set_title(f"{corpus}, {workers} worker{'s' if workers > 1 else ''}")
                axis.set_xlabel("passes")
                name_lines(axis, ends, size=8)
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with conll2000 …")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument("--from-json", type=Path, help="report these figures, measure nothing")
    parser.add_argument(
        "--plot", type=Path, help="store the convergence, and draw it into this SVG"
    )
    parser.add_argument("--store", action="store_true", help=f"keep what is found in {STORED.name}")
    parser.add_argument("--sentences", type=int, help="number of sentences of each corpus")
    parser.add_argument("--most", type=int, help="passes of a simulated run")
    parser.add_argument("--machines", type=int, help="number of machines of the runs machines-*")
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
        if options.machines:
            os.environ["DUALSTRUCT_MACHINES"] = str(options.machines)
        results = {}
        for name in options.only:
            results[name] = in_own_process(__file__, name, options.data)
            if options.json:  # what is measured is kept, whatever comes after
                options.json.write_text(json.dumps(results))
    report(results)
    if options.plot or options.store:
        store(results, STORED)
    if options.plot:
        plot(json.loads(STORED.read_text()), options.plot)


if __name__ == "__main__":
    main()
