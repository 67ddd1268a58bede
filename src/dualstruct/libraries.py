"""Libraries that not everybody has, and the sentence for those who have not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dualstruct.errors import InputError

__all__ = ["library"]

#: Modules whose packages have another name.
_PACKAGES = {"sklearn": "scikit-learn"}


def library(name: str, extra: str, what: str) -> Any:
    """The module of a library; an error says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        package = _PACKAGES.get(package, package)
        raise InputError(f"{what} needs {package}: pip install 'dualstruct[{extra}]'") from None
