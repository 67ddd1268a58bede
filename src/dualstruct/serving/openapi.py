"""The description of the JSON interface (OpenAPI 3.1), for the model that is served.

It is made from the limits that requests are checked against, and tests hold the server to it.
"""

from __future__ import annotations

from typing import Any

from dualstruct.serving.answers import Served
from dualstruct.serving.requests import (
    MOST_ALTERNATIVES,
    MOST_CELLS,
    MOST_CHARACTERS,
    MOST_IN_A_CELL,
)

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
MAYBE_NUMBER: Schema = {"type": ["number", "null"]}
MAYBE_INTEGER: Schema = {"type": ["integer", "null"]}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
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


def describe(served: Served) -> dict[str, Any]:
    """The whole description."""
    from dualstruct import __version__

    sentence = _sentence(served)
    explain: dict[str, Schema] = {
        "token": {
            "type": "integer",
            "minimum": 1,
            "maximum": served.most_tokens,
            "description": "which token, counted from 1",
        },
        "of": {
            "type": "string",
            "enum": list(served.explains),
            "description": "what about it; the first unless given",
        },
    }
    k: Schema = {"type": "integer", "minimum": 1, "maximum": MOST_ALTERNATIVES, "default": 5}
    prediction = _labels_answer() if served.kind == "labels" else _tree_answer()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"dualstruct: {served.name}",
            "version": __version__,
            "description": "Labels or parses sentences, and says why.",
        },
        "paths": {
            "/api/model": _get("What the model is and what it wants", _about()),
            "/api/training": _get("How training went, pass by pass", _training()),
            "/api/suspects": _get("Training sentences with which the model disagrees", _suspects()),
            "/api/predict": _post(
                "The best output, its confidence, and the k best", sentence, {"k": k}, prediction
            ),
            "/api/explain": _post(
                "Why a token has its label, or its head and relation",
                sentence,
                explain,
                _explanation(),
                required=["token"],
                missing="the sentence has no such token",
            ),
        },
        "components": {"schemas": {"Error": _object(error=STRING)}},
    }


def _object(optional: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
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
            "description": f"at most {served.most_tokens} words, with blanks between them",
        }
    return ways


def _get(summary: str, answer: Schema) -> Schema:
    return {"get": {"summary": summary, "responses": _responses(answer, ["421"])}}


def _post(
    summary: str,
    sentence: dict[str, Schema],
    others: dict[str, Schema],
    answer: Schema,
    required: list[str] | None = None,
    missing: str | None = None,
) -> Schema:
    bodies = []
    for name, way in sentence.items():
        body = _object(**{name: way}, **others)
        bodies.append({**body, "required": [name, *(required or [])]})
    content = {"application/json": {"schema": {"oneOf": bodies} if bodies[1:] else bodies[0]}}
    responses = _responses(answer, list(ERRORS))
    if missing is not None:
        responses["404"] = _failure(missing)
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True, "content": content},
            "responses": responses,
        }
    }


def _responses(answer: Schema, statuses: list[str]) -> dict[str, Any]:
    return {
        "200": {"description": "the answer", "content": {"application/json": {"schema": answer}}},
        **{status: _failure(ERRORS[status]) for status in statuses},
    }


def _failure(description: str) -> Schema:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _about() -> Schema:
    return _object(
        name=STRING,
        kind={"type": "string", "enum": ["labels", "tree"]},
        columns=_list(STRING),
        labels=_list(STRING),
        explains=_list(STRING),
        calibrated=BOOLEAN,
        most_tokens=INTEGER,
    )


def _labels_answer() -> Schema:
    return _object(
        tokens=_list(STRING),
        labels=_list(STRING),
        confidence=_list(SHARE),
        alternatives=_list(_object(score=NUMBER, probability=SHARE, labels=_list(STRING))),
    )


def _tree_answer() -> Schema:
    word = _object(text=STRING, tag=STRING, x=INTEGER)
    arc = _object(
        token=INTEGER,
        label=STRING,
        left=INTEGER,
        right=INTEGER,
        top=INTEGER,
        arrow=INTEGER,
        root=BOOLEAN,
    )
    picture = _object(
        width=INTEGER, height=INTEGER, base=INTEGER, words=_list(word), arcs=_list(arc)
    )
    tree = {"heads": _list(INTEGER), "relations": _list(STRING), "picture": picture}
    return _object(
        tokens=_list(STRING),
        tags={"type": ["array", "null"], "items": STRING},
        confidence=_list(SHARE),
        alternatives=_list(_object(score=NUMBER, **tree)),
        **tree,
    )


def _explanation() -> Schema:
    contribution = _object(
        name=STRING,
        kind=STRING,
        token=INTEGER,
        chosen_part=STRING,
        other_part=STRING,
        chosen=NUMBER,
        other=NUMBER,
        amount=NUMBER,
    )
    alternative = _object(
        differs_in=STRING,
        label=STRING,
        head=MAYBE_INTEGER,
        text=STRING,
        difference=NUMBER,
        changes=_list(_object(token=INTEGER, form=STRING, chosen=STRING, other=STRING)),
        contributions=_list(contribution),
    )
    token = _object(
        token=INTEGER,
        form=STRING,
        label=STRING,
        head=MAYBE_INTEGER,
        text=STRING,
        alternatives=_list(alternative),
    )
    return _object(
        kind=STRING,
        forms=_list(STRING),
        score=NUMBER,
        predicted=_list(STRING),
        tokens=_list(token),
    )


def _training() -> Schema:
    point = _object(
        passes=INTEGER,
        seconds=NUMBER,
        primal=MAYBE_NUMBER,
        dual=MAYBE_NUMBER,
        gap=MAYBE_NUMBER,
        gap_estimate=MAYBE_NUMBER,
        dev_score=MAYBE_NUMBER,
        dev_metric={"type": ["string", "null"]},
        cuts=INTEGER,
        inference_calls=INTEGER,
        estimate=BOOLEAN,
    )
    part = _object(
        name=STRING,
        summary=STRING,
        passes=INTEGER,
        primal=MAYBE_NUMBER,
        dual=MAYBE_NUMBER,
        gap=MAYBE_NUMBER,
        estimate=BOOLEAN,
        dev_score=MAYBE_NUMBER,
        best_pass=INTEGER,
        stopped_by=STRING,
        seconds=NUMBER,
        trace=_list(point),
    )
    return _object(parts=_list(part))


def _suspects() -> Schema:
    doubt = _object(
        token=INTEGER,
        form=STRING,
        given=STRING,
        predicted=STRING,
        kind=STRING,
        given_probability=MAYBE_NUMBER,
        predicted_probability=MAYBE_NUMBER,
    )
    maybe: Schema = {"type": ["boolean", "null"]}
    suspect = _object(
        where=STRING,
        sentence=INTEGER,
        score=NUMBER,
        forms=_list(STRING),
        doubts=_list(doubt),
        dual_mass=MAYBE_NUMBER,
        at_bound=maybe,
        given_up=maybe,
    )
    return _object(
        state={"type": "string", "enum": ["missing", "working", "ready", "failed"]},
        message=STRING,
        suspects=_list(suspect),
    )
