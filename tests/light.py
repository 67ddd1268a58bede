"""What numpy is enough for: a tagger, a parser and a classifier from training to prediction.

    python tests/light.py

Prints nothing where all is well. `make test` runs it where nothing else can be imported, and the
wheels' workflow on every system.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from dualstruct import (
    DependencyParser,
    Multiclass,
    SequenceTagger,
    StructuredSVM,
    compress,
    draw_tree,
    load_model,
    tree_svg,
)
from dualstruct.datasets import load_english

X = [["the", "dog", "runs"], ["a", "cat"], ["dogs", "run"]] * 3
Y = [["DET", "NOUN", "VERB"], ["DET", "NOUN"], ["NOUN", "VERB"]] * 3
ROWS = [np.eye(3)[[0, 1, 2]], np.eye(3)[[0, 1]], np.eye(3)[[1, 2]]] * 3


def tag(folder: Path) -> None:
    """Train, calibrate, save, open, predict, explain, train on."""
    tagger = SequenceTagger(features="pos", verbose=True).fit(X, Y)
    tagger.calibrate(X, Y)
    tagger.save(folder / "model.dstruct")
    opened = load_model(folder / "model.dstruct")
    assert opened.predict(X) == Y
    assert "NOUN beats" in str(opened.explain(X[0])[1])
    assert "<html" in opened.explain(X[0]).html()
    assert "NOUN" in repr(opened.weights_)
    opened.partial_fit([["birds", "sing"]], [["NOUN", "VERB"]])
    assert opened.score(X, Y) == 1.0
    assert opened.set_params(C=0.5).get_params()["C"] == 0.5
    assert "gap" in str(opened.result_)
    assert SequenceTagger(C=10.0).fit(ROWS, Y).predict(ROWS) == Y


def parse(folder: Path) -> None:
    """Train, compress, open, predict, draw."""
    trees = load_english("train")[:30]
    parser = DependencyParser(passes=2).fit(trees)
    compress(parser, size=200_000).model.save(folder / "parser.dstruct")
    assert len(load_model(folder / "parser.dstruct").predict(trees)) == 30
    sentence = ["Ada", "likes", "cats"], [2, 0, 2], ["nsubj", "root", "obj"]
    assert "obj" in draw_tree(*sentence)
    assert "<svg" in tree_svg(*sentence)


def classify() -> None:
    """One label for each row."""
    svm = StructuredSVM(Multiclass()).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    assert svm.predict([[0.0, 1.0]]) == ["a"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        tag(Path(name))
        parse(Path(name))
    classify()
