"""sklearn-crfsuite has ``BaseEstimator`` here; scikit-learn is imported when it is asked for."""

from __future__ import annotations

from typing import Any

from dualstruct.libraries import library


def __getattr__(name: str) -> Any:
    if name != "BaseEstimator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return library("sklearn.base", "sklearn", "BaseEstimator").BaseEstimator
