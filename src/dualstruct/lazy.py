"""What is made when somebody asks for it: names of a package, attributes of an object."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["Deferring", "Once", "lazy_modules", "lazy_names"]


def lazy_names(
    package: str, homes: Mapping[str, str], otherwise: Callable[[str], Any] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` for a package.

    Type checkers read the same names from imports that are not run.

    Parameters
    ----------
    package : str
        The package's own name.
    homes : mapping
        Modules within dualstruct, and the names that each has, with spaces between them.
    otherwise : callable, optional
        Asked for names that are not among them.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in home_of:
            if otherwise is not None:
                return otherwise(name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"dualstruct.{home_of[name]}"), name)
        setattr(import_module(package), name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(import_module(package)), *home_of})

    return find, names, sorted(home_of)


def lazy_modules(package: str, modules: str) -> Callable[[str], Any]:
    """``__getattr__`` for a package whose modules, with spaces between them, are imported when they
    are asked for: ``package.module.function()``.
    """
    known = frozenset(modules.split())

    def find(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return find


class Once:
    """Work that is put off until somebody needs it, and is then done once, whoever asks.

    >>> once = Once(lambda: print("done"))
    >>> once(), once.pending, once()
    done
    (None, False, None)
    """

    def __init__(self, work: Callable[[], object] | None = None) -> None:
        self._work = work
        self._turn = threading.Lock()

    @property
    def pending(self) -> bool:
        return self._work is not None

    def __call__(self) -> None:
        if self._work is not None:
            with self._turn:
                if self._work is not None:
                    self._work()
                    self._work = None


class Deferring:
    """An object that makes some of its attributes when they are asked for.

    >>> class Answer(Deferring):
    ...     value: int
    >>> answer = Answer()
    >>> answer.defer("value", lambda: 42)
    >>> answer.value
    42
    """

    def defer(self, name: str, make: Callable[[], Any]) -> None:
        """Let an attribute be what ``make`` returns, once it is asked for.

        Threads that ask at the same time may each call it, and see one of the answers.
        """
        vars(self).pop(name, None)
        vars(self)["_deferred"] = {**vars(self).get("_deferred", {}), name: make}

    def __getattr__(self, name: str) -> Any:
        make = vars(self).get("_deferred", {}).get(name)
        if make is None:
            if name in vars(self):  # another thread made it meanwhile
                return vars(self)[name]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        made = make()
        vars(self)[name] = made
        left = {key: other for key, other in vars(self)["_deferred"].items() if key != name}
        vars(self)["_deferred"] = left
        return made
