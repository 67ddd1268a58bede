"""DependencyParser: from sentences and their trees to a model that parses new sentences."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.estimators.base import Estimator
from dualstruct.estimators.labels import Labels
from dualstruct.estimators.tree_model import (
    TreeModel,
    TreeShape,
    check_sources,
    make_tree,
    present_sources,
)
from dualstruct.features.clusters import read_clusters
from dualstruct.files.conllu import ConlluSentence, Treebank
from dualstruct.fit import Callback, Stopping
from dualstruct.metrics import TreeScores, attachment, evaluate_trees
from dualstruct.solvers import DCA, DCD, Solver
from dualstruct.structures import Tree
from dualstruct.structures.tree import MAX_WORDS

if TYPE_CHECKING:
    from typing_extensions import Self

#: The share of crossing arcs from which on trees count as non-projective.
CROSSING = 0.01

Sentences = Treebank | Sequence[ConlluSentence] | Sequence[Sequence[str]]


class SkippedSentences(UserWarning):
    """Sentences that are no trees were left out of training."""


class DependencyParser(Estimator[TreeModel]):
    """Finds the head and the relation of every word of a sentence.

    Parameters
    ----------
    projective : bool or "auto"
        Whether arcs may not cross; "auto" forbids it if less than 1 % of the training arcs cross.
        Training arcs that cross are then lifted until they no longer do.
    single_root : bool or "auto"
        Whether exactly one word hangs from the root; "auto" if it is so in all training trees.
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
    hash_bits : int
        Features are hashed into 2**hash_bits rows of 16 weights, and a sixteenth as many rows
        with a weight for each relation: 20 takes 64 MB and some more.
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

    Attributes
    ----------
    classes_ : array of str
        The relations.
    result_ : FitResult
        Passes, primal, dual, gap, dev score (LAS), trace, and what stopped training.
    projective_, single_root_ : bool
        What "auto" came to.
    lifted_, skipped_ : int
        How many training arcs were lifted, and how many sentences left out.

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
    of_the_run = ("clusters", *Estimator.of_the_run)  # the model keeps the clusters themselves

    def __init__(
        self,
        projective: bool | str = "auto",
        single_root: bool | str = "auto",
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
        hash_bits: int = 20,
        label_cost: float = 0.5,
        bad_trees: str = "error",
        minimum_risk: float | None = None,
        seed: int = 0,
        threads: int = 1,
        verbose: bool = False,
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> None:
        self.projective = projective
        self.single_root = single_root
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

    def fit(
        self,
        X: Treebank | Sequence[ConlluSentence],
        y: None = None,
        dev: Treebank | Sequence[ConlluSentence] | None = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Learn from sentences and their trees.

        Parameters
        ----------
        X : Treebank or list of sentences
            Sentences with heads and relations, ``read_conllu(...)`` for example.
        y : ignored
            The trees are in X; here for the sake of scikit-learn.
        dev : the same, optional
            Development data: training stops when its LAS no longer improves, and the best
            weights are kept.
        callbacks : iterable
            Called after each pass with a :class:`~dualstruct.fit.TracePoint` and the iterate.
        """
        self._settings()
        treebank = self.usable(as_treebank(X))
        clusters = None if self.clusters is None else read_clusters(self.clusters)
        sources = present_sources(treebank, {"lemma": self.lemma, "morphology": self.morphology})
        labels = Labels.learn(treebank.relations)
        return self._train(treebank, labels, sources, clusters, dev, callbacks, None)

    def partial_fit(
        self,
        X: Treebank | Sequence[ConlluSentence],
        y: None = None,
        dev: Treebank | Sequence[ConlluSentence] | None = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Go on learning from new trees; they may bring new words and relations.

        The weights are drawn towards the model as it is instead of towards 0, so that what was
        learned stays unless the new data speak against it. Untrained, this is ``fit``.
        """
        if not hasattr(self, "_model"):
            return self.fit(X, y, dev, callbacks)
        self._settings()
        old = self._model
        treebank = self.usable(as_treebank(X), old.shape.single_root)
        check_sources(treebank, old.sources)
        labels = old.labels.extend(Labels.learn(treebank.relations))
        return self._train(treebank, labels, old.sources, old.clusters, dev, callbacks, old)

    def _settings(self) -> tuple[Solver, Stopping]:
        for name in ("projective", "single_root"):
            if getattr(self, name) not in (True, False, "auto"):
                raise InputError(f"{name} is {getattr(self, name)!r}, not True, False or 'auto'")
        if self.bad_trees not in ("error", "skip"):
            raise InputError(f"bad_trees is {self.bad_trees!r}, not error or skip")
        if not 8 <= self.hash_bits <= 28:
            raise InputError(f"hash_bits is {self.hash_bits}; it must be 8 to 28")
        return super()._settings()

    def usable(self, treebank: Treebank, single_root: bool | None = None) -> Treebank:
        """The sentences that can be trained on; others are refused or skipped, as told."""
        wanted = single_root if single_root is not None else self.single_root is True
        faults = treebank.faults(wanted)
        self.skipped_ = len(faults)
        if faults:
            first = next(iter(faults.values()))
            if self.bad_trees == "error":
                raise InputError(first)
            count = f"{len(faults):,} of {len(treebank):,} sentences"
            warnings.warn(SkippedSentences(f"{count} were left out: {first}"), stacklevel=3)
            treebank = treebank.select([i for i in range(len(treebank)) if i not in faults])
        if not len(treebank):
            raise InputError("there are no trees to learn from")
        return treebank

    def _shape(self, treebank: Treebank) -> TreeShape:
        crossing = int(treebank.crossing_arcs().sum()) / len(treebank.heads)
        return TreeShape(
            projective=crossing < CROSSING if self.projective == "auto" else bool(self.projective),
            single_root=not treebank.faults(single_root=True)
            if self.single_root == "auto"
            else bool(self.single_root),
            line_bits=self.hash_bits,
            label_bits=max(self.hash_bits - 4, 4),
            label_cost=self.label_cost,
        )

    def _train(
        self,
        treebank: Treebank,
        labels: Labels,
        sources: tuple[str, ...],
        clusters: _core.Clusters | None,
        dev: Treebank | Sequence[ConlluSentence] | None,
        callbacks: Iterable[Callback],
        old: TreeModel | None,
    ) -> Self:
        started = time.perf_counter()
        shape = self._shape(treebank) if old is None else old.shape
        tree = make_tree(
            _short_enough(treebank),
            sources,
            clusters,
            len(labels),
            shape,
            None if old is None else old.between,
            treebank.heads,
            labels.encode(treebank.relations, treebank.sentences),
        )
        center = None if old is None else old.grown_weights(tree)
        self.lifted_ = tree.lifted

        def model(w: _core.Weights) -> TreeModel:
            return TreeModel(labels, sources, clusters, tree.between, shape, w)

        judge = None
        if dev is not None:
            judge = self._judge(model(tree.new_weights()), as_treebank(dev))
        self.feature_seconds_ = time.perf_counter() - started
        result = self._optimise(tree, center, judge, "LAS", callbacks)
        self._model = model(result.w)
        self.result_ = result
        return self

    def _judge(self, model: TreeModel, dev: Treebank) -> Callable[[_core.Weights], float]:
        """LAS of some weights on development data."""
        dev.check_trees()
        check_sources(dev, model.sources)
        tree = model.tree(_short_enough(dev))
        relations, _ = model.labels.encode_any(dev.relations, dev.sentences)

        def judge(w: _core.Weights) -> float:
            heads, labels = tree.split(tree.decode_all(w, threads=self.threads))
            return attachment(dev.heads, relations, heads, labels).las

        return judge

    @classmethod
    def _model_from(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> TreeModel:
        return TreeModel.from_state(facts, arrays)

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The relations."""
        return np.array(self._trained().labels.names)

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
        treebank, model, tree = self._structure(X)
        if self.minimum_risk is not None:
            heads, labels = _minimum_risk(tree, model, self.minimum_risk)
        else:
            heads, labels = tree.split(tree.decode_all(model.w, threads=self.threads))
        return _with_arcs(treebank, model.labels, heads, labels)

    def predict_k_best(self, X: Sentences, k: int = 5) -> list[list[tuple[float, ConlluSentence]]]:
        """The k best trees of each sentence with their scores, best first."""
        treebank, model, tree = self._structure(X)
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

    def predict_marginals(self, X: Sentences, beta: float = 1.0) -> list[NDArray[np.float32]]:
        """The probability of each head: for each sentence [words, words + 1], column 0 the root.

        They are those of p(tree) ∝ exp β·score; margin losses do not calibrate them.
        """
        _, model, tree = self._structure(X)
        return [tree.expectation(model.w, i, beta).arcs[:, 1:].T for i in range(len(tree))]

    def _structure(self, X: Sentences) -> tuple[Treebank, TreeModel, Tree]:
        model = self._trained()
        treebank = as_treebank(X)
        check_sources(treebank, model.sources)
        return treebank, model, model.tree(_short_enough(treebank))

    def evaluate(self, X: Treebank | Sequence[ConlluSentence]) -> TreeScores:
        """UAS, LAS and their kin of the predictions, against the trees that X has."""
        treebank = as_treebank(X)
        return evaluate_trees(treebank, self.predict(treebank))

    def score(self, X: Treebank | Sequence[ConlluSentence], y: None = None) -> float:
        """LAS over all words."""
        return self.evaluate(X).las


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


def _short_enough(treebank: Treebank) -> Treebank:
    lengths = treebank.lengths
    if lengths.size and lengths.max() > MAX_WORDS:
        i = int(lengths.argmax())
        raise InputError(
            f"{treebank.where(i, 0)}: a sentence of {lengths[i]:,} words; at most {MAX_WORDS:,} "
            "can be parsed, because memory grows with the square"
        )
    return treebank


def _with_arcs(
    treebank: Treebank, labels: Labels, heads: NDArray[np.int32], numbers: NDArray[np.int32]
) -> Treebank:
    return treebank.replace(heads=heads, relations=(numbers, labels.names))


def _minimum_risk(
    tree: Tree, model: TreeModel, beta: float
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Trees of the most probable arcs, and the most probable relation of each of them."""
    heads = np.zeros(int(tree.sentences[-1]), dtype=np.int32)
    labels = np.zeros_like(heads)
    shape = model.shape
    for i in range(len(tree)):
        found = tree.expectation(model.w, i, beta)
        best = _core.tree_minimum_risk(found.arcs, shape.projective, shape.single_root)[1:]
        here = slice(int(tree.sentences[i]), int(tree.sentences[i + 1]))
        heads[here] = best
        labels[here] = found.labels[best, np.arange(1, len(best) + 1)].argmax(axis=1)
    return heads, labels
