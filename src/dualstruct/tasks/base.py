"""What training asks of a kind of output, on one worker or on several.

known = learn(job)                 # from all shares of the data: labels, features, shapes
fit(known.structure, known.judge(dev), …)
model = known.calibrated(known.model(w), dev)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from numpy.typing import NDArray

from dualstruct import _core

if TYPE_CHECKING:
    from dualstruct.data.sources import Share
    from dualstruct.structures import Structure
    from dualstruct.training.results import SummedScore

State = tuple[dict[str, Any], dict[str, NDArray[Any]]]


class Model(Protocol):
    """Everything that predicting takes, in one immutable piece."""

    @property
    def w(self) -> _core.Weights: ...

    def state(self) -> State:
        """Metadata for JSON, and arrays."""

    def compact(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The arrays of its state in the order and form that take the least room when squeezed."""

    def weight_uses(self, *data: Any) -> dict[str, NDArray[Any]]:
        """How often data use the rows of the state's weights, where the model can tell."""


class UnnamedFeatures:
    """A model whose features have no names to sort by, nor rows of weights to count."""

    def compact(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        return arrays

    def weight_uses(self, *data: Any) -> dict[str, NDArray[Any]]:
        return {}


ModelT = TypeVar("ModelT")


class Known(Protocol[ModelT]):
    """What is learned from training data, bound to this worker's share of them."""

    @property
    def structure(self) -> Structure:
        """This worker's examples."""

    @property
    def center(self) -> _core.Weights | None:
        """The weights that training continues from."""

    def model(self, w: _core.Weights) -> ModelT:
        """The weights with what they mean."""

    def judge(self, dev: Share, metric: str | None = None) -> SummedScore:
        """The score of weights on all workers' development data, by a metric or the usual one."""

    def calibrated(self, model: ModelT, dev: Share) -> ModelT:
        """The model with the temperature of its scores; as it is, where there is none to fit."""

    def attributes(self) -> dict[str, Any]:
        """What an estimator shows of it besides the model: its attributes that end in _."""

    def offered(self) -> dict[str, tuple[Any, ...]]:
        """Values of settings that are worth a try on such data, besides those worth one always."""
