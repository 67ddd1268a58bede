"""scikit-learn's conventions without its import.

Importing scikit-learn takes longer (1 s) and more memory (85 MB) than training most taggers.
Nothing here needs it: ``clone``, ``GridSearchCV``, ``Pipeline`` and ``cross_val_score`` ask an
estimator only for what is below.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dualstruct.data.schema import fit_type
from dualstruct.errors import InputError
from dualstruct.estimators.routing import Routed
from dualstruct.solvers.base import Averaged
from dualstruct.solvers.solver import Solver

if TYPE_CHECKING:
    from typing_extensions import Self


class Parameters(Routed):
    """``get_params``, ``set_params`` and ``repr`` from the constructor's signature."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        signature = inspect.signature(cls.__init__).parameters.values()
        return {p.name: p.default for p in signature if p.name != "self"}

    def _component(self, name: str) -> Any:
        """The value of a parameter that may have parameters of its own."""
        return getattr(self, name)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The current parameters.

        ``deep`` adds those of parts that are estimators: ``parser__C`` of ``parser``.
        """
        params = {name: getattr(self, name) for name in self._defaults()}
        if not deep:
            return params
        parts = {name: self._component(name) for name in params}
        return params | {
            f"{name}__{inner}": value
            for name, part in parts.items()
            if hasattr(part, "get_params") and not isinstance(part, type)
            for inner, value in part.get_params().items()
        }

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name, for the next ``fit``.

        ``parser__C`` is the parameter ``C`` of the part ``parser``.
        """
        known = self._defaults()
        of_parts: dict[str, dict[str, Any]] = {}
        for key in params:
            name, _, inner = key.partition("__")
            if name not in known or (inner and not hasattr(self._component(name), "set_params")):
                raise InputError(
                    f"{type(self).__name__} has no parameter {key!r}; it has {', '.join(known)}"
                )
            if inner:
                of_parts.setdefault(name, {})[inner] = params[key]
        for name in params.keys() & known.keys():
            setattr(self, name, params[name])
        for name, inner_params in of_parts.items():
            setattr(self, name, self._component(name).set_params(**inner_params))
        return self

    def __repr__(self) -> str:
        defaults = self._defaults()
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name])  # arrays do not compare to one answer
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    @property
    def _repr_html_(self) -> Any:
        """What notebooks show, unless scikit-learn's configuration asks for text."""
        try:
            from sklearn import get_config
            from sklearn.utils import estimator_html_repr
        except ImportError:
            raise AttributeError("the diagram of an estimator is drawn by scikit-learn") from None
        if get_config()["display"] != "diagram":
            raise AttributeError("scikit-learn's option display is not 'diagram'")
        return lambda: estimator_html_repr(self)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True),
            input_tags=InputTags(two_d_array=False, string=True),
        )


def pack_solver(solver: str | Solver) -> str | dict[str, Any]:
    """A solver for JSON: its name, or with settings of its own."""
    if not isinstance(solver, Solver):
        return solver
    return {
        "name": solver.name,
        "settings": solver.settings(),
        "averaged": isinstance(solver, Averaged),
    }


@dataclass(eq=False, repr=False)
class _PackedSolver:
    name: str
    settings: dict[str, Any]
    averaged: bool


def unpack_solver(given: Any) -> str | Solver:
    """The counterpart of :func:`pack_solver`, for what stands in a file."""
    if isinstance(given, str):
        return given
    from dualstruct.distributed.strategies import STRATEGIES
    from dualstruct.solvers import SOLVERS

    packed = fit_type(_PackedSolver, given, "parameters.solver")
    known = {**SOLVERS, **STRATEGIES}
    if packed.name not in known:
        raise InputError(f"parameters.solver.name: there is no solver {packed.name!r}")
    solver = known[packed.name].from_settings(packed.settings)
    return Averaged(solver) if packed.averaged else solver
