"""Names of a package that are imported when they are asked for: a program that needs one part does
not wait for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, homes: Mapping[str, str], otherwise: Callable[[str], Any] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` for a package.

    Parameters
    ----------
    package : str
        The package's own name.
    homes : mapping
        Modules within dualstruct, and the names that each has, with blanks between them.
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

    return find, names
