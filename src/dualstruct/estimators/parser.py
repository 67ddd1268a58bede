"""DependencyParser: from sentences and their trees to a model that parses new sentences."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.conllu import ConlluSentence, Treebank
from dualstruct.data.sources import Held, Source, TreeFiles, check_paths, paths_of, weighed
from dualstruct.distributed.bqo import BQO
from dualstruct.errors import InputError
from dualstruct.estimators.calibrated import CalibratedEstimator
from dualstruct.estimators.trained_parser import TrainedParser, as_treebank, short_enough
from dualstruct.features.clusters import read_clusters
from dualstruct.labels.names import Labels
from dualstruct.metrics.counts import share
from dualstruct.problem import Problem
from dualstruct.solvers import DCA, DCD, Solver
from dualstruct.structures import Tree
from dualstruct.structures.base import digest_of
from dualstruct.structures.second_order_tree import PrunedArcs, SecondOrderTree
from dualstruct.structures.tree import MAX_BETWEEN
from dualstruct.tasks.parsing.confidence import (
    QUICK,
    arc_marginals,
    marginal_temperature,
    relation_temperature,
    sentences_to_calibrate,
    tree_temperature,
)
from dualstruct.tasks.parsing.model import (
    SecondOrder,
    TreeModel,
    TreeShape,
    check_sources,
    make_tree,
    present_sources,
    type_counts,
)
from dualstruct.training.loop import Callback, Stopping, SummedScore, fit
from dualstruct.workers.communicator import Alone
from dualstruct.workers.merging import agree, gather, total, union

if TYPE_CHECKING:
    from typing_extensions import Self

#: The share of crossing arcs from which on trees count as non-projective.
CROSSING = 0.01
#: The first-order models that prune for order 2: how they are trained, by what their scores are
#: multiplied (those of margin losses are small), and how probable an arc must be beside the best.
PRUNER_C, PRUNER_PASSES, PRUNER_FOLDS = 0.01, 3, 2
SHARPNESS, THRESHOLD = 3.0, 0.005

#: Sentences with their trees, or the files that have them.
Trees = Treebank | Sequence[ConlluSentence] | TreeFiles | str | Path | Sequence[Path]


class SkippedSentences(UserWarning):
    """Sentences that are no trees were left out of training."""


class DependencyParser(TrainedParser):
    """Finds the head and the relation of every word of a sentence.

    Parameters
    ----------
    projective : bool or "auto"
        Whether arcs may not cross; "auto" forbids it if less than 1 % of the training arcs cross.
        Training arcs that cross are then lifted until they no longer do.
    single_root : bool or "auto"
        Whether exactly one word hangs from the root; "auto" if it is so in all training trees.
    order : {1, 2}
        1 scores every arc by itself; 2 also looks at neighbouring modifiers of a head, and at the
        head's head. It is better and takes several times as long. A first-order model then
        leaves out improbable arcs first.
    grandparents : bool
        Whether order 2 looks at the head's head. Without, projective trees are found exactly;
        with it, most are, and proven to be.
    most_heads : int
        How many heads order 2 leaves a word to choose from.
    lemma, morphology : bool
        Whether features look at LEMMA and FEATS, where the treebank has them: a column that less
        than 1 % of the words have something in counts as empty.
    clusters : path, optional
        A file of Brown clusters (``path TAB word TAB count``) for features; the model keeps it.
    loss : str
        What a mistake costs: ``squared_hinge``, ``hinge``, ``crf``, ``softmax_margin``, ``ramp``
        or ``perceptron``.
    beta, gamma : float, optional
        The parameters of the loss ``softmax_margin``.
    solver : str or Solver
        ``"auto"`` takes the quickest that fits the loss (for ``squared_hinge`` dual coordinate
        descent that revisits its cuts once between two passes, for ``crf`` and
        ``softmax_margin`` dual coordinate ascent); or a name (docs/solvers.md lists them), or an
        instance with settings of its own.
    averaged : bool
        Parse with the average of the weights over all steps of training.
    C : float
        The weight of one sentence's loss: larger fits the training data more closely.
    gap : float, optional
        Stop when this relative distance from the optimum is certified (0.01 is 1 %).
    passes, seconds : optional
        Stop after so many passes, or so much time. Without any rule: 10 passes, or with
        ``dev`` until the score has not improved for ``patience`` passes.
    patience : int
        Passes without a better development score.
    certify_every : int, optional
        Certify the gap after every so many passes, each with a full inference pass, so that
        ``result_.trace`` can be plotted; by default only where that may end training.
    hash_bits : int, optional
        Features are hashed into 2**hash_bits rows of 16 weights, and a sixteenth as many rows
        with a weight for each relation: 20 takes 64 MB and some more. By default it grows with
        the training data, from 16 to 20.
    label_cost : float
        The cost of a wrong relation at the right head; a wrong head costs 1.
    bad_trees : {"error", "skip"}
        What to do with training sentences that are no trees: refuse, or leave them out with a
        warning that counts them.
    minimum_risk : float, optional
        Predict the tree with the most heads right in expectation, instead of the best one, where
        p(tree) ∝ exp β·score with this β: 1 suits the loss ``crf``; the scores of margin losses
        are smaller and want 10 or more.
    seed : int
        Same seed, same model, bit for bit.
    threads : int
        For prediction and certificates.
    verbose : bool
        Show a progress line on standard error.
    checkpoint : path, optional
        Where to save the state of training now and then.
    resume : bool
        Go on from the checkpoint, if it is there.
    engine : {"local", "ray", "mpi"}, optional
        Train on several workers, each of which has a part of the data: threads of this process,
        actors of a Ray cluster, or the processes of an MPI job (docs/distributed.md). ``solver``
        is then ``bqo``, ``admm``, ``mixing`` or ``average``, or a solver to put inside.
    workers : int, optional
        How many; an MPI job knows by itself.
    address : str, optional
        The Ray cluster, "auto" for the one of this machine; by default one is started here.

    xpos : bool
        Whether features look at XPOS, where the treebank has it, as they do at FORM and UPOS.

    Attributes
    ----------
    classes_ : array of str
        The relations.
    result_ : FitResult
        Passes, primal, dual, gap, dev score (LAS), trace, and what stopped training.
    projective_, single_root_ : bool
        What "auto" came to.
    lifted_, skipped_ : int
        How many training arcs were lifted, and how many sentences left out, by the last fit.
    pruning_recall_ : float
        The share of true training arcs that the first-order model kept for order 2.

    Examples
    --------
    >>> from dualstruct.datasets import load_english
    >>> parser = DependencyParser(hash_bits=16, passes=3).fit(load_english("train"))
    >>> parsed = parser.predict(load_english("test"))
    >>> parsed[0].forms[:3], parsed[0].heads[:3], parsed[0].relations[:3]
    (['A', 'goal', 'in'], [2, 7, 6], ['det', 'nsubj', 'case'])
    >>> parser.score(load_english("test")) > 0.6
    True
    """

    model_format = "dualstruct parser"
    # The features of a cut are computed anew each time it is revisited, and the marginals of all
    # labelled arcs are too many to be kept.
    auto_solvers: ClassVar[dict[str, Solver]] = {
        "squared_hinge": DCD(inner_passes=1),
        "crf": DCA(),
        "softmax_margin": DCA(),
    }
    of_the_model = (  # which keeps the clusters themselves
        *CalibratedEstimator.of_the_model,
        "projective",
        "single_root",
        "order",
        "grandparents",
        "most_heads",
        "lemma",
        "morphology",
        "xpos",
        "hash_bits",
        "label_cost",
        "bad_trees",
        "minimum_risk",
    )

    def __init__(
        self,
        projective: bool | str = "auto",
        single_root: bool | str = "auto",
        order: int = 1,
        grandparents: bool = True,
        most_heads: int = 10,
        lemma: bool = True,
        morphology: bool = True,
        clusters: str | Path | None = None,
        loss: str = "squared_hinge",
        beta: float | None = None,
        gamma: float | None = None,
        solver: str | Solver = "auto",
        averaged: bool = True,
        C: float = 0.01,
        gap: float | None = None,
        passes: int | None = None,
        seconds: float | None = None,
        patience: int = 5,
        certify_every: int | None = None,
        hash_bits: int | None = None,
        label_cost: float = 0.5,
        bad_trees: str = "error",
        minimum_risk: float | None = None,
        seed: int = 0,
        threads: int = 1,
        verbose: bool = False,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        engine: str | None = None,
        workers: int | None = None,
        address: str | None = None,
        xpos: bool = True,
    ) -> None:
        self.projective = projective
        self.single_root = single_root
        self.order = order
        self.grandparents = grandparents
        self.most_heads = most_heads
        self.lemma = lemma
        self.morphology = morphology
        self.clusters = clusters
        self.loss = loss
        self.beta = beta
        self.gamma = gamma
        self.solver = solver
        self.averaged = averaged
        self.C = C
        self.gap = gap
        self.passes = passes
        self.seconds = seconds
        self.patience = patience
        self.certify_every = certify_every
        self.hash_bits = hash_bits
        self.label_cost = label_cost
        self.bad_trees = bad_trees
        self.minimum_risk = minimum_risk
        self.seed = seed
        self.threads = threads
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.resume = resume
        self.engine = engine
        self.workers = workers
        self.address = address
        self.xpos = xpos

    def fit(
        self,
        X: Trees,
        y: None = None,
        dev: Trees | None = None,
        callbacks: Iterable[Callback] = (),
        *,
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Learn from sentences and their trees.

        Parameters
        ----------
        X : Treebank or list of sentences
            Sentences with heads and relations, ``read_conllu(...)`` for example. Files may be given
            by a path, or a list of paths; with an ``engine`` each worker then reads its own part.
        y : ignored
            The trees are in X; here for the sake of scikit-learn.
        dev : the same, optional
            Development data: training stops when its LAS no longer improves, and the best
            weights are kept. At order 1 it also calibrates confidence, unless the loss is ``crf``.
        callbacks : iterable
            Called after each pass with a :class:`~dualstruct.TracePoint` and the iterate.
        sample_weight : one number a sentence, optional
            Multiplies C: a sentence of weight 2 counts as if it were there twice.
        """
        self._settings()
        if self._divides:
            weights_of = {"sample_weight": sample_weight}
            self._train_together("fit", *_sources(X, dev, weights_of), callbacks)
            return self
        given = _all_of(X)
        treebank = self.usable(given)
        weights = self._weights_of(given, treebank, sample_weight, self.single_root is True)
        clusters = None if self.clusters is None else read_clusters(self.clusters)
        wanted = {"lemma": self.lemma, "fine": self.xpos, "morphology": self.morphology}
        sources = present_sources(treebank, wanted, partial(total, self._ranks))
        labels = Labels(union(self._ranks, Labels.learn(treebank.relations).names))
        return self._train(treebank, labels, sources, clusters, dev, callbacks, None, weights)

    def partial_fit(
        self,
        X: Trees,
        y: None = None,
        dev: Trees | None = None,
        callbacks: Iterable[Callback] = (),
        *,
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Go on learning from new trees; they may bring new words and relations.

        The weights are drawn towards the model as it is instead of towards 0, so that what was
        learned stays unless the new data speak against it. Untrained, this is ``fit``.
        """
        if not hasattr(self, "_model"):
            return self.fit(X, y, dev, callbacks, sample_weight=sample_weight)
        self._settings()
        if self._divides:
            weights_of = {"sample_weight": sample_weight}
            self._train_together("partial_fit", *_sources(X, dev, weights_of), callbacks)
            return self
        old = self._model
        given = _all_of(X)
        treebank = self.usable(given, old.shape.single_root)
        weights = self._weights_of(given, treebank, sample_weight, old.shape.single_root)
        self._check_sources(treebank, old.sources)
        found = Labels(union(self._ranks, Labels.learn(treebank.relations).names))
        labels = old.labels.extend(found)
        sources, clusters = old.sources, old.clusters
        return self._train(treebank, labels, sources, clusters, dev, callbacks, old, weights)

    def _weights_of(
        self,
        given: Treebank,
        usable: Treebank,
        sample_weight: Sequence[float] | None,
        single_root: bool,
    ) -> Sequence[float] | None:
        """The weights of the sentences that are trained on."""
        if sample_weight is None:
            return None
        if len(sample_weight) != len(given):
            raise InputError(f"{len(sample_weight)} weights for {len(given)} sentences")
        if len(given) == len(usable):
            return sample_weight
        faults = given.faults(single_root)
        return [weight for i, weight in enumerate(sample_weight) if i not in faults]

    def _settings(self) -> tuple[Solver, Stopping]:
        for name in ("projective", "single_root"):
            if getattr(self, name) not in (True, False, "auto"):
                raise InputError(f"{name} is {getattr(self, name)!r}, not True, False or 'auto'")
        if self.order not in (1, 2):
            raise InputError(f"order is {self.order}; it is 1 or 2")
        if self.most_heads < 1:
            raise InputError(f"most_heads is {self.most_heads}; it must be at least 1")
        if self.bad_trees not in ("error", "skip"):
            raise InputError(f"bad_trees is {self.bad_trees!r}, not error or skip")
        if self.hash_bits is not None and not 8 <= self.hash_bits <= 28:
            raise InputError(f"hash_bits is {self.hash_bits}; it must be 8 to 28")
        return super()._settings()

    def usable(self, treebank: Treebank, single_root: bool | None = None) -> Treebank:
        """The sentences that can be trained on; others are refused or skipped, as told."""
        wanted = single_root if single_root is not None else self.single_root is True
        faults = treebank.faults(wanted)
        messages = gather(self._ranks, next(iter(faults.values()), None))
        first = next((message for message in messages if message is not None), None)
        skipped, sentences = total(self._ranks, len(faults), len(treebank))
        self.skipped_ = skipped
        if first is not None:
            if self.bad_trees == "error":
                raise InputError(first)
            count = f"{skipped:,} of {sentences:,} sentences"
            self._warn(SkippedSentences(f"{count} were left out: {first}"))
        if faults:
            treebank = treebank.select([i for i in range(len(treebank)) if i not in faults])
        left = gather(self._ranks, len(treebank))
        if not any(left):
            raise InputError("there are no trees to learn from")
        if not all(left):
            raise InputError(f"worker {left.index(0)} has no trees left to learn from")
        return treebank

    def _shape(self, treebank: Treebank) -> TreeShape:
        words, crosses, many_roots = total(
            self._ranks,
            len(treebank.heads),
            int(treebank.crossing_arcs().sum()),
            len(treebank.faults(single_root=True)),
        )
        crossing = crosses / words
        bits = self.hash_bits or min(max(words.bit_length() + 4, 16), 20)
        return TreeShape(
            projective=crossing < CROSSING if self.projective == "auto" else bool(self.projective),
            single_root=not many_roots if self.single_root == "auto" else bool(self.single_root),
            line_bits=bits,
            label_bits=bits - 4,
            label_cost=self.label_cost,
        )

    def _train(
        self,
        treebank: Treebank,
        labels: Labels,
        sources: tuple[str, ...],
        clusters: _core.Clusters | None,
        dev: Trees | None,
        callbacks: Iterable[Callback],
        old: TreeModel | None,
        weights: Sequence[float] | None,
    ) -> Self:
        started = time.perf_counter()
        shape = self._shape(treebank) if old is None else old.shape
        relations = labels.encode(treebank.relations, treebank.sentences)

        def first_order(chosen: NDArray[np.int64] | None, between: list[str] | None) -> Tree:
            """Some of the sentences, arc by arc."""
            part = treebank if chosen is None else treebank.select(chosen)
            numbers = relations
            if chosen is not None:
                numbers = labels.encode(part.relations, part.sentences)
            return make_tree(
                part, sources, clusters, len(labels), shape, between, part.heads, numbers
            )

        short_enough(treebank)
        between = self._between(treebank, sources) if old is None else old.between
        self._agree_on(shape, sources, clusters)
        tree = first_order(None, between)
        self.lifted_ = total(self._ranks, tree.lifted)[0]
        structure: Tree | SecondOrderTree = tree
        second = old.second if old is not None else self._second_order(shape)
        center = pruner = None
        if old is not None:
            values, pruner = old.grown_weights(tree)
        if second is not None:
            if pruner is None:
                pruner = second.sharpened(tree, self._quick_weights(tree))
                arcs = self._jackknifed_arcs(second, tree, first_order)
            else:
                arcs = second.prune(tree, pruner, keep_truth=True)
            self.pruning_recall_ = self._recall(arcs)
            structure = second.structure(tree, arcs)
        structure.weigh(weights)
        if old is not None:
            center = structure.new_weights(values)

        def model(w: _core.Weights) -> TreeModel:
            return TreeModel(labels, sources, clusters, tree.between, shape, second, pruner, w)

        judge = None
        if dev is not None:
            dev = _all_of(dev)
            judge = self._judge(model(structure.new_weights()), dev)
        self.feature_seconds_ = time.perf_counter() - started
        result = self._optimise(structure, center, judge, callbacks)
        self._model = model(result.w)
        self.result_ = result
        if dev is not None and second is None and self._wants_temperature():
            self._model = self._calibrated(self._model, dev)
        return self

    def _between(self, treebank: Treebank, sources: tuple[str, ...]) -> list[str] | None:
        """The most frequent parts of speech of all workers; None if this one has all sentences."""
        if self._part is None:
            return None
        counts: Counter[str] = Counter()
        for part in gather(self._ranks, type_counts(treebank, sources)):
            counts.update(part)
        return sorted(counts, key=lambda name: (-counts[name], name))[:MAX_BETWEEN]

    def _agree_on(
        self, shape: TreeShape, sources: tuple[str, ...], clusters: _core.Clusters | None
    ) -> None:
        if self._part is None:
            return
        words = None if clusters is None else digest_of(clusters.arrays())
        agree(self._ranks, {"trees": asdict(shape), "columns": sources, "clusters": words})

    def _check_sources(self, treebank: Treebank, sources: tuple[str, ...]) -> None:
        """A column that is empty in one worker's sentences may be filled in another's."""
        problem = None
        try:
            check_sources(treebank, sources)
        except InputError as error:
            problem = str(error)
        told = [each for each, some in gather(self._ranks, [problem, len(treebank) > 0]) if some]
        if told and all(told):
            raise InputError(told[0])

    def _recall(self, arcs: PrunedArcs) -> float:
        words = arcs.words
        kept = round((arcs.recall or 0.0) * words)
        kept, words = total(self._ranks, kept, words)
        return kept / max(words, 1)

    def calibrate(self, X: Treebank | Sequence[ConlluSentence], y: None = None) -> Self:
        """Fit the temperature that makes scores probabilities, on trees not trained on.

        Predictions stay the same; marginals and confidence become those of p ∝ exp(score / T),
        with T chosen by the likelihood of the true heads. Training with ``dev`` does it by itself,
        unless the loss is ``crf``, or the order is 2, where it takes a while.
        """
        treebank = as_treebank(X)
        treebank.check_trees()
        check_sources(treebank, self._trained().sources)
        model = self._calibrated(self._trained(), treebank)
        if model.temperature is None:
            raise InputError(f"{treebank.name}: there are no words to calibrate on")
        self._model = model
        return self

    def _calibrated(self, model: TreeModel, treebank: Treebank) -> TreeModel:
        chosen = sentences_to_calibrate(treebank.lengths, len(model.labels), model.second is None)
        some = treebank.select(chosen)
        structure = model.structure(short_enough(some))
        of_relations = None
        if isinstance(structure, Tree):
            temperature = tree_temperature(structure, model.w, some.heads, self._ranks)
            relations, _ = model.labels.encode_any(some.relations, some.sentences)
            of_relations = relation_temperature(
                structure, model.w, some.heads, relations, self._ranks
            )
        else:
            temperature = marginal_temperature(
                lambda beta: arc_marginals(structure, model.w, beta),
                some.heads,
                some.sentences,
                QUICK,
            )
        return replace(model, temperature=temperature, relation_temperature=of_relations)

    def _second_order(self, shape: TreeShape) -> SecondOrder | None:
        if self.order == 1:
            return None
        return SecondOrder(
            self.grandparents, shape.line_bits - 2, self.most_heads, THRESHOLD, SHARPNESS
        )

    def _quick_weights(self, tree: Tree) -> _core.Weights:
        """A first-order model that is good enough to prune."""
        solver = self.auto_solvers["squared_hinge"]
        ranks = None
        if self._part is not None:
            ranks, solver = self._ranks, BQO(solver)
        problem = Problem(tree, "squared_hinge", PRUNER_C, threads=self.threads, communicator=ranks)
        result = fit(problem, solver, Stopping(passes=PRUNER_PASSES), seed=self.seed)
        if result.stopped_by == "interrupt":  # there is nothing yet that could be kept
            raise KeyboardInterrupt
        return result.w

    def _jackknifed_arcs(
        self,
        second: SecondOrder,
        tree: Tree,
        first_order: Callable[[NDArray[np.int64], list[str]], Tree],
    ) -> PrunedArcs:
        """Arcs pruned by models that have not seen the sentence, as they will be in new text."""
        everything = np.arange(len(tree))
        folds = min(PRUNER_FOLDS, *gather(self._ranks, len(tree)))
        if folds < 2:
            w = second.sharpened(tree, self._quick_weights(tree))
            return second.prune(tree, w, keep_truth=True)
        parts = []
        for fold in range(folds):
            others = first_order(everything[everything % folds != fold], tree.between)
            w = second.sharpened(others, self._quick_weights(others))
            mine = first_order(everything[everything % folds == fold], tree.between)
            parts.append(second.prune(mine, w, keep_truth=True))
        return interleaved(parts)

    def _judge(self, model: TreeModel, dev: Treebank) -> Callable[[_core.Weights], float]:
        """LAS of some weights on development data."""
        dev.check_trees()
        self._check_sources(dev, model.sources)
        structure = model.structure(short_enough(dev))
        relations, _ = model.labels.encode_any(dev.relations, dev.sentences)

        def count(w: _core.Weights) -> list[int]:
            heads, labels = structure.split(structure.decode_all(w, threads=self._threads))
            right = (dev.heads == heads) & (relations == labels)
            return [int(np.count_nonzero(right)), len(right)]

        return SummedScore(
            self._ranks, count, lambda sums: share(int(sums[0]), int(sums[1])), "LAS"
        )


def _sources(X: Any, dev: Any, weights: dict[str, Any]) -> tuple[Source, Source | None]:
    """Where training and development data are."""
    return weighed(_source(X), **weights), None if dev is None else _source(dev)


def _source(X: Any) -> Source:
    if isinstance(X, TreeFiles):
        return X
    paths = paths_of(X)
    if paths is None:
        return Held(as_treebank(X))
    check_paths(paths)
    return TreeFiles(paths)


def _all_of(X: Any) -> Treebank:
    """A treebank in memory, wherever it was."""
    source = _source(X)
    treebank: Treebank = source.X if isinstance(source, Held) else source.part(Alone(), 0).X
    return treebank


def interleaved(parts: Sequence[PrunedArcs]) -> PrunedArcs:
    """The arcs of all sentences, where part k holds sentences k, k + n, k + 2n … of n parts."""
    sentences = sum(len(part.offsets) - 1 for part in parts)
    heads, modifiers, counts = [], [], []
    for i in range(sentences):
        part = parts[i % len(parts)]
        begin, end = part.offsets[i // len(parts) : i // len(parts) + 2]
        heads.append(part.heads[begin:end])
        modifiers.append(part.modifiers[begin:end])
        counts.append(end - begin)
    words = sum(part.words for part in parts)
    found = sum((part.recall or 0.0) * part.words for part in parts)
    return PrunedArcs(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate(heads),
        np.concatenate(modifiers),
        words,
        found / max(words, 1),
    )
