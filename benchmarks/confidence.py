"""Whether confidence keeps what it promises: calibration error before and after calibration.

    python benchmarks/confidence.py [--data FOLDER] [--only chunking|parsing]

Chunking on CoNLL-2000 (the last 936 training sentences are development data) and parsing on English
EWT (3,000 training sentences; its development and test data). ECE with ten bins, on the test data.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dualstruct import DependencyParser, SequenceTagger, read_columns, read_conllu
from measuring import DATA


def show(name: str, when: str, diagrams: dict) -> None:
    errors = ", ".join(f"{what} {100 * each.ece:6.2f} %" for what, each in diagrams.items())
    print(f"{name:24}{when:24}ECE: {errors}", flush=True)


def chunking(data: Path) -> None:
    train = read_columns(data / "conll2000/train.txt.xz")
    test = read_columns(data / "conll2000/test.txt.xz")
    X, y = list(train.tokens), list(train.labels)
    for loss in ("squared_hinge", "hinge", "crf"):
        tagger = SequenceTagger(features="chunking-small", loss=loss, unseen_labels="count")
        tagger.fit(X[:8000], y[:8000])
        show(loss, "scores as they are", tagger.reliability(test.tokens, test.labels, beta=1.0))
        tagger.calibrate(X[8000:], y[8000:])
        when = f"temperature {tagger.temperature_:.3f}"
        show(loss, when, tagger.reliability(test.tokens, test.labels))


def parsing(data: Path) -> None:
    folder = data / "ud_english_ewt"
    train, dev, test = (read_conllu(folder / f"{part}.conllu.xz") for part in PARTS)
    parser = DependencyParser(passes=5, bad_trees="skip").fit(train.select(range(3000)))
    show("parser", "scores as they are", parser.reliability(test, beta=1.0))
    parser.calibrate(dev)
    show("parser", f"temperature {parser.temperature_:.3f}", parser.reliability(test))


PARTS = ("train", "dev", "test")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=DATA)
    options.add_argument("--only", choices=["chunking", "parsing"])
    given = options.parse_args()
    if given.only != "parsing":
        chunking(given.data)
    if given.only != "chunking":
        parsing(given.data)
