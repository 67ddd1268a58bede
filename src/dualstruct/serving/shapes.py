"""The answers of the JSON interface: what is in each of them is said here and nowhere else.

The code that answers is held to these types by mypy, and the description of the interface
(:mod:`dualstruct.serving.openapi`) is derived from them.
"""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from dualstruct.data.schema import Range
from dualstruct.suspecting import Suspect
from dualstruct.training.results import TracePoint

Schema = dict[str, Any]
Share = Annotated[float, Range(0, 1)]
SearchState = Literal["missing", "working", "ready", "failed"]


class About(TypedDict):
    """What somebody who writes a sentence has to know of a model."""

    name: str
    kind: Literal["labels", "tree"]
    columns: list[str]
    labels: list[str]
    explains: list[str]
    calibrated: bool
    most_tokens: int
    beside: str | None  #: the name of another model, of the same kind, under /beside


class Labelling(TypedDict):
    """One of the k best labellings."""

    score: float
    probability: Share
    labels: list[str]


class Labels(TypedDict):
    """The labels of a sentence."""

    tokens: list[str]
    labels: list[str]
    confidence: list[Share]
    alternatives: list[Labelling]


class PlacedWord(TypedDict):
    """A word of a picture, in pixels."""

    text: str
    tag: str
    x: int


class PlacedArc(TypedDict):
    """An arc of a picture, in pixels."""

    token: int
    label: str
    left: int
    right: int
    top: int
    arrow: int
    root: bool


class TreePicture(TypedDict):
    """Where words and arcs go, in pixels."""

    width: int
    height: int
    base: int
    words: list[PlacedWord]
    arcs: list[PlacedArc]


class DrawnTree(TypedDict):
    """A tree."""

    heads: list[int]
    relations: list[str]
    picture: TreePicture


class ScoredTree(DrawnTree):
    """One of the k best trees."""

    score: float


class Parse(DrawnTree):
    """The tree of a sentence."""

    tokens: list[str]
    tags: list[str] | None
    confidence: list[Share]
    alternatives: list[ScoredTree]


class TrainedPart(TypedDict):
    """How the training of a tagger or parser went."""

    name: str
    summary: str
    passes: int
    primal: float | None
    dual: float | None
    gap: float | None
    estimate: bool
    dev_score: float | None
    best_pass: int
    stopped_by: str
    seconds: float
    trace: list[TracePoint]


class TrainingAnswer(TypedDict):
    """How training went, pass by pass."""

    parts: list[TrainedPart]


@dataclass(frozen=True, kw_only=True)
class LocatedSuspect(Suspect):
    """A suspect, and where it begins in the training file."""

    where: str


class SuspectsAnswer(TypedDict):
    """The suspects, or why there are none."""

    state: SearchState
    message: str
    suspects: list[LocatedSuspect]


_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number"}


def schema_of(kind: Any) -> Schema:
    """The JSON schema of a type: a plain one, a list, a dictionary or a dataclass of such.

    >>> schema_of(list[int | None])
    {'type': 'array', 'items': {'type': ['integer', 'null']}}
    >>> schema_of(Labelling)["properties"]["probability"]
    {'type': 'number', 'minimum': 0, 'maximum': 1}
    """
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return {**schema_of(inside[0]), "minimum": inside[1].least, "maximum": inside[1].most}
    if origin is Literal:
        return {"type": "string", "enum": list(inside)}
    if origin in (list, tuple):
        return {"type": "array", "items": schema_of(inside[0])}
    if origin in (Union, UnionType):
        [present] = [each for each in inside if each is not NoneType]
        schema = schema_of(present)
        return {**schema, "type": [schema["type"], "null"]}
    fields = get_type_hints(kind, include_extras=True)
    if is_dataclass(kind):
        for name in getattr(kind, "computed", ()):  # properties that its to_dict adds
            fields[name] = get_type_hints(getattr(kind, name).fget)["return"]
        fields.pop("computed", None)
    return object_schema({name: schema_of(field) for name, field in fields.items()})


def object_schema(properties: dict[str, Schema], required: list[str] | None = None) -> Schema:
    """An object with these properties, all required unless said otherwise."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }
