"""What has another name now: the old name still works, with a deprecation warning."""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: The name of before and the present one, both within dualstruct.
RENAMED = {
    "compat.conversion": "crfsuite.conversion",
    "compat.dump": "crfsuite.dump",
    "compat.features": "crfsuite.features",
    "compat.items": "crfsuite.items",
    "compat.log": "crfsuite.log",
    "compat.training": "crfsuite.training",
    "confidence.chains": "tasks.tagging.confidence",
    "confidence.trees": "tasks.parsing.confidence",
    "data.crfsuite": "crfsuite.files",
    "distributed.checkpoints": "training.checkpoints",
    "distributed.communicator": "workers.communicator",
    "distributed.data": "data.sources",
    "distributed.engines": "workers.engines",
    "distributed.merging": "workers.merging",
    "distributed.mpi": "workers.mpi",
    "distributed.ray": "workers.ray",
    "estimators.chain_model": "tasks.tagging.model",
    "estimators.costs": "labels.costs",
    "estimators.labels": "labels.names",
    "estimators.tree_model": "tasks.parsing.model",
    "estimators.weights": "tasks.tagging.weights",
    "explaining.chains": "tasks.tagging.explaining",
    "explaining.custom": "tasks.structured.explaining",
    "explaining.trees": "tasks.parsing.explaining",
    "files": "data",
    "files.arrays": "data.arrays",
    "files.columns": "data.columns",
    "files.conllu": "data.conllu",
    "files.crfsuite": "crfsuite.files",
    "files.spans": "labels.schemes",
    "fit": "training",
    "progress": "training.progress",
    "structures.graph_templates": "structures.ready_graphs",
    "structures.template": "structures.output_type",
}


class _CallableModule(ModuleType):
    """``dualstruct.fit`` is a function, and was a module as well."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        function: Callable[..., Any] = vars(self)["fit"]
        return function(*arguments, **named)


class _Alias:
    """Loads the present module under an old name."""

    def __init__(self, present: str) -> None:
        self._present = present

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _CallableModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        present = importlib.import_module(self._present)
        for name in getattr(present, "__all__", ()):
            getattr(present, name)  # some are imported when they are asked for
        own = {"__name__", "__spec__", "__loader__", "__package__", "__path__"}
        vars(module).update({k: v for k, v in vars(present).items() if k not in own})
        warnings.warn(f"{module.__name__} is now {self._present}", DeprecationWarning, stacklevel=2)


class _Finder:
    """Knows the old names."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        present = RENAMED.get(name.removeprefix("dualstruct."))
        if not name.startswith("dualstruct.") or present is None:
            return None
        is_package = name == "dualstruct.files"
        loader: Any = _Alias(f"dualstruct.{present}")
        return ModuleSpec(name, loader, is_package=is_package)


def old_names(module: str, present: Mapping[str, str]) -> Callable[[str], Any]:
    """A ``__getattr__`` for a module that knows old names.

    Parameters
    ----------
    module : str
        The module's own name.
    present : mapping
        The old name, and the present one with its module, within dualstruct.
    """

    def find(name: str) -> Any:
        if name not in present:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place, _, now = present[name].rpartition(".")
        warnings.warn(
            f"{module}.{name} is now dualstruct.{present[name]}", DeprecationWarning, stacklevel=2
        )
        return getattr(importlib.import_module(f"dualstruct.{place}"), now)

    return find


class OldAttribute:
    """A method or property under its old name.

    >>> class Box:
    ...     def size(self):
    ...         return 3
    ...
    ...     how_much = OldAttribute("size")
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     Box().how_much()
    3
    >>> print(found[0].message)
    Box.how_much is now size
    """

    def __init__(self, present: str) -> None:
        self._present = present

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        message = f"{owner.__name__}.{self._name} is now {self._present}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(instance, self._present)


def old_parameters(**present: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that still takes some parameters by their old names.

    >>> @old_parameters(how_much="size")
    ... def double(size=1):
    ...     return 2 * size
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     double(how_much=3)
    6
    >>> print(found[0].message)
    how_much is now size
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def translated(*arguments: P.args, **named: P.kwargs) -> R:
            for old, now in present.items():
                if old in named:
                    if now in named:
                        raise TypeError(f"{old} is now {now}: give one of them")
                    warnings.warn(f"{old} is now {now}", DeprecationWarning, stacklevel=2)
                    named[now] = named.pop(old)
            return function(*arguments, **named)

        return translated

    return decorate


def keep_old_names() -> None:
    """Let ``import`` know the old names; asked only where there is no module of a name."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
