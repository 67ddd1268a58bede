"""Chunking on CoNLL-2000: dualstruct and CRFsuite on the same attributes, one thread, CPU time.

    python benchmarks/chunking.py [--data FOLDER] [--json FILE]

Every run is a process of its own, so that times and peak memory are its own. Both tools get the
classical attributes (words −2 … 2, word bigrams, POS −2 … 2, POS bigrams and trigrams, a bias: 20
a token) from the same raw files; dualstruct makes them by its `chunking-small` preset, CRFsuite
gets them as strings. CRFsuite runs with its defaults (L-BFGS with c2 = 1 until it converges,
averaged perceptron with 10 iterations).
"""

from __future__ import annotations

import argparse
import json
import lzma
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import DATA, Clock, in_own_process, peak_memory_mb

C, PASSES = 0.1, 5


def run_ours(data: Path) -> dict[str, Any]:
    """From the raw files to the test score with fixed settings, then speed of decoding."""
    from dualstruct import SequenceTagger, read_columns

    clock = Clock()
    train = read_columns(data / "conll2000/train.txt.xz")
    test = read_columns(data / "conll2000/test.txt.xz")
    read = clock.lap()
    tagger = SequenceTagger(features="chunking-small", C=C, passes=PASSES, unseen_labels="count")
    tagger.fit(train.tokens, train.labels)
    fitted = clock.lap()
    scores = tagger.evaluate(test.tokens, test.labels)
    evaluated = clock.lap()
    memory = peak_memory_mb()

    chain = tagger.model_.chain(train.tokens)
    clock.lap()
    repeats = 10
    for _ in range(repeats):
        chain.decode_all(tagger.model_.w)
    decoding = clock.lap() / repeats
    return {
        "prepare": read + fitted - tagger.result_.cpu_seconds,
        "train": tagger.result_.cpu_seconds,
        "test": evaluated,
        "total": read + fitted + evaluated,
        "f1": scores.f1,
        "memory_mb": memory,
        "features": tagger.n_features_,
        "tokens_per_second": int(chain.sentences[-1]) / decoding,
    }


def run_curve(data: Path) -> dict[str, Any]:
    """Training time and test score after each pass, up to a certified gap of 1 %."""
    from dualstruct import SequenceTagger, read_columns
    from dualstruct.metrics import evaluate_ids
    from dualstruct.training.results import TracePoint

    train = read_columns(data / "conll2000/train.txt.xz")
    test = read_columns(data / "conll2000/test.txt.xz")
    # The judge of the test score: the same features and labels, from a tagger of one pass.
    first = SequenceTagger(features="chunking-small", passes=1).fit(train.tokens, train.labels)
    chain = first.model_.chain(test.tokens)
    truth, names = first.model_.labels.encode_any(test.labels, chain.sentences)
    points: list[dict[str, float]] = []
    aside = 0.0
    started = time.process_time()

    def watch(point: TracePoint, iterate: Any) -> None:
        nonlocal aside, started
        clock = Clock()
        if point.passes == 1:  # reading features is not training
            started = clock.last - point.seconds
        scores = evaluate_ids(truth, chain.decode_all(iterate.w), chain.sentences, names)
        points.append(
            {"train": clock.last - started - aside, "f1": scores.f1, "gap": point.gap or -1}
        )
        aside += clock.lap()

    tagger = SequenceTagger(features="chunking-small", C=C, gap=0.01)
    tagger.fit(train.tokens, train.labels, callbacks=[watch])
    return {"points": points, "gap": tagger.result_.gap, "passes": tagger.result_.passes}


def run_crfsuite(data: Path, algorithm: str) -> dict[str, Any]:
    import pycrfsuite

    from dualstruct import evaluate

    clock = Clock()
    train, test = (read_plain(data / f"conll2000/{part}.txt.xz") for part in ("train", "test"))
    trainer = pycrfsuite.Trainer(algorithm, verbose=False)
    if algorithm != "lbfgs":
        trainer.set_params({"max_iterations": 10})
    for sentence in train:  # one at a time: CRFsuite keeps its own copy
        trainer.append(attributes(sentence), [token[2] for token in sentence])
    x_test = [attributes(sentence) for sentence in test]
    prepared = clock.lap()
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model")
        trainer.train(model)
        trained = clock.lap()
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        predicted = [tagger.tag(x) for x in x_test]
    tested = clock.lap()
    scores = evaluate([[token[2] for token in s] for s in test], predicted)
    return {
        "prepare": prepared,
        "train": trained,
        "test": tested,
        "total": prepared + trained + tested,
        "f1": scores.f1,
        "memory_mb": peak_memory_mb(),
        "tokens_per_second": sum(map(len, test)) / tested,
    }


def run_commands(data: Path) -> dict[str, Any]:
    """`dualstruct train` and `dualstruct evaluate` as users type them, start-up included."""
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for part in ("train", "test"):
            files[part] = str(Path(folder) / f"{part}.txt")
            text = lzma.decompress((data / f"conll2000/{part}.txt.xz").read_bytes())
            Path(files[part]).write_bytes(text)
        model, command = str(Path(folder) / "m.dstruct"), [sys.executable, "-m", "dualstruct"]
        before = of_children()
        subprocess.run(
            [
                *command,
                "train",
                files["train"],
                "--features",
                "chunking-small",
                "--passes",
                str(PASSES),
                "--model",
                model,
            ],
            check=True,
            capture_output=True,
        )
        trained = of_children()
        told = subprocess.run(
            [*command, "evaluate", model, files["test"], "--json"], check=True, capture_output=True
        )
        evaluated = of_children()
    scores = json.loads(told.stdout)
    return {"train": trained - before, "test": evaluated - trained, "f1": scores["f1"]}


def of_children() -> float:
    """CPU seconds of the processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_crfsuite_program(data: Path) -> dict[str, Any]:
    """A Python program that trains and tests CRFsuite's `pa`: one process, start-up included."""
    before = of_children()
    found = in_own_process(__file__, "crfsuite-pa", data)
    return {"total": of_children() - before, "f1": found["f1"]}


def read_plain(path: Path) -> list[list[list[str]]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        blocks = file.read().strip("\n").split("\n\n")
    return [[line.split("\t") for line in block.split("\n")] for block in blocks]


def attributes(sentence: list[list[str]]) -> list[list[str]]:
    """The attributes of the `chunking` preset, as strings."""
    n = len(sentence)

    def at(column: int, t: int) -> str:
        if t < 0:
            return f"<s{-t}>"
        return sentence[t][column] if t < n else f"</s{t - n + 1}>"

    rows = []
    for t in range(n):
        w = [at(0, t + o) for o in range(-2, 3)]
        p = [at(1, t + o) for o in range(-2, 3)]
        row = ["bias", *(f"w{o}={w[o]}" for o in range(5)), *(f"p{o}={p[o]}" for o in range(5))]
        row += [f"ww{o}={w[o]}|{w[o + 1]}" for o in (1, 2)]
        row += [f"pp{o}={p[o]}|{p[o + 1]}" for o in range(4)]
        row += [f"ppp{o}={p[o]}|{p[o + 1]}|{p[o + 2]}" for o in range(3)]
        rows.append(row)
    return rows


RUNS = {
    "ours": run_ours,
    "curve": run_curve,
    "commands": run_commands,
    "crfsuite-program": run_crfsuite_program,
    "crfsuite-ap": lambda data: run_crfsuite(data, "ap"),
    "crfsuite-pa": lambda data: run_crfsuite(data, "pa"),
    "crfsuite-lbfgs": lambda data: run_crfsuite(data, "lbfgs"),
}


def report(results: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    ours, ap, lbfgs = results["ours"], results["crfsuite-ap"], results["crfsuite-lbfgs"]
    console = Console(width=110)
    table = Table(
        "CPU seconds", "prepare", "train", "test", "total", "F1", "MB", "tokens/s", box=None
    )
    for name, row in (
        (f"dualstruct, {PASSES} passes", ours),
        ("CRFsuite ap, 10 iterations", ap),
        ("CRFsuite L-BFGS", lbfgs),
    ):
        times = (f"{row[key]:.2f}" for key in ("prepare", "train", "test", "total"))
        table.add_row(
            name, *times, f"{100 * row['f1']:.2f}", f"{row['memory_mb']:.0f}",
            f"{row['tokens_per_second']:,.0f}",
        )  # fmt: skip
    console.print(table)
    console.print(
        "prepare: reading, attributes, loading; test: attributes and labels of the test file\n"
        "tokens/s: decoding alone for dualstruct, tag() on ready attributes for CRFsuite\n"
    )
    curve = results["curve"]["points"]
    reached = next((p for p in curve if p["f1"] >= lbfgs["f1"]), None)
    if reached is None:
        console.print(f"the F1 of L-BFGS ({100 * lbfgs['f1']:.2f}) is not reached")
    else:
        at = curve.index(reached) + 1
        console.print(
            f"training to the F1 of L-BFGS ({100 * lbfgs['f1']:.2f}): pass {at}, "
            f"{reached['train']:.2f} s against {lbfgs['train']:.1f} s: "
            f"1/{lbfgs['train'] / reached['train']:.0f}"
        )
    console.print(
        f"whole training of {PASSES} passes, final certificate included: {ours['train']:.2f} s: "
        f"1/{lbfgs['train'] / ours['train']:.0f}"
    )
    console.print(
        f"raw files to test score: {ours['total']:.2f} s against {ap['total']:.1f} s "
        f"of CRFsuite ap: 1/{ap['total'] / ours['total']:.0f}"
    )
    console.print(
        f"certified gap of {100 * results['curve']['gap']:.2f} %: {curve[-1]['train']:.2f} s, "
        f"{len(curve)} passes, F1 {100 * curve[-1]['f1']:.2f}"
    )

    ours, theirs = results["commands"], results["crfsuite-program"]
    whole = ours["train"] + ours["test"]
    console.print(
        f"as users run it, start-up included: dualstruct train and evaluate {ours['train']:.2f} + "
        f"{ours['test']:.2f} = {whole:.2f} s, F1 {100 * ours['f1']:.2f}; a program "
        f"with CRFsuite's pa, {theirs['total']:.1f} s, F1 {100 * theirs['f1']:.2f}: "
        f"1/{theirs['total'] / whole:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with conll2000")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (options.data / "conll2000/train.txt.xz").exists():
        sys.exit(f"no CoNLL-2000 in {options.data}: name a folder with --data or DUALSTRUCT_DATA")
    if options.run:
        print(json.dumps(RUNS[options.run](options.data)))
        return
    results = {
        name: in_own_process(__file__, name, options.data)
        for name in RUNS
        if name != "crfsuite-pa"  # the program runs it
    }
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    report(results)


if __name__ == "__main__":
    main()
