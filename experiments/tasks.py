"""Where the sentences come from: corpora as structures, with development and test scores.

A task is what solvers learn from: a structure, and two scores of weights. Corpora without a
development part get one: every tenth training sentence is kept out while settings are chosen, and
comes back when the chosen ones are trained. Fewer sentences than there are means a draw from all of
them: corpora are often in the order of their sources.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import Problem, Stopping, _core, fit, read_columns, read_conllu
from dualstruct.data.conllu import Treebank
from dualstruct.datasets import load_english
from dualstruct.datasets.corpora import find_part
from dualstruct.errors import InputError
from dualstruct.features import make_extractor
from dualstruct.labels.names import Labels
from dualstruct.metrics import evaluate_ids, score_name
from dualstruct.solvers import DCD
from dualstruct.structures import Chain, SecondOrderTree, Subset, Tree
from dualstruct.structures.base import Structure
from dualstruct.tasks.parsing.learning import interleaved
from dualstruct.tasks.parsing.model import SecondOrder, TreeShape, make_tree, present_sources

from .options import Options

FEWEST_SENTENCES = 20
Score = Callable[[_core.Weights], float]
#: One training sentence in this many is held out where a corpus has no development part.
HELD_OUT_EVERY = 10


@dataclass(frozen=True, eq=False)
class Task:
    """Sentences to learn from, and what learning is judged by."""

    name: str
    metric: str  #: F1, accuracy or UAS
    structure: Structure  #: the training sentences
    choosing: Structure  #: those that settings are chosen on
    dev: Score  #: with the sentences left out of ``choosing``, or a development part
    test: Score
    metadata: dict[str, Any]  #: sizes, for the record
    names: Sequence[str] = ()  #: of the labels, where outputs are sequences of them

    def sizes(self) -> str:
        """What it is, in a few words."""
        metadata = self.metadata
        train, test = metadata.get("whole", (0, 0))
        return (
            f"{self.name}: {metadata['corpus']}, {_of(len(self.structure), train)} sentences to "
            f"learn from, {_of(metadata['test'], test)} to test on, {metadata['outputs']}"
        )


def _of(count: int, whole: int) -> str:
    """So many, of how many if there are more.

    >>> _of(2000, 2000), _of(500, 2000)
    ('2,000', '500 of 2,000')
    """
    return f"{count:,} of {whole:,}" if whole > count else f"{count:,}"


#: Tasks with labels: the corpus, the features, and the column of a treebank that is learned.
TAGGING = {
    "chunking": ("conll2000", "chunking-small", None),
    "jnlpba": ("jnlpba", "ner", None),
    "bc2gm": ("bc2gm", "ner", None),
    "wnut17": ("wnut17", "ner, clusters", None),
    "brown": ("brown", "pos", None),
    "EWT POS": ("ud_english_ewt", "pos", "xpos"),
}
#: Features of Brown clusters, where a corpus has "clusters" after its preset.
CLUSTERS = Path("brown_clusters", "bllip-clusters.txt.xz")
CLUSTER_BITS = (4, 6, 10, 20)
#: Tasks with trees: the corpus, and whether arcs may cross and several words hang from the root.
PARSING = {
    "English trees": ("ud_english_ewt", False),
    "English trees, order 2": ("ud_english_ewt", False),
    "Danish trees": ("ddt_conllx", True),
    "Danish trees, order 2": ("ddt_conllx", True),
}
#: The same from the corpus that comes with dualstruct.
EMBEDDED = {"English entities": "entities", "English POS": "upos", "English heads": "trees"}


def read_limits(given: Sequence[str]) -> tuple[int | None, dict[str, int]]:
    """The most sentences of every task and of single ones, of texts as a command has them.

    >>> read_limits(["3000", "English trees=500"])
    (3000, {'English trees': 500})
    """
    every, single = None, {}
    for text in given:
        name, _, number = text.rpartition("=")
        known = (*TAGGING, *PARSING, *EMBEDDED)
        if name and name not in known:
            raise InputError(f"--sentences {text}: there is no task {name!r}")
        if not number.isdecimal() or int(number) < FEWEST_SENTENCES:
            raise InputError(
                f"--sentences {text}: {number!r} is not a number of at least {FEWEST_SENTENCES}"
            )
        if name:
            single[name] = int(number)
        else:
            every = int(number)
    return every, single


def load_task(
    name: str,
    options: Options,
    most: int | None = None,
    order: int = 1,
    relabel: Any = None,
    hash_bits: int | None = None,
) -> Task:
    """The task of this name, of at most ``most`` training sentences."""
    limit = options.most_sentences(most, name)
    if name in EMBEDDED:
        whole, test = load_english("train"), load_english("test")
        test = test.select(drawn(len(test), options.test_sentences, options.seed))
        train = whole.select(drawn(len(whole), limit, options.seed))
        corpus = "the corpus that comes with dualstruct"
        if EMBEDDED[name] == "trees":
            return tree_task(name, corpus, train, None, test, False, order)
        parts = [
            ([s.forms for s in part], [getattr(s, EMBEDDED[name]) for s in part])
            for part in (train, test)
        ]
        preset = "ner" if EMBEDDED[name] == "entities" else "pos"
        return tag_task(name, corpus, preset, parts[0], None, parts[1], hash_bits)
    if name in PARSING:
        corpus, crossing = PARSING[name]
        files = [_part(corpus, part, options) for part in ("train", "dev", "test")]
        banks = [None if file is None else read_conllu(file) for file in files]
        assert banks[0] is not None
        assert banks[2] is not None
        train = banks[0].select(drawn(len(banks[0]), limit, options.seed))
        test = banks[2].select(drawn(len(banks[2]), options.test_sentences, options.seed))
        task = tree_task(name, corpus, train, banks[1], test, crossing, order)
        task.metadata["whole"] = (len(banks[0]), len(banks[2]))
        return task
    corpus, given, column = TAGGING[name]
    preset, extra = with_clusters(given, options.data)
    pairs: list[Any] = []
    counts: dict[str, int] = {}
    for part in ("train", "dev", "test"):
        file = _part(corpus, part, options)
        if file is None:
            pairs.append(None)
        elif column is None:
            data = read_columns(file)
            pairs.append((data.tokens, data.labels))
        else:
            bank = read_conllu(file)
            pairs.append((bank.forms, bank.columns(column)))
        most_of = {"train": limit, "test": options.test_sentences}.get(part)
        counts[part] = 0 if pairs[-1] is None else len(pairs[-1][0])
        if most_of is not None:
            numbers = drawn(len(pairs[-1][0]), most_of, options.seed)
            pairs[-1] = tuple([sentences[i] for i in numbers] for sentences in pairs[-1])
        if relabel is not None and pairs[-1] is not None:
            tokens, labels = pairs[-1]
            pairs[-1] = (tokens, [[relabel(label) for label in sentence] for sentence in labels])
    task = tag_task(name, corpus, preset, pairs[0], pairs[1], pairs[2], hash_bits, extra)
    task.metadata["whole"] = (counts["train"], counts["test"])
    return task


def with_clusters(given: str, data: Path | None) -> tuple[str, str]:
    """A preset and the clusters that the folder of the corpora has, and what to say of that."""
    preset, _, clusters = given.partition(", ")
    if not clusters:
        return preset, ""
    path = None if data is None else (data / CLUSTERS).resolve()
    if path is None or not path.exists():
        return preset, f", without Brown clusters ({CLUSTERS} is missing)"
    lines = [f"cluster(word[-1..1],{bits})" for bits in CLUSTER_BITS]
    return "\n".join([f"include {preset}", f"clusters {path}", *lines, ""]), ", Brown clusters"


def drawn(count: int, limit: int | None, seed: int) -> NDArray[np.int64]:
    """The numbers of at most ``limit`` of so many sentences, in their order.

    >>> drawn(3, None, 0).tolist(), len(drawn(100, 20, 0))
    ([0, 1, 2], 20)
    """
    if limit is None or limit >= count:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, limit, replace=False))


def _part(corpus: str, part: str, options: Options) -> Path | None:
    return find_part(options.data, corpus, part)


def plain_brown_tag(tag: str) -> str:
    """A tag of the Brown corpus without what is added to it: 93 are left of 472.

    >>> plain_brown_tag("NN-TL"), plain_brown_tag("PPSS+BER"), plain_brown_tag("--")
    ('NN', 'PPSS', '-')
    """
    return re.split(r"(?<=.)[-+*]", tag)[0]


Labelled = tuple[Sequence[Any], Sequence[Sequence[str]]]


def tag_task(
    name: str,
    corpus: str,
    preset: str,
    train: Labelled,
    dev: Labelled | None,
    test: Labelled,
    hash_bits: int | None = None,
    extra: str = "",
) -> Task:
    """Chains with the features of a preset."""
    extractor = make_extractor(preset, hash_bits=hash_bits)
    rows = extractor.fit(train[0])
    labels = Labels.learn(train[1])
    truth = labels.encode(train[1], rows.sentences)
    chain = Chain(rows, len(labels), truth)

    def scored(part: Labelled) -> Score:
        unseen = Chain(extractor.transform(part[0]), len(labels))
        true_labels, names = labels.encode_any(part[1], unseen.sentences)

        def score(w: _core.Weights) -> float:
            found = unseen.decode_all(w)
            return evaluate_ids(true_labels, found, unseen.sentences, names).score

        return score

    numbers = np.arange(len(chain))
    kept = numbers[numbers % HELD_OUT_EVERY == HELD_OUT_EVERY - 1]
    choosing = chain if dev is not None else Subset(chain, np.setdiff1d(numbers, kept))
    dev_score = scored(dev) if dev is not None else held_out_score(chain, kept, labels.names)

    return Task(
        name,
        "F1" if score_name(labels.names) == "f1" else "accuracy",
        chain,
        choosing,
        dev_score,
        scored(test),
        {
            "corpus": corpus,
            "test": len(test[0]),
            "outputs": f"{len(labels)} labels{extra}",
            "features": f"{preset.splitlines()[0]}{extra}, {hash_bits}",
        },
        labels.names,
    )


def held_out_score(chain: Chain, examples: NDArray[np.int64], names: Sequence[str]) -> Score:
    """Judges weights by some of the sentences that they have not learned from."""
    assert chain.truth is not None
    lengths = np.diff(chain.sentences)
    truth = chain.truth[np.repeat(np.isin(np.arange(len(lengths)), examples), lengths)]
    offsets = np.concatenate([[0], np.cumsum(lengths[examples])])
    held_out = Subset(chain, examples)

    def score(w: _core.Weights) -> float:
        return evaluate_ids(truth, held_out.decode_all(w), offsets, names).score

    return score


def folds_of(task: Task, count: int, learned: Structure | None = None) -> list[Task]:
    """The task with each fold of its sentences held out in turn, to choose settings by.

    ``learned`` has the same sentences with other labels to learn from; those held out keep theirs.
    """
    assert isinstance(task.structure, Chain)
    fold_of = np.arange(len(task.structure)) % count
    learned = task.structure if learned is None else learned
    return [
        replace(
            task,
            choosing=Subset(learned, np.flatnonzero(fold_of != fold)),
            dev=held_out_score(task.structure, np.flatnonzero(fold_of == fold), task.names),
        )
        for fold in range(count)
    ]


def with_outliers(structure: Structure, share: float, seed: int) -> tuple[Chain, NDArray[np.bool_]]:
    """The same sentences, with labels drawn at random in a share of them, and which those are."""
    assert isinstance(structure, Chain)
    assert structure.truth is not None
    rng = np.random.default_rng([seed, round(1000 * share)])
    sentences = structure.sentences
    count = len(sentences) - 1
    wrong = np.isin(np.arange(count), rng.choice(count, round(share * count), replace=False))
    tokens = np.repeat(wrong, np.diff(sentences))
    truth = structure.truth.copy()
    truth[tokens] = rng.integers(0, structure.labels, int(tokens.sum()))
    return Chain(structure.rows, structure.labels, truth), wrong


def tree_task(
    name: str,
    corpus: str,
    train: Treebank,
    dev: Treebank | None,
    test: Treebank,
    crossing: bool,
    order: int,
) -> Task:
    """Trees without relations, as the papers have them; order 2 sees pairs of arcs as well."""
    bits = min(max(len(train.heads).bit_length() + 4, 16), 20)
    shape = TreeShape(not crossing, not crossing, bits, 8, 0.0)
    sources = present_sources(train, {})

    def first(bank: Treebank, between: list[str] | None, learn: bool = True) -> Tree:
        heads = bank.heads if learn else None
        labels = np.zeros(len(bank.heads), dtype=np.int32) if learn else None
        return make_tree(bank, sources, None, 1, shape, between, heads, labels)

    if dev is None:
        choosing_bank = train.select([i for i in range(len(train)) if not _held_out(i)])
        dev = train.select([i for i in range(len(train)) if _held_out(i)])
    else:
        choosing_bank = train
    tree = first(train, None)
    between = tree.between
    second = SecondOrder(True, bits - 2, 10, 0.005, 3.0) if order == 2 else None
    pruner = None if second is None else second.sharpened(tree, _quick_weights(tree))

    def learnable(bank: Treebank) -> Tree | SecondOrderTree:
        whole = tree if bank is train else first(bank, between)
        if second is None:
            return whole
        halves = []
        for fold in (0, 1):  # arcs pruned by a model that has not seen the sentence
            others = first(bank[1 - fold :: 2], between)
            model = second.sharpened(others, _quick_weights(others))
            halves.append(second.prune(first(bank[fold::2], between), model, keep_truth=True))
        return second.structure(whole, interleaved(halves))

    def scored(bank: Treebank) -> Score:
        arcs = first(bank, between, learn=False)
        unseen: Tree | SecondOrderTree = arcs
        if second is not None and pruner is not None:
            unseen = second.structure(arcs, second.prune(arcs, pruner))
        words = ~_punctuation(bank)

        def score(w: _core.Weights) -> float:
            heads, _ = unseen.split(unseen.decode_all(w))
            return float((heads == bank.heads)[words].mean())

        return score

    structure = learnable(train)
    return Task(
        name,
        "UAS",
        structure,
        structure if choosing_bank is train else learnable(choosing_bank),
        scored(dev),
        scored(test),
        {
            "corpus": corpus,
            "test": len(test),
            "outputs": f"trees, order {order}",
            "features": f"order {order}",
        },
    )


def _held_out(i: int) -> bool:
    return i % HELD_OUT_EVERY == HELD_OUT_EVERY - 1


def _quick_weights(tree: Tree) -> _core.Weights:
    """A first-order model that is good enough to prune."""
    return fit(Problem(tree, "squared_hinge", 0.01), DCD(1), Stopping(passes=3)).w


def _punctuation(bank: Treebank) -> NDArray[np.bool_]:
    """Words that CoNLL-X does not score."""
    numbers, forms = bank.forms.encoded()
    marks = [all(unicodedata.category(c).startswith("P") for c in form) for form in forms]
    return np.array(marks, dtype=bool)[numbers]
