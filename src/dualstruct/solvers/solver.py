"""What every solver is. Nothing here needs numpy: the options of the command refer to it."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from dualstruct.problem import Problem


class PassResult(Protocol):
    """What a pass reports to the training loop."""

    @property
    def loss(self) -> float:
        """Σ_i ℓ_i as the examples were met; NaN if the pass did not compute it."""


#: What settings of solvers were called in files of before.
_OLD_SETTINGS = {
    "cached_passes": "revisits",
    "delta": "admission",
    "inner_passes": "revisits",
    "kappa2": "max_revisits",
    "max_inner_passes": "max_revisits",
}


def present_settings(stored: Any, known: Any = None) -> Any:
    """Settings of a solver, as a file has them, by their present names.

    Those that did not exist when the file was written are as in ``known``.

    >>> present_settings({"theta": None, "solver_settings": {"inner_passes": 2}})
    {'theta': None, 'solver_settings': {'revisits': 2}}
    >>> present_settings({"revisits": 2}, {"revisits": 5, "rounds": 3})
    {'revisits': 2, 'rounds': 3}
    """
    if not isinstance(stored, dict):
        return stored
    known = known if isinstance(known, dict) else {}
    named = {_OLD_SETTINGS.get(key, key): value for key, value in stored.items()}
    present = {key: present_settings(value, known.get(key)) for key, value in named.items()}
    return present | {key: value for key, value in known.items() if key not in present}


class Solver(ABC):
    """A schedule of passes. Its constructor's parameters are its settings."""

    name: ClassVar[str]
    losses: ClassVar[tuple[str, ...]]
    averaged: bool = False
    linear_average: bool = False  #: later steps count more, step t as much as t
    passes_per_round: int = 2  #: between two guesses at labels that are unknown
    #: Gap and passes to end at where nobody says, instead of the estimator's: if a pass is
    #: something else than it is for most solvers.
    usual_end: ClassVar[tuple[float | None, int] | None] = None
    convex: bool = True  #: whether the iterate's dual bounds the problem's optimum
    distributed: bool = False  #: whether it sees more examples than those of this worker
    #: By source: the settings with which it is that paper's algorithm. None needed: ``{}``.
    published: ClassVar[dict[str, dict[str, Any]]] = {}

    @abstractmethod
    def start(self, problem: Problem, seed: int) -> Any:
        """A fresh iterate."""

    @abstractmethod
    def run_pass(self, iterate: Any) -> PassResult:
        """One outer pass; returns the report of its inference pass."""

    def settings(self) -> dict[str, Any]:
        """The constructor's parameters, for JSON."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> Solver:
        """The counterpart of :meth:`settings`."""
        from dualstruct.data.schema import arguments_of

        return cls(**arguments_of(cls, present_settings(settings), "the solver's settings"))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({inside})"
