"""Whether wrong annotation is found: precision among as many suspects as there are wrong sentences.

    python benchmarks/suspects.py [--data FOLDER] [--seeds N] [--only CORPUS] [--sentences N]

Noise as annotators make it (noise.py) in 5 % or 10 % of the sentences: a boundary moved, a type
swapped, a span missed, a span invented, all labels by a weaker annotator. As many sentences are
flagged as were changed (at 10 % the most suspect tenth); precision is the share of them that was
changed. Beside ours is cleanlab's token classification on the same labels, with the very
probabilities that ours is computed from (5 folds, a CRF): its default (the least self-confidence
in a sentence), and the best of its six scores on that row, which nobody can know beforehand.

The corpora have mistakes of their own, which count as false alarms for both. ``--tuning`` takes the
files on which the ranking was chosen (the dev and test data) instead. ``--only random`` and
``--only parsing`` draw whole sentences at random, as Mančev 2015 makes outliers.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

import numpy as np

from dualstruct import DependencyParser, SequenceTagger, read_columns, read_conllu
from dualstruct.suspecting import FOLDS
from dualstruct.suspecting.search import judge
from measuring import DATA, Clock
from noise import KINDS, Corpus, corrupted

#: The files that are reported on, those on which the ranking was chosen, and the features.
CORPORA = {
    "wnut17": (["wnut17/train"], ["wnut17/dev", "wnut17/test"], "ner"),
    "conll2000": (["conll2000/train"], ["conll2000/test"], "chunking-small"),
    "jnlpba": (["jnlpba/train"], ["jnlpba/test"], "ner"),
    "bc2gm": (["bc2gm/train"], ["bc2gm/dev"], "ner"),
}
REPORTED = ("wnut17", "conll2000", "jnlpba")
SHARES = (0.05, 0.1)
CLEANLAB = [
    (token, sentence)
    for token in ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
    for sentence in ("min", "softmin")
]


def precision(order: np.ndarray, wrong: np.ndarray) -> float:
    """Of as many sentences as are wrong, the most suspect ones, the share that is."""
    flagged = np.argsort(-order, kind="stable")[: int(wrong.sum())]
    return float(wrong[flagged].mean())


def cleanlab_orders(labels: list[list[int]], probabilities: list[np.ndarray]) -> list[np.ndarray]:
    from cleanlab.token_classification.rank import get_label_quality_scores

    return [
        -get_label_quality_scores(
            labels, probabilities, token_score_method=token, sentence_score_method=sentence
        )[0]
        for token, sentence in CLEANLAB
    ]


def compared(
    corpus: Corpus, features: str, kind: str, share: float, seed: int
) -> tuple[float, list[float], float]:
    """Our precision, those of cleanlab's scores, and our CPU seconds."""
    labels, wrong = corrupted(corpus, kind, share, seed)
    tagger = SequenceTagger(features=features, passes=1, seed=seed).fit(corpus.X, labels)
    clock = Clock()
    case = tagger.suspect_case(corpus.X, labels)
    verdict = judge(case, folds=FOLDS, duals=None, seed=seed, threads=1)
    seconds = clock.lap()
    probabilities: list[np.ndarray] = [np.zeros(0)] * len(labels)
    for examples, reading in zip(verdict.shares, verdict.readings, strict=True):
        for i, found in zip(examples.tolist(), reading.marginals(verdict.beta), strict=True):
            probabilities[i] = found.astype(float)
    number = {name: k for k, name in enumerate(case.names)}
    numbers = [[number[name] for name in sentence] for sentence in labels]
    theirs = [precision(order, wrong) for order in cleanlab_orders(numbers, probabilities)]
    return precision(verdict.order, wrong), theirs, seconds


def read_corpus(data: Path, files: list[str], most: int) -> Corpus:
    parts = [read_columns(data / f"{name}.txt.xz") for name in files]
    X = [list(sentence) for part in parts for sentence in part.tokens][:most]
    y = [list(sentence) for part in parts for sentence in part.labels][:most]
    return Corpus(X, y)


def compare(data: Path, name: str, seeds: range, most: int, tuning: bool) -> None:
    reported, chosen_on, features = CORPORA[name]
    corpus = read_corpus(data, chosen_on if tuning else reported, most)
    kinds = [kind for kind in KINDS if kind != "type" or len(corpus.types) > 1]
    for kind, share in itertools.product(kinds, SHARES):
        runs = [compared(corpus, features, kind, share, seed) for seed in seeds]
        ours = [run[0] for run in runs]
        theirs = np.mean([run[1] for run in runs], axis=0)
        print(
            f"{name:10} {kind:9} {100 * share:3.0f} %  ours {np.mean(ours):.3f} "
            f"(± {np.std(ours):.3f})  cleanlab {theirs[0]:.3f}, its best {theirs.max():.3f} "
            f"({' '.join(CLEANLAB[int(theirs.argmax())])})  "
            f"{'above' if np.mean(ours) > theirs[0] else 'BELOW'}   "
            f"{np.mean([run[2] for run in runs]):5.1f} s CPU",
            flush=True,
        )


def chosen(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.isin(np.arange(count), rng.choice(count, round(0.1 * count), replace=False))


def random_labels(data: Path, seed: int, most: int) -> None:
    train = read_columns(data / "conll2000/train.txt.xz")
    X, labels = list(train.tokens)[:most], list(train.labels)[:most]
    rng = np.random.default_rng(seed)
    names = sorted({label for sentence in labels for label in sentence})
    wrong = chosen(rng, len(labels))
    for i in np.flatnonzero(wrong):
        labels[i] = rng.choice(names, len(labels[i])).tolist()
    tagger = SequenceTagger(features="chunking-small", passes=10).fit(X, labels)
    for folds in (FOLDS, 0):
        show("random labels", seed, folds, wrong, tagger, X, labels)


def show(task, seed, folds, wrong, model, *data) -> None:
    clock = Clock()
    found = model.suspects(*data, folds=folds)
    most = int(wrong.sum())
    share = np.mean([wrong[each.sentence - 1] for each in found[:most]])
    how = f"{folds} folds" if folds else "the model itself"
    print(
        f"{task:14} seed {seed}  {how:18} precision at 10 %: {share:.4f}   "
        f"{clock.lap():5.1f} s CPU",
        flush=True,
    )


def random_trees(data: Path, seed: int, most: int) -> None:
    treebank = read_conllu(data / "ud_english_ewt/train.conllu.xz").select(range(most))
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
    for folds in (FOLDS, 0):
        show("random trees", seed, folds, wrong, parser, noisy)


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
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--first-seed", type=int, default=0)
    options.add_argument("--sentences", type=int, default=2000)
    options.add_argument("--tuning", action="store_true")
    options.add_argument("--only", choices=[*CORPORA, "random", "parsing"])
    given = options.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    print(f"{given.sentences} sentences, seeds {[*seeds]}", file=sys.stderr)
    for name in CORPORA:
        if given.only == name or (given.only is None and name in REPORTED):
            compare(given.data, name, seeds, given.sentences, given.tuning)
    if given.only in (None, "random"):
        random_labels(given.data, given.first_seed, given.sentences)
    if given.only in (None, "parsing"):
        random_trees(given.data, given.first_seed, given.sentences)
