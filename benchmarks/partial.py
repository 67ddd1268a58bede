"""What is lost when most labels of a corpus are unknown: train on them, or drop the sentences.

    python benchmarks/partial.py --hidden 0.7

Labels of CoNLL-2000's training sentences are hidden at random; the test set is whole. Three ways to
learn: from the sentences that are still complete, from the runs of known tokens (each taken for a
sentence), and from all with unknown_label="?".
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from dualstruct import SequenceTagger, read_columns
from measuring import DATA


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hidden", type=float, default=0.7, help="the share of labels hidden")
    parser.add_argument("--loss", default="squared_hinge")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    folder = DATA / "conll2000"
    train, test = (read_columns(folder / f"{name}.txt.xz") for name in ("train", "test"))
    X, Y = [list(x) for x in train.tokens], [list(y) for y in train.labels]
    rng = np.random.default_rng(chosen.seed)
    Z = [["?" if rng.random() < chosen.hidden else label for label in y] for y in Y]
    complete = [i for i, z in enumerate(Z) if "?" not in z]
    runs = [run for x, z in zip(X, Z, strict=True) for run in cut(list(zip(x, z, strict=True)))]
    ways = {
        "nothing hidden": (X, Y, None),
        f"the {len(complete):,} complete sentences": (
            [X[i] for i in complete],
            [Z[i] for i in complete],
            None,
        ),
        f"{len(runs):,} runs of known tokens": (
            [[token for token, _ in run] for run in runs],
            [[label for _, label in run] for run in runs],
            None,
        ),
        'unknown_label="?"': (X, Z, "?"),
    }
    warnings.simplefilter("ignore")
    for name, (x, y, unknown) in ways.items():
        started = time.process_time()
        tagger = SequenceTagger(
            "chunking-small", loss=chosen.loss, passes=10, constraints=None, unknown_label=unknown
        ).fit(x, y)
        seconds = time.process_time() - started
        score = 100 * tagger.score(test.tokens, test.labels)
        print(f"{name:32}  F1 {score:5.2f}  {seconds:4.1f} s")


def cut(pairs: list[tuple[object, str]]) -> list[list[tuple[object, str]]]:
    """The runs of tokens whose label is known."""
    runs: list[list[tuple[object, str]]] = [[]]
    for token, label in pairs:
        if label == "?":
            runs.append([])
        else:
            runs[-1].append((token, label))
    return [run for run in runs if run]


if __name__ == "__main__":
    main()
