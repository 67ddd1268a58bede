"""GROBID's sequence labelling: ours beside Wapiti's L-BFGS as GROBID calls it.

    python benchmarks/grobid.py [--folds 10] [--only date] [--way wapiti] [--wapiti PROGRAM]

Sequences are divided into folds; each is labelled by models of the others. F1 is that of fields
(<other> is outside), micro-averaged over all folds; CPU seconds are those of training one fold, and
sizes those of its model file. GROBID calls Wapiti with epsilon 1e-5, a window of 20, at most 2,000
iterations. Ours are trained with the settings by default, compressed (compress without data), in
the scheme BILOU, by Wapiti's objective (crf, with its weights of ‖w‖₁ and ‖w‖², where every label
may follow every other), and tuned on the training folds: 40 runs each, however busy the machine is.
What a fold gave is kept: a run that was interrupted is continued.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dualstruct import LBFGS, SequenceTagger, compress, evaluate, read_columns, tune, write_columns
from measuring import DATA, Clock

MODELS = ("date", "name-citation", "affiliation-address")
OPTIONS = ("--algo", "l-bfgs", "--stopeps", "0.00001", "--stopwin", "20", "--maxiter", "2000")
TUNING_TRIALS = 40
#: Wapiti minimises Σ ℓ + 0.5 ‖w‖₁ + 0.00005 ‖w‖² over all label sequences, ours is C times that.
C_OF_WAPITI = 10_000.0
OBJECTIVE_OF_WAPITI = {
    "loss": "crf",
    "C": C_OF_WAPITI,
    "solver": LBFGS(l1=0.5 * C_OF_WAPITI),
    "constraints": None,
}

Result = tuple[list[list[str]], float, int]  # labels, CPU seconds, bytes
Sequences = list[list[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--tried", type=int, help="only so many of the folds")
    parser.add_argument("--only", choices=MODELS)
    parser.add_argument("--way", choices=WAYS, action="append", help="only these ways of training")
    parser.add_argument("--wapiti", type=Path, default=DATA.parent / "tools" / "wapiti")
    parser.add_argument(
        "--keep", type=Path, default=Path("results/grobid"), help="results of folds"
    )
    parser.add_argument("--table", action="store_true", help="only print what is kept")
    options = parser.parse_args()
    if not (DATA / "grobid").is_dir():
        sys.exit(f"no folder grobid in {DATA}: name that of the corpora by DUALSTRUCT_DATA")
    program = Path(shutil.which("wapiti") or options.wapiti)
    ways = options.way or list(WAYS)
    if not program.is_file() and "wapiti" in ways and not options.table:
        sys.exit("the program wapiti is missing: name it by --wapiti")
    options.keep.mkdir(parents=True, exist_ok=True)
    print("| model | trained by | folds | field F1 | CPU s | model KB |\n" + "| --- " * 6 + "|")
    for name in MODELS:
        if options.only in (None, name):
            data = Corpus(name, options.folds)
            for way in ways:
                learn = partial(WAYS[way], program, data.templates)
                kept = list(folds_of(data, way, learn, options))
                if kept:
                    print(f"| {name} | {way} | {row(data, kept)} |", flush=True)


class Corpus:
    """A training file in folds: every so-many-th sequence is held out."""

    def __init__(self, name: str, folds: int) -> None:
        folder = DATA / "grobid" / name
        file = read_columns(folder / "train.txt.xz")
        self.name, self.folds, self.templates = name, folds, folder / "template.txt"
        self.X, self.y = list(map(list, file.tokens)), list(map(list, file.labels))

    def part(self, fold: int, held: bool) -> tuple[Sequences, Sequences]:
        rows = [i for i in range(len(self.X)) if (i % self.folds == fold) is held]
        return [self.X[i] for i in rows], [self.y[i] for i in rows]


def folds_of(
    data: Corpus, way: str, learn: Callable[..., Result], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """What is kept of the folds; those that are missing are run, unless only a table is wanted."""
    for fold in range(data.folds if options.tried is None else options.tried):
        kept = options.keep / f"{data.name}.{way}.{fold + 1}of{data.folds}.json"
        if not kept.exists() and not options.table:
            labels, cpu, size = learn(*data.part(fold, False), data.part(fold, True)[0])
            kept.write_text(json.dumps({"fold": fold, "labels": labels, "cpu": cpu, "size": size}))
        if kept.exists():
            yield json.loads(kept.read_text())


def row(data: Corpus, kept: list[dict[str, Any]]) -> str:
    truth = [labels for k in kept for labels in data.part(k["fold"], True)[1]]
    f1 = 100 * evaluate(truth, [labels for k in kept for labels in k["labels"]]).f1
    cpu, size = (sum(k[which] for k in kept) / len(kept) for which in ("cpu", "size"))
    return f"{len(kept)} | {f1:.2f} | {cpu:.2f} | {size / 1e3:.1f}"


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


def by_us(
    finish: Callable[[SequenceTagger, Sequences, Sequences], Any],
    settings: Mapping[str, Any],
    program: Path,
    templates: Path,
    X: Sequences,
    y: Sequences,
    new: Sequences,
) -> Result:
    clock = Clock()
    tagger = SequenceTagger(templates, dialect="wapiti", unseen_labels="count", **settings)
    tagger = finish(tagger, X, y)
    cpu = clock.lap()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.dstruct"
        tagger.save(path)
        return list(tagger.predict(new)), cpu, path.stat().st_size


WAYS: dict[str, Callable[..., Result]] = {
    "wapiti": by_wapiti,
    "dualstruct": partial(by_us, lambda tagger, X, y: tagger.fit(X, y), {}),
    "compressed": partial(by_us, lambda tagger, X, y: compress(tagger.fit(X, y)).model, {}),
    "bilou": partial(by_us, lambda tagger, X, y: tagger.fit(X, y), {"scheme": "bilou"}),
    "objective": partial(by_us, lambda tagger, X, y: tagger.fit(X, y), OBJECTIVE_OF_WAPITI),
    "tuned": partial(
        by_us, lambda tagger, X, y: tune(tagger, X, y, budget=None, trials=TUNING_TRIALS), {}
    ),
}


if __name__ == "__main__":
    main()
