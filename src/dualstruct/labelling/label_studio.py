"""A machine-learning backend for Label Studio: /health, /setup, /predict, /train and /webhook.

Label Studio sends tasks to /predict and shows what comes back as predictions. When an annotation
is made or changed it tells /train (or /webhook) of it; the annotation becomes an answer of the
project, and the model learns from it. Its labelling interface has one ``<Labels>`` for one
``<Text>``; their names come with each request.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any
from xml.etree import ElementTree

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dualstruct.errors import InputError
from dualstruct.labelling.sentences import Sentence
from dualstruct.labelling.session import Session
from dualstruct.serving.guarding import JSONResponse, RequestError
from dualstruct.texts import Document
from dualstruct.texts.alignment import Alignment, label_spans
from dualstruct.texts.documents import TextSpan, joined, split_documents
from dualstruct.texts.formats.rows import span_list

__all__ = ["backend_routes"]

MOST_TASKS = 200
LONGEST_TEXT = 200_000
_LEARNED = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")
_ENTITIES = re.compile(r"<!(DOCTYPE|ENTITY)", re.IGNORECASE)

Body = Callable[[Request, None], Awaitable[dict[str, Any]]]


class _Names:
    """What the labelling interface calls the labels and the text."""

    def __init__(self, config: Any) -> None:
        self.from_name, self.to_name, self.key = "label", "text", "text"
        if not isinstance(config, str) or not config.strip():
            return
        if len(config) > LONGEST_TEXT or _ENTITIES.search(config):
            raise RequestError(400, "label_config is not a labelling interface")
        try:
            root = ElementTree.fromstring(config)
        except (ElementTree.ParseError, ValueError):
            raise RequestError(400, "label_config is not XML") from None
        labels = root.find(".//Labels")
        if labels is not None:
            self.from_name = labels.get("name", "label")
            self.to_name = labels.get("toName", "text")
        for each in root.iter():
            if each.tag in ("Text", "HyperText") and each.get("name") == self.to_name:
                self.key = (each.get("value") or "$text").lstrip("$")


def backend_routes(session: Session, body: Body) -> list[Route]:
    """The routes of the backend."""
    backend = _Backend(session, body)
    return [
        Route("/health", backend.health),
        Route("/setup", backend.setup, methods=["POST"]),
        Route("/predict", backend.predict, methods=["POST"]),
        Route("/train", backend.train, methods=["POST"]),
        Route("/webhook", backend.train, methods=["POST"]),
    ]


class _Backend:
    def __init__(self, session: Session, body: Body) -> None:
        self.session, self.body = session, body

    @property
    def version(self) -> str:
        return f"{self.session.project.path.stem}-{self.session.learner.version}"

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "UP", "model_class": "dualstruct"})

    async def setup(self, request: Request) -> Response:
        found = await self.body(request, None)
        _Names(found.get("schema"))
        return JSONResponse({"model_version": self.version})

    async def predict(self, request: Request) -> Response:
        found = await self.body(request, None)
        tasks = found.get("tasks")
        if not isinstance(tasks, list) or len(tasks) > MOST_TASKS:
            raise RequestError(400, f"tasks has to be a list of at most {MOST_TASKS} tasks")
        names = _Names(found.get("label_config"))
        texts = [_text_of(task, names) for task in tasks]
        results = await anyio.to_thread.run_sync(self._predicted, texts, names)
        return JSONResponse({"results": results, "model_version": self.version})

    def _predicted(self, texts: list[str], names: _Names) -> list[dict[str, Any]]:
        learner, project = self.session.learner, self.session.project
        if learner.model is None or project.kind.name != "spans":
            return [{"result": [], "score": 0.0, "model_version": self.version} for _ in texts]
        documents = [Document(text) for text in texts]
        split_documents(documents, project.tokenizer)
        found = []
        for document in documents:
            sentences = [
                Sentence(0, "", " ".join(words), joined([words]).places)
                for words in document.words()
            ]
            said = [each for each in learner.suggest(sentences) if each is not None]
            spans = label_spans(document, [list(each.labels) for each in said])
            sure = [p for each in said for p in each.sure]
            result = [
                _result(number, span, document, names) for number, span in enumerate(spans, 1)
            ]
            score = sum(sure) / len(sure) if sure else 0.0
            found.append(
                {"result": result, "score": round(score, 4), "model_version": self.version}
            )
        return found

    async def train(self, request: Request) -> Response:
        """An annotation that was made or changed, or tasks with theirs; other events do nothing."""
        found = await self.body(request, None)
        project = found.get("project")
        config = project.get("label_config") if isinstance(project, dict) else None
        names = _Names(config or found.get("label_config"))
        learned = 0
        for task, annotation in _annotations(found):
            text = _text_of(task, names)
            result = annotation.get("result")
            if not isinstance(result, list):
                raise RequestError(400, "an annotation has to have a result, a list")
            who = _who(annotation.get("completed_by"))
            learned += await anyio.to_thread.run_sync(self._learn, text, result, who)
        said = {"status": "ok", "learned": learned, "model_version": self.version}
        return JSONResponse(said, 201)

    def _learn(self, text: str, result: list[Any], annotator: str) -> int:
        """The annotation of a text as answers to its sentences; they are added if they are new."""
        values = [
            each["value"]
            for each in result
            if isinstance(each, dict)
            and isinstance(each.get("value"), dict)
            and "labels" in each["value"]
        ]
        spans = span_list(values, text, "annotation: result")
        document = Document(text, spans, where="the task")
        document.check()
        project = self.session.project
        split_documents([document], project.tokenizer)
        flat = Alignment("move", "longest").labels(document)
        wanted = list(zip(document.words(), document.by_sentence(flat), strict=True))
        known = {tuple(each.words): number for number, each in project.sentences.items()}
        if any(tuple(words) not in known for words, _ in wanted):
            new = Document(text, where="Label Studio")
            split_documents([new], project.tokenizer)
            new.sentences = document.sentences
            project.add([new])
            known = {tuple(each.words): number for number, each in project.sentences.items()}
        for words, labels in wanted:
            number = known[tuple(words)]
            sentence = project.sentences[number]
            if sentence.labels != tuple(labels):
                self.session.answer(number, labels, sentence.version, annotator, None)
        return len(wanted)


def _annotations(found: dict[str, Any]) -> list[tuple[Any, dict[str, Any]]]:
    """Tasks, each with an annotation: that of an event, or the last one of each of several."""
    tasks = found.get("annotations")
    if isinstance(tasks, list):
        if len(tasks) > MOST_TASKS:
            raise RequestError(400, f"at most {MOST_TASKS} tasks are taken at a time")
        pairs = []
        for task in tasks:
            given = task.get("annotations") if isinstance(task, dict) else None
            made = [
                each
                for each in (given if isinstance(given, list) else ())
                if isinstance(each, dict) and not each.get("was_cancelled")
            ]
            pairs += [(task, made[-1])] if made else []
        return pairs
    if found.get("action") not in _LEARNED:
        return []
    annotation = found.get("annotation")
    if not isinstance(annotation, dict):
        raise RequestError(400, "an event has to have an annotation, an object")
    return [(found.get("task"), annotation)]


def _text_of(task: Any, names: _Names) -> str:
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict):
        raise RequestError(400, "a task has to have data, an object")
    text = data.get(names.key)
    if not isinstance(text, str):
        texts = [value for value in data.values() if isinstance(value, str)]
        text = max(texts, key=len, default=None)
    if text is None or len(text) > LONGEST_TEXT:
        raise RequestError(400, f"a task has to have a text of at most {LONGEST_TEXT} characters")
    try:
        Document(text, where="the task").check()
    except InputError as problem:
        raise RequestError(400, str(problem)) from None
    return text


def _who(given: Any) -> str:
    if isinstance(given, dict):
        given = given.get("email") or given.get("id")
    return f"Label Studio {given}"[:100] if given is not None else "Label Studio"


def _result(number: int, span: TextSpan, document: Document, names: _Names) -> dict[str, Any]:
    return {
        "id": str(number),
        "from_name": names.from_name,
        "to_name": names.to_name,
        "type": "labels",
        "value": {
            "start": span.start,
            "end": span.end,
            "text": document.text[span.start : span.end],
            "labels": [span.label],
        },
    }
