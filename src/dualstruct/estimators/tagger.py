"""SequenceTagger: from sentences and their labels to a model that labels new sentences."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.errors import InputError, NotFittedError
from dualstruct.estimators.labels import Labels, UnseenLabel, UnseenLabelWarning
from dualstruct.estimators.params import Parameters
from dualstruct.estimators.weights import WeightTable
from dualstruct.features import FeatureExtractor, FeatureRows, from_state, make_extractor
from dualstruct.files.arrays import read_arrays, write_arrays
from dualstruct.files.columns import ColumnSentences
from dualstruct.files.spans import (
    SCHEMES,
    Scheme,
    allowed_transitions,
    are_span_labels,
    convert_scheme,
    detect_scheme,
)
from dualstruct.fit import Callback, FitResult, Stopping, fit
from dualstruct.metrics import Scores, evaluate_ids, score_name
from dualstruct.problem import Problem
from dualstruct.progress import ProgressLine
from dualstruct.solvers import Solver, find_solver
from dualstruct.structures import Chain
from dualstruct.structures.chain import forbidden_tokens

if TYPE_CHECKING:
    from typing_extensions import Self

MODEL_FORMAT = "dualstruct tagger"


class SequenceTagger(Parameters):
    """Labels every token of a sentence: parts of speech, chunks, entities, address parts.

    Parameters
    ----------
    features : str, path or None
        ``"auto"`` (the ``ner`` preset for BIO-like labels, ``pos`` for others, and attributes for
        tokens that are dicts or lists), a preset (``chunking``, ``pos``, ``ner``), a template file
        or text, or ``"attributes"``.
    loss : str
        What a mistake costs: ``squared_hinge``.
    solver : str or Solver
        ``"auto"`` takes the quickest that fits the loss; ``dcd``, ``dcd-light``, ``cpd``, or an
        instance with settings of its own.
    C : float
        The weight of one sentence's loss: larger fits the training data more closely.
    gap : float, optional
        Stop when this relative distance from the optimum is certified (0.01 is 1 %).
    passes, seconds : optional
        Stop after so many passes, or so much time. Without any rule: 10 passes, or with
        ``dev`` until the score has not improved for ``patience`` passes.
    patience : int
        Passes without a better development score.
    constraints : str or None
        ``"auto"`` makes BIO and BILOU labels valid by construction when the training labels are;
        ``"iob1"``, ``"iob2"``, ``"bilou"``, ``"bioes"`` insist on it; None leaves all
        transitions open.
    scheme : str, optional
        Learn in this label scheme (``"bilou"``, ``"iob2"`` …) whatever the training labels are
        in; predictions come back in theirs.
    cost : dict, optional
        The cost of mistaking a label, 1 for those not named.
    hash_bits : int, optional
        Hash features into 2**hash_bits weights instead of keeping a dictionary.
    min_count : int
        Leave out features seen fewer times.
    unseen_labels : {"warn", "count", "error"}
        What to do with labels in dev or test data that training never saw: count their tokens
        as mistakes, with or without a warning, or refuse.
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
        The labels, in the scheme that the model learns in.
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

    def __init__(
        self,
        features: Any = "auto",
        loss: str = "squared_hinge",
        solver: str | Solver = "auto",
        C: float = 0.1,
        gap: float | None = None,
        passes: int | None = None,
        seconds: float | None = None,
        patience: int = 5,
        constraints: str | None = "auto",
        scheme: Scheme | None = None,
        cost: dict[str, float] | None = None,
        hash_bits: int | None = None,
        min_count: int = 1,
        unseen_labels: str = "warn",
        seed: int = 0,
        threads: int = 1,
        verbose: bool = False,
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> None:
        self.features = features
        self.loss = loss
        self.solver = solver
        self.C = C
        self.gap = gap
        self.passes = passes
        self.seconds = seconds
        self.patience = patience
        self.constraints = constraints
        self.scheme = scheme
        self.cost = cost
        self.hash_bits = hash_bits
        self.min_count = min_count
        self.unseen_labels = unseen_labels
        self.seed = seed
        self.threads = threads
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.resume = resume

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[str]],
        dev: tuple[Sequence[Any], Sequence[Sequence[str]]] | None = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Learn from sentences X and their labels y.

        Parameters
        ----------
        X : sentences
            Lists of words, of tuples (one entry a column), of dicts or lists of strings
            (attributes), ``read_columns(...).tokens``, or ``CSRSequences``.
        y : lists of labels
        dev : (X, y), optional
            Development data: training stops when its score no longer improves, and the best
            weights are kept.
        callbacks : iterable
            Called after each pass with a :class:`~dualstruct.fit.TracePoint` and the iterate.
        """
        self._settings()  # bad parameters fail before features are extracted
        self._outer_scheme = None if self.scheme is None else detect_scheme(y)
        y = self._to_inner(y)
        labels = Labels.learn(y)
        started = time.perf_counter()
        extractor = make_extractor(
            self._choose_features(X, labels), hash_bits=self.hash_bits, min_count=self.min_count
        )
        rows = extractor.fit(X)
        self.feature_seconds_ = time.perf_counter() - started
        return self._train(extractor, X, rows, labels, y, dev, callbacks, None)

    def partial_fit(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[str]],
        dev: tuple[Sequence[Any], Sequence[Sequence[str]]] | None = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Go on learning from new data; it may bring new features and labels.

        The weights are drawn towards the model as it is instead of towards 0, so that what was
        learned stays unless the new data speak against it. Untrained, this is ``fit``.
        """
        if not hasattr(self, "w_"):
            return self.fit(X, y, dev, callbacks)
        self._settings()
        old_emission = self._chain.emission_weights(self.w_)
        old_transition = self._chain.transition_weights(self.w_)
        y = self._to_inner(y)
        old = self._labels
        labels = old.extend(Labels.learn(y))
        started = time.perf_counter()
        extractor = from_state(*self._extractor.state())  # a failure must not spoil the model
        rows = extractor.fit(X)
        self.feature_seconds_ = time.perf_counter() - started
        emission = np.zeros((rows.dimension, len(labels)), dtype=np.float32)
        emission[: len(old_emission), : len(old)] = old_emission
        transition = np.zeros((len(labels) + 1, len(labels) + 1), dtype=np.float32)
        place = [*range(len(old)), len(labels)]  # start and end stay last
        transition[np.ix_(place, place)] = old_transition
        return self._train(extractor, X, rows, labels, y, dev, callbacks, (emission, transition))

    def _settings(self) -> tuple[Solver, Stopping]:
        if self.unseen_labels not in ("warn", "count", "error"):
            raise InputError(f"unseen_labels is {self.unseen_labels!r}, not warn, count or error")
        solver = find_solver(self.solver, self.loss.replace("-", "_"))
        return solver, Stopping(self.gap, self.passes, self.seconds, self.patience)

    def _to_inner(self, y: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
        """Labels in the scheme that the model learns in."""
        if self._outer_scheme is None or self.scheme is None:
            return y
        return convert_scheme(y, self.scheme, self._outer_scheme)

    def _to_outer(self, y: list[list[str]]) -> list[list[str]]:
        """Labels in the scheme of the training data."""
        if self._outer_scheme is None or self.scheme is None:
            return y
        return convert_scheme(y, self._outer_scheme, self.scheme)

    def _choose_features(self, X: Sequence[Any], labels: Labels) -> Any:
        if not (isinstance(self.features, str) and self.features == "auto"):
            return self.features
        if not isinstance(_first_token(X), str | tuple):
            return "attributes"
        return "ner" if are_span_labels(labels.names) else "pos"

    def _train(
        self,
        extractor: FeatureExtractor,
        X: Sequence[Any],
        rows: FeatureRows,
        labels: Labels,
        y: Sequence[Sequence[str]],
        dev: tuple[Sequence[Any], Sequence[Sequence[str]]] | None,
        callbacks: Iterable[Callback],
        start: tuple[NDArray[np.float32], NDArray[np.float32]] | None,
    ) -> Self:
        solver, stopping = self._settings()
        truth = labels.encode(y, rows.sentences)
        transitions = self._allowed(labels, truth, rows.sentences)
        chain = Chain(
            rows,
            len(labels),
            truth,
            cost=None if self.cost is None else labels.weigh(self.cost),
            transitions=transitions,
        )
        center = None if start is None else chain.pack(*start)
        problem = Problem(chain, self.loss, self.C, center=center, threads=self.threads)
        if dev is None and stopping.gap is stopping.passes is stopping.seconds is None:
            stopping = Stopping(passes=10, patience=self.patience)
        judge = None
        if dev is not None:
            judge = self._judge(extractor, labels, transitions, *dev)
        callbacks = list(callbacks)
        with ProgressLine(stopping, score_name(labels.names), show=self.verbose) as line:
            result = fit(
                problem,
                solver,
                stopping,
                dev=judge,
                seed=self.seed,
                callbacks=[*callbacks, line.update],
                checkpoint=self.checkpoint,
                resume=self.resume,
            )
        self._set(extractor, labels, transitions, result.w)
        self.n_columns_ = _count_columns(X)
        self.result_ = result
        return self

    def _allowed(
        self, labels: Labels, truth: NDArray[np.int32], sentences: NDArray[np.int64]
    ) -> NDArray[np.bool_] | None:
        insisted = self.scheme if self._outer_scheme is not None else self.constraints
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
            if not len(forbidden_tokens(truth, sentences, transitions)):
                return transitions
        return None  # real files break their own scheme now and then; then nothing is forbidden

    def _judge(
        self,
        extractor: FeatureExtractor,
        labels: Labels,
        transitions: NDArray[np.bool_] | None,
        X: Sequence[Any],
        y: Sequence[Sequence[str]],
    ) -> Any:
        chain = Chain(extractor.transform(X), len(labels), transitions=transitions)
        truth, names = self._true_labels(labels, y, chain)

        def judge(w: _core.Weights) -> float:
            predicted = chain.decode_all(w, threads=self.threads)
            return evaluate_ids(truth, predicted, chain.sentences, names).score

        return judge

    def _true_labels(
        self, labels: Labels, y: Sequence[Sequence[str]], chain: Chain
    ) -> tuple[NDArray[np.int32], list[str]]:
        truth, names = labels.encode_any(self._to_inner(y), chain.sentences)
        if len(names) > len(labels) and self.unseen_labels != "count":
            found = UnseenLabel.first(truth, names, len(labels), chain.sentences)
            if self.unseen_labels == "error":
                raise found.error()
            warnings.warn(UnseenLabelWarning(found), stacklevel=3)
        return truth, names

    def _set(
        self,
        extractor: FeatureExtractor,
        labels: Labels,
        transitions: NDArray[np.bool_] | None,
        w: _core.Weights,
    ) -> None:
        self._extractor = extractor
        self._labels = labels
        self._transitions = transitions
        # The training data is not needed any more: an empty chain knows the layout of w.
        self._chain = Chain(_no_rows(extractor.dimension), len(labels), transitions=transitions)
        self.w_ = w
        self.classes_ = np.array(labels.names)

    def _fitted(self) -> None:
        if not hasattr(self, "w_"):
            raise NotFittedError("this SequenceTagger is not trained yet: call fit first")

    def _chain_of(self, X: Sequence[Any], allowed: Any = None) -> Chain:
        self._fitted()
        rows = self._extractor.transform(X)
        choices = None if allowed is None else self._labels.encode_allowed(allowed)
        return Chain(rows, len(self._labels), transitions=self._transitions, allowed=choices)

    def predict(
        self,
        X: Sequence[Any],
        allowed: Sequence[Sequence[Sequence[str] | None] | None] | None = None,
    ) -> list[list[str]]:
        """The best labels of each sentence.

        Parameters
        ----------
        X : sentences
        allowed : optional
            For each sentence None, or for each token None or the labels it may have.
        """
        chain = self._chain_of(X, allowed)
        best = chain.decode_all(self.w_, threads=self.threads)
        return self._to_outer(self._labels.decode(best, chain.sentences))

    def predict_marginals(self, X: Sequence[Any], beta: float = 1.0) -> list[NDArray[np.float32]]:
        """The probability of each label (in the order of ``classes_``) at each token.

        They are those of p(y) ∝ exp β·score; margin losses do not calibrate them.
        """
        chain = self._chain_of(X)
        marginals = chain.marginals_all(self.w_, beta, threads=self.threads)
        return np.split(marginals, chain.sentences[1:-1])[: len(chain)]

    def class_indices(self, labels: Sequence[str]) -> list[int]:
        """Where in ``classes_``, and so in the marginals, a sentence's labels are."""
        self._fitted()
        return [self._labels.number(name) for name in self._to_inner([labels])[0]]

    def predict_k_best(self, X: Sequence[Any], k: int = 5) -> list[list[tuple[float, list[str]]]]:
        """The k best labellings of each sentence with their scores, best first."""
        chain = self._chain_of(X)
        names = self._labels.names
        found = [chain.k_best(self.w_, i, k) for i in range(len(chain))]
        return [
            [(score, self._to_outer([[names[j] for j in y]])[0]) for score, y in outputs]
            for outputs in found
        ]

    def evaluate(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> Scores:
        """Accuracy, and precision, recall and F1 of the spans, over all and by type."""
        chain = self._chain_of(X)
        truth, names = self._true_labels(self._labels, y, chain)
        predicted = chain.decode_all(self.w_, threads=self.threads)
        return evaluate_ids(truth, predicted, chain.sentences, names)

    def score(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> float:
        """F1 for BIO-like labels, accuracy for others."""
        return self.evaluate(X, y).score

    @property
    def n_features_(self) -> int:
        """How many features the model has weights for."""
        self._fitted()
        return self._extractor.dimension

    @property
    def weights_(self) -> WeightTable:
        """The weights by feature and label, and by pairs of labels."""
        self._fitted()
        return WeightTable(
            self._chain.emission_weights(self.w_),
            self._chain.transition_weights(self.w_),
            self._labels.names,
            self._extractor,
        )

    def save(self, path: str | Path) -> None:
        """Write the model to a file; features whose weights are all 0 are left out."""
        self._fitted()
        emission = self._chain.emission_weights(self.w_)
        extractor = self._extractor
        if not getattr(extractor, "hash_bits", None):
            keep = emission.any(axis=1)
            extractor = from_state(*extractor.state())
            extractor.select(keep)
            emission = emission[keep]
        settings, arrays = extractor.state()
        facts = {
            "parameters": self._portable_parameters(),
            "labels": self._labels.names,
            "outer_scheme": self._outer_scheme,
            "columns": self.n_columns_,
            "features": settings,
            "result": self._summary(),
        }
        tensors = {f"features.{name}": array for name, array in arrays.items()}
        tensors["emission"] = emission
        tensors["transition"] = self._chain.transition_weights(self.w_)
        if self._transitions is not None:
            tensors["allowed_transitions"] = self._transitions.astype(np.uint8)
        write_arrays(path, MODEL_FORMAT, facts, tensors)

    def _portable_parameters(self) -> dict[str, Any]:
        parameters = self.get_params()
        for name in ("features", "checkpoint", "resume", "verbose"):
            parameters.pop(name)
        if isinstance(self.solver, Solver):
            parameters["solver"] = self.solver.name
        return parameters

    def _summary(self) -> dict[str, Any]:
        result = getattr(self, "result_", None)
        if not isinstance(result, FitResult):
            return result or {}
        names = ("passes", "primal", "dual", "gap", "dev_score", "best_pass", "stopped_by",
                 "seconds", "cpu_seconds", "inference_calls", "cuts")  # fmt: skip
        return {name: getattr(result, name) for name in names}

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that :meth:`save` wrote. Loading runs no code from the file."""
        facts, arrays = read_arrays(path, MODEL_FORMAT)
        try:
            tagger = cls(**facts["parameters"])
            features = {
                name.removeprefix("features."): array
                for name, array in arrays.items()
                if name.startswith("features.")
            }
            extractor = from_state(facts["features"], features)
            labels = Labels([str(name) for name in facts["labels"]])
            allowed = arrays.get("allowed_transitions")
            transitions = None if allowed is None else allowed.astype(np.bool_)
            chain = Chain(_no_rows(extractor.dimension), len(labels), transitions=transitions)
            w = chain.pack(arrays["emission"], arrays["transition"])
        except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{path} is damaged: {error}") from None
        tagger._set(extractor, labels, transitions, w)
        tagger._outer_scheme = facts.get("outer_scheme")
        tagger.n_columns_ = facts.get("columns")
        tagger.result_ = facts["result"]
        return tagger


def _count_columns(X: Sequence[Any]) -> int | None:
    """How many columns the tokens have; None for attributes and matrices."""
    if isinstance(X, ColumnSentences):
        return X.n_columns
    token = _first_token(X)
    return len(token) if isinstance(token, tuple) else 1 if isinstance(token, str) else None


def _first_token(X: Sequence[Any]) -> Any:
    try:
        return next((token for sentence in X for token in sentence), None)
    except TypeError:  # a matrix and lengths: not a sequence of sentences
        return None


def _no_rows(dimension: int) -> FeatureRows:
    return FeatureRows(
        offsets=np.zeros(1, dtype=np.int64),
        ids=np.zeros(0, dtype=np.int32),
        values=None,
        sentences=np.zeros(1, dtype=np.int64),
        dimension=dimension,
    )
