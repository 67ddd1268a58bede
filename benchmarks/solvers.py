"""Every solver on one problem: time to a certified gap, curves, and the ratios the papers claim.

    python benchmarks/solvers.py [--data FOLDER] [--out FOLDER] [--corpora NAME ...] [--C C ...]
        [--parts PART ...] [--seconds S] [--quick]

CPU seconds of training, one thread unless said otherwise; features are made before the clock
starts. Writes curves.json (primal, dual, gap, test score against seconds and inference calls);
benchmarks/curves.py draws them.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dualstruct import (
    DependencyParser,
    FitResult,
    Problem,
    SequenceTagger,
    Stopping,
    _core,
    fit,
    read_columns,
    read_conllu,
)
from dualstruct.features import make_extractor
from dualstruct.labels.names import Labels
from dualstruct.metrics import evaluate_ids
from dualstruct.solvers import (
    CPD,
    DCD,
    LBFGS,
    SDM,
    CuttingPlane,
    DCDLight,
    ExponentiatedGradient,
    FrankWolfe,
    Solver,
)
from dualstruct.structures import Chain
from measuring import DATA

PARTS = ("passes", "solvers", "planes", "threads")
CORPORA = {"conll2000": ("chunking-small", None), "jnlpba": ("ner", None), "bc2gm": ("ner", 7500)}


class Corpus:
    """Training and test part of a corpus as chains."""

    def __init__(self, folder: Path, name: str) -> None:
        preset, limit = CORPORA[name]
        train, test = (read_columns(folder / name / f"{part}.txt.xz") for part in ("train", "test"))
        extractor = make_extractor(preset)
        rows = extractor.fit(train.tokens[:limit])
        labels = Labels.learn(train.labels[:limit])
        self.name = name
        self.chain = Chain(rows, len(labels), labels.encode(train.labels[:limit], rows.sentences))
        self.test = Chain(extractor.transform(test.tokens), len(labels))
        self.truth, self.names = labels.encode_any(test.labels, self.test.sentences)

    def score(self, w: _core.Weights) -> float:
        predicted = self.test.decode_all(w)
        return evaluate_ids(self.truth, predicted, self.test.sentences, self.names).score


def run(
    corpus: Corpus,
    loss: str,
    C: float,
    solver: Solver,
    stopping: Stopping,
    *,
    threads: int = 1,
    limit: float = math.inf,
    until: Callable[[Any], bool] = lambda point: False,
) -> dict[str, Any]:
    """Train, `limit` CPU seconds at most; the clock stops while the test score is taken."""
    aside = 0.0
    curve: list[dict[str, Any]] = []
    started, wall_started = time.process_time(), time.perf_counter()
    wall_aside = 0.0

    def watch(point: Any, iterate: Any) -> bool:
        nonlocal aside, wall_aside
        begun, wall_begun = time.process_time(), time.perf_counter()
        curve.append(
            {
                "seconds": begun - started - aside,
                "primal": point.primal,
                "dual": point.dual,
                "gap": point.gap,
                "inference_calls": point.inference_calls,
                "score": corpus.score(iterate.answer()),
            }
        )
        aside += time.process_time() - begun
        wall_aside += time.perf_counter() - wall_begun
        return until(point) or curve[-1]["seconds"] > limit

    problem = Problem(corpus.chain, loss, C, threads=threads)
    result: FitResult = fit(problem, solver, stopping, callbacks=[watch])
    row = {
        "corpus": corpus.name,
        "loss": loss,
        "C": C,
        "solver": repr(solver),
        "threads": threads,
        "seconds": time.process_time() - started - aside,
        "wall": time.perf_counter() - wall_started - wall_aside,
        "passes": result.passes,
        "primal": result.primal,
        "dual": result.dual,
        "gap": result.gap,
        "stopped_by": result.stopped_by,
        "score": curve[-1]["score"],
        "curve": curve,
    }
    gap = "     –" if result.gap is None else f"{100 * result.gap:5.2f} %"
    print(
        f"{corpus.name:9} {loss:13} C={C:<4} {row['seconds']:8.2f} s {row['wall']:8.2f} s wall  "
        f"{result.passes:4} passes  gap {gap}  test {100 * row['score']:.2f}  {solver!r}",
        flush=True,
    )
    return row


def cutting_plane_ratios(corpus: Corpus, C: float, limit: float) -> list[dict[str, Any]]:
    """SDM to the dual objective at which the cutting plane method stops, by its own rule if it gets
    there within the limit."""
    endless = Stopping(passes=1_000_000)
    plane = run(corpus, "hinge", C, CuttingPlane(epsilon=0.1), endless, limit=limit)
    sdm = run(
        corpus, "hinge", C, SDM(), endless, limit=limit, until=lambda p: p.dual >= plane["dual"]
    )
    ended = "where it stops" if plane["stopped_by"] == "converged" else f"after {limit:.0f} s"
    print(
        f"  SDM to the dual of the cutting planes {ended}: {sdm['seconds']:.2f} s against "
        f"{plane['seconds']:.1f} s, 1/{plane['seconds'] / sdm['seconds']:.1f}"
    )
    return [plane, sdm]


def all_solvers(corpus: Corpus, C: float, limit: float) -> list[dict[str, Any]]:
    """Every certifying solver to a gap of 1 %."""
    return [
        run(corpus, loss, C, solver, Stopping(gap=0.01), limit=limit)
        for loss, solver in (
            ("squared_hinge", DCD()),
            ("squared_hinge", DCDLight()),
            ("squared_hinge", CPD()),
            ("hinge", SDM()),
            ("hinge", FrankWolfe()),
            ("crf", ExponentiatedGradient()),
            ("crf", LBFGS()),
        )
    ]


def passes(corpus: Corpus, C: float = 0.1) -> None:
    """What one pass costs: over held cuts, by rule; with inference, by kind."""

    def timed(call: Callable[[], Any], repeats: int = 5) -> float:
        begun = time.process_time()
        for _ in range(repeats):
            call()
        return (time.process_time() - begun) / repeats

    seconds = {}
    for loss, solver, rule in (
        ("squared_hinge", DCD(), _core.DCDRule(C)),
        ("hinge", SDM(), _core.SMORule(C, 0.15, 0.25)),
    ):
        iterate = solver.start(Problem(corpus.chain, loss, C), 0)
        for _ in range(12):
            solver.run_pass(iterate)
        seconds[loss] = timed(lambda iterate=iterate, rule=rule: iterate.revisit(rule))
    print(f"revisit: DCD {seconds['squared_hinge']:.4f} s, SDM {seconds['hinge']:.4f} s")
    w = corpus.chain.new_weights()
    viterbi = timed(lambda: corpus.chain.decode_all(w))
    target = corpus.chain.new_weights()
    gradient = _core.GradientPass(corpus.chain.core_examples, 1)
    crf = timed(lambda: gradient.run(w, target, 1.0, 0.0))
    print(f"Viterbi pass {viterbi:.4f} s, crf pass with gradient {crf:.4f} s: {crf / viterbi:.1f}")


def threads(corpus: Corpus, repeats: int = 5) -> list[dict[str, Any]]:
    """What a second core is good for, in wall time: the best of several runs in turn."""
    rows = []
    for loss, solver, stopping in (
        ("squared_hinge", DCD(), Stopping(gap=0.01)),
        ("hinge", SDM(), Stopping(gap=0.01)),
        ("hinge", FrankWolfe(), Stopping(gap=0.01)),
        ("hinge", CuttingPlane(), Stopping(passes=40)),
        ("crf", LBFGS(), Stopping(passes=10)),
    ):
        turns = [
            run(corpus, loss, 0.1, solver, stopping, threads=n)
            for _ in range(repeats)
            for n in (1, 2)
        ]
        pair = [min(turns[k::2], key=lambda row: row["wall"]) for k in (0, 1)]
        print(f"  two threads take {pair[1]['wall'] / pair[0]['wall']:.2f} of the time of one")
        rows += pair
    return rows


def reading_threads(folder: Path) -> None:
    """The same for features and for prediction from a file: the best of seven in turn."""
    for name, preset in (("conll2000", "chunking-small"), ("jnlpba", "ner")):
        tokens = read_columns(folder / name / "train.txt.xz").tokens
        extractor = make_extractor(preset)
        extractor.fit(tokens)
        work = partial(extractor.transform, tokens)
        pairs(f"{name}, features", lambda n, work=work: work(threads=n))
    file = read_columns(folder / "conll2000/train.txt.xz")
    tagger = SequenceTagger("chunking-small", passes=2).fit(file.tokens, file.labels)
    pairs("conll2000, predict", lambda n: tagger.set_params(threads=n).predict(file.tokens))


def pairs(what: str, work: Callable[[int], Any], repeats: int = 7) -> None:
    """How long something takes with one thread and with two."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats):
        for n, so_far in seconds.items():
            begun = time.perf_counter()
            work(n)
            so_far.append(time.perf_counter() - begun)
    one, two = (min(each) for each in seconds.values())
    print(f"{what}: {1000 * one:.1f} ms wall, two threads {1000 * two:.1f}: {two / one:.2f}")


def parser_threads(folder: Path) -> None:
    """The same where decoding is most of the work: three passes of DCD over the trees of EWT."""
    ewt = folder / "ud_english_ewt"
    train, test = (read_conllu(ewt / f"{part}.conllu.xz") for part in ("train", "test"))
    wall = []
    for n in (1, 2):
        parser = DependencyParser(passes=3, threads=n).fit(train)
        wall.append(parser.result_.seconds)
        uas = 100 * parser.evaluate(test).uas
        print(f"trees of EWT, DCD, {n} threads: {wall[-1]:.1f} s wall, test UAS {uas:.2f}")
    print(f"  two threads take {wall[1] / wall[0]:.2f} of the time of one")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the corpora")
    parser.add_argument("--out", type=Path, default=Path("results"), help="where curves go")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--C", nargs="+", type=float, default=[0.1, 1.0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seconds", type=float, default=150.0, help="the most CPU that a run gets")
    parser.add_argument("--quick", action="store_true", help="conll2000 at C = 0.1 only")
    options = parser.parse_args()
    if options.quick:
        options.corpora, options.C = ["conll2000"], [0.1]
    if not (options.data / "conll2000/train.txt.xz").exists():
        sys.exit(f"no CoNLL-2000 in {options.data}: name a folder with --data or DUALSTRUCT_DATA")
    rows: list[dict[str, Any]] = []
    for name in options.corpora:
        corpus = Corpus(options.data, name)
        if name == "conll2000" and "passes" in options.parts:
            passes(corpus)
        for C in options.C:
            if "solvers" in options.parts:
                rows += all_solvers(corpus, C, options.seconds)
            if "planes" in options.parts:
                rows += cutting_plane_ratios(corpus, C, options.seconds)
        if name == "conll2000" and "threads" in options.parts:
            rows += threads(corpus)
            reading_threads(options.data)
            parser_threads(options.data)
    options.out.mkdir(exist_ok=True)
    (options.out / "curves.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
