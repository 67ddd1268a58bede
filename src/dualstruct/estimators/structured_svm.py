"""StructuredSVM: learns any structure, those of users included."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.examples import as_list, count
from dualstruct.data.schema import fit_type
from dualstruct.data.sources import Held, weighed
from dualstruct.errors import InputError
from dualstruct.estimators.base import Estimator, State
from dualstruct.explaining import Comparison
from dualstruct.losses import Loss, SoftmaxMargin, find_loss
from dualstruct.outputs import Outputs
from dualstruct.problem import Certificate
from dualstruct.solvers import Solver
from dualstruct.structures.base import Structure
from dualstruct.structures.custom import CustomExamples, CustomStructure, note
from dualstruct.structures.template import Template
from dualstruct.tasks.structured.explaining import compare_features
from dualstruct.training.loop import Callback, FitResult, SummedScore
from dualstruct.workers.merging import gather, total

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class TrainedStructure:
    """A structure that knows what training told about it, and its weights."""

    structure: Template
    w: _core.Weights

    def state(self) -> State:
        learned, arrays = self.structure.state(self.w)
        return {"structure": learned}, arrays


class StructuredSVM(Estimator[TrainedStructure]):
    """Learns to map inputs to outputs of any structure that can be decoded.

    Parameters
    ----------
    structure : Template
        A :class:`~dualstruct.CustomStructure` of your own, or one of the ready ones.
    loss : str
        ``hinge``, ``squared_hinge``, ``ramp``, ``perceptron``; ``crf`` and ``softmax_margin`` for
        structures with expectations.
    solver : str or Solver
        ``"auto"`` takes the quickest that fits the loss; or a name (docs/solvers.md lists them),
        or an instance with settings of its own.
    C : float
        The weight of one example's loss: larger fits the training data more closely.
    beta, gamma : float, optional
        The parameters of the loss ``softmax_margin``.
    averaged : bool
        Predict with the average of the weights over all steps of training.
    gap : float, optional
        Stop when this relative distance from the optimum is certified (0.01 is 1 %).
    passes, seconds : optional
        Stop after so many passes, or so much time. Without any rule: at a gap of 1 %, or after 100
        passes; with ``dev`` when the score has not improved for ``patience`` passes.
    patience : int
        Passes without a better development score.
    certify_every : int, optional
        Certify the gap after every so many passes, each with a full inference pass, so that
        ``result_.trace`` can be plotted; by default only where that may end training.
    on_error : {"raise", "skip"}
        What to do when a method of a custom structure fails on a training example: stop, with what
        was learned kept, or leave the example out this time and count it (``skipped_``).
    seed : int
        Same seed, same model, bit for bit.
    threads : int
        For inference. Decoders in Python run one at a time all the same.
    verbose : bool
        Show a progress line on standard error.
    checkpoint : path, optional
        Where to save the state of training now and then, and when a pass fails.
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
    result_ : FitResult
        Passes, primal, dual, gap, trace, and what stopped training. ``result_.beaten`` counts how
        often an approximate decoder found less than an output already known.
    certificate_ : Certificate
        Primal, dual and gap. With an approximate decoder they are what that decoder sees.
    w_ : array
    weights_ : dict or array
        The weights by feature name, the strongest first, where the features have names.
    skipped_ : dict
        How often each training example was left out, by its number from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.optimize import linear_sum_assignment
    >>> from dualstruct import CustomStructure
    >>> class Matching(CustomStructure):
    ...     "x[i, j] holds the features of matching i with j; y[i] is the partner of i."
    ...     def decode(self, w, x, truth=None, cost_weight=0):
    ...         scores = x @ w
    ...         if cost_weight:
    ...             scores = scores + cost_weight / len(x)
    ...             scores[np.arange(len(x)), truth] -= cost_weight / len(x)
    ...         return linear_sum_assignment(scores, maximize=True)[1]
    ...     def features(self, x, y):
    ...         return x[np.arange(len(x)), y].sum(axis=0)
    ...     def cost(self, truth, y):
    ...         return np.mean(truth != y)
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20, 4, 4, 3))
    >>> Y = [linear_sum_assignment(x @ [1, -2, 0.5], maximize=True)[1] for x in X]
    >>> svm = StructuredSVM(Matching(), C=10.0, gap=0.001).fit(X, Y)
    >>> svm.score(X, Y)
    1.0
    >>> svm.certificate_.gap <= 0.001
    True
    """

    model_format: ClassVar[str] = "dualstruct structured svm"
    of_the_model: ClassVar[tuple[str, ...]] = (*Estimator.of_the_model, "on_error")
    default_gap: ClassVar[float | None] = 0.01
    default_passes: ClassVar[int] = 100

    skipped_: dict[int, int]
    #: What the examples of all workers told about the structure.
    _known: Template | None = None

    def __init__(
        self,
        structure: Template,
        loss: str | Loss = "hinge",
        solver: str | Solver = "auto",
        C: float = 1.0,
        beta: float | None = None,
        gamma: float | None = None,
        averaged: bool = False,
        gap: float | None = None,
        passes: int | None = None,
        seconds: float | None = None,
        patience: int = 5,
        certify_every: int | None = None,
        on_error: str = "raise",
        seed: int = 0,
        threads: int = 1,
        verbose: bool = False,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        engine: str | None = None,
        workers: int | None = None,
        address: str | None = None,
    ) -> None:
        self.structure = structure
        self.loss = loss
        self.solver = solver
        self.C = C
        self.beta = beta
        self.gamma = gamma
        self.averaged = averaged
        self.gap = gap
        self.passes = passes
        self.seconds = seconds
        self.patience = patience
        self.certify_every = certify_every
        self.on_error = on_error
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
        X: Sequence[Any],
        Y: Sequence[Any],
        dev: tuple[Sequence[Any], Sequence[Any]] | None = None,
        callbacks: Iterable[Callback] = (),
        *,
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Learn from inputs X and their true outputs Y.

        If one of the structure's methods raises, training stops with that exception; it says which
        example it was, and the model is what was learned up to then.

        Parameters
        ----------
        X, Y : sequences
        dev : (X, Y), optional
            Development data: training stops when its score no longer improves, and the best
            weights are kept.
        callbacks : iterable
            Called after each pass with a :class:`~dualstruct.TracePoint` and the iterate.
        sample_weight : one number an example, optional
            Multiplies C: an example of weight 2 counts as if it were there twice.
        """
        template = self._template()
        self._settings()  # bad parameters fail before features are computed
        if Y is None:
            raise InputError("StructuredSVM requires y to be passed, but the target y is None")
        X, Y = as_list(X), as_list(Y)
        check_pairs(X, Y)
        if not count(X):
            raise InputError("there are no examples to train on")
        known = self._known or template.learn(X, Y)
        if self._divides:
            held_out = None if dev is None else Held(as_list(dev[0]), as_list(dev[1]))
            prepared = {"_known": known}
            given = weighed(Held(X, Y), sample_weight=sample_weight)
            self._train_together("fit", given, held_out, callbacks, prepared)
            return self
        bound = known.bind(X, Y)
        bound.weigh(sample_weight)
        self._check_expectations(bound)
        judge = None if dev is None else self._judge(known, as_list(dev[0]), as_list(dev[1]))

        def keep(result: FitResult) -> None:
            self._model = TrainedStructure(known, result.w)
            self.result_ = result
            self.skipped_ = self._skipped(bound)

        keep(self._optimise(bound, None, judge, callbacks, rescue=keep))
        return self

    def _skipped(self, bound: Structure) -> dict[int, int]:
        """How often each example was left out, of all workers."""
        own = dict(bound.skipped)
        if self._part is None:
            return own
        renamed = [(int(self._part.numbers[i]), times) for i, times in own.items()]
        parts = gather(self._ranks, renamed)
        return {i: times for part in parts for i, times in part}

    def _template(self) -> Template:
        if not isinstance(self.structure, Template):
            raise InputError(
                f"structure is {self.structure!r}; give an instance of a CustomStructure or of a "
                "ready structure"
            )
        if self.on_error not in ("raise", "skip"):
            raise InputError(f"on_error is {self.on_error!r}; it is 'raise' or 'skip'")
        if not isinstance(self.structure, CustomStructure):
            return self.structure
        template = copy.copy(self.structure)
        template.on_error = self.on_error
        return template

    def _check_expectations(self, bound: Structure) -> None:
        loss = find_loss(self.loss, self.beta, self.gamma)
        if not isinstance(loss, SoftmaxMargin) or not isinstance(bound, CustomExamples):
            return
        if bound.template.expectation is None:
            raise InputError(
                f"the loss {loss.name} needs expectations, and {bound.kind} has no method "
                "expectation: write one, or take the loss hinge, squared_hinge or ramp"
            )

    def _judge(self, known: Template, X: Any, Y: Any) -> Callable[[_core.Weights], float]:
        if total(self._ranks, count(X)) == [0] or count(X) != count(Y):
            raise InputError(f"the development data has {count(X)} inputs and {count(Y)} outputs")
        bound = known.bind(X) if count(X) else None

        def judge(w: _core.Weights) -> list[float]:
            if bound is None:  # there are fewer than workers
                return [0.0, 0.0]
            try:
                found = costs(known, Y, known.predict(bound, w, self._threads))
            except Exception as error:
                note(error, "in the development data")
                raise
            return [float(sum(found)), float(len(found))]

        return SummedScore(self._ranks, judge, lambda sums: 1 - sums[0] / sums[1])

    @property
    def structure_(self) -> Template:
        """The structure with what training told about it: feature names, labels."""
        return self._trained().structure

    @property
    def certificate_(self) -> Certificate:
        """Primal, dual and gap."""
        self._trained()
        result = self.result_
        return Certificate(result.primal, result.dual, result.gap, result.estimate)

    @property
    def w_(self) -> NDArray[np.float32]:
        """The weights as one vector."""
        return self._trained().w.array

    @property
    def weights_(self) -> Any:
        """The weights as the structure shows them to people."""
        model = self._trained()
        return model.structure.weights(model.w)

    def predict(self, X: Sequence[Any]) -> list[Any]:
        """The best output of each input."""
        model = self._trained()
        bound = model.structure.bind(as_list(X))
        return Outputs(model.structure.predict(bound, model.w, self._threads))

    def predict_k_best(self, X: Sequence[Any], k: int = 5) -> list[list[tuple[float, Any]]]:
        """The k best outputs of each input with their scores, best first."""
        model = self._trained()
        bound = model.structure.bind(as_list(X))
        return Outputs(model.structure.predict_k_best(bound, model.w, k))

    def explain(self, x: Any, other: Any = None) -> Comparison:
        """Which features of a custom structure make the best output beat another one.

        Parameters
        ----------
        x : an input
        other : an output, optional
            What to compare with; by default the second best, if the structure has ``k_best``.
        """
        model = self._trained()
        structure = model.structure
        if not isinstance(structure, CustomStructure):
            raise InputError(
                f"features of {type(structure).__name__} have no names to explain by; "
                "SequenceTagger, DependencyParser and CustomStructure have them"
            )
        chosen = self.predict([x])[0]
        if other is None:
            if structure.k_best is None:
                raise InputError(
                    f"{type(structure).__name__} has no method k_best that could tell the second "
                    "best output: say which other output to compare with"
                )
            outputs = [y for _, y in self.predict_k_best([x], 2)[0]]
            if len(outputs) < 2:
                raise InputError("this input has no other output to compare with")
            other = outputs[1]
        return compare_features(structure, model.w.array, x, chosen, other)

    def score(self, X: Sequence[Any], Y: Sequence[Any]) -> float:
        """1 − the mean cost of the predictions: 1 is perfect, and costs up to 1 give a share."""
        X, Y = as_list(X), as_list(Y)
        check_pairs(X, Y)
        return score(self._trained().structure, Y, self.predict(X))

    @classmethod
    def load(cls, path: str | Path, structure: Template) -> Self:  # type: ignore[override]
        """Read a model that :meth:`save` wrote, for the structure that it was trained with.

        The file holds weights and settings, not the structure: that is your code.
        """
        svm = cls(structure)
        svm._template()
        return svm._read(path)

    def _model_from(
        self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> TrainedStructure:
        learned = fit_type(dict[str, Any], facts.get("structure"), "structure")
        return TrainedStructure(*self.structure.restore(learned, arrays))

    def _state(self) -> State:
        facts, arrays = super()._state()
        loss = find_loss(self.loss, self.beta, self.gamma)
        facts["parameters"]["loss"] = loss.name
        if isinstance(loss, SoftmaxMargin) and loss.name == "softmax_margin":
            facts["parameters"] |= {"beta": loss.beta, "gamma": loss.gamma}
        facts["skipped"] = list(self.skipped_.items())
        return facts, arrays

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        self.skipped_ = dict(fit_type(list[tuple[int, int]], facts.get("skipped"), "skipped"))


def score(template: Template, Y: Sequence[Any], predicted: Sequence[Any]) -> float:
    """1 − the mean cost."""
    found = costs(template, Y, predicted)
    if not found:
        raise InputError("there is nothing to score")
    return 1 - float(np.mean(found))


def costs(template: Template, Y: Sequence[Any], predicted: Sequence[Any]) -> list[float]:
    """Δ of each prediction."""
    found = []
    for i, (truth, y) in enumerate(zip(Y, predicted, strict=True)):
        try:
            found.append(float(template.cost(truth, y)))
        except Exception as error:
            note(error, f"in cost, example {i + 1}")
            raise
    return found


def check_pairs(X: Any, Y: Any) -> None:
    if count(X) != count(Y):
        raise InputError(f"there are {count(X)} inputs, but {count(Y)} true outputs")
