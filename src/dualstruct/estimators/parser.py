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
from dualstruct.confidence import TreeConfidence
from dualstruct.confidence.trees import (
    QUICK,
    arc_marginals,
    marginal_temperature,
    relation_temperature,
    sentences_to_calibrate,
    tree_confidence,
    tree_temperature,
)
from dualstruct.distributed.bqo import BQO
from dualstruct.distributed.communicator import Alone
from dualstruct.distributed.data import Held, Source, TreeFiles, check_paths, paths_of, weighed
from dualstruct.distributed.merging import agree, gather, total, union
from dualstruct.errors import InputError
from dualstruct.estimators.calibrated import CalibratedEstimator
from dualstruct.estimators.labels import Labels
from dualstruct.estimators.tree_model import (
    SOURCES,
    SecondOrder,
    TreeModel,
    TreeShape,
    check_sources,
    column_names,
    make_tree,
    present_sources,
    type_counts,
)
from dualstruct.explaining import Explanation
from dualstruct.explaining.sentences import wanted_tokens
from dualstruct.explaining.trees import explain_tree, without_arc
from dualstruct.features.clusters import read_clusters
from dualstruct.files.conllu import ConlluSentence, Treebank
from dualstruct.fit import Callback, Stopping, SummedScore, fit
from dualstruct.metrics import (
    Reliability,
    TreeScores,
    evaluate_trees,
    reliability,
)
from dualstruct.metrics.counts import share
from dualstruct.problem import Problem
from dualstruct.solvers import DCA, DCD, Solver
from dualstruct.structures import Tree
from dualstruct.structures.base import digest_of
from dualstruct.structures.second_order_tree import PrunedArcs, SecondOrderTree
from dualstruct.structures.tree import MAX_BETWEEN, MAX_WORDS
from dualstruct.suspecting import Doubt, Suspect
from dualstruct.suspecting.ranking import cross_judge, dual_facts, judge_all, order_of

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
Sentences = Treebank | Sequence[ConlluSentence] | Sequence[Sequence[str]]


class SkippedSentences(UserWarning):
    """Sentences that are no trees were left out of training."""


class DependencyParser(CalibratedEstimator[TreeModel]):
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
        Whether features look at LEMMA and FEATS, where the treebank has them. They always look
        at FORM, UPOS and XPOS.
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
    # The model keeps the clusters themselves.
    of_the_run = ("clusters", *CalibratedEstimator.of_the_run)

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
            Called after each pass with a :class:`~dualstruct.fit.TracePoint` and the iterate.
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
        found = present_sources(treebank, {"lemma": self.lemma, "morphology": self.morphology})
        anywhere = union(self._ranks, list(found))
        sources = tuple(name for name in SOURCES if name in anywhere)
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

        _short_enough(treebank)
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
        result = self._optimise(structure, center, judge, "LAS", callbacks)
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
        structure = model.structure(_short_enough(some))
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
        structure = model.structure(_short_enough(dev))
        relations, _ = model.labels.encode_any(dev.relations, dev.sentences)

        def count(w: _core.Weights) -> list[int]:
            heads, labels = structure.split(structure.decode_all(w, threads=self.threads))
            right = (dev.heads == heads) & (relations == labels)
            return [int(np.count_nonzero(right)), len(right)]

        return SummedScore(self._ranks, count, lambda sums: share(int(sums[0]), int(sums[1])))

    @classmethod
    def _model_from(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> TreeModel:
        return TreeModel.from_state(facts, arrays)

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The relations."""
        return np.array(self._trained().labels.names)

    @property
    def sources_(self) -> tuple[str, ...]:
        """What the features look at, besides clusters."""
        return self._trained().sources

    @property
    def projective_(self) -> bool:
        """Whether predicted arcs never cross."""
        return self._trained().shape.projective

    @property
    def single_root_(self) -> bool:
        """Whether predicted trees have one word under the root."""
        return self._trained().shape.single_root

    def predict(self, X: Sentences) -> Treebank:
        """The sentences with their predicted heads and relations; all else stays as it is.

        Parameters
        ----------
        X : Treebank, list of sentences, or lists of words
            With the columns that the parser was trained with.
        """
        treebank, model, structure = self._structure(X)
        if self.minimum_risk is not None:
            heads, labels = _minimum_risk(structure, model, self.minimum_risk)
        else:
            outputs = structure.decode_all(model.w, threads=self.threads)
            heads, labels = structure.split(outputs)
        return _with_arcs(treebank, model.labels, heads, labels)

    def predict_k_best(self, X: Sentences, k: int = 5) -> list[list[tuple[float, ConlluSentence]]]:
        """The k best trees of each sentence with their scores, best first; for order 1."""
        treebank, model, tree = self._structure(X)
        if isinstance(tree, SecondOrderTree):
            raise InputError("the k best trees need a parser of order 1; this one has order 2")
        names = model.labels.names
        found = []
        for i, sentence in enumerate(treebank):
            n = len(sentence)
            trees = []
            for score, output in tree.k_best(model.w, i, k):
                relations = [names[label] for label in output[n:]]
                heads = output[:n].tolist()
                trees.append((score, replace(sentence, heads=heads, relations=relations)))
            found.append(trees)
        return found

    def predict_marginals(
        self, X: Sentences, beta: float | None = None
    ) -> list[NDArray[np.float32]]:
        """The probability of each head: for each sentence [words, words + 1], column 0 the root.

        They are those of p(tree) ∝ exp β·score, for order 2 as loopy belief propagation estimates
        them, by default at the temperature of the model: fitted on development data, or that of a
        probabilistic loss. Without either they are no probabilities, and an
        :class:`~dualstruct.confidence.UncalibratedWarning` says so.
        """
        sharpness = self._beta(beta, strict=False)
        _, model, structure = self._structure(X)
        return [arcs[:, 1:].T for arcs in arc_marginals(structure, model.w, sharpness)]

    def predict_confidence(self, X: Sentences, beta: float | None = None) -> list[TreeConfidence]:
        """How probable the predicted trees are, their heads, and heads with relations."""
        sharpness = self._beta(beta, strict=True)
        treebank, model, structure = self._structure(X)
        predicted = self.predict(treebank)
        relations = model.labels.encode(predicted.relations, predicted.sentences)
        of_relations = sharpness
        if beta is None and model.relation_temperature is not None:
            of_relations = 1 / model.relation_temperature
        return list(
            tree_confidence(structure, model.w, sharpness, of_relations, predicted.heads, relations)
        )

    def reliability(
        self,
        X: Treebank | Sequence[ConlluSentence],
        y: None = None,
        bins: int = 10,
        beta: float | None = None,
    ) -> dict[str, Reliability]:
        """Confidence against accuracy of heads, of arcs with relations, and of whole trees."""
        truth = as_treebank(X)
        truth.check_trees()
        found = self.predict_confidence(truth, beta)
        predicted = self.predict(truth)
        labels = self._trained().labels
        true, ours = (
            labels.encode_any(each.relations, each.sentences)[0] for each in (truth, predicted)
        )
        heads = truth.heads == predicted.heads
        arcs = heads & (true == ours)
        diagrams = {
            "heads": reliability("heads", [p for each in found for p in each.heads], heads, bins)
        }
        if all(each.arcs is not None for each in found):
            whole = [bool(part.all()) for part in np.split(arcs, truth.sentences[1:-1])]
            of_arcs = [p for each in found for p in each.arcs or []]
            of_trees = [each.probability or 0.0 for each in found]
            diagrams["arcs"] = reliability("arcs", of_arcs, arcs, bins)
            diagrams["trees"] = reliability("trees", of_trees, whole[: len(found)], bins)
        return diagrams

    def suspects(
        self,
        X: Treebank | Sequence[ConlluSentence],
        y: None = None,
        top: int | None = None,
        folds: int = 2,
        duals: str | Path | None = None,
    ) -> list[Suspect]:
        """The trees that fight the model, the most suspect first, and what it would have said.

        Parameters
        ----------
        X : Treebank or list of sentences
            Those that the model was trained on.
        y : ignored
        top : int, optional
            How many to give; all by default.
        folds : int
            Sentences are judged by quick first-order models of the other folds, because a model
            learns the mistakes that it has seen. 0: by this model itself, for sentences that it
            has not seen; for order 1.
        duals : path, optional
            A checkpoint of the model's training: rank by the dual mass of each sentence, those
            first that the ramp loss gave up.
        """
        model = self._trained()
        treebank = as_treebank(X)
        treebank.check_trees()
        check_sources(treebank, model.sources)
        labels = model.labels.extend(Labels.learn(treebank.relations))
        numbers = labels.encode(treebank.relations, treebank.sentences)
        roots = model.shape.single_root and not treebank.faults(single_root=True)
        tree = make_tree(
            _short_enough(treebank),
            model.sources,
            model.clusters,
            len(labels),
            replace(model.shape, single_root=roots),
            model.between,
            treebank.heads,
            numbers,
        )

        def speaker(w: _core.Weights) -> Callable[[int], NDArray[np.int32]]:
            return partial(tree.decode, w)

        found = None if duals is None else self._duals(duals, len(tree))
        if folds == 0 or found is not None:
            if model.second is not None:
                raise InputError("a parser of order 2 judges by folds: leave out folds and duals")
            w = tree.new_weights(model.grown_weights(tree)[0])
            verdict = judge_all(tree, treebank.lengths, speaker, w, self.threads)
        else:
            verdict = cross_judge(
                tree,
                treebank.lengths,
                speaker,
                C=self.C,
                folds=folds,
                seed=self.seed,
                threads=self.threads,
            )
        scores = verdict.scores if found is None else found.scores(treebank.lengths)
        suspects = []
        for i in order_of(scores, top).tolist():
            sentence, output = treebank[i], verdict.outputs[i]
            n = len(sentence)
            doubts = tuple(
                Doubt(m, form, _arc_text(sentence, *given), _arc_text(sentence, *said))
                for m, form, given, said in zip(
                    range(1, n + 1),
                    sentence.forms,
                    zip(sentence.heads, sentence.relations, strict=True),
                    zip(output[:n].tolist(), (labels.names[k] for k in output[n:]), strict=True),
                    strict=True,
                )
                if given != said
            )
            facts = dual_facts(found, i)
            forms = tuple(sentence.forms)
            suspects.append(Suspect(i + 1, float(scores[i]), forms, doubts, **facts))
        return suspects

    def explain(
        self,
        sentence: Treebank | ConlluSentence | Sequence[str],
        token: int | None = None,
    ) -> Explanation:
        """Why each word of a sentence gets its head and relation, or one word, counted from 1.

        The rivals of a word's arc are the best tree in which it has another head, and the best one
        in which it has another relation at the same head. Contributions are what the features of
        arcs (of pairs of arcs, too, at order 2) add to the difference of the trees' scores; they
        add up to it.

        Examples
        --------
        >>> from dualstruct.datasets import load_english
        >>> parser = DependencyParser(hash_bits=16, passes=3).fit(load_english("train"))
        >>> explained = parser.explain(load_english("test")[0], token=1)[0]
        >>> explained.form, explained.head, explained.label
        ('A', 2, 'det')
        >>> [rival.differs_in for rival in explained.alternatives]
        ['relation', 'head']
        """
        treebank = one_sentence(sentence)
        if len(treebank) != 1:
            raise InputError(f"one sentence is explained at a time, not {len(treebank)}")
        if self.minimum_risk is not None:
            raise InputError(
                "explanations compare the best tree with others, and minimum_risk predicts another "
                "tree than the best: set it to None"
            )
        _, model, structure = self._structure(treebank)
        second = structure if isinstance(structure, SecondOrderTree) else None
        return explain_tree(
            structure,
            model.w,
            0,
            without=None if second is None else partial(without_arc, second, 0),
            projective=model.shape.projective,
            single_root=model.shape.single_root,
            forms=[str(form) for form in treebank.forms[0]],
            labels=model.labels.names,
            columns=column_names(model.sources),
            words=wanted_tokens(token, int(treebank.lengths[0])),
        )

    def _structure(self, X: Sentences) -> tuple[Treebank, TreeModel, Tree | SecondOrderTree]:
        model = self._trained()
        treebank = as_treebank(X)
        check_sources(treebank, model.sources)
        return treebank, model, model.structure(_short_enough(treebank))

    def evaluate(self, X: Treebank | Sequence[ConlluSentence]) -> TreeScores:
        """UAS, LAS and their kin of the predictions, against the trees that X has."""
        treebank = as_treebank(X)
        return evaluate_trees(treebank, self.predict(treebank))

    def score(self, X: Treebank | Sequence[ConlluSentence], y: None = None) -> float:
        """LAS over all words."""
        return self.evaluate(X).las


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


def as_treebank(X: Sentences) -> Treebank:
    """Sentences of any kind as a treebank."""
    if isinstance(X, Treebank):
        return X
    sentences = list(X)
    if all(isinstance(sentence, ConlluSentence) for sentence in sentences):
        return Treebank.from_sentences(sentences)  # type: ignore[arg-type]
    if any(isinstance(sentence, ConlluSentence | str) for sentence in sentences):
        raise InputError("a Treebank, a list of its sentences, or lists of words are wanted")
    return Treebank.from_columns(sentences)  # type: ignore[arg-type]


def one_sentence(sentence: Treebank | ConlluSentence | Sequence[str]) -> Treebank:
    """A sentence of any kind as a treebank."""
    if isinstance(sentence, Treebank):
        return sentence
    return as_treebank([sentence] if isinstance(sentence, ConlluSentence) else [list(sentence)])


def _short_enough(treebank: Treebank) -> Treebank:
    lengths = treebank.lengths
    if lengths.size and lengths.max() > MAX_WORDS:
        i = int(lengths.argmax())
        raise InputError(
            f"{treebank.where(i, 0)}: a sentence of {lengths[i]:,} words; at most {MAX_WORDS:,} "
            "can be parsed, because memory grows with the square"
        )
    return treebank


def _arc_text(sentence: ConlluSentence, head: int, relation: str) -> str:
    return f"{relation} of " + (f"{sentence.forms[head - 1]} ({head})" if head else "the root")


def _with_arcs(
    treebank: Treebank, labels: Labels, heads: NDArray[np.int32], numbers: NDArray[np.int32]
) -> Treebank:
    return treebank.replace(heads=heads, relations=(numbers, labels.names))


def _minimum_risk(
    structure: Tree | SecondOrderTree, model: TreeModel, beta: float
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Trees of the most probable arcs, and the most probable relation of each of them."""
    tree = structure if isinstance(structure, Tree) else structure.first
    # A relation depends on its arc alone, whatever the order.
    w = model.arc_weights()[1]
    heads = np.zeros(int(tree.sentences[-1]), dtype=np.int32)
    labels = np.zeros_like(heads)
    shape = model.shape
    for i, arcs in enumerate(arc_marginals(structure, model.w, beta)):
        best = _core.tree_minimum_risk(arcs, shape.projective, shape.single_root)[1:]
        here = slice(int(tree.sentences[i]), int(tree.sentences[i + 1]))
        heads[here] = best
        relations = tree.expectation(w, i, beta).labels[best, np.arange(1, len(best) + 1)]
        labels[here] = relations.argmax(axis=1)
    return heads, labels


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
