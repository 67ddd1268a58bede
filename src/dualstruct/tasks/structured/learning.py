"""What is learned from examples about a structure, and how a model of it is judged."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dualstruct import _core
from dualstruct.data.examples import as_list, count
from dualstruct.data.sources import Share
from dualstruct.distributed.training import Job
from dualstruct.errors import InputError
from dualstruct.losses import SoftmaxMargin, find_loss
from dualstruct.structures.base import Structure
from dualstruct.structures.custom import CustomStructure
from dualstruct.structures.custom_examples import CustomExamples, note
from dualstruct.structures.output_type import OutputType
from dualstruct.tasks.base import State, UnnamedFeatures
from dualstruct.tasks.structured.settings import StructuredSettings
from dualstruct.threads import usable_threads
from dualstruct.training.results import SummedScore, check_metric
from dualstruct.workers.merging import gather, total


@dataclass(frozen=True, eq=False)
class TrainedStructure(UnnamedFeatures):
    """A structure that knows what was learned about it, and its weights."""

    structure: OutputType
    w: _core.Weights

    def state(self) -> State:
        learned, arrays = self.structure.state(self.w)
        return {"structure": learned}, arrays


def learn(settings: StructuredSettings, X: Any, Y: Any) -> OutputType:
    """What is learned from all examples about the structure."""
    check_pairs(X, Y)
    if not count(X):
        raise InputError("there are no examples to train on")
    output_type = settings.structure
    if isinstance(output_type, CustomStructure):
        output_type = copy.copy(output_type)
        output_type.on_error = settings.on_error
    return output_type.learn(X, Y)


class KnownStructure:
    """A structure that knows what was learned from all examples, bound to this worker's.

    Parameters
    ----------
    settings : StructuredSettings
    job : Job
    known : OutputType
        What :func:`learn` learned.
    """

    center = None

    def __init__(self, settings: StructuredSettings, job: Job, known: OutputType) -> None:
        self._settings, self._job, self._known = settings, job, known
        self.structure: Structure = known.bind(job.share.X, job.share.y)
        self.structure.set_example_weights(job.share.weights.get("sample_weight"))
        loss = find_loss(settings.loss, settings.beta, settings.gamma)
        if not isinstance(loss, SoftmaxMargin) or not isinstance(self.structure, CustomExamples):
            return
        if self.structure.output_type.expectation is None:
            raise InputError(
                f"the loss {loss.name} needs expectations, and {self.structure.kind} has no method "
                "expectation: write one, or take the loss hinge, squared_hinge or ramp"
            )

    def model(self, w: _core.Weights) -> TrainedStructure:
        return TrainedStructure(self._known, w)

    def judge(self, dev: Share, metric: str | None = None) -> SummedScore:
        """1 − the mean cost on development data."""
        check_metric(metric, "score")
        known, workers = self._known, self._job.workers
        X, Y = as_list(dev.X), as_list(dev.y)
        if total(workers, count(X)) == [0] or count(X) != count(Y):
            raise InputError(f"the development data has {count(X)} inputs and {count(Y)} outputs")
        bound = known.bind(X) if count(X) else None
        threads = usable_threads(self._settings.threads)

        def judge(w: _core.Weights) -> list[float]:
            if bound is None:  # there are fewer than workers
                return [0.0, 0.0]
            try:
                found = costs(known, Y, known.predict(bound, w, threads))
            except Exception as error:
                note(error, "in the development data")
                raise
            return [float(sum(found)), float(len(found))]

        return SummedScore(workers, judge, lambda sums: 1 - sums[0] / sums[1])

    def calibrated(self, model: TrainedStructure, dev: Share) -> TrainedStructure:
        return model

    def offered(self) -> dict[str, tuple[Any, ...]]:
        return {}

    def attributes(self) -> dict[str, Any]:
        """How often each example was left out, of all workers."""
        own = dict(self.structure.skipped)
        if self._job.divided:
            numbers = self._job.share.numbers
            renamed = [(int(numbers[i]), times) for i, times in own.items()]
            own = {i: times for some in gather(self._job.workers, renamed) for i, times in some}
        return {"skipped_": own}


def check_pairs(X: Any, Y: Any) -> None:
    if count(X) != count(Y):
        raise InputError(f"there are {count(X)} inputs, but {count(Y)} true outputs")


def costs(output_type: OutputType, Y: Sequence[Any], predicted: Sequence[Any]) -> list[float]:
    """Δ of each prediction."""
    found = []
    for i, (truth, y) in enumerate(zip(Y, predicted, strict=True)):
        try:
            found.append(float(output_type.cost(truth, y)))
        except Exception as error:
            note(error, f"in cost, example {i + 1}")
            raise
    return found
