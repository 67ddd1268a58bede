"""How large model files are, how long they take to open, and what compressing one loses.

    python benchmarks/sizes.py [--small]

Ours beside CRFsuite's ``pa`` (10 iterations), on the same attributes: those of a preset. Then the
chunking model of nine tenths of conll2000 at 450 KB, chosen on the other tenth and scored on the
test data, before and after; with names and without, for ten seeds and tenths. --small: that alone.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pycrfsuite

from dualstruct import SequenceTagger, compress, load_model, read_columns, read_conllu
from measuring import DATA

SEEDS = 10
#: Corpus, and the preset whose features both get.
TASKS = {"usaddress": "pos", "ud_english_ewt": "pos", "jnlpba": "ner"}


def sentences_of(corpus: str) -> tuple[Any, Any]:
    if corpus == "ud_english_ewt":
        trees = read_conllu(DATA / corpus / "train.conllu.xz")
        return trees.forms, trees.xpos
    columns = read_columns(DATA / corpus / "train.txt.xz")
    return [[token[0] if isinstance(token, tuple) else token for token in x]
            for x in columns.tokens], columns.labels  # fmt: skip


def crfsuite_size(tagger: SequenceTagger, X: Any, y: Any, path: Path) -> int:
    """Of a model that CRFsuite trains on the features that our tagger has."""
    extractor = tagger.model_.extractor
    trainer = pycrfsuite.Trainer(algorithm="pa", params={"max_iterations": 10}, verbose=False)
    for sentence, labels in zip(X, y, strict=True):
        rows = extractor.transform([sentence])
        names, offsets = extractor.names(rows.ids), rows.offsets.tolist()
        items = [names[a:b] for a, b in pairwise(offsets)]
        trainer.append(items, list(labels))
    trainer.train(str(path))
    return path.stat().st_size


def fastest(work: Callable[[], Any], times: int = 9) -> float:
    """CPU milliseconds."""
    found = []
    for _ in range(times):
        before = time.process_time()
        work()
        found.append(time.process_time() - before)
    return 1000 * min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--small", action="store_true", help="only the model of 450 KB")
    with tempfile.TemporaryDirectory() as folder:
        if not parser.parse_args().small:
            beside_crfsuite(Path(folder))
        at_450_kb(Path(folder))


def beside_crfsuite(place: Path) -> None:
    print("| corpus | ours, MB | CRFsuite's pa, MB | ours opens in, CPU ms |")
    print("| --- | --- | --- | --- |")
    for corpus, features in TASKS.items():
        X, y = sentences_of(corpus)
        tagger = SequenceTagger(features=features).fit(X, y)
        ours = place / f"{corpus}.dstruct"
        tagger.save(ours)
        theirs = crfsuite_size(tagger, X, y, place / f"{corpus}.crfsuite")
        opening = fastest(lambda ours=ours: load_model(ours))  # type: ignore[misc]
        size = ours.stat().st_size
        print(f"| {corpus} | {size / 1e6:.2f} | {theirs / 1e6:.2f} | {opening:.1f} |", flush=True)


def at_450_kb(place: Path) -> None:
    columns = read_columns(DATA / "conll2000" / "train.txt.xz")
    X, y = list(columns.tokens), list(columns.labels)
    test = read_columns(DATA / "conll2000" / "test.txt.xz")
    print("\n| seed | names | held out before | now | test before | now | KB | speed | opens, ms |")
    print("| --- " * 9 + "|")
    lost: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(SEEDS):
        held_out = X[seed::SEEDS], y[seed::SEEDS]
        learned = [i for i in range(len(X)) if i % SEEDS != seed]
        tagger = SequenceTagger(features="chunking", seed=seed)
        tagger.fit([X[i] for i in learned], [y[i] for i in learned])
        before = 100 * tagger.score(test.tokens, test.labels)
        usual = fastest(lambda tagger=tagger, new=held_out[0]: tagger.predict(new))  # type: ignore[misc]
        for names, found in lost.items():
            small = compress(tagger, held_out, size="450KB", names=names)
            small.save(place / "small.dstruct")
            opened = load_model(place / "small.dstruct")
            assert small.score is not None
            assert small.score_before is not None
            now = 100 * opened.score(test.tokens, test.labels)
            found.append(before - now)
            speed = usual / fastest(lambda new=held_out[0], opened=opened: opened.predict(new))  # type: ignore[misc]
            opening = fastest(lambda: load_model(place / "small.dstruct"))
            print(
                f"| {seed} | {'kept' if names else 'left out'} | {100 * small.score_before:.2f} "
                f"| {100 * small.score:.2f} | {before:.2f} | {now:.2f} | {small.size / 1e3:.0f} "
                f"| {speed:.2f} | {opening:.1f} |",
                flush=True,
            )
    for names, found in lost.items():
        print(
            f"\nnames {'kept' if names else 'left out'}: {statistics.mean(found):.3f} of F1 lost "
            f"on the test data, standard deviation {statistics.stdev(found):.3f}"
        )


if __name__ == "__main__":
    main()
