"""CRF: CRFsuite's trainers and tagger with scikit-learn's manners."""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualstruct.compat.pycrfsuite import ParsedDump, Tagger, Trainer
from dualstruct.compat.sklearn_crfsuite.metrics import flat_accuracy_score
from dualstruct.errors import InputError, NotFittedError
from dualstruct.estimators.params import Parameters, as_list
from dualstruct.files.leftovers import own_folder
from dualstruct.files.writing import replace_file

if TYPE_CHECKING:
    from typing_extensions import Self

    from dualstruct.compat.log import TrainLogParser


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


class LinePerIterationTrainer(Trainer):
    """Prints one line an iteration instead of CRFsuite's paragraph."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Print what the iteration arrived at."""
        parts = [f"Iter {info['num']:<3}", f"time={info['time']:.2f}", f"loss={info['loss']:.2f}"]
        if "active_features" in info:
            parts.append(f"active={info['active_features']}")
        if "avg_f1" in info:
            parts += [
                f"precision={info['avg_precision']:.3f}",
                f"recall={info['avg_recall']:.3f}",
                f"F1={info['avg_f1']:.3f}",
                f"Acc(item/seq)={info['item_accuracy_float']:.3f} "
                f"{info['instance_accuracy_float']:.3f}",
            ]
        parts.append(f"feature_norm={info['feature_norm']:.2f}")
        print("  ".join(parts))


class ModelFile:
    """The model's bytes, and a file with them where somebody asks for its name."""

    def __init__(self, bytes: bytes, path: str | None, keep: bool) -> None:
        self.bytes = bytes
        self._path = path
        self._keep = keep

    @property
    def name(self) -> str:
        """The path of a file that holds the model; a temporary one is made if there is none."""
        if self._path is None:
            held = contextlib.ExitStack()
            if self._keep:
                folder = Path(tempfile.mkdtemp(prefix="dualstruct-"))
            else:
                folder = held.enter_context(own_folder(tempfile.gettempdir()))
                weakref.finalize(self, held.close)
            self._path = str(folder / "model.crfsuite")
            replace_file(self._path, self.bytes)
        return self._path


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
        Print a line an iteration.
    model_filename : path, optional
        Where to write the model. A model that is there already is used without ``fit``.
    keep_tempfiles : bool
        Do not delete the file that asking for ``modelfile.name`` makes.
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
            Data that the log tells scores of after each iteration.
        """
        if (X_dev is None) != (y_dev is None):
            raise InputError("X_dev and y_dev belong together: give both or none")
        given = {
            _NAMES.get(name, name): value
            for name, value in self.get_params(deep=False).items()
            if name not in _NOT_FOR_THE_TRAINER and value is not None
        }
        kind = LinePerIterationTrainer if self.trainer_cls is None else self.trainer_cls
        if not (isinstance(kind, type) and issubclass(kind, Trainer)):
            raise InputError("trainer_cls must be a subclass of dualstruct's pycrfsuite.Trainer")
        trainer = kind(self.algorithm, given, verbose=self.verbose)
        _append(trainer, X, y, 0, "")
        if X_dev is not None and y_dev is not None:
            _append(trainer, X_dev, y_dev, 1, "_dev")
        data = trainer.train_inmemory(-1 if X_dev is None else 1)
        if self.model_filename is not None:
            replace_file(self.model_filename, data)
        self.training_log_: TrainLogParser | None = trainer.logparser
        self._open(data)
        return self

    def _open(self, data: bytes) -> None:
        tagger = Tagger()
        tagger.open_inmemory(data)
        path = None if self.model_filename is None else os.fspath(self.model_filename)
        self.modelfile = ModelFile(data, path, bool(self.keep_tempfiles))
        self._described: ParsedDump | None = None
        self._tagger = tagger

    @property
    def tagger_(self) -> Tagger | None:
        """The :class:`~dualstruct.compat.pycrfsuite.Tagger`; None before ``fit``."""
        if not hasattr(self, "_tagger"):
            if self.model_filename is None or not os.path.exists(self.model_filename):
                return None
            self._open(Path(self.model_filename).read_bytes())
        return self._tagger

    def _fitted(self) -> Tagger:
        tagger = self.tagger_
        if tagger is None:
            raise NotFittedError("this CRF is not trained yet: call fit first")
        return tagger

    def __sklearn_is_fitted__(self) -> bool:
        return self.tagger_ is not None

    def predict(self, X: Sequence[Any]) -> list[list[str]]:
        """The best labels of each sequence."""
        return [self.predict_single(xseq) for xseq in X]

    def predict_single(self, xseq: Any) -> list[str]:
        """The best labels of a sequence."""
        return self._fitted().tag(xseq)

    def predict_marginals(self, X: Sequence[Any]) -> list[list[dict[str, float]]]:
        """For each item of each sequence the probability of each label."""
        return [self.predict_marginals_single(xseq) for xseq in X]

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """For each item of a sequence the probability of each label."""
        tagger = self._fitted()
        labels = tagger.labels()
        tagger.set(xseq)
        return [dict(zip(labels, row, strict=True)) for row in tagger.marginals().tolist()]

    def score(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> float:
        """The share of right labels."""
        return flat_accuracy_score(as_list(y), self.predict(X))

    def _info(self) -> ParsedDump:
        tagger = self._fitted()
        if self._described is None:
            self._described = tagger.info()
        return self._described

    @property
    def classes_(self) -> list[str]:
        """The labels."""
        return self._fitted().labels()

    @property
    def size_(self) -> int:
        """How many bytes the model has."""
        self._fitted()
        return len(self.modelfile.bytes)

    @property
    def num_attributes_(self) -> int:
        """How many attributes have weights."""
        return len(self._info().attributes)

    @property
    def attributes_(self) -> list[str]:
        """The attributes that have weights, by their numbers."""
        return list(self._info().attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """Weights by (attribute, label)."""
        return self._info().state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float]:
        """Weights by (label, next label)."""
        return self._info().transitions

    def __getstate__(self) -> dict[str, Any]:
        """For pickles and copies: parameters, the log, and the model as CRFsuite's file."""
        state = {k: v for k, v in vars(self).items() if k not in ("_tagger", "modelfile")}
        state.pop("_described", None)
        if hasattr(self, "_tagger"):
            state["model_bytes"] = self.modelfile.bytes
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        data = state.get("model_bytes")
        vars(self).update({k: v for k, v in state.items() if k != "model_bytes"})
        if data is not None:
            self._open(data)


def _append(trainer: Trainer, X: Any, y: Any, group: int, suffix: str) -> None:
    X, y = as_list(X), as_list(y)
    if len(X) != len(y):
        raise InputError(f"X{suffix} has {len(X)} sequences, but y{suffix} has {len(y)}")
    for i, (xseq, yseq) in enumerate(zip(X, y, strict=True)):
        try:
            trainer.append(xseq, yseq, group)
        except InputError as error:
            raise InputError(f"sequence {i + 1} of X{suffix}: {error}") from None
