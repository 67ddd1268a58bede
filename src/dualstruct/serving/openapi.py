"""The description of the JSON interface (OpenAPI 3.1), for the model that is served.

It is derived from the types of the answers and from the parameters that requests are read with, and
tests hold the server and the page of the documentation to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dualstruct.explaining.results import Explanation
from dualstruct.serving.answers import Served
from dualstruct.serving.requests import (
    MOST_ALTERNATIVES,
    MOST_CELLS,
    MOST_CHARACTERS,
    MOST_IN_A_CELL,
    OneOf,
    Parameter,
    WholeNumber,
)
from dualstruct.serving.shapes import (
    About,
    Schema,
    SuspectsAnswer,
    TrainingAnswer,
    object_schema,
    schema_of,
)

#: No blanks, no control characters.
CELL: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MOST_IN_A_CELL,
    "pattern": r"^[^\s\u0000-\u001f\u007f-\u009f]+$",
}
ERRORS = {
    "400": "the request is not what the description asks for",
    "408": "the request took too long to arrive",
    "413": "the request is too large",
    "415": "the body is not declared as JSON",
    "421": "the server goes by another name",
    "503": "the answer took too long",
}


@dataclass(frozen=True)
class Operation:
    """One path of the interface: how it is asked, and what it answers."""

    name: str  #: the last part of its path
    summary: str
    answer: type
    parameters: tuple[Parameter, ...] | None = None  #: besides the sentence; None: it is a GET
    missing: str | None = None  #: what a 404 says

    @property
    def path(self) -> str:
        return f"/api/{self.name}"

    @property
    def method(self) -> str:
        return "GET" if self.parameters is None else "POST"

    def parameter_names(self) -> tuple[str, ...]:
        """What its body may have."""
        if self.parameters is None:
            return ()
        return ("text", "tokens", *(each.name for each in self.parameters))


def operations(served: Served) -> tuple[Operation, ...]:
    """All paths, for a model."""
    k = WholeNumber("k", 1, MOST_ALTERNATIVES, default=5)
    token = WholeNumber("token", 1, served.most_tokens, description="which token, counted from 1")
    of = OneOf("of", served.explains, "what about it; the first unless given")
    return (
        Operation("model", "what the model is: name, kind, columns, labels", About),
        Operation(
            "predict",
            "labels, or heads and relations; `confidence` of each token; the k best",
            served.prediction,
            (k,),
        ),
        Operation(
            "explain",
            "why this token (from 1) has its label, or its head and relation",
            Explanation,
            (token, of),
            missing="the sentence has no such token",
        ),
        Operation("training", "how training went, pass by pass", TrainingAnswer),
        Operation("suspects", "the suspects, or the reason why there are none", SuspectsAnswer),
    )


def describe(served: Served) -> dict[str, Any]:
    """The whole description."""
    from dualstruct import __version__

    sentence = _sentence(served)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"dualstruct: {served.name}",
            "version": __version__,
            "description": "Labels or parses sentences, and says why.",
        },
        "paths": {each.path: _described(each, sentence) for each in operations(served)},
        "components": {"schemas": {"Error": object_schema({"error": {"type": "string"}})}},
    }


def _list(items: Schema, **bounds: int) -> Schema:
    return {"type": "array", "items": items, **bounds}


def _sentence(served: Served) -> dict[str, Schema]:
    """The ways to write a sentence for this model."""
    names = served.columns.names
    if served.columns.only_words:
        token = CELL
    elif served.columns.are_attributes:
        token = _list(CELL, maxItems=MOST_CELLS)
    else:
        token = _list(CELL, minItems=len(names), maxItems=len(names))
    tokens = _list(token, minItems=1, maxItems=served.most_tokens)
    tokens["description"] = f"tokens of {', '.join(names) or 'attributes'}"
    ways = {"tokens": tokens}
    if served.columns.only_words:
        ways["text"] = {
            "type": "string",
            "minLength": 1,
            "maxLength": MOST_CHARACTERS,
            "pattern": r"[^\s\u0000-\u001f\u007f-\u009f]",
            "description": f"at most {served.most_tokens} words, with spaces between them",
        }
    return ways


def _described(operation: Operation, sentence: dict[str, Schema]) -> Schema:
    answer = schema_of(operation.answer)
    said: Schema = {"summary": operation.summary}
    if operation.parameters is None:
        return {"get": {**said, "responses": _responses(answer, ["421"])}}
    others = {each.name: each.schema() for each in operation.parameters}
    needed = [
        each.name
        for each in operation.parameters
        if isinstance(each, WholeNumber) and each.default is None
    ]
    bodies = [
        object_schema({name: way, **others}, required=[name, *needed])
        for name, way in sentence.items()
    ]
    content = {"application/json": {"schema": {"oneOf": bodies} if bodies[1:] else bodies[0]}}
    responses = _responses(answer, list(ERRORS))
    if operation.missing is not None:
        responses["404"] = _failure(operation.missing)
    body = {"required": True, "content": content}
    return {"post": {**said, "requestBody": body, "responses": responses}}


def _responses(answer: Schema, statuses: list[str]) -> dict[str, Any]:
    return {
        "200": {"description": "the answer", "content": {"application/json": {"schema": answer}}},
        **{status: _failure(ERRORS[status]) for status in statuses},
    }


def _failure(description: str) -> Schema:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": description, "content": {"application/json": {"schema": schema}}}
