"""Estimators in model files, pickles and copies: their state is JSON and arrays."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from dualstruct.data.arrays import as_json, read_arrays, write_arrays
from dualstruct.data.packed import is_squeezed, pack, squeeze, unpack
from dualstruct.errors import InputError, not_fitted
from dualstruct.estimators.params import Parameters
from dualstruct.tasks.base import State

if TYPE_CHECKING:
    from typing_extensions import Self


class Stored(Parameters):
    """Has a state that files and pickles hold."""

    model_format: ClassVar[str]
    #: Whether the model is a compressed one (:func:`dualstruct.compress`), and is saved as such.
    is_compressed_: bool = False
    #: Arrays of the state that :meth:`restore` takes as a file packs them.
    expanded_later: ClassVar[frozenset[str]] = frozenset()

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

    def compact_state(self) -> State:
        """The same, in the order and form that a compressed file makes the least of."""
        return self.state()

    def weight_uses(self, *data: Any) -> dict[str, NDArray[Any]]:
        """How often data use the rows of the state's weights, where the model can tell."""
        return {}

    def save(self, path: str | Path) -> None:
        """Write the model to a file; weights that are 0 are left out.

        A compressed model is written as a compressed one, until it is trained again.
        """
        write_arrays(path, self.model_format, *self.stored_state())

    def stored_state(self) -> State:
        """The state as :meth:`save` writes it."""
        if self.is_compressed_:
            return squeeze(*self.compact_state())
        return pack(*self.state())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that :meth:`save` wrote. Loading runs no code from the file."""
        return cls()._read(path)

    def _read(self, path: str | Path) -> Self:
        metadata, arrays = read_arrays(path, self.model_format)
        try:
            self.restore(*unpack(metadata, arrays, self.expanded_later))
            self.is_compressed_ = is_squeezed(metadata)
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
        about = {"parameters": parameters, "model": model, "compressed": self.is_compressed_}
        return {**about, **self._requests()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state["parameters"])
        if state["model"] is not None:
            self.restore(*state["model"])
            self.is_compressed_ = state.get("compressed", False)
        self.set_params(**state["parameters"])
        self._restore_requests(state)
