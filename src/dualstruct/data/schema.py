"""JSON from a file, checked against the types that the code expects.

The types are those of dataclasses and functions that are there anyway; whatever does not fit them
becomes one sentence that names the place, what stands there and what should. Unknown fields are
ignored, so that later versions may add some; fields with a default may be missing.

A library (msgspec, pydantic) would do the same; this is all of it that is needed here, and a model
can be loaded with numpy alone.
"""

from __future__ import annotations

import inspect
import json
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dualstruct.errors import InputError

__all__ = [
    "Range",
    "SchemaError",
    "arguments_of",
    "examples_in",
    "fit_type",
    "inner_arrays",
    "parse_json",
    "stored_array",
]

T = TypeVar("T")

#: The size of whole numbers where nothing else is said: the core has 64 bits for them.
_MOST = 2**64


class SchemaError(InputError):
    """Something in a file is not what it should be."""


class Range(NamedTuple):
    """What a number, or a length, may be: ``Annotated[int, Range(1, 9)]``."""

    least: float
    most: float = math.inf

    def __str__(self) -> str:
        if self.most == math.inf:
            return f"at least {self.least:,}"
        return f"from {self.least:,} to {self.most:,}"


def fit_type(kind: type[T], value: Any, where: str = "", **besides: Any) -> T:
    """The value as this type; dataclasses are made of objects, tuples of lists.

    Parameters
    ----------
    kind : type
        ``int``, ``float``, ``bool``, ``str``, ``list[…]``, ``dict[str, …]``, ``tuple[…]``,
        ``Literal[…]``, unions, dataclasses, and ``Annotated`` with a :class:`Range`. Other members
        of a union are for callers in Python; no file can hold them.
    value : anything that JSON can hold
    where : str
        What the value is called in messages.
    besides
        Fields of a dataclass that do not come from the file.

    Examples
    --------
    >>> fit_type(list[float], [1, 2.5], "costs")
    [1.0, 2.5]
    >>> fit_type(Annotated[int, Range(1, 28)] | None, 99, "hash_bits")
    Traceback (most recent call last):
    ...
    dualstruct.data.schema.SchemaError: hash_bits is 99; it must be a whole number from 1 to 28,
    or null
    """
    fitted: T = _made(kind, value, where, besides) if besides else _fit(kind, value, where)
    return fitted


def arguments_of(function: Callable[..., Any], given: Any, where: str) -> dict[str, Any]:
    """An object's fields as arguments of a function, each with the type that it declares."""
    known = _arguments(function)
    if not isinstance(given, dict):
        raise _wrong(given, where, "an object")
    for name in given:
        if name not in known:
            raise SchemaError(f"{where} has {_shown(name)}; it may have {', '.join(known)}")
    return {name: _fit(known[name], value, f"{where}.{name}") for name, value in given.items()}


def stored_array(
    arrays: Mapping[str, NDArray[Any]], name: str, dtype: DTypeLike, ndim: int = 1
) -> NDArray[Any]:
    """One array of a file, checked, in a form that the core can read."""
    if name not in arrays:
        raise SchemaError(f'the array "{name}" is missing')
    array = np.asarray(arrays[name])
    if array.ndim != ndim or array.dtype != np.dtype(dtype):
        shape = {1: "vector", 2: "matrix"}.get(ndim, f"{ndim}-dimensional array")
        raise SchemaError(
            f'the array "{name}" should be a {shape} of {np.dtype(dtype)}, not '
            f"{array.ndim}-dimensional {array.dtype}"
        )
    return np.require(array, requirements=["C", "A"])


def examples_in(arrays: Mapping[str, NDArray[Any]], name: str, examples: int) -> NDArray[np.int64]:
    """One array of a file that holds numbers of examples."""
    found = stored_array(arrays, name, np.int64)
    if len(found) and not 0 <= found.min() <= found.max() < examples:
        raise SchemaError(f'the array "{name}" names an example that is not there')
    return found


def inner_arrays(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """The arrays whose names begin so, by what follows."""
    start = f"{prefix}."
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }


def parse_json(text: str | bytes, where: str) -> Any:
    """What JSON from outside says; a sentence if it is none, or nested too deeply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise SchemaError(f"{where}: this is not JSON, or too deeply nested") from None


@cache
def _arguments(function: Callable[..., Any]) -> dict[str, Any]:
    made_by: Any = function
    if isinstance(function, type) and not is_dataclass(function):
        made_by = function.__init__  # type: ignore[misc]
    hints = get_type_hints(made_by, include_extras=True)
    return {name: hints.get(name, Any) for name in inspect.signature(function).parameters}


@cache
def _fields(kind: type) -> list[tuple[str, Any, bool]]:
    """The fields of a dataclass: name, type, and whether it must be there."""
    hints = get_type_hints(kind, include_extras=True)
    return [
        (
            field.name,
            hints[field.name],
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(kind)
        if field.init
    ]


@cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """What a type is made of: asked for every value of a file."""
    return get_origin(kind), get_args(kind)


@cache
def _members(kind: Any, given: Any) -> list[Any]:
    """The types of a union that a file can hold; the one that a value has comes first."""
    members = [member for member in get_args(kind) if _is_json(member)]
    return sorted(members, key=lambda member: _bare(member) is not given)  # 1.0 is not whole here


def _fit(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return value
    origin, arguments = _parts(kind)
    if origin is Annotated:
        try:
            fitted = _fit(arguments[0], value, where)
        except SchemaError:
            if isinstance(value, list | dict):  # it is about a part
                raise
            raise _wrong(value, where, _name(kind)) from None
        return _in_range(kind, fitted, value, where)
    if origin in (Union, types.UnionType):
        return _one_of(kind, value, where)
    if origin is Literal:
        if any(type(value) is type(one) and value == one for one in arguments):
            return value
    elif kind in (None, type(None)):
        if value is None:
            return None
    elif kind is float:
        if type(value) in (int, float):
            return _as_float(value, where)
    elif kind is int:  # callers in Python may have given 3.0, and 1 for true
        if type(value) in (int, float) and -_MOST <= value <= _MOST and value == int(value):
            return int(value)
    elif kind is bool:
        if type(value) is bool or (type(value) is int and value in (0, 1)):
            return bool(value)
    elif kind is str:
        if type(value) is str:
            return value
    elif origin is not None and issubclass(origin, Mapping):
        if isinstance(value, dict):
            return {key: _fit(arguments[1], one, f"{where}.{key}") for key, one in value.items()}
    elif origin is tuple and arguments[-1:] != (...,):
        if isinstance(value, list | tuple) and len(value) == len(arguments):
            pairs = zip(arguments, value, strict=True)
            return tuple(_fit(one, part, f"{where}[{k}]") for k, (one, part) in enumerate(pairs))
    elif origin is not None and issubclass(origin, Sequence):
        if isinstance(value, list | tuple):  # what was not written to a file yet may have these
            found = [_fit(arguments[0], one, f"{where}[{k}]") for k, one in enumerate(value)]
            return tuple(found) if origin is tuple else found
    elif is_dataclass(kind):
        return _made(kind, value, where)
    raise _wrong(value, where, _name(kind))


def _as_float(value: float, where: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise _wrong(value, where, "a number below 1e308") from None


def _in_range(kind: Any, fitted: Any, value: Any, where: str) -> Any:
    for limit in kind.__metadata__:
        if isinstance(limit, Range):
            size = fitted if isinstance(fitted, int | float) else len(fitted)
            if not limit.least <= size <= limit.most:
                shown = size if isinstance(fitted, Sequence) else value
                raise _wrong(shown, where, _name(kind))
    return fitted


def _one_of(kind: Any, value: Any, where: str) -> Any:
    deepest: SchemaError | None = None
    given: Any = type(value)
    for member in _members(kind, given):
        try:
            return _fit(member, value, where)
        except SchemaError as error:
            if not str(error).startswith(f"{where} is "):  # of a part, so that the whole fits
                deepest = error
    raise deepest or _wrong(value, where, _name(kind))


def _made(kind: Any, value: Any, where: str, besides: Mapping[str, Any] | None = None) -> Any:
    if not isinstance(value, dict):
        raise _wrong(value, where, "an object")
    start = f"{where}." if where else ""
    found = dict(besides or {})
    for name, wanted, needed in _fields(kind):
        if name in found:
            continue
        if name in value:
            found[name] = _fit(wanted, value[name], start + name)
        elif needed:
            raise SchemaError(f"{start}{name} is missing")
    return kind(**found)


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _is_json(kind: Any) -> bool:
    """Whether a file can hold such a value."""
    if kind in (Any, None, type(None), int, float, bool, str) or is_dataclass(kind):
        return True
    origin = get_origin(kind)
    if origin in (Annotated, Literal, Union, types.UnionType):
        return True
    return isinstance(origin, type) and issubclass(origin, Mapping | Sequence)


def _name(kind: Any) -> str:
    """A type for people."""
    plain = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "text",
        None: "null",
        type(None): "null",
    }
    if kind in plain:
        return plain[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        limits = [str(one) for one in kind.__metadata__ if isinstance(one, Range)]
        name = _name(arguments[0])
        joint = " " if name.endswith("number") else " of a length "
        return joint.join([name, *limits])
    if origin in (Union, types.UnionType):
        return ", or ".join(_name(member) for member in arguments if _is_json(member))
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if origin is not None and issubclass(origin, Mapping):
        return "an object"
    if origin is tuple and arguments[-1:] != (...,):
        return f"a list of {len(arguments)}"
    return "an object" if is_dataclass(kind) else "a list"


def _wrong(value: Any, where: str, wanted: str) -> SchemaError:
    return SchemaError(f"{where or 'it'} is {_shown(value)}; it must be {wanted}")


def _shown(value: Any) -> str:
    """A value for a message: never long, and nothing that a terminal would obey."""
    if value is None or value is True or value is False:
        return str(value).lower().replace("none", "null")
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    if isinstance(value, int) and abs(value) > 10**30:
        return "a number of many digits"
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
