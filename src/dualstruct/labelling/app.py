"""The web application of ``dualstruct label``: the page, its files, and the JSON interface.

What the page of a model has for its safety (names, sizes, time), this one has, too:
:mod:`dualstruct.serving.guarding`.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from dualstruct.labelling.label_studio import backend_routes
from dualstruct.labelling.session import MOST_NEXT, Session
from dualstruct.labelling.store import LONGEST_TYPE, MOST_TOKENS
from dualstruct.serving.app import STATIC as SHARED
from dualstruct.serving.connections import Limits
from dualstruct.serving.guarding import HANDLERS, JSONResponse, RequestError, guards, read_body
from dualstruct.serving.requests import OneOf, WholeNumber, read_object
from dualstruct.texts import iter_documents, write_documents
from dualstruct.texts.formats import format_named

__all__ = ["create_label_app"]

STATIC = Path(__file__).with_name("static")
MOST_BYTES = 1 << 20
MOST_NUMBER = 2**53
LONGEST_NAME = 100
#: Seconds that a question about another model waits, and between two looks.
WAITS, LOOKS = 5.0, 0.05

_SENTENCE = WholeNumber("sentence", 1, MOST_NUMBER)
_ANSWER = WholeNumber("answer", 1, MOST_NUMBER)
_VERSION = WholeNumber("version", 0, MOST_NUMBER)
_COUNT = WholeNumber("count", 1, MOST_NEXT, 1)
_AMONG = OneOf("among", ("all", "labelled", "unlabelled", "conflict", "disagreement"), "")
#: Formats to download, and how their names end.
_EXPORTS = {
    "jsonl": ".jsonl", "conll": ".conll", "conllu": ".conllu", "csv": ".csv",
    "labelstudio": ".labelstudio.json",
}  # fmt: skip


def create_label_app(
    session: Session,
    *,
    hosts: Iterable[str] | None = None,
    token: str | None = None,
    limits: Limits | None = None,
) -> Starlette:
    """The application for a project.

    Parameters
    ----------
    session : Session
    hosts : iterable of str, optional
        The names under which the server answers.
    token : str, optional
        What a client has to know.
    limits : Limits, optional
    """
    api = Api(session, limits or Limits())
    posts = ("next", "answer", "undo", "open", "suggest", "search", "types")
    routes = [
        Route("/", page),
        Route("/api/project", api.project),
        Route("/api/state", api.state),
        Route("/api/model", api.model),
        Route("/api/export/{format}", api.export),
        *(Route(f"/api/{name}", getattr(api, name), methods=["POST"]) for name in posts),
        *backend_routes(session, api.body),
        Mount("/static", StaticFiles(directory=STATIC)),
        Mount("/shared", StaticFiles(directory=SHARED)),
    ]
    before = guards(hosts, token=token, same_origin=True)
    return Starlette(routes=routes, middleware=before, exception_handlers=HANDLERS)


async def page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html")


class Api:
    """The answers of the JSON interface."""

    def __init__(self, session: Session, limits: Limits) -> None:
        self.session = session
        self.limits = limits

    async def body(self, request: Request, known: Iterable[str] | None) -> dict[str, Any]:
        """The object of a request, with these keys; with any if they are not given."""
        data = await read_body(request, self.limits, MOST_BYTES)
        return read_object(data, None if known is None else list(known))

    async def _answered(self, work: Callable[[], Any]) -> Response:
        return JSONResponse(await anyio.to_thread.run_sync(work))

    async def project(self, request: Request) -> Response:
        return JSONResponse(self.session.about())

    async def state(self, request: Request) -> Response:
        """At once, or as soon as there is another model than the client knows."""
        known = request.query_params.get("model", "")
        if known.isdigit():
            with anyio.move_on_after(min(WAITS, self.limits.answer / 2)):
                while self.session.learner.version == int(known):
                    await anyio.sleep(LOOKS)
        return await self._answered(self.session.state)

    async def next(self, request: Request) -> Response:
        found = await self.body(request, ("annotator", "count", "without"))
        without = _numbers(found, "without")
        work = partial(self.session.next, _name(found), _COUNT.read(found), without)
        return await self._answered(lambda: {"questions": work()})

    async def answer(self, request: Request) -> Response:
        known = ("sentence", "labels", "version", "annotator", "key", "asked")
        found = await self.body(request, known)
        return await self._answered(
            partial(
                self.session.answer,
                _SENTENCE.read(found),
                _labels(found),
                _VERSION.read(found),
                _name(found),
                _key(found),
                _tokens(found),
            )
        )

    async def undo(self, request: Request) -> Response:
        found = await self.body(request, ("answer", "annotator", "key"))
        number = _ANSWER.read(found)
        return await self._answered(partial(self.session.undo, number, _name(found), _key(found)))

    async def open(self, request: Request) -> Response:
        found = await self.body(request, ("sentence",))
        return await self._answered(partial(self.session.open, _SENTENCE.read(found)))

    async def suggest(self, request: Request) -> Response:
        found = await self.body(request, ("sentences",))
        numbers = _numbers(found, "sentences")
        return await self._answered(
            lambda: {"model": self.session.learner.version, "found": self.session.suggest(numbers)}
        )

    async def search(self, request: Request) -> Response:
        found = await self.body(request, ("words", "label", "among"))
        words, label = (_text(found, name, "") for name in ("words", "label"))
        among = _AMONG.read(found)
        return await self._answered(lambda: {"found": self.session.search(words, label, among)})

    async def types(self, request: Request) -> Response:
        found = await self.body(request, ("name",))
        return await self._answered(partial(self.session.add_type, _text(found, "name")))

    async def model(self, request: Request) -> Response:
        """The model as a file."""

        def work() -> bytes:
            model = self.session.learner.whole()
            if model is None:
                raise RequestError(404, "there is no model yet: nothing is labelled")
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.dstruct"
                model.save(path)
                return path.read_bytes()

        data = await anyio.to_thread.run_sync(work)
        return _download(data, f"{self.session.project.path.stem}.dstruct")

    async def export(self, request: Request) -> Response:
        """What is labelled, as a file."""
        name = request.path_params["format"]
        if name not in _EXPORTS:
            raise RequestError(404, f"there is no such format; choose one of {', '.join(_EXPORTS)}")
        path = self.session.project.path

        def work() -> bytes:
            out = io.BytesIO()
            write_documents(out, iter_documents(path, "project"), format_named(name).name)
            return out.getvalue()

        data = await anyio.to_thread.run_sync(work)
        return _download(data, f"{path.stem}{_EXPORTS[name]}")


Handler = Callable[[Request], Awaitable[Response]]


def _download(data: bytes, name: str) -> Response:
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    headers = {"Content-Disposition": f'attachment; filename="{safe}"'}
    return Response(data, media_type="application/octet-stream", headers=headers)


def _text(found: dict[str, Any], name: str, default: str | None = None) -> str:
    value = found.get(name, default)
    if not isinstance(value, str) or len(value) > LONGEST_NAME or "\0" in value:
        raise RequestError(400, f"{name} has to be a text of at most {LONGEST_NAME} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise RequestError(400, f"{name} has half of a surrogate pair") from None
    return value


def _name(found: dict[str, Any]) -> str:
    name = _text(found, "annotator").strip()
    if not name:
        raise RequestError(400, "annotator is missing: who answers?")
    return name


def _key(found: dict[str, Any]) -> str | None:
    return _text(found, "key") if found.get("key") is not None else None


def _numbers(found: dict[str, Any], name: str) -> list[int]:
    given = found.get(name, [])
    fits = isinstance(given, list) and len(given) <= MOST_NEXT * 10
    if not fits or not all(type(n) is int and 0 < n < MOST_NUMBER for n in given):
        raise RequestError(400, f"{name} has to be a list of numbers of sentences")
    return list(given)


def _tokens(found: dict[str, Any]) -> list[int] | None:
    given = found.get("asked")
    if given is None:
        return None
    fits = isinstance(given, list) and len(given) <= MOST_TOKENS
    if not fits or not all(type(t) is int and 0 <= t < MOST_TOKENS for t in given):
        raise RequestError(400, "asked has to be a list of numbers of tokens")
    return list(given)


def _labels(found: dict[str, Any]) -> list[str]:
    given = found.get("labels")
    fits = isinstance(given, list) and len(given) <= MOST_TOKENS
    if not fits or not all(isinstance(label, str) and label for label in given or ()):
        raise RequestError(400, "labels has to be a list of texts, one for each token")
    try:
        for label in given or ():
            label.encode()
    except UnicodeEncodeError:
        raise RequestError(400, "labels has half of a surrogate pair") from None
    if any(len(label) > LONGEST_TYPE + 2 or "\0" in label for label in given or ()):
        raise RequestError(400, f"a label has at most {LONGEST_TYPE} characters")
    return list(given or ())
