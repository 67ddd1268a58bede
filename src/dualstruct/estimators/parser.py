"""DependencyParser: from sentences and their trees to a model that parses new sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.confidence import TreeConfidence
from dualstruct.data.conllu import ConlluSentence, Treebank
from dualstruct.data.sources import InMemory, Source, TreeFiles, check_paths, paths_of
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.distributed.training import Job
from dualstruct.errors import InputError
from dualstruct.estimators.calibrated import CalibratedEstimator
from dualstruct.explaining import Explanation
from dualstruct.explaining.sentences import wanted_tokens
from dualstruct.labels.names import Labels
from dualstruct.metrics import Reliability, TreeScores, evaluate_trees, reliability
from dualstruct.mistakes import Mistakes, tree_mistakes
from dualstruct.outputs import Outputs
from dualstruct.renamed import OldAttribute
from dualstruct.structures import Tree
from dualstruct.structures.second_order_tree import SecondOrderTree
from dualstruct.suspecting import FOLDS, Suspect
from dualstruct.tasks.parsing.confidence import arc_marginals, tree_confidence
from dualstruct.tasks.parsing.explaining import explain_tree, true_arcs, without_arc
from dualstruct.tasks.parsing.learning import (
    KnownParsing,
    SkippedSentences,
    calibrated,
    valid_trees,
)
from dualstruct.tasks.parsing.model import TreeModel, check_sources, column_names, make_tree
from dualstruct.tasks.parsing.sentences import (
    Sentences,
    as_treebank,
    one_sentence,
    short_enough,
)
from dualstruct.tasks.parsing.settings import ParserSettings
from dualstruct.tasks.parsing.suspecting import TreeCase
from dualstruct.tasks.parsing.suspecting import quick_settings as tree_settings
from dualstruct.training.loop import Callback
from dualstruct.training.settings import Training, documented
from dualstruct.workers.communicator import SingleWorker

if TYPE_CHECKING:
    from typing_extensions import Self

    from dualstruct.estimators.tagger import SequenceTagger

__all__ = ["DependencyParser", "SkippedSentences", "Trees"]

#: Sentences with their trees, or the files that have them.
Trees = Treebank | Sequence[ConlluSentence] | TreeFiles | str | Path | Sequence[Path]


@documented(ParserSettings, Training)
class DependencyParser(CalibratedEstimator[TreeModel], ParserSettings):
    """Finds the head and the relation of every word of a sentence.

    Attributes
    ----------
    classes_ : array of str
        The relations.
    result_ : FitResult
        Passes, primal, dual, gap, dev score (LAS), trace, and what stopped training.
    projective_, single_root_ : bool
        What ``"auto"`` has chosen.
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
    lifted_: int
    skipped_: int
    pruning_recall_: float
    # The features of a cut are recomputed each time it is revisited, and the marginals of all
    # labelled arcs are too many to be kept.
    slow_revisits = True

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
            by a path, or a list of paths; with an ``engine`` each worker then reads its own share.
        y : ignored
            The trees are in X; the argument is for scikit-learn.
        dev : the same, optional
            Development data: training stops when its LAS no longer improves, and the best
            weights are kept. At order 1 it also calibrates confidence, unless the loss is ``crf``.
        callbacks : iterable
            Called after each pass with a :class:`~dualstruct.TracePoint` and the iterate.
        sample_weight : one number per sentence, optional
            Multiplies C: a sentence of weight 2 counts as if it were there twice.
        """
        return self._fit(X, None, dev, callbacks, sample_weight=sample_weight)

    def partial_fit(
        self,
        X: Trees,
        y: None = None,
        dev: Trees | None = None,
        callbacks: Iterable[Callback] = (),
        *,
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Continue learning from new trees; they may bring new words and relations.

        Regularisation is towards the current weights instead of 0, so the model keeps what it has
        learned unless the new data contradict it. Before training, this is the same as ``fit``.
        """
        old = getattr(self, "_model", None)
        return self._fit(X, None, dev, callbacks, old, sample_weight=sample_weight)

    def _learn(self, job: Job, start: TreeModel | None) -> KnownParsing:
        return KnownParsing(self, job, start)

    def _source(self, X: Any, y: None = None) -> Source:
        if isinstance(X, TreeFiles):
            return X
        paths = paths_of(X)
        if paths is None:
            return InMemory(as_treebank(X))
        check_paths(paths)
        return TreeFiles(paths)

    def _dev_source(self, dev: Any) -> Source:
        return self._source(dev)

    def _model_from(self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> TreeModel:
        return TreeModel.from_state(metadata, arrays)

    def valid_trees(self, treebank: Treebank) -> Treebank:
        """The sentences that can be trained on; others are refused or skipped (``bad_trees``)."""
        job = Job.alone(InMemory(treebank).whole(), None)
        return valid_trees(self, job, treebank, self.single_root is True)[0]

    usable = OldAttribute("valid_trees")

    def calibrate(self, X: Treebank | Sequence[ConlluSentence], y: None = None) -> Self:
        """Fit the temperature that makes scores probabilities, on trees not trained on.

        Predictions stay the same; marginals and confidence become those of p ∝ exp(score / T),
        with T chosen by the likelihood of the true heads. Training with ``dev`` does this
        automatically, unless the loss is ``crf``, or the order is 2, where it takes a while.
        """
        treebank = as_treebank(X)
        treebank.check_trees()
        check_sources(treebank, self.model_.sources)
        model = calibrated(self.model_, treebank, SingleWorker())
        if model.temperature is None:
            raise InputError(f"{treebank.name}: there are no words to calibrate on")
        self._model = model
        return self

    #: Whether words alone are enough; other models want tags.
    takes_words: ClassVar[bool] = False

    @property
    def tokenizer_(self) -> Tokenizer:
        """How text is split: by rules."""
        return Tokenizer()

    @property
    def parser_(self) -> DependencyParser:
        """This parser: it is a pipeline without taggers."""
        return self

    @property
    def taggers_(self) -> dict[str, SequenceTagger]:
        """None."""
        return {}

    def tag(self, X: Sentences) -> Treebank:
        """The sentences with the tags that they have."""
        return as_treebank(X)

    @property
    def sources_(self) -> tuple[str, ...]:
        """What the features look at, besides clusters."""
        return self.model_.sources

    @property
    def projective_(self) -> bool:
        """Whether predicted arcs never cross."""
        return self.model_.shape.projective

    @property
    def single_root_(self) -> bool:
        """Whether predicted trees have one word under the root."""
        return self.model_.shape.single_root

    def predict(self, X: Sentences) -> Treebank:
        """The sentences with predicted heads and relations; everything else is unchanged.

        Parameters
        ----------
        X : Treebank, list of sentences, or lists of words
            With the columns that the parser was trained with.
        """
        treebank, model, structure = self._structure(X)
        if self.minimum_risk is not None:
            heads, labels = _minimum_risk(structure, model, self.minimum_risk)
        else:
            outputs = structure.decode_all(model.w, threads=self._threads)
            heads, labels = structure.split(outputs)
        return _with_arcs(treebank, model.labels, heads, labels)

    def predict_k_best(self, X: Sentences, k: int = 5) -> list[list[tuple[float, ConlluSentence]]]:
        """The k best trees of each sentence with their scores, best first; for order 1."""
        treebank, model, tree = self._structure(X)
        if isinstance(tree, SecondOrderTree):
            raise InputError("the k best trees need a parser of order 1; this one has order 2")
        names = model.labels.names
        found: list[list[tuple[float, ConlluSentence]]] = Outputs()
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

        They are those of p(tree) ∝ exp β·score (for order 2, where arcs may cross, as loopy belief
        propagation estimates them), by default at the temperature of the model: fitted on
        development data, or that of a probabilistic loss. Without either they are not
        probabilities, and an :class:`~dualstruct.confidence.UncalibratedWarning` says so.
        """
        sharpness = self._beta(beta, strict=False)
        _, model, structure = self._structure(X)
        found = arc_marginals(structure, model.w, sharpness)
        return Outputs(arcs[:, 1:].T for arcs in found)

    def predict_confidence(self, X: Sentences, beta: float | None = None) -> list[TreeConfidence]:
        """How probable the predicted trees are, their heads, and heads with relations."""
        sharpness = self._beta(beta, strict=True)
        treebank, model, structure = self._structure(X)
        predicted = self.predict(treebank)
        relations = model.labels.encode(predicted.relations, predicted.sentences)
        of_relations = sharpness
        if beta is None and model.relation_temperature is not None:
            of_relations = 1 / model.relation_temperature
        return Outputs(
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
        labels = self.model_.labels
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
        folds: int = FOLDS,
        duals: str | Path | None = None,
    ) -> list[Suspect]:
        """The trees with which the model disagrees, and what it predicts.

        The most suspicious ones come first; the model may be wrong, too.

        Parameters
        ----------
        X : Treebank or list of sentences
            Those that the model was trained on.
        y : ignored
        top : int, optional
            The number of sentences to return; all by default.
        folds : int
            Sentences are judged by quick first-order models of the other folds, because a model
            learns the mistakes that it has seen. 0: by this model itself, for sentences that it
            has not seen; for order 1.
        duals : path, optional
            A checkpoint of the model's training: rank by the dual mass of each sentence, first
            those that the ramp loss has given up.
        """
        return self._suspects(self.suspect_case(X), top, folds, duals)

    def suspect_case(self, X: Treebank | Sequence[ConlluSentence]) -> TreeCase:
        """Trees as the search for suspects sees them."""
        model = self.model_
        treebank = as_treebank(X)
        treebank.check_trees()
        check_sources(treebank, model.sources)
        labels = model.labels.extend(Labels.learn(treebank.relations))
        numbers = labels.encode(treebank.relations, treebank.sentences)
        roots = model.shape.single_root and not treebank.faults(single_root=True)
        tree = make_tree(
            short_enough(treebank),
            model.sources,
            model.clusters,
            len(labels),
            replace(model.shape, single_root=roots),
            model.between,
            treebank.heads,
            numbers,
        )

        def own() -> _core.Weights:
            if model.second is not None:
                raise InputError("a parser of order 2 judges by folds: leave out folds and duals")
            return tree.new_weights(model.grown_weights(tree)[0])

        return TreeCase(
            tree, labels.names, treebank, numbers, tree_settings(self.weight_of_loss()), own
        )

    def explain(
        self,
        sentence: Treebank | ConlluSentence | Sequence[str],
        token: int | None = None,
        gold: bool = False,
    ) -> Explanation:
        """Why each word of a sentence gets its head and relation, or one word, counted from 1.

        With ``gold``, the heads and relations of the sentence are true, and the wrong arcs are
        explained: why each beat the best tree with the true one.

        The rivals of a word's arc are the best tree in which it has another head, and the best one
        in which it has another relation at the same head. Contributions are what the features of
        arcs (of pairs of arcs, too, at order 2) add to the difference of the trees' scores; they
        add up to it.

        Examples
        --------
        >>> from dualstruct import DependencyParser
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
            gold=true_arcs(treebank) if gold else None,
            only_wrong=token is None,
        )

    def _structure(self, X: Sentences) -> tuple[Treebank, TreeModel, Tree | SecondOrderTree]:
        model = self.model_
        treebank = as_treebank(X)
        check_sources(treebank, model.sources)
        return treebank, model, model.structure(short_enough(treebank))

    def evaluate(
        self, X: Treebank | Sequence[ConlluSentence], predicted: Treebank | None = None
    ) -> TreeScores:
        """UAS, LAS and related scores of the predictions, against the trees that X has.

        ``predicted`` are the predictions, if you have them already.
        """
        treebank = as_treebank(X)
        return evaluate_trees(treebank, self.predict(treebank) if predicted is None else predicted)

    def mistakes(self, X: Treebank | Sequence[ConlluSentence]) -> Mistakes:
        """What is wrong in the predicted trees, by kind: head, relation.

        :class:`~dualstruct.mistakes.Mistakes` has the methods of the result.
        """
        treebank = as_treebank(X)
        return tree_mistakes(treebank, self.predict(treebank))

    def score(self, X: Treebank | Sequence[ConlluSentence], y: None = None) -> float:
        """LAS over all words."""
        return self.evaluate(X).las


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
