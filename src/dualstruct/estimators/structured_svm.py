"""StructuredSVM: learns any structure, those of users included."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.examples import as_list
from dualstruct.data.schema import fit_type
from dualstruct.data.sources import InMemory, Source
from dualstruct.distributed.training import Job
from dualstruct.errors import InputError
from dualstruct.estimators.base import Estimator
from dualstruct.explaining import Comparison
from dualstruct.losses import RiskBound, SoftmaxMargin, find_loss
from dualstruct.outputs import Outputs
from dualstruct.problem import Certificate
from dualstruct.structures.custom import CustomStructure
from dualstruct.structures.output_type import OutputType
from dualstruct.tasks.base import State
from dualstruct.tasks.structured.explaining import compare_features
from dualstruct.tasks.structured.learning import (
    KnownStructure,
    TrainedStructure,
    check_pairs,
    costs,
    learn,
)
from dualstruct.tasks.structured.settings import StructuredSettings, check_template
from dualstruct.training.loop import Callback
from dualstruct.training.settings import Training, documented

if TYPE_CHECKING:
    from typing_extensions import Self


@documented(StructuredSettings, Training)
class StructuredSVM(Estimator[TrainedStructure], StructuredSettings):
    """Learns to map inputs to outputs of any structure that can be decoded.

    Attributes
    ----------
    result_ : FitResult
        Passes, primal, dual, gap, trace, and what stopped training. ``result_.beaten`` counts how
        often an approximate decoder found less than an output already known.
    certificate_ : Certificate
        Primal, dual and gap. With an approximate decoder they are estimates.
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
    skipped_: dict[int, int]
    default_gap: ClassVar[float | None] = 0.01
    default_passes: ClassVar[int] = 100

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
        sample_weight : one number per example, optional
            Multiplies C: an example of weight 2 counts as if it were there twice.
        """
        return self._fit(X, Y, dev, callbacks, sample_weight=sample_weight)

    def _source(self, X: Any, y: Any) -> Source:
        if y is None:
            raise InputError("StructuredSVM requires y to be passed, but the target y is None")
        return InMemory(as_list(X), as_list(y))

    def _start(self, train: Source, old: TrainedStructure | None) -> OutputType:
        share = train.whole()
        return learn(self, share.X, share.y)

    def _learn(self, job: Job, start: OutputType) -> KnownStructure:
        return KnownStructure(self, job, start)

    @property
    def structure_(self) -> OutputType:
        """The structure with what was learned about it: feature names, labels."""
        return self.model_.structure

    @property
    def certificate_(self) -> Certificate:
        """Primal, dual and gap."""
        self._check_trained()
        result = self.result_
        return Certificate(result.primal, result.dual, result.gap, result.estimate)

    @property
    def w_(self) -> NDArray[np.float32]:
        """The weights as one vector."""
        return self.model_.w.array

    @property
    def weights_(self) -> Any:
        """The weights by feature name, or as an array."""
        model = self.model_
        return model.structure.weights(model.w)

    def predict(self, X: Sequence[Any]) -> list[Any]:
        """The best output of each input."""
        model = self.model_
        bound = model.structure.bind(as_list(X))
        return Outputs(model.structure.predict(bound, model.w, self._threads))

    def predict_k_best(self, X: Sequence[Any], k: int = 5) -> list[list[tuple[float, Any]]]:
        """The k best outputs of each input with their scores, best first."""
        model = self.model_
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
        model = self.model_
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
                    f"{type(structure).__name__} has no method k_best that could find the second "
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
        return score(self.model_.structure, Y, self.predict(X))

    @classmethod
    def load(cls, path: str | Path, structure: OutputType) -> Self:  # type: ignore[override]
        """Read a model that :meth:`save` wrote, for the structure that it was trained with.

        The file holds weights and settings, not the structure: that is your code.
        """
        check_template(structure)
        return cls(structure)._read(path)

    def _model_from(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> TrainedStructure:
        learned = fit_type(dict[str, Any], metadata.get("structure"), "structure")
        return TrainedStructure(*self.structure.restore(learned, arrays))

    def state(self) -> State:
        metadata, arrays = super().state()
        loss = find_loss(self.loss, self.beta, self.gamma)
        metadata["parameters"]["loss"] = loss.name
        if isinstance(loss, SoftmaxMargin | RiskBound) and loss.name != "crf":
            metadata["parameters"] |= {"beta": loss.beta, "gamma": loss.gamma}
        metadata["skipped"] = list(self.skipped_.items())
        return metadata, arrays

    def restore(self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(metadata, arrays)
        self.skipped_ = dict(fit_type(list[tuple[int, int]], metadata.get("skipped"), "skipped"))


def score(output_type: OutputType, Y: Sequence[Any], predicted: Sequence[Any]) -> float:
    """1 − the mean cost."""
    found = costs(output_type, Y, predicted)
    if not found:
        raise InputError("there is nothing to score")
    return 1 - float(np.mean(found))
