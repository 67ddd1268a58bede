"""SequenceTagger: from sentences and their labels to a model that labels new sentences."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.examples import as_list
from dualstruct.data.sources import ColumnFiles, Held, Source, check_paths, paths_of, weighed
from dualstruct.errors import InputError
from dualstruct.estimators.base import State
from dualstruct.estimators.calibrated import CalibratedEstimator
from dualstruct.estimators.trained_tagger import TrainedTagger
from dualstruct.features import (
    FeatureExtractor,
    VectorExtractor,
    WithVectors,
    from_state,
    make_extractor,
)
from dualstruct.labels.costs import (
    Costs,
    check_costs_count,
    flat_token_weights,
    label_costs,
    pack_costs,
)
from dualstruct.labels.names import Labels, ManyLabelsWarning
from dualstruct.labels.schemes import (
    SCHEMES,
    Scheme,
    allowed_transitions,
    are_span_labels,
    convert_scheme,
    detect_scheme,
    iob1_signs,
)
from dualstruct.losses import find_loss
from dualstruct.metrics import evaluate_ids, score_name
from dualstruct.metrics.counts import share
from dualstruct.solvers import Solver
from dualstruct.structures import Chain
from dualstruct.structures.base import digest_of
from dualstruct.structures.chain import forbidden_tokens
from dualstruct.tasks.tagging.confidence import chain_temperature, sentences_to_calibrate
from dualstruct.tasks.tagging.large import HASH_BITS, blocks_of, blocks_on_disk, temporary_folder
from dualstruct.tasks.tagging.model import (
    ChainModel,
    Codec,
    TrainingSet,
    count_columns,
    first_token,
    layout_of,
    unlabelled_chain,
)
from dualstruct.tasks.tagging.partial import (
    first_weights,
    has_unknown,
    known_labels,
    without_unknown,
)
from dualstruct.tasks.tagging.sentences import as_sentences, is_dataset, labelled
from dualstruct.training.loop import Callback, Stopping, SummedScore
from dualstruct.workers.communicator import Alone
from dualstruct.workers.merging import agree, fit_features, gather, total, union

if TYPE_CHECKING:
    from typing_extensions import Self

#: From how many labels on, and from which share of the tokens, there are surprisingly many.
MANY_LABELS, MANY_LABELS_SHARE = 30, 0.2


class SequenceTagger(TrainedTagger):
    """Labels every token of a sentence: parts of speech, chunks, entities, address parts.

    Parameters
    ----------
    features : str, path or None
        ``"auto"`` (for BIO-like labels the preset ``ner``, or ``ner-pos`` if the tokens have a
        second column; ``pos`` for other labels; attributes for tokens that are dicts or lists), a
        preset (``chunking``, ``pos``, ``ner``, ``ner-pos``), a template file or text (also of CRF++
        and Wapiti), or ``"attributes"``.
    loss : str
        What a mistake costs: ``squared_hinge``, ``hinge``, ``crf``, ``softmax_margin``, ``ramp``
        or ``perceptron``.
    beta, gamma : float, optional
        The parameters of the loss ``softmax_margin``.
    solver : str or Solver
        ``"auto"`` takes the quickest that fits the loss; or a name (docs/solvers.md lists them),
        or an instance with settings of its own.
    averaged : bool
        Predict with the average of the weights over all steps of training. It makes up for few
        passes and noisy labels; with dev data there is little to gain.
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
    constraints : str or None
        ``"auto"`` makes BIO and BILOU labels valid by construction when the training labels are;
        ``"iob1"``, ``"iob2"``, ``"bilou"``, ``"bioes"`` insist on it; None leaves all
        transitions open.
    scheme : str, optional
        Learn in this label scheme (``"bilou"``, ``"iob2"`` …) whatever the training labels are
        in; predictions come back in theirs.
    cost : dict or matrix, optional
        What mistakes cost, 1 for those not named: ``{"B-LOC": 2.0}`` by true label,
        ``{("B-LOC", "B-ORG"): 0.5}`` by true and predicted one, or a matrix of both in the order of
        the sorted labels.
    class_weight : dict or "balanced", optional
        Multiplies the cost of mistaking each label. ``"balanced"`` makes all labels weigh the same
        together, however rare they are.
    unknown_label : str, False or None
        The mark of labels that nobody knows, ``"?"`` for instance: such tokens are filled in by
        the best completion under the model as it learns, and left out where scores are computed.
        None takes every label for a label, and warns of ``?``; False does not even warn.
    hash_bits : int, optional
        Hash features into 2**hash_bits rows of weights, one a label, instead of keeping a
        dictionary. Features of pairs of labels (``B`` templates) get at most as many rows.
    min_count : int
        Leave out features seen fewer times.
    unseen_labels : {"warn", "count", "error"}
        What to do with labels in dev or test data that training never saw: count their tokens
        as mistakes, with or without a warning, or refuse.
    dialect : {"auto", "dualstruct", "crf++", "wapiti"}
        The language of the templates; ``auto`` looks at them.
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
    features_ : str
        What ``features`` came to.
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
    read_: tuple[int, int]  # the sentences and tokens that fit_large went over
    of_the_model = (  # of the features, the model keeps the templates themselves
        *CalibratedEstimator.of_the_model,
        "constraints",
        "scheme",
        "cost",
        "class_weight",
        "unknown_label",
        "hash_bits",
        "min_count",
        "unseen_labels",
    )

    def __init__(
        self,
        features: Any = "auto",
        loss: str = "squared_hinge",
        beta: float | None = None,
        gamma: float | None = None,
        solver: str | Solver = "auto",
        averaged: bool = False,
        C: float = 0.1,
        gap: float | None = None,
        passes: int | None = None,
        seconds: float | None = None,
        patience: int = 5,
        certify_every: int | None = None,
        constraints: str | None = "auto",
        scheme: Scheme | None = None,
        cost: Costs | None = None,
        class_weight: dict[str, float] | str | None = None,
        unknown_label: str | bool | None = None,
        hash_bits: int | None = None,
        min_count: int = 1,
        unseen_labels: str = "warn",
        seed: int = 0,
        threads: int = 1,
        verbose: bool = False,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        engine: str | None = None,
        workers: int | None = None,
        address: str | None = None,
        dialect: str = "auto",
    ) -> None:
        self.features = features
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
        self.constraints = constraints
        self.scheme = scheme
        self.cost = cost
        self.class_weight = class_weight
        self.unknown_label = unknown_label
        self.hash_bits = hash_bits
        self.min_count = min_count
        self.unseen_labels = unseen_labels
        self.seed = seed
        self.threads = threads
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.resume = resume
        self.engine = engine
        self.workers = workers
        self.address = address
        self.dialect = dialect

    def fit(
        self,
        X: Any,
        y: Sequence[Sequence[str]] | None = None,
        dev: Any = None,
        callbacks: Iterable[Callback] = (),
        *,
        sample_weight: Sequence[float] | None = None,
        token_weight: Sequence[Sequence[float]] | None = None,
    ) -> Self:
        """Learn from sentences X and their labels y.

        Parameters
        ----------
        X : sentences
            Lists of words, of tuples (one entry a column), of dicts or lists of strings
            (attributes), ``read_columns(...).tokens``, or ``CSRSequences``; a matrix of numbers
            for each sentence, a row a token; or a ``datasets.Dataset`` with its labels. A column
            file by its path, or a list of paths, has the labels in its last column; with an
            ``engine`` each worker then reads its own part.
        y : lists of labels; none for files
        dev : (X, y), or files; optional
            Development data: training stops when its score no longer improves, and the best
            weights are kept. Unless the loss is ``crf``, it also calibrates confidence.
        callbacks : iterable
            Called after each pass with a :class:`~dualstruct.TracePoint` and the iterate.
        sample_weight : one number a sentence, optional
            Multiplies C: a sentence of weight 2 counts as if it were there twice.
        token_weight : a list of numbers a sentence, optional
            Multiplies the cost of a mistake at each token.
        """
        weights = (sample_weight, token_weight)
        self._settings()  # bad parameters fail before features are extracted
        if self._divides:
            self._refuse_divided(X)
            self._train_together("fit", *_sources(X, y, dev, *weights), callbacks)
            return self
        X, y, dev = _read(X, y, dev)
        ranks = self._ranks
        if self.scheme is not None and has_unknown(y, self.unknown_label):
            raise InputError("scheme cannot be combined with unknown labels: spans would have gaps")
        outer = None if self.scheme is None else self._outer_scheme(y)
        if self.scheme is not None and outer is None:
            raise InputError(
                f"scheme is {self.scheme!r}, but the labels mark no spans (B-, I- …) to convert"
            )
        inner = None if outer is None else self.scheme
        inner_y = y if inner is None else convert_scheme(y, inner, outer)
        found = known_labels(inner_y, self.unknown_label)
        codec = Codec(Labels(union(ranks, found.names)), inner, outer)
        started = time.perf_counter()
        extractor = self._new_extractor(X, codec.labels, self.hash_bits)
        if isinstance(X, WithVectors):
            extractor = VectorExtractor(extractor)
        self._agree_on(extractor, X)
        extractor, rows = fit_features(ranks, extractor, X)
        self.feature_seconds_ = time.perf_counter() - started
        truth = self._known(codec.labels, inner_y, rows.sentences)
        learned = TrainingSet(extractor, codec, count_columns(X), rows, truth, layout_of(X))
        return self._train(learned, dev, callbacks, None, weights)

    def _outer_scheme(self, y: Sequence[Sequence[str]]) -> Scheme | None:
        """The scheme that the labels of all workers are in."""
        labels = union(self._ranks, Labels.learn(y).names)
        signs = gather(self._ranks, iob1_signs(y))
        speaks_for, speaks_against = (any(sign) for sign in zip(*signs, strict=True))
        return detect_scheme(y, labels, (speaks_for, speaks_against))

    def _agree_on(self, extractor: FeatureExtractor, X: Sequence[Any]) -> None:
        """All workers must see the same templates, and tokens with as many columns."""
        if self._part is None:
            return
        settings, arrays = extractor.state()
        files = digest_of([arrays[name] for name in sorted(arrays)])
        facts = {"templates": [settings, files], "the number of columns": count_columns(X)}
        agree(self._ranks, facts)

    def fit_large(
        self,
        source: Any,
        folder: str | Path,
        dev: Any = None,
        callbacks: Iterable[Callback] = (),
        *,
        label_column: int = -1,
        columns: Sequence[int] | None = None,
    ) -> Self:
        """Learn from more data than memory holds.

        The features are hashed (``hash_bits``, 20 by default), written to files in ``folder`` and
        mapped into memory; the files are removed at the end. With the same ``hash_bits`` the model
        is that of :meth:`fit`, bit for bit. What needs all data in memory is refused: ``scheme``,
        ``unknown_label``, ``min_count``, ``engine``, vectors and templates of pairs of labels.

        Parameters
        ----------
        source : path, or iterable of pairs
            A column file, or sentences with their labels, gone over once.
        folder : path
            Where there is room for the features: about 100 bytes a token.
        dev, callbacks
            As for :meth:`fit`.
        label_column, columns
            As for :func:`~dualstruct.read_columns`, if it is a file.

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
        self._settings()
        if self._divides or self.min_count > 1:
            raise InputError("fit_large takes neither engine nor min_count")
        if self.scheme is not None or isinstance(self.unknown_label, str):
            raise InputError("scheme and unknown_label need all data in memory")
        held_out = None if dev is None else _all_of(_dev_source(dev))
        blocks = blocks_of(source, label_column, columns)
        started = time.perf_counter()
        with temporary_folder(folder) as place:
            bits = HASH_BITS if self.hash_bits is None else self.hash_bits
            found = blocks_on_disk(blocks, place, lambda X, y: self._new_extractor(X, y, bits))
            labels = without_unknown(found.labels, self.unknown_label)
            if self._choose_features(found.sample, labels) != self.features_:
                raise InputError(
                    f'features="auto" took {self.features_} from the labels at the beginning, and '
                    "those after them ask for others: name the features"
                )
            self.feature_seconds_ = time.perf_counter() - started
            self.read_ = len(found.rows.sentences) - 1, found.rows.n_tokens
            learned = TrainingSet(
                found.extractor,
                Codec(labels),
                count_columns(found.sample),
                found.rows,
                found.truth,
                layout_of(found.sample),
            )
            return self._train(learned, held_out, callbacks, None, (None, None))

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
        """Go on learning from new data; it may bring new features and labels.

        The weights are drawn towards the model as it is instead of towards 0, so that what was
        learned stays unless the new data speak against it. Untrained, this is ``fit``.
        """
        if not hasattr(self, "_model"):
            return self.fit(
                X, y, dev, callbacks, sample_weight=sample_weight, token_weight=token_weight
            )
        self._settings()
        if self._divides:
            self._refuse_divided(X)
            sources = _sources(X, y, dev, sample_weight, token_weight)
            self._train_together("partial_fit", *sources, callbacks)
            return self
        X, y, dev = _read(X, y, dev)
        old = self._model
        inner_y = old.codec.to_inner(y)
        found = Labels(union(self._ranks, known_labels(inner_y, self.unknown_label).names))
        codec = replace(old.codec, labels=old.labels.extend(found))
        started = time.perf_counter()
        extractor = from_state(*old.extractor.state())  # a failure must not spoil the model
        self._agree_on(extractor, X)
        extractor, rows = fit_features(self._ranks, extractor, X)
        self.feature_seconds_ = time.perf_counter() - started
        center = old.grown_weights(rows, codec.labels)
        weights = (sample_weight, token_weight)
        truth = self._known(codec.labels, inner_y, rows.sentences)
        layout = layout_of(X) or old.layout
        learned = TrainingSet(extractor, codec, count_columns(X), rows, truth, layout)
        return self._train(learned, dev, callbacks, center, weights)

    def _settings(self) -> tuple[Solver, Stopping]:
        if self.unseen_labels not in ("warn", "count", "error"):
            raise InputError(f"unseen_labels is {self.unseen_labels!r}, not warn, count or error")
        loss = find_loss(self.loss, self.beta, self.gamma)
        check_costs_count(loss, cost=self.cost, class_weight=self.class_weight)
        return super()._settings()

    def _new_extractor(
        self, X: Sequence[Any], labels: Labels, hash_bits: int | None
    ) -> FeatureExtractor:
        """What turns tokens like these into features."""
        self.features_ = self._choose_features(X, labels)
        return make_extractor(
            self.features_,
            hash_bits=hash_bits,
            min_count=self.min_count,
            # A feature of pairs has a row for every label before.
            pair_bits=hash_bits and max(1, hash_bits - (len(labels) - 1).bit_length()),
            dialect=self.dialect,
        )

    def _choose_features(self, X: Sequence[Any], labels: Labels) -> Any:
        if not (isinstance(self.features, str) and self.features == "auto"):
            return self.features
        token = first_token(X)
        if not isinstance(token, str | tuple):
            return "attributes"
        if not are_span_labels(labels.names):
            return "pos"
        # A second column is a part of speech more often than not.
        return "ner" if isinstance(token, str) or len(token) < 2 else "ner-pos"

    def _train(
        self,
        learned: TrainingSet,
        dev: tuple[Sequence[Any], Sequence[Sequence[str]]] | None,
        callbacks: Iterable[Callback],
        start: tuple[NDArray[np.float32], ...] | None,
        weights: tuple[Sequence[float] | None, Sequence[Sequence[float]] | None],
    ) -> Self:
        extractor, codec, rows, truth = (
            learned.extractor,
            learned.codec,
            learned.rows,
            learned.truth,
        )
        if not rows.dimension:
            raise InputError(f"no feature is left: min_count is {self.min_count}")
        sample_weight, token_weight = weights
        loss = find_loss(self.loss, self.beta, self.gamma)
        check_costs_count(loss, token_weight=token_weight)
        labels = codec.labels
        self._check_label_count(labels, len(truth))
        # Labels may be on disk: what is not needed of them is not copied.
        unknown = truth < 0 if isinstance(self.unknown_label, str) else None
        counted = truth if unknown is None else truth[~unknown]

        def chain_with(transitions: NDArray[np.bool_] | None) -> Chain:
            return Chain(
                rows,
                len(labels),
                truth if unknown is None else np.maximum(truth, 0),
                cost=label_costs(labels, self.cost, self.class_weight, counts),
                token_weights=flat_token_weights(token_weight, rows.sentences),
                unknown=unknown,
                transitions=transitions,
            )

        transitions = self._allowed(codec, truth, rows.sentences)
        counts = self._ranks.allreduce(np.bincount(counted, minlength=len(labels)))
        chain = chain_with(transitions)
        if chain.completes and self.constraints == "auto":
            try:
                chain.best_completion(chain.new_weights())
            except InputError:  # the known labels leave no way through
                chain = chain_with(transitions := None)
        chain.weigh(sample_weight)
        center = None if start is None else chain.pack(*start)
        if chain.completes:
            w = center or first_weights(chain, truth, self.seed)
            chain.set_truth(chain.best_completion(w, self._threads))
        judge = None
        if dev is not None:
            dev = as_list(dev[0]), as_list(dev[1])
            dev_chain = unlabelled_chain(extractor, labels, transitions, dev[0])
            judge = self._judge(codec, dev_chain, dev[1])
        result = self._optimise(chain, center, judge, callbacks)
        self._model = ChainModel(
            extractor, codec, transitions, result.w, learned.n_columns, layout=learned.layout
        )
        self.result_ = result
        if dev is not None and self._wants_temperature():
            self._model = self._calibrated(self._model, *dev)
        return self

    def _check_label_count(self, labels: Labels, tokens: int) -> None:
        """Warn of what is probably no column of labels."""
        [tokens] = total(self._ranks, tokens)
        if len(labels) >= MANY_LABELS and len(labels) > MANY_LABELS_SHARE * tokens:
            self._warn(
                ManyLabelsWarning(
                    f"there are {len(labels):,} labels for {tokens:,} tokens: are they in another "
                    "column (label_column)?"
                )
            )

    def calibrate(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> Self:
        """Fit the temperature that makes scores probabilities, on data not trained on.

        Predictions stay the same; marginals and confidence become those of p ∝ exp(score / T),
        with T chosen by the likelihood of the true labels. Training with ``dev`` does it by itself,
        unless the loss is ``crf``.
        """
        model = self._calibrated(self._trained(), as_sentences(X), as_list(y))
        if model.temperature is None:
            raise InputError("there is no token to calibrate on with a label that training saw")
        self._model = model
        return self

    def _calibrated(self, model: ChainModel, X: Any, y: Any) -> ChainModel:
        whole = model.chain(X)
        truth, _ = model.labels.encode_any(model.codec.to_inner(y), whole.sentences)
        lengths = np.diff(whole.sentences)
        chosen = sentences_to_calibrate(lengths, len(model.labels))
        some = X.select(chosen) if isinstance(X, WithVectors) else [X[i] for i in chosen]
        chain = whole if len(chosen) == len(lengths) else model.chain(some)
        picked = np.repeat(np.isin(np.arange(len(lengths)), chosen), lengths)
        temperature = chain_temperature(chain, model.w, truth[picked], self._threads, self._ranks)
        return replace(model, temperature=temperature)

    def _refuse_divided(self, X: Any) -> None:
        if isinstance(self.unknown_label, str):
            raise InputError("unknown_label is for one machine: leave out unknown_label or engine")
        if isinstance(X, WithVectors):
            raise InputError("vectors are for one machine: leave out WithVectors or engine")

    def _known(
        self, labels: Labels, y: Sequence[Sequence[str]], sentences: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """The numbers of the labels, −1 where they are unknown."""
        if not has_unknown(y, self.unknown_label):
            return labels.encode(y, sentences)
        numbers, names = labels.encode_any(y, sentences)
        return np.where(numbers == names.index(str(self.unknown_label)), np.int32(-1), numbers)

    def _allowed(
        self, codec: Codec, truth: NDArray[np.int32], sentences: NDArray[np.int64]
    ) -> NDArray[np.bool_] | None:
        labels = codec.labels
        insisted = codec.inner_scheme if codec.converts else self.constraints
        if insisted is None:
            return None
        if insisted != "auto":
            return allowed_transitions(labels.names, insisted)  # type: ignore[arg-type]
        if not are_span_labels(labels.names):
            return None
        for scheme in SCHEMES:
            try:
                transitions = allowed_transitions(labels.names, scheme)
            except InputError:  # a label that this scheme does not have
                continue
            forbidden = len(forbidden_tokens(truth, sentences, transitions))
            if total(self._ranks, forbidden) == [0]:
                return transitions
        return None  # real files break their own scheme now and then; then nothing is forbidden

    def _judge(self, codec: Codec, chain: Chain, y: Sequence[Sequence[str]]) -> Any:
        truth, names = self._true_labels(codec, y, chain)
        if total(self._ranks, len(truth)) == [0]:
            raise InputError("the development data has no tokens")
        if self._part is not None:  # all must count spans, or all tokens
            names = [*names, *(set(union(self._ranks, names)) - set(names))]
        by_f1 = score_name(names) == "f1"

        def count(w: _core.Weights) -> list[int]:
            predicted = chain.decode_all(w, threads=self._threads)
            scores = evaluate_ids(truth, predicted, chain.sentences, names)
            if by_f1:
                return [2 * scores.correct, scores.support + scores.predicted]
            return [scores.correct_tokens, scores.tokens]

        metric = "F1" if by_f1 else "accuracy"
        return SummedScore(
            self._ranks, count, lambda sums: share(int(sums[0]), int(sums[1])), metric
        )

    def _state(self) -> State:
        facts, arrays = super()._state()
        facts["parameters"]["cost"] = pack_costs(self.cost)
        return facts, arrays


def _sources(
    X: Any, y: Any, dev: Any, sample_weight: Any = None, token_weight: Any = None
) -> tuple[Source, Source | None]:
    """Where training and development data are."""
    given = weighed(_source(X, y), sample_weight=sample_weight, token_weight=token_weight)
    return given, None if dev is None else _dev_source(dev)


def _source(X: Any, y: Any) -> Source:
    if isinstance(X, ColumnFiles):
        return X
    paths = paths_of(X)
    if paths is None:
        sentences, labels = labelled(X, y)
        if labels is None:
            raise InputError("the labels are missing: sentences need y, or give a column file")
        return Held(sentences, labels)
    if y is not None:
        raise InputError("labels were given beside a column file, which has its own")
    check_paths(paths)
    return ColumnFiles(paths)


def _dev_source(dev: Any) -> Source:
    whole = isinstance(dev, ColumnFiles) or is_dataset(dev) or paths_of(dev)
    return _source(dev, None) if whole else _source(*dev)


def _read(X: Any, y: Any, dev: Any) -> tuple[Any, Any, Any]:
    """Sentences, labels and development data in memory, wherever they were."""
    train, held_out = _sources(X, y, dev)
    return *_all_of(train), None if held_out is None else _all_of(held_out)


def _all_of(source: Source) -> tuple[Any, Any]:
    if isinstance(source, Held):
        return source.X, source.y
    part = source.part(Alone(), 0)
    return part.X, part.y
