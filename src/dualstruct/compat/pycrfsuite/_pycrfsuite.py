"""The classes of python-crfsuite; the package says what is different."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.crfsuite.dump import ParsedDump, describe, write_dump
from dualstruct.crfsuite.features import Sequences
from dualstruct.crfsuite.files import HEADER, CRFsuiteModel, open_crfsuite, parse_crfsuite
from dualstruct.crfsuite.items import ItemSequence, rows_of
from dualstruct.crfsuite.log import TrainLogParser
from dualstruct.crfsuite.training import train
from dualstruct.data.writing import replace_file
from dualstruct.errors import DualstructError, InputError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "CRFSUITE_VERSION",
    "BaseTrainer",
    "CRFSuiteError",
    "ItemSequence",
    "ParsedDump",
    "Tagger",
    "Trainer",
    "UnknownLabelError",
]

#: The version of CRFsuite whose files and parameters these are.
CRFSUITE_VERSION = "0.12.2"


class CRFSuiteError(DualstructError):
    """Never raised here; clients name it in their except clauses."""


class UnknownLabelError(InputError, RuntimeError):
    """A label that the model does not have; a RuntimeError in python-crfsuite."""


class _Opened:
    """A model and the sequence that it was last asked about."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name = data, name
        self.file = open_crfsuite(data, name)
        self.labels = self.file.labels
        self.numbers = {label: k for k, label in enumerate(self.labels)}
        # Before the first sentence: what a model says of no tokens.
        self.emissions: NDArray[np.float64] = np.zeros((0, len(self.numbers)))
        self.sums: tuple[float, NDArray[np.float64]] | None = None

    @cached_property
    def chain(self) -> _core.PreciseChain:
        """What decodes, given the scores of tokens."""
        return self.file.chain

    @cached_property
    def model(self) -> CRFsuiteModel:
        """All that is in the file."""
        return parse_crfsuite(self.data, self.name)

    @property
    def header(self) -> tuple[Any, ...]:
        return HEADER.unpack_from(self.data)

    def emissions_of(self, xseq: Any) -> NDArray[np.float64]:
        if not self.numbers:
            raise InputError("the model has no labels: it was trained on nothing")
        return self.file.emissions(*rows_of(self.file.transform, xseq))

    def number(self, label: Any) -> int:
        name = label.decode() if isinstance(label, bytes) else label
        if name not in self.numbers:
            raise UnknownLabelError(f"the model has no label {name!r}")
        return self.numbers[name]


class Tagger:
    """Labels sequences with a model that CRFsuite or :class:`Trainer` wrote.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> trainer = Trainer(verbose=False)
    >>> for _ in range(5):
    ...     trainer.append([{"word": "Ada"}, {"word": "sings"}], ["NAME", "VERB"])
    >>> tagger = Tagger()
    >>> with TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.crfsuite")
    ...     trainer.train(path)
    ...     with tagger.open(path):
    ...         tagger.tag([{"word": "sings"}])
    ['VERB']
    """

    def __init__(self) -> None:
        self._opened: _Opened | None = None

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file; returns a context manager that closes it."""
        with open(name, "rb") as file:
            data = file.read()
        self._opened = _Opened(data, os.path.basename(os.fspath(name)))
        return contextlib.closing(self)

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open a model from the bytes of its file."""
        self._opened = _Opened(bytes(value), "the model")
        return contextlib.closing(self)

    def close(self) -> None:
        """Forget the model."""
        self._opened = None

    def _model(self) -> _Opened:
        if self._opened is None:
            raise InputError("The tagger is not opened")
        return self._opened

    def labels(self) -> list[str]:
        """The labels of the model."""
        return list(self._model().labels)

    def set(self, xseq: Any) -> None:
        """Set the sequence that :meth:`tag`, :meth:`probability` and :meth:`marginal` are about."""
        opened = self._model()
        opened.emissions, opened.sums = opened.emissions_of(xseq), None

    def tag(self, xseq: Any = None) -> list[str]:
        """The best labels of the sequence, or of the one that was set."""
        opened = self._model()
        emissions = opened.emissions
        if xseq is not None:
            emissions = opened.emissions_of(xseq)
            opened.emissions, opened.sums = emissions, None
        names = opened.labels
        return [names[k] for k in opened.chain.decode(emissions).tolist()]

    def probability(self, yseq: Sequence[str]) -> float:
        """The probability of these labels for the sequence that was set."""
        opened = self._model()
        tokens = len(opened.emissions)
        if not tokens:
            return 0.0
        if len(yseq) != tokens:
            raise InputError(
                f"The numbers of items and labels differ: |x| = {tokens}, |y| = {len(yseq)}"
            )
        labels = np.array([opened.number(label) for label in yseq], np.int32)
        score = opened.chain.score(opened.emissions, labels)
        return float(np.exp(score - self._sums(opened)[0]))

    def marginal(self, y: str, pos: int) -> float:
        """The probability of label ``y`` at position ``pos`` of the sequence that was set."""
        opened = self._model()
        number, tokens = opened.number(y), len(opened.emissions)
        if not 0 <= pos < tokens:
            raise InputError(f"The position, {pos} is out of range of {tokens}")
        return float(self._sums(opened)[1][pos, number])

    def marginals(self) -> NDArray[np.float64]:
        """The probability of each label at each position: [positions, labels]."""
        return self._sums(self._model())[1]

    def _sums(self, opened: _Opened) -> tuple[float, NDArray[np.float64]]:
        if opened.sums is None:
            opened.sums = opened.chain.sum(opened.emissions)
        return opened.sums

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text, to standard output if no file is named."""
        opened = self._opened_for_reading()
        if filename is None:
            write_dump(opened.model, opened.header, sys.stdout)
        else:
            text = io.StringIO()
            write_dump(opened.model, opened.header, text)
            replace_file(filename, text.getvalue().encode(errors="surrogateescape"))

    def info(self) -> ParsedDump:
        """Labels, attributes and weights of the model."""
        opened = self._opened_for_reading()
        return describe(opened.model, opened.header)

    def _opened_for_reading(self) -> _Opened:
        if self._opened is None:
            raise RuntimeError("Tagger is closed")
        return self._opened


@dataclass(frozen=True)
class _Parameter:
    default: Any
    help: str

    def cast(self, name: str, value: Any) -> Any:
        kind = type(self.default)
        try:
            if kind is bool:
                return bool(int(value))
            if kind is int:
                return int(float(value)) if isinstance(value, str) else int(value)
            return kind(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"the parameter {name} cannot be {value!r}") from None


_FEATURE_PARAMETERS = {
    "feature.minfreq": _Parameter(0.0, "Features that occur less often are left out."),
    "feature.possible_states": _Parameter(
        False, "Whether attributes get weights for all labels, not only those they occur with."
    ),
    "feature.possible_transitions": _Parameter(
        False, "Whether all pairs of labels get weights, not only those that occur."
    ),
}
_STOPPING = {
    "period": _Parameter(10, "Over how many iterations the improvement is measured."),
    "delta": _Parameter(
        1e-5, "Training stops when the loss improves by less than this share in `period` rounds."
    ),
}
_PARAMETERS: dict[str, dict[str, _Parameter]] = {
    "lbfgs": {
        "c1": _Parameter(0.0, "The weight of the L1 norm."),
        "c2": _Parameter(1.0, "The weight of the squared L2 norm."),
        "max_iterations": _Parameter(2**31 - 1, "The most iterations."),
        "num_memories": _Parameter(6, "How many past changes approximate the curvature."),
        "epsilon": _Parameter(1e-5, "Training stops when the gradient is this small."),
        **_STOPPING,
        "linesearch": _Parameter("MoreThuente", "Accepted; the line search is always the same."),
        "max_linesearch": _Parameter(20, "Accepted; the line search is always the same."),
    },
    "l2sgd": {
        "c2": _Parameter(1.0, "The weight of the squared L2 norm."),
        "max_iterations": _Parameter(1000, "The most passes over the data."),
        **_STOPPING,
        "delta": _Parameter(1e-6, _STOPPING["delta"].help),
        "calibration.eta": _Parameter(0.1, "The first learning rate to try."),
        "calibration.rate": _Parameter(2.0, "The factor between learning rates that are tried."),
        "calibration.samples": _Parameter(1000.0, "How many sequences to try them on."),
        "calibration.candidates": _Parameter(10, "How many good learning rates to look for."),
        "calibration.max_trials": _Parameter(20, "The most learning rates to try."),
    },
    "averaged-perceptron": {
        "max_iterations": _Parameter(100, "The most passes over the data."),
        "epsilon": _Parameter(0.0, "Training stops when fewer labels than this share are wrong."),
    },
    "passive-aggressive": {
        "type": _Parameter(1, "0: without slack, 1: linear slack (PA-I), 2: squared (PA-II)."),
        "c": _Parameter(1.0, "How aggressive steps may be."),
        "error_sensitive": _Parameter(
            True, "Whether the margin is the root of the number of wrong labels, or 1."
        ),
        "averaging": _Parameter(True, "Whether the average of the weights is kept."),
        "max_iterations": _Parameter(100, "The most passes over the data."),
        "epsilon": _Parameter(0.0, "Training stops when the mean loss is this small."),
    },
    "arow": {
        "variance": _Parameter(1.0, "The variance that every weight begins with."),
        "gamma": _Parameter(1.0, "The larger, the smaller the steps."),
        "max_iterations": _Parameter(100, "The most passes over the data."),
        "epsilon": _Parameter(0.0, "Training stops when the mean loss is this small."),
    },
}
_ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}


class BaseTrainer:
    """Learns from sequences and writes a model; every message goes to :meth:`message`.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, optional
    params : dict, optional
    verbose : bool
        Print the log of training.
    """

    verbose: bool | None = None

    # Subclasses need not call __init__: in python-crfsuite a trainer is whole without it.
    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """A trainer with the defaults of lbfgs and no sequences."""
        trainer = super().__new__(cls)
        BaseTrainer.clear(trainer)
        BaseTrainer.select(trainer, "lbfgs")
        return trainer

    def __init__(
        self,
        algorithm: str | None = None,
        params: Mapping[str, Any] | None = None,
        verbose: bool = True,
    ) -> None:
        self.verbose = verbose
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)

    def message(self, message: str) -> None:
        """Receive a message of the training run; override it to see them."""
        if self.verbose:
            print(message, end="")

    def append(self, xseq: Any, yseq: Sequence[str], group: int = 0) -> None:
        """Add a sequence and its labels; ``group`` is for holding out."""
        rows = rows_of(self._attributes.extend, xseq)
        labels = [_label(label) for label in yseq]
        if len(rows[0]) - 1 != len(labels):
            raise InputError(
                "The numbers of items and labels differ: "
                f"|x| = {len(rows[0]) - 1}, |y| = {len(labels)}"
            )
        numbers = [self._labels.setdefault(label, len(self._labels)) for label in labels]
        self._data.rows.append(rows)
        self._data.labels.append(np.array(numbers, np.int32))
        self._data.groups.append(int(group))

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the training algorithm; its parameters get their defaults."""
        name = _ALIASES.get(algorithm, algorithm)
        if name not in _PARAMETERS or type != "crf1d":
            raise InputError(f"Bad arguments: algorithm={algorithm!r}, type={type!r}")
        self._algorithm = name
        self._known = {**_FEATURE_PARAMETERS, **_PARAMETERS[name]}
        self._params = {key: known.default for key, known in self._known.items()}

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train on what was appended and write the model.

        If nothing was appended, the model has no weights, as in python-crfsuite, and a
        UserWarning says so.

        Parameters
        ----------
        model : path
            The file to write.
        holdout : int
            The group that is not used for training; the log has its scores.
        """
        replace_file(model, self.train_inmemory(holdout))

    def train_inmemory(self, holdout: int = -1) -> bytes:
        """The same, but return the contents of the file."""
        self._before_train()
        trained = train(
            self._data,
            list(self._labels),
            self._attributes.names,
            self._algorithm,
            self._params,
            holdout,
            self.message,
        )
        started = time.perf_counter()
        data = trained.to_bytes()
        self.message(f"Seconds required: {time.perf_counter() - started:.3f}\n")
        self.message("\n")
        return data

    def _before_train(self) -> None:
        """For those that listen."""

    def params(self) -> list[str]:
        """The names of the algorithm's parameters."""
        return list(self._params)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set several parameters."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """All parameters and their values."""
        return dict(self._params)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter."""
        if name not in self._known:
            raise InputError(f"Parameter not found: {name} = {value}")
        self._params[name] = self._known[name].cast(name, value)

    def get(self, name: str) -> Any:
        """The value of a parameter."""
        self.help(name)
        return self._params[name]

    def help(self, name: str) -> str:
        """The meaning of a parameter."""
        if name not in self._known:
            raise InputError(f"Parameter not found: {name}")
        return self._known[name].help

    def clear(self) -> None:
        """Forget all sequences."""
        self._attributes = _core.AttributeFeatures(0)
        self._labels: dict[str, int] = {}
        self._data = Sequences()


class Trainer(BaseTrainer):
    """A trainer that understands its log: ``logparser`` gathers it, and the methods ``on_…``,
    which are called if it is verbose, can be overridden.

    Examples
    --------
    >>> trainer = Trainer("ap", {"max_iterations": 3}, verbose=False)
    >>> trainer.append([["a"], ["b"]], ["X", "Y"])
    >>> model = trainer.train_inmemory()
    >>> trainer.logparser.last_iteration["num"]
    3
    """

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Feed the log; if verbose, call the method of the event that the message completes."""
        parser = self.logparser
        assert parser is not None
        event = parser.feed(message)
        if event is None or not self.verbose:
            return
        if event == "iteration":
            self.on_iteration(parser.last_log, parser.last_iteration or {})
        elif event == "featgen_progress":
            self.on_featgen_progress(parser.last_log, parser.featgen_percent)
        else:
            getattr(self, f"on_{event}")(parser.last_log)

    def on_start(self, log: str) -> None:
        """Training begins."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """This share of the features is ready, in per cent."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """The features are ready."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """The algorithm is about to start."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """The algorithm ended before its first iteration."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """An iteration is over; ``info`` is its result."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """Training is over."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """The model is written."""
        print(log, end="")


def _label(label: Any) -> str:
    if isinstance(label, str):
        return label
    if isinstance(label, bytes):
        return label.decode()
    raise InputError(f"a label is a {type(label).__name__}, not a str")
