"""scikit-learn's metadata routing: which of ``sample_weight`` and the like a method asks for.

Searches and pipelines pass on what an estimator requests
(``tagger.set_fit_request(sample_weight=True)``), where ``enable_metadata_routing`` is set.
What can be requested are the parameters of a method beside X and y.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any

from dualstruct.libraries import library

_DATA = ("self", "X", "y", "Y")


def metadata_of(kind: type, method: str) -> list[str]:
    """The names of what a method takes beside its data."""
    found = getattr(kind, method, None)
    if found is None:
        return []
    taken = inspect.signature(found).parameters.values()
    various = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [p.name for p in taken if p.name not in _DATA and p.kind not in various]


class RequestSetter:
    """``set_fit_request`` and the like; there are those of methods that take metadata."""

    def __init__(self, method: str) -> None:
        self.method = method

    def __get__(self, estimator: Any, kind: type) -> Any:
        names = metadata_of(kind, self.method)
        if not names:
            raise AttributeError(f"{kind.__name__}.{self.method} takes no metadata")
        if estimator is None:
            return self

        def set_request(**requests: bool | str | None) -> Any:
            sklearn = library("sklearn", "sklearn", "metadata routing")
            if not sklearn.get_config().get("enable_metadata_routing"):
                raise RuntimeError(
                    "metadata routing is off: call sklearn.set_config(enable_metadata_routing=True)"
                )
            for name in requests:
                if name not in names:
                    raise TypeError(
                        f"{kind.__name__}.{self.method} takes no {name!r}; it takes "
                        f"{', '.join(names)}"
                    )
            routing = estimator.get_metadata_routing()
            for name, request in requests.items():
                getattr(routing, self.method).add_request(param=name, alias=request)
            estimator._metadata_request = routing
            return estimator

        set_request.__name__ = f"set_{self.method}_request"
        set_request.__doc__ = (
            f"Request metadata for ``{self.method}``: {', '.join(names)}. True passes it on, False "
            "does not, None refuses it, and a string passes it on under that name."
        )
        return set_request


class Routed:
    """What an estimator owes to metadata routing."""

    set_fit_request = RequestSetter("fit")
    set_partial_fit_request = RequestSetter("partial_fit")
    set_predict_request = RequestSetter("predict")
    set_score_request = RequestSetter("score")

    # This name is the one that scikit-learn's ``clone`` copies.
    _metadata_request: Any

    def get_metadata_routing(self) -> Any:
        """What each method takes beside its data, and what of it was requested."""
        if hasattr(self, "_metadata_request"):
            return copy.deepcopy(self._metadata_request)
        module = library("sklearn.utils.metadata_routing", "sklearn", "metadata routing")
        routing = module.MetadataRequest(owner=type(self).__name__)
        for method in ("fit", "partial_fit", "predict", "score"):
            for name in metadata_of(type(self), method):
                getattr(routing, method).add_request(param=name, alias=None)
        return routing

    def _requests(self) -> dict[str, Any]:
        """For pickles: what was requested, if anything was."""
        asked = hasattr(self, "_metadata_request")
        return {"requests": self._metadata_request} if asked else {}

    def _restore_requests(self, state: dict[str, Any]) -> None:
        if "requests" in state:
            self._metadata_request = state["requests"]
