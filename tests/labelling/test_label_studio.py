"""The server as a backend of Label Studio, by the requests that its documentation shows."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from dualstruct.labelling import Project
from dualstruct.labelling.app import create_label_app
from dualstruct.labelling.session import Session
from dualstruct.texts import Document, TextSpan, iter_documents

CONFIG = """<View>
  <Labels name="kind" toName="words"><Label value="PER"/><Label value="LOC"/></Labels>
  <Text name="words" value="$body"/>
</View>"""
RESULT = {
    "id": "x1",
    "from_name": "kind",
    "to_name": "words",
    "type": "labels",
    "value": {"start": 0, "end": 3, "text": "Ada", "labels": ["PER"]},
}


@pytest.fixture
def session(tmp_path):
    with Project(tmp_path / "names.db") as project:
        names = [f"Name{k}" for k in range(20)]
        project.add(Document(f"{n} sings here.", [TextSpan(0, len(n), "PER")]) for n in names)
        made = Session(project)
        made.learner.catch_up()
        yield made


def ask(session, path, body=None, method="POST"):
    async def send():
        app = create_label_app(session, hosts=["localhost"])
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, json=body)

    return asyncio.run(send())


def test_it_says_that_it_is_there_and_takes_a_labelling_interface(session):
    assert ask(session, "/health", method="GET").json()["status"] == "UP"
    body = {"project": "1.1700000000", "schema": CONFIG, "hostname": "http://localhost:8080",
            "access_token": "abc", "extra_params": None}  # fmt: skip
    assert ask(session, "/setup", body).json()["model_version"].startswith("names-")


def test_tasks_get_predictions_in_the_names_of_the_interface(session):
    tasks = [{"id": 7, "data": {"body": "Name99 sings here. Name98 sings here.", "other": "x"}},
             {"id": 8, "data": {"body": ""}}]  # fmt: skip
    body = {"tasks": tasks, "project": "1.17", "label_config": CONFIG, "params": {"context": None}}
    found = ask(session, "/predict", body).json()
    first, empty = found["results"]
    values = [each["value"] for each in first["result"]]
    assert [(v["start"], v["end"], v["labels"]) for v in values] == [
        (0, 6, ["PER"]), (19, 25, ["PER"]),
    ]  # fmt: skip
    assert {(each["from_name"], each["to_name"]) for each in first["result"]} == {("kind", "words")}
    assert 0 < first["score"] <= 1
    assert empty["result"] == []
    assert found["model_version"] == first["model_version"]


def test_annotations_of_events_become_answers(session):
    event = {
        "action": "ANNOTATION_CREATED",
        "task": {"id": 3, "data": {"body": "Ada left. Bo stayed."}},
        "annotation": {"id": 9, "completed_by": {"id": 4, "email": "m@x.org"}, "result": [RESULT]},
        "project": {"id": 1, "label_config": CONFIG},
    }
    found = ask(session, "/webhook", event)
    assert (found.status_code, found.json()["learned"]) == (201, 2)
    spans = {each.text: each.spans for each in iter_documents(session.project.path)}
    assert spans["Ada left."] == [TextSpan(0, 3, "PER")]
    assert spans["Bo stayed."] == []
    ask(session, "/train", event)  # the same once more changes nothing
    assert all(len(each.answers) == 1 for each in session.project.sentences.values())
    changed = {**event, "action": "ANNOTATION_UPDATED"}
    changed["annotation"] = {**event["annotation"], "result": []}
    ask(session, "/webhook", changed)
    spans = {each.text: each.spans for each in iter_documents(session.project.path)}
    assert spans["Ada left."] == []
    assert ask(session, "/webhook", {"action": "PROJECT_UPDATED"}).json()["learned"] == 0


def test_tasks_with_annotations_are_trained_on(session):
    cancelled = {"was_cancelled": True, "result": []}
    tasks = [
        {"data": {"body": "Ada left."}, "annotations": [{"result": [RESULT]}, cancelled]},
        {"data": {"body": "Nobody left."}, "annotations": []},
    ]
    found = ask(session, "/train", {"annotations": tasks, "label_config": CONFIG, "project": "1"})
    assert (found.status_code, found.json()["learned"]) == (201, 1)


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/predict", {"tasks": {}}, "tasks has to be a list"),
        ("/predict", {"tasks": [1]}, "a task has to have data"),
        ("/predict", {"tasks": [{"data": {"n": 1}}]}, "a task has to have a text"),
        ("/predict", {"tasks": [], "label_config": "<View"}, "label_config is not XML"),
        ("/setup", {"schema": "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"}, "not a labelling interface"),
        ("/webhook", {"action": "ANNOTATION_CREATED"}, "has to have an annotation"),
        (
            "/webhook",
            {"action": "ANNOTATION_CREATED", "task": {"data": {"text": "a"}},
             "annotation": {"result": [{"value": {"start": 0, "end": 9, "labels": ["X"]}}]}},
            "is not in the text",
        ),
    ],
)  # fmt: skip
def test_what_is_no_request_of_label_studio_is_refused(session, path, body, message):
    found = ask(session, path, body)
    assert found.status_code == 400
    assert message in found.json()["error"]
