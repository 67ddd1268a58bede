"""CRF: CRFsuite's trainers and tagger with scikit-learn's conventions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dualstruct.compat.pycrfsuite import ParsedDump, Tagger, Trainer
from dualstruct.compat.sklearn_crfsuite._fileresource import FileResource
from dualstruct.compat.sklearn_crfsuite.metrics import flat_accuracy_score
from dualstruct.compat.sklearn_crfsuite.trainer import LinePerIterationTrainer
from dualstruct.data.examples import as_list
from dualstruct.data.writing import replace_file
from dualstruct.errors import InputError, not_fitted
from dualstruct.estimators.params import Parameters
from dualstruct.outputs import Outputs

if TYPE_CHECKING:
    from typing_extensions import Self

    from dualstruct.crfsuite.log import TrainLogParser


#: What CRFsuite calls the parameters of CRF that have another name there.
_NAMES = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "calibration_eta": "calibration.eta",
    "calibration_rate": "calibration.rate",
    "calibration_samples": "calibration.samples",
    "calibration_candidates": "calibration.candidates",
    "calibration_max_trials": "calibration.max_trials",
    "pa_type": "type",
}
_NOT_FOR_THE_TRAINER = ("algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls")


class CRF(Parameters):
    """A conditional random field, trained and applied as in sklearn-crfsuite.

    Parameters that are None have CRFsuite's defaults.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}
    min_freq : float
        Leave out features that occur less often.
    all_possible_states, all_possible_transitions : bool
        Also learn weights of pairs that never occur.
    c1, c2 : float
        The weights of the L1 norm (lbfgs) and the squared L2 norm (lbfgs, l2sgd).
    max_iterations : int
    num_memories, epsilon, period, delta, linesearch, max_linesearch
        Of lbfgs; epsilon, period and delta stop other algorithms, too.
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, \
calibration_max_trials
        How l2sgd finds its learning rate.
    pa_type, c, error_sensitive, averaging
        Of pa.
    variance, gamma : float
        Of arow.
    verbose : bool
        Print one line per iteration.
    model_filename : path, optional
        Where to write the model. An existing model is used without ``fit``.
    keep_tempfiles : bool
        Do not delete the temporary file of ``modelfile.name``.
    trainer_cls : class, optional
        A subclass of :class:`dualstruct.compat.pycrfsuite.Trainer`.

    Examples
    --------
    >>> X = [[{"word": "Ada"}, {"word": "sings"}], [{"word": "Bo"}, {"word": "sings"}]]
    >>> y = [["NAME", "VERB"], ["NAME", "VERB"]]
    >>> crf = CRF(c2=0.1, max_iterations=20).fit(X, y)
    >>> crf.predict([[{"word": "Bo"}, {"word": "sings"}]])
    [['NAME', 'VERB']]
    >>> crf.classes_
    ['NAME', 'VERB']
    """

    training_log_: TrainLogParser | None = None
    _resource: FileResource | None = None
    _tagger: Tagger | None = None
    _described: ParsedDump | None = None

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: float | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | os.PathLike[str] | None = None,
        keep_tempfiles: bool | None = False,
        trainer_cls: type[Trainer] | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[str]],
        X_dev: Sequence[Any] | None = None,
        y_dev: Sequence[Sequence[str]] | None = None,
    ) -> Self:
        """Learn from sequences X and their labels y.

        Parameters
        ----------
        X : lists of items
            Dicts, or lists or sets of strings.
        y : lists of labels
        X_dev, y_dev : the same, optional
            Data for the scores in the log after each iteration.
        """
        if (X_dev is None) != (y_dev is None):
            raise InputError("X_dev and y_dev belong together: give both or none")
        trainer = self._get_trainer()
        if not _append(trainer, X, y, 0, ""):
            raise InputError("there are no labels to train on: X has no sequences, or empty ones")
        if X_dev is not None and y_dev is not None:
            _append(trainer, X_dev, y_dev, 1, "_dev")
        data = trainer.train_inmemory(-1 if X_dev is None else 1)
        if self.model_filename is not None:
            replace_file(self.model_filename, data)
        self._take(self._new_resource(data))
        self._fitted()  # opens it
        self.training_log_ = trainer.logparser
        return self

    def _get_trainer(self) -> Trainer:
        given = {
            _NAMES.get(name, name): value
            for name, value in self.get_params(deep=False).items()
            if name not in _NOT_FOR_THE_TRAINER and value is not None
        }
        kind = LinePerIterationTrainer if self.trainer_cls is None else self.trainer_cls
        if not (isinstance(kind, type) and issubclass(kind, Trainer)):
            raise InputError("trainer_cls must be a subclass of dualstruct's pycrfsuite.Trainer")
        return kind(self.algorithm, given, verbose=self.verbose)

    def _new_resource(self, data: bytes | None = None) -> FileResource:
        return FileResource(
            self.model_filename, self.keep_tempfiles, suffix=".crfsuite", prefix="model", data=data
        )

    def _take(self, resource: FileResource) -> None:
        """Use another model, which is opened when it is needed."""
        self._resource = resource
        self._tagger = self._described = None

    @property
    def modelfile(self) -> FileResource:
        """The model: ``modelfile.bytes``, and a file with them, ``modelfile.name``."""
        if self._resource is None:
            self._take(self._new_resource())
        assert self._resource is not None
        return self._resource

    @property
    def tagger_(self) -> Tagger | None:
        """The :class:`~dualstruct.compat.pycrfsuite.Tagger`; None before ``fit``."""
        if self._tagger is None:
            resource = self._resource or self._new_resource()
            data = resource.bytes
            if not data:
                return None
            tagger = Tagger()
            tagger.open_inmemory(data)
            self._take(resource)
            self._tagger = tagger
        return self._tagger

    def _fitted(self) -> Tagger:
        tagger = self.tagger_
        if tagger is None:
            name = self.model_filename
            there = "" if name is None else f", and there is no model in {os.fspath(name)}"
            raise not_fitted(f"this CRF is not trained yet{there}")
        return tagger

    def __sklearn_is_fitted__(self) -> bool:
        return self.tagger_ is not None

    def predict(self, X: Sequence[Any]) -> list[list[str]]:
        """The best labels of each sequence: a list, which numpy converts to an array of lists."""
        return Outputs(self.predict_single(xseq) for xseq in X)

    def predict_single(self, xseq: Any) -> list[str]:
        """The best labels of a sequence."""
        return self._fitted().tag(xseq)

    def predict_marginals(self, X: Sequence[Any]) -> list[list[dict[str, float]]]:
        """For each item of each sequence the probability of each label."""
        return Outputs(self.predict_marginals_single(xseq) for xseq in X)

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """For each item of a sequence the probability of each label."""
        tagger = self._fitted()
        labels = tagger.labels()
        tagger.set(xseq)
        return [dict(zip(labels, row, strict=True)) for row in tagger.marginals().tolist()]

    def score(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> float:
        """The share of correct labels."""
        return flat_accuracy_score(as_list(y), self.predict(X))

    @property
    def _info(self) -> ParsedDump | None:
        if self._described is None and (tagger := self.tagger_) is not None:
            self._described = tagger.info()
        return self._described

    @property
    def classes_(self) -> list[str] | None:
        """The labels; None before ``fit``, as all that follow."""
        return None if (tagger := self.tagger_) is None else tagger.labels()

    @property
    def size_(self) -> int | None:
        """The size of the model in bytes."""
        return None if (info := self._info) is None else int(info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """The number of attributes with weights."""
        return None if (info := self._info) is None else len(info.attributes)

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes that have weights, by their numbers."""
        return None if (info := self._info) is None else list(info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights by (attribute, label)."""
        return None if (info := self._info) is None else info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights by (label, next label)."""
        return None if (info := self._info) is None else info.transitions

    def __getstate__(self) -> dict[str, Any]:
        """For pickles and copies: parameters, the log, and the model as CRFsuite's file."""
        left_out = ("_resource", "_tagger", "_described")
        state = {name: value for name, value in vars(self).items() if name not in left_out}
        if self._resource is not None and (data := self._resource.bytes):
            state["model_bytes"] = data
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The counterpart, also for the pickles of sklearn-crfsuite."""
        given = dict(state)
        data = given.pop("model_bytes", None)
        resource: FileResource | None = given.pop("modelfile", None)
        for name in ("_tagger", "_info_cached"):  # None in their pickles
            given.pop(name, None)
        parameters = self._defaults()  # older versions have fewer
        if resource is not None:
            parameters["model_filename"] = None if resource.auto else resource.name
            parameters["keep_tempfiles"] = resource.keep_tempfiles
        vars(self).update({**parameters, **given})
        if data is not None:
            resource = self._new_resource(data)
        if resource is not None:
            self._take(resource)


def _append(trainer: Trainer, X: Any, y: Any, group: int, suffix: str) -> int:
    """Give the trainer all sequences; how many labels they have."""
    if y is None:
        raise InputError("CRF requires y to be passed, but the target y is None")
    X, y = as_list(X), as_list(y)
    if len(X) != len(y):
        raise InputError(f"X{suffix} has {len(X)} sequences, but y{suffix} has {len(y)}")
    for i, (xseq, yseq) in enumerate(zip(X, y, strict=True)):
        try:
            trainer.append(xseq, yseq, group)
        except InputError as error:
            raise InputError(f"sequence {i + 1} of X{suffix}: {error}") from None
    return sum(map(len, y))
