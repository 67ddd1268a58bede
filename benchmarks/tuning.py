"""What tuning gains over the settings by default: every fifth training sentence is held out.

    python benchmarks/tuning.py [--budget SECONDS] [--only CORPUS]

The rest is tuned and trained on; test and development data are not touched. All cores.
"""

from __future__ import annotations

import argparse
import sys
import time

from dualstruct import SequenceTagger, evaluate, read_columns, tune
from measuring import DATA, Clock

CORPORA = {
    "wnut17": "ner",
    "conll2000": "chunking-small",
    "jnlpba": "ner",
    "kb_dutch_ner": "ner",
    "twpos": "pos",
    "usaddress": "pos",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--only", choices=CORPORA)
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"no corpora in {DATA}: name their folder by DUALSTRUCT_DATA")
    print("| held out | score | default | tuned | wall s | CPU s | chosen |\n" + "| --- " * 7 + "|")
    for corpus, features in CORPORA.items():
        if options.only in (None, corpus):
            print(compared(corpus, features, options.budget), flush=True)


def compared(corpus: str, features: str, budget: float) -> str:
    file = read_columns(DATA / corpus / "train.txt.xz")
    pairs = list(zip(map(list, file.tokens), map(list, file.labels), strict=True))
    train = [pair for i, pair in enumerate(pairs) if i % 5 != 4]
    X, y = [x for x, _ in train], [labels for _, labels in train]
    given = SequenceTagger(features, unseen_labels="count")
    started, clock = time.perf_counter(), Clock()
    tuned = tune(given, X, y, budget=budget)
    wall, cpu = time.perf_counter() - started, clock.lap()
    metric = tuned.candidates_.metric
    scores = []
    held_out, truth = [x for x, _ in pairs[4::5]], [labels for _, labels in pairs[4::5]]
    for model in (given.fit(X, y), tuned):
        found = evaluate(truth, model.predict(held_out))
        scores.append(100 * (found.f1 if metric == "F1" else found.accuracy))
    chosen = next(row.name for row in tuned.candidates_ if row.chosen)
    default, other = scores
    return (
        f"| {corpus} | {metric} | {default:.2f} | {other:.2f} | {wall:.0f} | {cpu:.0f} | {chosen} |"
    )


if __name__ == "__main__":
    main()
