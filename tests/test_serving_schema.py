"""The JSON interface against its own OpenAPI description: whatever the description allows is
answered as it says, and whatever it does not allow is refused."""

from __future__ import annotations

from functools import cache

import pytest
import schemathesis
import serving_cases as cases
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

from dualstruct.serving.app import create_app

MODELS = {
    "tagger": cases.tagger,
    "two-columns": cases.tagger_of_two_columns,
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
    app = create_app(cases.served(MODELS[model]()))
    return schemathesis.openapi.from_asgi("/openapi.json", app)


def test_every_path_is_described():
    described = schema_of("tagger").raw_schema["paths"]
    assert {path: [*methods] for path, methods in described.items()} == {
        path: [method.lower()] for path, method in PATHS.items()
    }


@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("model", MODELS)
def test_the_server_keeps_to_its_description(model, path, mode):
    operation = schema_of(model)[path][PATHS[path]]
    if PATHS[path] == "GET" and mode == GenerationMode.NEGATIVE:
        pytest.skip("a request without a body and parameters cannot be wrong")

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=20,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def keeps(case):
        case.call_and_validate(checks=CHECKS)

    keeps()
