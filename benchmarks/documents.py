"""What documents, a second stage and clusters gain, on data held out from training.

    python benchmarks/documents.py [--seeds N] [--data DIR]

wnut17: trained on its training data, judged on its development data, each tweet a document.
kb_dutch_ner: five folds of its training pages, each a document. English: five folds of the corpus
that comes with dualstruct, each sentence a document. F1, the mean of some seeds with the standard
deviation, and CPU seconds for each seed.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    data, english = options.data, load_english("train")
    if not data.is_dir():
        sys.exit(f"no corpora in {data}: name a folder with --data or DUALSTRUCT_DATA")
    pages = read_columns(data / "kb_dutch_ner" / "train.txt.xz")
    tasks = {
        "wnut17": judged(*(read_columns(data / "wnut17" / f"{p}.txt.xz") for p in PARTS)),
        "kb_dutch_ner": folds(list(pages.tokens), list(pages.labels)),
        "English": folds([s.forms for s in english], [s.entities for s in english]),
    }
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
