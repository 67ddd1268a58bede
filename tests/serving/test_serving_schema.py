"""The JSON interface against its own OpenAPI description: whatever the description allows is
answered as it says, and whatever it does not allow is refused."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

import serving_cases as cases
from dualstruct.serving.openapi import operations
from dualstruct.serving.requests import MOST_BYTES

MODELS = {
    "tagger": cases.tagger,
    "attributes": cases.attribute_tagger,
    "parser": cases.parser,
    "pipeline": cases.pipeline,
}
CHECKS = [
    not_a_server_error,
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
]


PATHS = {
    "/api/model": "GET",
    "/api/training": "GET",
    "/api/suspects": "GET",
    "/api/predict": "POST",
    "/api/explain": "POST",
}


@cache
def schema_of(model: str):
    app = cases.app(cases.served(MODELS[model]()))
    return schemathesis.openapi.from_asgi("/openapi.json", app)


def test_every_path_is_described():
    described = schema_of("tagger").raw_schema["paths"]
    assert {path: [*methods] for path, methods in described.items()} == {
        path: [method.lower()] for path, method in PATHS.items()
    }


def test_the_page_of_the_documentation_lists_what_is_described():
    page = Path(__file__).parents[2] / "docs/serving.md"
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    asked = [row for row in rows if "/api/" in row]
    expected = []
    for each in operations(cases.served(cases.tagger())):
        names = [f"`{name}`" for name in each.parameter_names()]
        taken = ", ".join([" or ".join(names[:2]), *names[2:]])
        cells = ["", f"`{each.method} {each.path}`", taken, each.summary, ""]
        expected.append(" | ".join(cells).replace("|  |", "| |").strip())
    assert asked == expected


def test_every_status_is_in_the_documentation():
    page = Path(__file__).parents[2] / "docs/serving.md"
    rows = page.read_text().partition("| status |")[2].partition("\n\n")[0]
    listed = set(re.findall(r"\b\d{3}\b", "\n".join(r.split("|")[1] for r in rows.split("\n")[2:])))
    described = schema_of("tagger").raw_schema["paths"]["/api/explain"]["post"]["responses"]
    assert listed == set(described) - {"200"}


@pytest.mark.parametrize(
    ("path", "mode"),
    # A request without a body and parameters cannot be wrong.
    [(p, m) for p in PATHS for m in GenerationMode if PATHS[p] == "POST" or m == "positive"],
)
@pytest.mark.parametrize("model", MODELS)
def test_the_server_keeps_to_its_description(model, path, mode):
    operation = schema_of(model)[path][PATHS[path]]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=8, suppress_health_check=list(HealthCheck))
    def keeps(case):
        response = case.call()
        if response.status_code == 413:
            assert len(response.request.body) > MOST_BYTES
        else:
            case.validate_response(response, checks=CHECKS)

    keeps()
