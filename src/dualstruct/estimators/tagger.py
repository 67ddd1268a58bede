"""SequenceTagger: from sentences and their labels to a model that labels new sentences."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.examples import as_list
from dualstruct.data.in_documents import in_blocks, in_documents
from dualstruct.data.layout import ColumnLayout
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.errors import InputError
from dualstruct.estimators.calibrated import CalibratedEstimator
from dualstruct.estimators.keeping import KeepsTokenizer
from dualstruct.labels.costs import pack_costs
from dualstruct.labels.names import UnseenLabelWarning
from dualstruct.outputs import Outputs
from dualstruct.suspecting import FOLDS
from dualstruct.tasks import tagging
from dualstruct.tasks.base import State
from dualstruct.tasks.tagging.model import ChainModel
from dualstruct.tasks.tagging.sentences import as_sentences, is_whole, source_of
from dualstruct.tasks.tagging.settings import TaggerSettings
from dualstruct.training.settings import Training, documented
from dualstruct.workers.communicator import SingleWorker

if TYPE_CHECKING:
    from typing_extensions import Self

    from dualstruct.confidence import SentenceConfidence
    from dualstruct.data.sources import Source
    from dualstruct.distributed.training import Job
    from dualstruct.explaining import Explanation
    from dualstruct.features.functions import Function
    from dualstruct.metrics import Reliability, Scores
    from dualstruct.mistakes import Mistakes
    from dualstruct.suspecting import Suspect
    from dualstruct.tasks.tagging.learning import KnownTagging
    from dualstruct.tasks.tagging.suspecting import ChainCase
    from dualstruct.tasks.tagging.weights import WeightTable
    from dualstruct.training.loop import Callback


@documented(TaggerSettings, Training)
class SequenceTagger(KeepsTokenizer, CalibratedEstimator[ChainModel], TaggerSettings):
    """Labels every token of a sentence: parts of speech, chunks, entities, address parts.

    Attributes
    ----------
    classes_ : array of str
    features_ : str
        The features that were used.
    result_ : FitResult
        Passes, primal, dual, gap, dev score, trace, and what stopped training.
    weights_ : WeightTable

    Examples
    --------
    >>> X = [["Ada", "lives", "in", "Turin"], ["Bo", "left", "Rome"]]
    >>> y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-LOC"]]
    >>> tagger = SequenceTagger(features="ner", C=1.0).fit(X, y)
    >>> tagger.predict([["Bo", "lives", "in", "Rome"]])
    [['B-PER', 'O', 'O', 'B-LOC']]
    >>> tagger.result_.stopped_by
    'passes'
    """

    model_format = "dualstruct tagger"
    expanded_later = frozenset({"emission"})
    trial_settings: ClassVar[dict[str, Any]] = {"unseen_labels": "count"}
    features_: Any
    read_: tuple[int, int]  # the sentences and tokens that fit_large went over

    def fit(
        self,
        X: Any,
        y: Sequence[Sequence[str]] | None = None,
        dev: Any = None,
        callbacks: Iterable[Callback] = (),
        *,
        sample_weight: Sequence[float] | None = None,
        token_weight: Sequence[Sequence[float]] | None = None,
        documents: Sequence[Any] | None = None,
    ) -> Self:
        """Learn from sentences X and their labels y.

        Parameters
        ----------
        X : sentences
            Lists of words, of tuples (one entry per column), of dicts or lists of strings
            (attributes), ``read_columns(...).tokens``, or ``CSRSequences``; a matrix of numbers
            for each sentence, a row per token; or a ``datasets.Dataset`` with its labels. A column
            file by its path, or a list of paths, has the labels in its last column; with an
            ``engine`` each worker then reads its own share.
        y : lists of labels; none for files
        dev : (X, y), or files; optional
            Development data: training stops when its score no longer improves, and the best
            weights are kept. Unless the loss is ``crf``, it also calibrates confidence.
        callbacks : iterable
            Called after each pass with a :class:`~dualstruct.TracePoint` and the iterate.
        sample_weight : one number per sentence, optional
            Multiplies C: a sentence of weight 2 counts as if it were there twice.
        token_weight : a list of numbers per sentence, optional
            Multiplies the cost of a mistake at each token.
        documents : one name or number per sentence, optional
            Which sentences are of one document (:class:`~dualstruct.InDocuments`).
        """
        X = in_documents(X, documents)
        return self._fit(
            X, y, dev, callbacks, sample_weight=sample_weight, token_weight=token_weight
        )

    def fit_large(
        self,
        source: Any,
        folder: str | Path,
        dev: Any = None,
        callbacks: Iterable[Callback] = (),
        *,
        label_column: int = -1,
        columns: Sequence[int] | None = None,
        sample_weight: Sequence[float] | None = None,
        token_weight: Sequence[Sequence[float]] | None = None,
    ) -> Self:
        """Train on more data than memory can hold.

        The features are hashed (``hash_bits``, 20 by default), written to files in ``folder`` and
        mapped into memory; the files are removed at the end. With the same ``hash_bits`` the model
        is that of :meth:`fit`, bit for bit. With an ``engine`` each worker keeps its own files.
        ``min_count``, documents, stages, vectors and templates of pairs of labels are refused.

        Parameters
        ----------
        source : path, list of paths, or iterable of pairs
            Column files, folders, patterns (``"parts/*.gz"``) and addresses (``"s3://parts/"``); or
            sentences with their labels, read once.
        folder : path
            A folder for the features: about 100 bytes per token.
        dev, callbacks, sample_weight, token_weight
            As for :meth:`fit`; weights are held in memory, and are for one worker.
        label_column, columns
            As for :func:`~dualstruct.read_columns`, if they are files.

        Examples
        --------
        >>> import tempfile
        >>> pairs = ((["Ada", "lives", "in", city], ["PER", "O", "O", "LOC"])
        ...          for city in ("Turin", "Rome", "Bonn"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tagger = SequenceTagger(features="pos", hash_bits=12).fit_large(pairs, folder)
        >>> tagger.predict([["Ada", "in", "Rome"]])
        [['PER', 'O', 'LOC']]
        """
        self.check_settings()
        X = tagging.large.stream_of(source, folder, label_column, columns, self.workers)
        return self._fit(
            X, None, dev, callbacks, sample_weight=sample_weight, token_weight=token_weight
        )

    def partial_fit(
        self,
        X: Any,
        y: Sequence[Sequence[str]] | None = None,
        dev: Any = None,
        callbacks: Iterable[Callback] = (),
        *,
        sample_weight: Sequence[float] | None = None,
        token_weight: Sequence[Sequence[float]] | None = None,
    ) -> Self:
        """Continue learning from new data; it may bring new features and labels.

        Regularisation is towards the current weights instead of 0, so the model keeps what it has
        learned unless the new data contradict it. Before training, this is the same as ``fit``.
        """
        old = getattr(self, "_model", None)
        return self._fit(
            X, y, dev, callbacks, old, sample_weight=sample_weight, token_weight=token_weight
        )

    def calibrate(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> Self:
        """Fit the temperature that makes scores probabilities, on data not trained on.

        Predictions stay the same; marginals and confidence become those of p ∝ exp(score / T),
        with T chosen by the likelihood of the true labels. Training with ``dev`` does this
        automatically, unless the loss is ``crf``.
        """
        data = as_sentences(X), as_list(y)
        model = tagging.learning.calibrated(self.model_, *data, self._threads, SingleWorker())
        if model.temperature is None:
            raise InputError("nothing to calibrate on: training has seen none of these labels")
        self._model = model
        return self

    def _learn(self, job: Job, start: ChainModel | None) -> KnownTagging:
        from dualstruct.data.streams import Stream
        from dualstruct.estimators.staging import first_stage

        if isinstance(job.share.X, Stream):
            return tagging.large.learn(self, job)
        return tagging.learning.learn(self, job, start, first_stage(self, job))

    def _source(self, X: Any, y: Any) -> Source:
        return source_of(X, y)

    def _dev_source(self, dev: Any) -> Source:
        return source_of(dev, None) if is_whole(dev) else source_of(*dev)

    @classmethod
    def load(cls, path: str | Path, functions: Iterable[Function] = ()) -> Self:
        """Read a model; the file has no feature functions: pass them again."""
        tagger = super().load(path)
        extractor = tagger.model_.extractor
        extractor.look_in(Path(path).parent)
        if (given := list(functions)) or extractor.functions():
            from dualstruct.features.functions import give_again

            give_again(extractor, given)
        return tagger

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self.__sklearn_is_fitted__():
            from dualstruct.features.functions import functions_among, give_again

            give_again(self.model_.extractor, functions_among(self.features))

    def _check_division(self, train: Source) -> None:
        from dualstruct.data.sources import InMemory
        from dualstruct.data.streams import StreamedBlocks
        from dualstruct.features.vectors import WithVectors

        if isinstance(self.unknown_label, str):
            raise InputError("unknown_label is for one machine: leave out unknown_label or engine")
        if self.document_features or self.stages > 1:
            raise InputError("document_features and stages are for one machine: leave out engine")
        if isinstance(train, StreamedBlocks):
            raise InputError("an iterator cannot be divided among workers: give files")
        if isinstance(train, InMemory) and isinstance(train.X, WithVectors):
            raise InputError("vectors are for one machine: leave out WithVectors or engine")

    def state(self) -> State:
        metadata, arrays = super().state()
        metadata["parameters"]["cost"] = pack_costs(self.cost)
        return self._with_tokenizer((metadata, arrays))

    def _model_from(self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ChainModel:
        return ChainModel.from_state(metadata, arrays)

    @property
    def n_features_(self) -> int:
        """How many features the model has weights for."""
        return self.model_.extractor.dimension

    @property
    def n_columns_(self) -> int | None:
        """How many columns the tokens have; None for attributes and matrices."""
        return self.model_.n_columns

    @property
    def layout_(self) -> ColumnLayout | None:
        """How columns of files are read; None for tokens without columns."""
        columns, layout = self.model_.n_columns, self.model_.layout
        return layout if layout or columns is None else ColumnLayout.plain(columns)

    def _usual_tokenizer(self) -> Tokenizer | None:
        layout = self.model_.layout
        return None if layout is None else layout.tokenizer

    @property
    def weights_(self) -> WeightTable:
        """The weights by feature and label, and by pairs of labels."""
        model = self.model_
        known = model.emission(), model.transition(), model.labels.names, model.extractor
        return tagging.weights.WeightTable(*known, model.pair_weights())

    def predict(
        self,
        X: Sequence[Any],
        allowed: Sequence[Sequence[Sequence[str] | None] | None] | None = None,
        *,
        documents: Sequence[Any] | None = None,
    ) -> list[list[str]]:
        """The best labels of each sentence: a list, which numpy converts to an array of lists.

        Parameters
        ----------
        X : sentences
        allowed : optional
            For each sentence None, or for each token None or the labels it may have.
        documents : one name or number per sentence, optional
            As for :meth:`fit`.
        """
        X = in_documents(as_sentences(X), documents)
        return Outputs(self.model_.best(X, allowed, self._threads))

    def predict_iter(self, X: Iterable[Any], block: int = 1000) -> Iterator[list[str]]:
        """The best labels of each sentence of an iterator, in bounded memory.

        Parameters
        ----------
        X : iterable of sentences
        block : int
            The number of sentences in a block; documents are not divided.

        Examples
        --------
        >>> tagger = SequenceTagger(features="pos").fit([["a", "dog"]], [["DET", "NOUN"]])
        >>> endless = iter(lambda: ["a", "dog"], None)
        >>> next(tagger.predict_iter(endless))
        ['DET', 'NOUN']
        """
        if block < 1:
            raise InputError(f"block is {block}; it must be at least 1")
        for sentences in in_blocks(X, block):
            yield from self.predict(sentences)

    def predict_marginals(
        self, X: Sequence[Any], beta: float | None = None
    ) -> list[NDArray[np.float32]]:
        """The probability of each label (in the order of ``classes_``) at each token.

        They are those of p(y) ∝ exp β·score, by default at the temperature of the model: fitted on
        development data, or that of a probabilistic loss. Without either they are not
        probabilities, and an :class:`~dualstruct.confidence.UncalibratedWarning` says so.
        """
        sharpness, X = self._beta(beta, strict=False), as_sentences(X)
        marginals, chain = self.model_.marginals(X, sharpness, self._threads)
        return Outputs(np.split(marginals, chain.sentences[1:-1])[: len(chain)])

    def class_indices(self, labels: Sequence[str]) -> list[int]:
        """Where in ``classes_``, and so in the marginals, a sentence's labels are."""
        inner = self.model_.codec.to_inner([labels])[0]
        return [self.model_.labels.number(name) for name in inner]

    def predict_k_best(self, X: Sequence[Any], k: int = 5) -> list[list[tuple[float, list[str]]]]:
        """The k best labellings of each sentence with their scores, best first."""
        return Outputs(self.model_.k_best(as_sentences(X), k))

    def predict_confidence(
        self, X: Sequence[Any], k: int = 1, beta: float | None = None
    ) -> list[SentenceConfidence]:
        """How probable the predicted labels are: of each token, entity and sentence.

        Parameters
        ----------
        X : sentences
        k : int
            The number of best labellings, with scores and probabilities.
        beta : float, optional
            Take p ∝ exp β·score instead of the model's own temperature.

        Examples
        --------
        >>> X = [["Ada", "lives", "in", "Turin"], ["Bo", "left", "Rome"]]
        >>> y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-LOC"]]
        >>> tagger = SequenceTagger(features="ner", loss="crf", C=1.0).fit(X, y)
        >>> [found] = tagger.predict_confidence([["Bo", "lives", "in", "Rome"]])
        >>> [(entity.type, entity.start, entity.end) for entity in found.entities]
        [('PER', 0, 1), ('LOC', 3, 4)]
        >>> found.probability <= found.entities[1].probability <= 1
        True
        """
        beta = self._beta(beta, strict=True)
        return tagging.confidence.sentence_confidence(self.model_, as_sentences(X), k, beta)

    def reliability(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[str]],
        bins: int = 10,
        beta: float | None = None,
    ) -> dict[str, Reliability]:
        """Confidence against accuracy of tokens, entities and whole sentences."""
        X, y = as_sentences(X), as_list(y)
        found = self.predict_confidence(X, beta=beta)
        return tagging.confidence.sequence_reliability(
            self.model_, X, y, found, bins, self._threads
        )

    def explain(
        self, sentence: Any, token: int | None = None, gold: Sequence[str] | None = None
    ) -> Explanation:
        """Why each token of a sentence gets its label, or one token, counted from 1.

        The runner-up is the best whole labelling with another label at the token. Contributions
        are what features and transitions add to the difference of the two scores; they add up to
        it. Labels are those that the model learned in (``scheme``). With the true labels (``gold``)
        the wrong ones are explained: why each beat the best labelling with the true label there.

        Examples
        --------
        >>> tagger = SequenceTagger(features="pos").fit([["a", "dog"]], [["DET", "NOUN"]])
        >>> dog = tagger.explain(["a", "dog"])[1]
        >>> dog.label, dog.runner_up.label
        ('NOUN', 'DET')
        """
        return tagging.explaining.explain_sentence(self.model_, sentence, token, gold)

    def suspects(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[str]],
        top: int | None = None,
        folds: int = FOLDS,
        duals: str | Path | None = None,
    ) -> list[Suspect]:
        """The sentences with which the model disagrees, and what it predicts.

        The most suspicious ones come first. Not all of them are wrong (docs/suspects.md).

        Parameters
        ----------
        X, y : the sentences that the model was trained on, and their labels
        top : int, optional
            The number of sentences to return; all by default.
        folds : int
            Sentences are judged by quick models of the other folds, because a model learns the
            mistakes that it has seen. 0: by this model itself, for sentences that it has not seen.
        duals : path, optional
            A checkpoint of the model's training: rank by the dual mass of each sentence, first
            those that the ramp loss has given up.

        Examples
        --------
        >>> X = [["a", "dog"], ["the", "cat"], ["a", "cat"], ["the", "dog"]] * 5
        >>> y = [["DET", "NOUN"]] * 19 + [["NOUN", "DET"]]
        >>> tagger = SequenceTagger(features="word[0]\\n").fit(X, y)
        >>> tagger.suspects(X, y, top=1)[0].sentence
        20
        """
        return self._suspects(self.suspect_case(X, y), top, folds, duals)

    def suspect_case(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> ChainCase:
        """Sentences and their labels as the search for suspects sees them."""
        model = self.model_
        X, y = as_sentences(X), as_list(y)
        if self.stages > 1:
            raise InputError("suspects are found by a model of one stage: train one with stages=1")
        if tagging.partial.has_unknown(y, self.unknown_label):
            raise InputError(
                "suspects are found among sentences whose labels are all known: leave out those "
                f"with {self.unknown_label!r}"
            )
        C = (self.C or 1.0) if self.loss == "crf" else 1.0
        return tagging.suspecting.ChainCase.of(model, X, y, C)

    def set_weight(self, feature: str, label: str, weight: float) -> None:
        """Change the weight of a feature, by its name, for a label; ``save`` keeps it.

        Examples
        --------
        >>> tagger = SequenceTagger(features="pos").fit([["a", "dog"]], [["DET", "NOUN"]])
        >>> tagger.set_weight("word[0]=dog", "DET", 9.0)
        >>> tagger.predict([["dog"]])
        [['DET']]
        """
        self._model = self.model_.with_weight(feature, label, weight)

    def set_transition(self, before: str, after: str, weight: float) -> None:
        """Change the weight of one label after another; start and end are ``"<s>"``, ``"</s>"``."""
        self._model = self.model_.with_transition(before, after, weight)

    def set_pair_weight(self, feature: str, before: str, after: str, weight: float) -> None:
        """Change the weight of a pair feature (a ``B`` line), by its name, for a step."""
        self._model = self.model_.with_pair_weight(feature, before, after, weight)

    def evaluate(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> Scores:
        """Accuracy, and precision, recall and F1 of the spans, over all and by type."""
        from dualstruct.metrics import evaluate_ids

        model = self.model_
        chain = model.chain(as_sentences(X), threads=self._threads)
        truth, names, unseen = tagging.learning.true_labels(self, model.codec, as_list(y), chain)
        if unseen is not None:
            if self.unseen_labels == "error":
                raise unseen.error()
            warnings.warn(UnseenLabelWarning(unseen), stacklevel=2)
        predicted = chain.decode_all(model.w, threads=self._threads)
        return evaluate_ids(truth, predicted, chain.sentences, names)

    def mistakes(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> Mistakes:
        """What is wrong in the predicted labels, by kind: missed, invented, type, boundary, label.

        :class:`~dualstruct.mistakes.Mistakes` has the methods of the result.
        """
        from dualstruct.mistakes import label_mistakes

        X, y = as_sentences(X), as_list(y)
        unknown = self.unknown_label if isinstance(self.unknown_label, str) else None
        names = self.classes_.tolist()
        return label_mistakes(X, y, self.predict(X), labels=names, unknown_label=unknown)

    def score(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> float:
        """F1 for BIO-like labels, accuracy for others."""
        return self.evaluate(X, y).score
