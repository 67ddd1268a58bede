"""Another system's labels become a small tagger: a simulated teacher, and what its mistakes cost.

    python benchmarks/distilling.py [--size 1MB] [--checked 0.1] [--seed N] [--data DIR] [CORPUS]

The teacher knows the true spans and errs as large models and rules do: it misses spans (rare words
more often), moves their ends, confuses their types, and marks capitalised words that are nothing.
It says how probable each span is: mistakes less so, but often enough as sure as the rest. Taggers
are trained on the true labels, on the teacher's, on the teacher's with probabilities as weights of
tokens, and after somebody has checked the sentences that `suspects` finds (or as many at random).
Each is judged on development data, as it is and in a file of at most --size. Test data are not
looked at.
"""

from __future__ import annotations

import argparse
import random
import warnings
from collections import Counter
from pathlib import Path

from dualstruct import SequenceTagger, compress, evaluate, read_columns
from dualstruct.labels.schemes import spans
from measuring import DATA

Rows = list[list[str]]
#: How often the teacher misses a span (of a rare word twice as often), moves an end of it, takes
#: another type, and marks a capitalised word that is none.
MISSES, MOVES, CONFUSES, INVENTS = 0.12, 0.06, 0.06, 0.02


def read(path: Path) -> tuple[Rows, Rows]:
    file = read_columns(path)
    words = [[w if isinstance(w, str) else w[0] for w in row] for row in file.tokens]
    return words, [list(row) for row in file.labels]


def taught(X: Rows, y: Rows, seed: int) -> tuple[Rows, list[list[float]]]:
    """The teacher's labels, and how probable it says that each is."""
    draw = random.Random(seed)
    counts = Counter(word for row in X for word in row)
    types = sorted({span.type for row in y for span in spans(row)})
    labels, weights = [], []
    for words, row in zip(X, y, strict=True):
        made, sure = ["O"] * len(words), [1.0] * len(words)

        def mark(begin: int, end: int, type_: str, p: float, made=made, sure=sure) -> None:  # type: ignore[no-untyped-def]
            for t in range(begin, end):
                made[t], sure[t] = f"{'B' if t == begin else 'I'}-{type_}", p

        for span in spans(row):
            rare = counts[words[span.start]] <= 2
            begin, end, type_, right = span.start, span.end, span.type, True
            if draw.random() < MISSES * (2 if rare else 1):
                for t in range(begin, end):  # it wavers sometimes
                    sure[t] = draw.uniform(0.5, 1.0)
                continue
            if draw.random() < MOVES and end < len(words):
                end, right = (end + 1, False) if end - begin == 1 else (end - 1, False)
            if draw.random() < CONFUSES and len(types) > 1:
                type_, right = draw.choice([t for t in types if t != type_]), False
            mark(begin, end, type_, draw.uniform(0.7 if right else 0.4, 1.0))
        for t, word in enumerate(words):
            if made[t] == "O" and word[:1].isupper() and t and draw.random() < INVENTS:
                mark(t, t + 1, draw.choice(types), draw.uniform(0.4, 1.0))
        labels.append(valid(made))
        weights.append(sure)
    return labels, weights


def valid(labels: list[str]) -> list[str]:
    """Spans that another one cut off begin anew."""
    made = list(labels)
    for t, label in enumerate(made):
        before = made[t - 1] if t else "O"
        if label[:2] == "I-" and (before == "O" or before[2:] != label[2:]):
            made[t] = f"B-{label[2:]}"
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="?", default="wnut17")
    parser.add_argument("--size", default="1MB")
    parser.add_argument("--checked", type=float, default=0.1, help="share of sentences")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=DATA)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = read(asked.data / asked.corpus / "train.txt.xz")
    dev = read(asked.data / asked.corpus / "dev.txt.xz")
    said, sure = taught(X, y, asked.seed)
    print(f"teacher: F1 {100 * evaluate(y, said).score:.1f} of its labels, {len(X):,} sentences")
    print(f"{'labels':34}{'F1':>7}{'small':>8}{'KB':>7}")

    def judge(name: str, labels: Rows, weights: list[list[float]] | None) -> SequenceTagger:
        tagger = SequenceTagger(features="ner", seed=1, unseen_labels="count")
        tagger.fit(X, labels, token_weight=weights)
        small = compress(tagger, size=asked.size)
        score, less = (evaluate(dev[1], m.predict(dev[0])).score for m in (tagger, small.model))
        print(f"{name:34}{100 * score:7.2f}{100 * less:8.2f}{small.size / 1000:7.0f}", flush=True)
        return tagger

    judge("true", y, None)
    judge("the teacher's", said, None)
    tagger = judge("... by their probabilities", said, sure)
    count = int(asked.checked * len(X))
    found = [each.sentence - 1 for each in tagger.suspects(X, said, top=count)]
    by_chance = random.Random(asked.seed).sample(range(len(X)), count)
    for name, chosen in (("suspects", found), ("at random", by_chance)):
        checked = set(chosen)
        labels = [y[i] if i in checked else row for i, row in enumerate(said)]
        weights = [[1.0] * len(row) if i in checked else row for i, row in enumerate(sure)]
        wrong = sum(y[i] != said[i] for i in checked)
        name = f"... {count} checked, {name}"
        judge(f"{name} ({wrong} wrong)", labels, weights)


if __name__ == "__main__":
    main()
