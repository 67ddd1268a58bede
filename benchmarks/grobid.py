"""GROBID's sequence labelling: ours beside Wapiti's L-BFGS as GROBID calls it.

    python benchmarks/grobid.py [--folds 10] [--only date] [--wapiti PROGRAM] [--tuned SECONDS]

Sequences are divided into folds; each is labelled by models of the others. F1 is that of fields
(<other> is outside), micro-averaged over all folds; CPU seconds are those of training one fold, and
sizes those of its model file. GROBID calls Wapiti with epsilon 1e-5, a window of 20, at most 2,000
iterations. Ours are trained with the settings by default, compressed (compress without data), and
tuned on the training folds.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dualstruct import SequenceTagger, compress, evaluate, read_columns, tune, write_columns
from measuring import DATA, Clock

MODELS = ("date", "name-citation", "affiliation-address")
OPTIONS = ("--algo", "l-bfgs", "--stopeps", "0.00001", "--stopwin", "20", "--maxiter", "2000")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--tried", type=int, help="only so many of the folds")
    parser.add_argument("--only", choices=MODELS)
    parser.add_argument("--wapiti", type=Path, default=DATA.parent / "tools" / "wapiti")
    parser.add_argument("--tuned", type=float, default=60.0, help="seconds; 0 leaves it out")
    options = parser.parse_args()
    if not (DATA / "grobid").is_dir():
        sys.exit(f"no folder grobid in {DATA}: name that of the corpora by DUALSTRUCT_DATA")
    program = Path(shutil.which("wapiti") or options.wapiti)
    if not program.is_file():
        sys.exit("the program wapiti is missing: name it by --wapiti")
    print("| model | trained by | field F1 | CPU s | model KB |\n" + "| --- " * 5 + "|")
    for name in MODELS:
        if options.only in (None, name):
            for row in compared(name, options.folds, options.tried, program, options.tuned):
                print(f"| {name} | {row} |", flush=True)


def compared(
    name: str, folds: int, tried: int | None, program: Path, tuned: float
) -> Iterator[str]:
    folder = DATA / "grobid" / name
    file = read_columns(folder / "train.txt.xz")
    X, y = list(map(list, file.tokens)), list(map(list, file.labels))
    ways = {
        "wapiti l-bfgs": lambda *data: by_wapiti(program, folder / "template.txt", *data),
        "dualstruct": lambda *data: by_us(folder / "template.txt", 0.0, False, *data),
        "dualstruct, compressed": lambda *data: by_us(folder / "template.txt", 0.0, True, *data),
    }
    if tuned:
        ways["dualstruct, tuned"] = lambda *data: by_us(
            folder / "template.txt", tuned, False, *data
        )
    for way, learn in ways.items():
        truth, found, seconds, sizes = [], [], [], []
        for fold in range(folds if tried is None else tried):
            held = [i % folds == fold for i in range(len(X))]
            parts = [[s for s, out in zip(data, held, strict=True) if out is which]
                     for which in (False, True) for data in (X, y)]  # fmt: skip
            labels, cpu, size = learn(parts[0], parts[1], parts[2])
            truth += parts[3]
            found += labels
            seconds.append(cpu)
            sizes.append(size)
        f1 = 100 * evaluate(truth, found).f1
        cpu, size = sum(seconds) / len(seconds), sum(sizes) / len(sizes)
        yield f"{way} | {f1:.2f} | {cpu:.2f} | {size / 1e3:.1f}"


Result = tuple[list[list[str]], float, int]  # labels, CPU seconds, bytes
Sequences = list[list[Any]]


def by_us(
    templates: Path, budget: float, small: bool, X: Sequences, y: Sequences, new: Sequences
) -> Result:
    clock = Clock()
    tagger = SequenceTagger(templates, dialect="wapiti", unseen_labels="count")
    if budget:
        tagger = tune(tagger, X, y, budget=budget)
    else:
        tagger.fit(X, y)
    if small:
        tagger = compress(tagger).model
    cpu = clock.lap()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.dstruct"
        tagger.save(path)
        return list(tagger.predict(new)), cpu, path.stat().st_size


def by_wapiti(program: Path, templates: Path, X: Sequences, y: Sequences, new: Sequences) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        train, test, model = (Path(folder) / name for name in ("train", "test", "model"))
        write_columns(train, X, y, separator=" ")
        write_columns(test, new, separator=" ")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = [program, "train", *OPTIONS, "-p", templates, train, model]
        subprocess.run(command, check=True, capture_output=True)
        cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        done = subprocess.run(
            [program, "label", "-m", model, test], check=True, capture_output=True, text=True
        )
        blocks = done.stdout.strip().split("\n\n")
        labels = [[line.split()[-1] for line in block.splitlines() if line] for block in blocks]
        return labels, cpu, model.stat().st_size


if __name__ == "__main__":
    main()
