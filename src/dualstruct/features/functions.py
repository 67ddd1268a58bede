"""Features that a user's function makes of a sentence.

A model file does not contain functions, only their names: pass the function again when you load the
model. Loading imports and runs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike, NDArray

from dualstruct.data.schema import fit_type, inner_arrays
from dualstruct.errors import InputError
from dualstruct.features.attributes import AttributeExtractor
from dualstruct.features.base import FeatureExtractor, FeatureRows, State
from dualstruct.printable import plural

__all__ = ["FunctionExtractor", "functions_among", "functions_by_name", "give_again"]

#: From a sentence to a list of strings, or a dict, for each of its tokens.
Function = Callable[[Any], Iterable[Any]]


class FunctionExtractor(FeatureExtractor):
    """What a function says of tokens: lists of strings or dicts, as attributes.

    Parameters
    ----------
    function : callable
        It gets a sentence, a list of words or tuples, and gives as many lists or dicts.

    Examples
    --------
    >>> def ends(sentence):
    ...     return [{"end": word[-1], "length": len(word)} for word in sentence]
    >>> extractor = FunctionExtractor(ends)
    >>> rows = extractor.fit([["Ada", "sings"]])
    >>> extractor.names(rows.ids)
    ['ends:end:a', 'ends:length', 'ends:end:s', 'ends:length']
    """

    def __init__(
        self,
        function: Function | None,
        name: str | None = None,
        inner: AttributeExtractor | None = None,
    ) -> None:
        self.name_of_function = name_of(function) if name is None else name
        self._function = function
        self.inner = AttributeExtractor() if inner is None else inner

    @property
    def hash_bits(self) -> int | None:
        return self.inner.hash_bits

    def fit(self, X: Any, *, threads: int = 1) -> FeatureRows:
        return self.inner.fit(self._answers(X), threads=threads)

    def transform(self, X: Any, *, threads: int = 1) -> FeatureRows:
        return self.inner.transform(self._answers(X), threads=threads)

    def _answers(self, X: Any) -> list[list[Any]]:
        name = self.name_of_function
        if self._function is None:
            raise InputError(
                f"the model has features of a function {name}, which its file does not hold: give "
                f"it, SequenceTagger.load(path, functions=[{name}])"
            )
        answers = []
        for number, sentence in enumerate(X, 1):
            tokens = list(sentence)
            found = self._function(tokens)
            if isinstance(found, str) or not isinstance(found, Iterable):
                raise InputError(
                    f"sentence {number}: {name} gave a {type(found).__name__}, not a list with a "
                    "dict or a list of strings for each token"
                )
            answers.append(list(found))
            if len(answers[-1]) != len(tokens):
                raise InputError(
                    f"sentence {number}: {name} gave features of "
                    f"{plural(len(answers[-1]), 'token')}; the "
                    f"sentence has {len(tokens)}"
                )
        return answers

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def names(self, ids: ArrayLike) -> list[str]:
        return [f"{self.name_of_function}:{name}" for name in self.inner.names(ids)]

    def names_in(self, X: Any) -> list[str]:
        found = self.inner.names_in(self._answers(X))
        return [f"{self.name_of_function}:{name}" for name in found]

    def find(self, name: str) -> int | None:
        start = f"{self.name_of_function}:"
        return self.inner.find(name.removeprefix(start)) if name.startswith(start) else None

    def select(self, keep: ArrayLike) -> None:
        self.inner.select(keep)

    def functions(self) -> dict[str, Function | None]:
        return {self.name_of_function: self._function}

    def give_functions(self, functions: Mapping[str, Function]) -> None:
        self._function = functions.get(self.name_of_function, self._function)

    def state(self) -> State:
        settings, arrays = self.inner.state()
        own = {f"inner.{name}": array for name, array in arrays.items()}
        return {"kind": "function", "name": self.name_of_function, "inner": settings}, own

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> FunctionExtractor:
        stored = fit_type(_Settings, dict(settings), "features")
        inner = AttributeExtractor.from_state(stored.inner, inner_arrays(arrays, "inner"))
        return cls(None, stored.name, inner)


@dataclass(eq=False, repr=False)
class _Settings:
    """What a file says of a function's features, besides arrays."""

    name: str
    inner: dict[str, Any]


def name_of(function: Any) -> str:
    """What a function is called in names of features and in model files."""
    return str(getattr(function, "__name__", type(function).__name__))


def functions_by_name(functions: Iterable[Function]) -> dict[str, Function]:
    """Functions by their names, which must differ."""
    found: dict[str, Function] = {}
    for function in functions:
        if not callable(function):
            raise InputError(f"{function!r} is not a function of a sentence")
        name = name_of(function)
        if found.setdefault(name, function) is not function:
            raise InputError(f"two functions are called {name}: features are named after them")
    return found


def functions_among(features: Any) -> list[Function]:
    """The functions of the setting ``features``."""
    members = features if isinstance(features, list | tuple) else [features]
    return [member for member in members if callable(member)]


def give_again(extractor: FeatureExtractor, functions: Iterable[Function]) -> None:
    """Give what comes from a file the functions that it does not hold; functions that it does not
    know are refused."""
    given = functions_by_name(functions)
    wanted = extractor.functions()
    for name in given:
        if name not in wanted:
            known = f"its functions are {', '.join(wanted)}" if wanted else "it has none"
            raise InputError(f"the model has no features of a function {name}; {known}")
    extractor.give_functions(given)
