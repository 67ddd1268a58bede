"""Estimators in model files, pickles and copies: their state is JSON and arrays."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from dualstruct.data.arrays import as_json, read_arrays, write_arrays
from dualstruct.errors import InputError, not_fitted
from dualstruct.estimators.params import Parameters
from dualstruct.tasks.base import State

if TYPE_CHECKING:
    from typing_extensions import Self


class Stored(Parameters):
    """Has a state that files and pickles hold."""

    model_format: ClassVar[str]

    @abstractmethod
    def __sklearn_is_fitted__(self) -> bool: ...

    def _check_trained(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(f"this {type(self).__name__} is not trained yet")

    @abstractmethod
    def state(self) -> State:
        """What a model file holds: metadata for JSON, and arrays."""

    @abstractmethod
    def restore(self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Become what :meth:`state` described."""

    def save(self, path: str | Path) -> None:
        """Write the model to a file; features whose weights are all 0 are left out."""
        write_arrays(path, self.model_format, *self.state())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that :meth:`save` wrote. Loading runs no code from the file."""
        return cls()._read(path)

    def _read(self, path: str | Path) -> Self:
        metadata, arrays = read_arrays(path, self.model_format)
        try:
            self.restore(metadata, arrays)
        except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{path} is damaged: {error}") from None
        return self

    def __getstate__(self) -> dict[str, Any]:
        """For pickles and copies: parameters, and the model as JSON and arrays."""
        model = None
        if self.__sklearn_is_fitted__():
            metadata, arrays = self.state()
            model = as_json(metadata), arrays
        parameters = self.get_params(deep=False)
        return {"parameters": parameters, "model": model, **self._requests()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state["parameters"])
        if state["model"] is not None:
            self.restore(*state["model"])
        self.set_params(**state["parameters"])
        self._restore_requests(state)
