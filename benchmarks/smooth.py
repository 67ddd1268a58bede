"""CRFs on CoNLL-2000: the cost of a pass, and L-BFGS and EG against CRFsuite's L-BFGS.

    python benchmarks/smooth.py [--data FOLDER] [--json FILE]

One thread and CPU time, but for the speed-up of two threads, which is wall time on a quiet machine.
CRFsuite runs with its defaults (c2 = 1 until it converges) on the attributes of the `chunking`
preset; its objective, −log-likelihood + ‖w‖², is twice ours at C = 1/2. Ours run until they are
below the value at which it stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chunking import DATA, attributes, read_plain

C = 0.5


def quickest(run: Callable[[], object], clock: Callable[[], float], repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        before = clock()
        run()
        times.append(clock() - before)
    return min(times)


def run_crfsuite(data: Path) -> dict[str, Any]:
    import pycrfsuite

    from dualstruct import evaluate

    train, test = (read_plain(data / f"conll2000/{part}.txt.xz") for part in ("train", "test"))

    class Quiet(pycrfsuite.Trainer):  # type: ignore[misc]
        """Parses the log, for its objective, without printing it."""

        def message(self, message: str) -> None:
            self.logparser.feed(message)

    trainer = Quiet("lbfgs", verbose=True)
    for sentence in train:
        trainer.append(attributes(sentence), [token[2] for token in sentence])
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model")
        before = time.process_time()
        trainer.train(model)
        seconds = time.process_time() - before
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        predicted = [tagger.tag(attributes(sentence)) for sentence in test]
    iterations = trainer.logparser.iterations
    return {
        "seconds": seconds,
        "iterations": len(iterations),
        "objective": C * iterations[-1]["loss"],
        "f1": evaluate([[token[2] for token in s] for s in test], predicted).f1,
    }


def run_ours(data: Path, objective: float) -> dict[str, Any]:
    from dualstruct import SequenceTagger, _core, read_columns
    from dualstruct.metrics import evaluate_ids
    from dualstruct.problem import Problem
    from dualstruct.solvers import LBFGS, ExponentiatedGradient
    from dualstruct.structures import Chain

    train, test = (read_columns(data / f"conll2000/{part}.txt.xz") for part in ("train", "test"))
    tagger = SequenceTagger(features="chunking-small", passes=3).fit(train.tokens, train.labels)
    chain = tagger._chain_of(train.tokens)
    truth, _ = tagger._labels.encode_any(train.labels, chain.sentences)
    chain = Chain(chain.rows, chain.labels, truth)
    test_chain = tagger._chain_of(test.tokens)
    test_truth, names = tagger._labels.encode_any(test.labels, test_chain.sentences)

    def f1(w: _core.Weights) -> float:
        predicted = test_chain.decode_all(w)
        return evaluate_ids(test_truth, predicted, test_chain.sentences, names).f1

    w, descent = tagger.w_, chain.new_weights()
    passes = {threads: _core.GradientPass(chain.core_examples, threads) for threads in (1, 2)}
    viterbi = quickest(lambda: chain.decode_all(w), time.process_time)
    crf = quickest(lambda: passes[1].run(w, descent, 1.0, 0.0), time.process_time)
    result: dict[str, Any] = {"viterbi": viterbi, "crf": crf}
    for name, solver in (
        ("lbfgs, all states", LBFGS()),
        ("lbfgs, observed states", LBFGS(states="observed")),
        ("eg", ExponentiatedGradient()),
    ):
        problem = Problem(chain, "crf", C)
        before = time.process_time()
        iterate = solver.start(problem, 0)
        aside, count, value = 0.0, 0, float("inf")
        while value > objective and count < 300:
            solver.run_pass(iterate)
            count += 1
            judged = time.process_time()
            value = problem.primal(iterate.w)
            aside += time.process_time() - judged
        seconds = time.process_time() - before - aside
        result[name] = {"seconds": seconds, "passes": count, "f1": f1(iterate.w)}
    walls = []
    for threads in (1, 2):
        problem = Problem(chain, "crf", C, threads=threads)
        solver = LBFGS()
        iterate = solver.start(problem, 0)
        for _ in range(8):  # fills the history
            solver.run_pass(iterate)
        before, calls = time.perf_counter(), iterate.inference_calls
        for _ in range(15):
            solver.run_pass(iterate)
        walls.append((time.perf_counter() - before) / (iterate.inference_calls - calls))
    result["two_threads"] = walls[0] / walls[1]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with conll2000")
    parser.add_argument("--json", type=Path, help="write all figures here")
    options = parser.parse_args()
    if not (options.data / "conll2000/train.txt.xz").exists():
        sys.exit(f"no CoNLL-2000 in {options.data}: name a folder with --data or DUALSTRUCT_DATA")
    theirs = run_crfsuite(options.data)
    ours = run_ours(options.data, theirs["objective"])
    if options.json:
        options.json.write_text(json.dumps({"crfsuite": theirs, "ours": ours}, indent=1))
    ratio = ours["crf"] / ours["viterbi"]
    print(f"a crf pass costs {ratio:.2f} Viterbi passes ({1000 * ours['crf']:.0f} ms)")
    print(
        f"CRFsuite L-BFGS: {theirs['seconds']:.1f} s, {theirs['iterations']} iterations to "
        f"{theirs['objective']:.1f}, F1 {100 * theirs['f1']:.2f}"
    )
    for name in ("lbfgs, all states", "lbfgs, observed states", "eg"):
        row = ours[name]
        print(
            f"{name}: {row['seconds']:.1f} s, {row['passes']} passes, F1 {100 * row['f1']:.2f}: "
            f"1/{theirs['seconds'] / row['seconds']:.1f}"
        )
    print(f"L-BFGS with two threads: {ours['two_threads']:.2f} times as fast")


if __name__ == "__main__":
    main()
