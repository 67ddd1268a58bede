"""Look-alikes of python-crfsuite and sklearn-crfsuite: an import is all that changes.

import dualstruct.compat.pycrfsuite as pycrfsuite
import dualstruct.compat.sklearn_crfsuite as sklearn_crfsuite

Where the imports are not yours to change, in a package or in a pickle, :func:`install_aliases`
makes the look-alikes what ``import pycrfsuite`` and ``import sklearn_crfsuite`` find.
"""

from __future__ import annotations

import sys
from importlib import import_module

from dualstruct.errors import InputError

__all__ = ["install_aliases"]

#: The modules that have the same name, and pickles of sklearn-crfsuite name some of them.
_MODULES = {
    "pycrfsuite": ("_logparser", "_pycrfsuite"),
    "sklearn_crfsuite": (
        "_fileresource",
        "compat",
        "estimator",
        "metrics",
        "scorers",
        "trainer",
        "utils",
    ),
}


def install_aliases() -> None:
    """Make ``import pycrfsuite`` and ``import sklearn_crfsuite`` import dualstruct's modules.

    Call it before the first import of either, and of packages that import them or load pickles
    of theirs. It affects only this process. Pickles run code when
    they are loaded, those of models too: load those that you trust.

        from dualstruct.compat import install_aliases
        install_aliases()
        import pyvi.ViTokenizer  # which loads a pickle of sklearn-crfsuite
    """
    names = [
        name
        for package, modules in _MODULES.items()
        for name in (package, *(f"{package}.{module}" for module in modules))
    ]
    aliases = {name: import_module(f"{__name__}.{name}") for name in names}
    for package in _MODULES:
        imported = sys.modules.get(package, aliases[package])
        if imported is not aliases[package]:
            raise InputError(
                f"{package} was already imported from {imported.__file__}: call install_aliases "
                "before the first import of it"
            )
    sys.modules.update(aliases)
