"""Libraries that not everybody has, and the sentence for those who have not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dualstruct.errors import InputError

__all__ = ["library"]


def library(name: str, extra: str, what: str) -> Any:
    """The module of a library; an error says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"{what} needs {name.partition('.')[0]}: pip install 'dualstruct[{extra}]'"
        ) from None
