"""What documents, a second stage and clusters gain, on data held out from training.

    python benchmarks/documents.py [--seeds N] [--only NAME …] [--test] [--data DIR]

wnut17: trained on its training data, judged on its development data, each tweet a document.
kb_dutch_ner: five folds of its training pages, each a document. English: five folds of the corpus
that comes with dualstruct, each sentence a document. F1, the mean of some seeds with the standard
deviation, and CPU seconds for each seed. ``--test`` trains on all training data and judges on test
data instead: for a table at the end, a few minutes, not to choose by.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

import numpy as np

from dualstruct import SequenceTagger, evaluate, read_columns
from dualstruct.datasets import load_english
from measuring import DATA, Clock

WAYS: dict[str, dict[str, Any]] = {
    "sentence alone": {},
    "document_features": {"document_features": True},
    "stages=2": {"stages": 2},
    "both": {"document_features": True, "stages": 2},
}
TASKS = ("wnut17", "kb_dutch_ner", "English")
PARTS = ("train", "dev")
#: How many bits of a cluster's path are features.
BITS = (4, 6, 10, 20)


def judged(train: Any, test: Any) -> Callable[[SequenceTagger], float]:
    return lambda tagger: tagger.fit(train.tokens, train.labels).score(test.tokens, test.labels)


def folds(X: list[Any], y: list[Any], k: int = 5) -> Callable[[SequenceTagger], float]:
    def f1(tagger: SequenceTagger) -> float:
        fold = np.random.default_rng(tagger.seed).permutation(len(X)) % k
        found: list[Any] = [None] * len(X)
        for held_out in range(k):
            others, own = np.flatnonzero(fold != held_out), np.flatnonzero(fold == held_out)
            tagger.fit([X[i] for i in others], [y[i] for i in others])
            for i, labels in zip(own, tagger.predict([X[i] for i in own]), strict=True):
                found[i] = labels
        return evaluate(y, found).f1

    return f1


def on_held_out_data(name: str, data: Path) -> Callable[[SequenceTagger], float]:
    if name == "wnut17":
        return judged(*(read_columns(data / name / f"{part}.txt.xz") for part in PARTS))
    if name == "English":
        english = load_english("train")
        return folds([s.forms for s in english], [s.entities for s in english])
    pages = read_columns(data / name / "train.txt.xz")
    return folds(list(pages.tokens), list(pages.labels))


def on_test_data(name: str, data: Path) -> Callable[[SequenceTagger], float]:
    if name == "English":
        train, test = load_english("train"), load_english("test")
        X, y = [s.forms for s in train], [s.entities for s in train]
        held_out = [s.forms for s in test], [s.entities for s in test]
        return lambda tagger: tagger.fit(X, y).score(*held_out)
    return judged(*(read_columns(data / name / f"{part}.txt.xz") for part in ("train", "test")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=TASKS, default=TASKS, metavar="NAME")
    parser.add_argument("--test", action="store_true", help="judge on test data")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    data = options.data
    if not data.is_dir():
        sys.exit(f"no corpora in {data}: name a folder with --data or DUALSTRUCT_DATA")
    make = on_test_data if options.test else on_held_out_data
    tasks = {name: make(name, data) for name in options.only}
    with tempfile.TemporaryDirectory() as folder:
        templates = Path(folder) / "clusters.txt"
        paths = data.resolve() / "brown_clusters" / "bllip-clusters.txt.xz"
        lines = [f"cluster(word[{at}],{bits})" for at in (-1, 0, 1) for bits in BITS]
        templates.write_text("\n".join(["include ner", f"clusters {paths}", *lines, ""]))
        for name, score in tasks.items():
            for features in ("ner", templates):
                if name == "kb_dutch_ner" and features is templates:  # the clusters are English
                    continue
                for way, settings in WAYS.items():
                    clock = Clock()
                    given = {"features": features, "unseen_labels": "count", **settings}
                    seeds = range(options.seeds)
                    found = [100 * score(SequenceTagger(seed=seed, **given)) for seed in seeds]
                    what = "ner" if features == "ner" else "ner and clusters"
                    each = f"{mean(found):.2f} ± {pstdev(found):.2f}"
                    seconds = clock.lap() / options.seeds
                    line = f"{name:14} {what:18} {way:18} {each:14} {seconds:.1f} s"
                    print(line, flush=True)


if __name__ == "__main__":
    main()
