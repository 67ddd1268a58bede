"""Whether wrong annotation is found: precision among the most suspect tenth of the sentences.

    python benchmarks/suspects.py [--data FOLDER] [--seeds N]

A tenth of CoNLL-2000's training sentences get labels drawn at random, as Mančev 2015 makes
outliers; a tagger is trained on the whole, and ranks the sentences. For trees a tenth of 3,000
sentences of English EWT get heads of a random tree and relations at random. Precision: of as many
suspects as there are wrong sentences, the share that is.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from dualstruct import DependencyParser, SequenceTagger, read_columns, read_conllu
from dualstruct.suspecting import Suspect
from measuring import DATA

SHARE = 0.1


def precision(found: list[Suspect], wrong: np.ndarray) -> float:
    most = int(wrong.sum())
    return float(np.mean([wrong[each.sentence - 1] for each in found[:most]]))


def chosen(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.isin(np.arange(count), rng.choice(count, round(SHARE * count), replace=False))


def chunking(data: Path, seed: int) -> None:
    train = read_columns(data / "conll2000/train.txt.xz")
    rng = np.random.default_rng(seed)
    labels = list(train.labels)
    names = sorted({label for sentence in labels for label in sentence})
    wrong = chosen(rng, len(labels))
    for i in np.flatnonzero(wrong):
        labels[i] = rng.choice(names, len(labels[i])).tolist()
    X = list(train.tokens)
    with tempfile.TemporaryDirectory() as folder:
        for loss, kind in (("squared_hinge", "dual mass"), ("ramp", "given up, then dual mass")):
            checkpoint = Path(folder) / f"{loss}.checkpoint"
            tagger = SequenceTagger(
                features="chunking", loss=loss, passes=10, checkpoint=checkpoint
            ).fit(X, labels)
            if loss == "squared_hinge":
                for folds in (2, 5):
                    show("chunking", seed, f"{folds} folds", wrong, tagger, X, labels, folds=folds)
                show("chunking", seed, "the model itself", wrong, tagger, X, labels, folds=0)
            show("chunking", seed, f"{loss}: {kind}", wrong, tagger, X, labels, duals=checkpoint)


def show(task, seed, how, wrong, model, *data, **options) -> None:
    started = time.process_time()
    found = model.suspects(*data, **options)
    seconds = time.process_time() - started
    print(
        f"{task:10} seed {seed}  {how:32} precision at {100 * SHARE:.0f} %: "
        f"{precision(found, wrong):.4f}   {seconds:5.1f} s CPU",
        flush=True,
    )


def parsing(data: Path, seed: int) -> None:
    treebank = read_conllu(data / "ud_english_ewt/train.conllu.xz").select(range(3000))
    rng = np.random.default_rng(seed)
    wrong = chosen(rng, len(treebank))
    relations = sorted({name for sentence in treebank.relations for name in sentence})
    heads, names = [], []
    for i, sentence in enumerate(treebank):
        if wrong[i]:
            heads += random_tree(rng, len(sentence))
            names.append(rng.choice(relations, len(sentence)).tolist())
        else:
            heads += sentence.heads
            names.append(sentence.relations)
    noisy = treebank.replace(heads=np.array(heads, dtype=np.int32), relations=names)
    parser = DependencyParser(passes=5, projective=True).fit(noisy)
    show("parsing", seed, "2 folds", wrong, parser, noisy)
    show("parsing", seed, "the model itself", wrong, parser, noisy, folds=0)


def random_tree(rng: np.random.Generator, words: int) -> list[int]:
    """Words come in a random order, and each hangs from one that came before; one from the root."""
    heads = [0] * words
    order = (rng.permutation(words) + 1).tolist()
    for k, word in enumerate(order):
        heads[word - 1] = 0 if k == 0 else order[int(rng.integers(0, k))]
    return heads


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=DATA)
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--only", choices=["chunking", "parsing"])
    given = options.parse_args()
    for seed in range(given.seeds):
        if given.only != "parsing":
            chunking(given.data, seed)
        if given.only != "chunking":
            parsing(given.data, seed)
