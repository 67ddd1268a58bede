"""The web application: the page, its files, and the JSON interface.

A sentence is answered by a thread, because the core does not hold the GIL. Bodies are bounded in
size and in the time that they may take to arrive, answers in the time that somebody waits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dualstruct.errors import InputError
from dualstruct.explaining.results import Explanation
from dualstruct.printable import json_text
from dualstruct.serving.answers import Prediction, Served
from dualstruct.serving.connections import Limits
from dualstruct.serving.openapi import Operation, describe, operations
from dualstruct.serving.requests import (
    MOST_BYTES,
    RequestError,
    read_object,
    read_sentence,
)
from dualstruct.serving.suspicion import Suspicion

STATIC = Path(__file__).with_name("static")

#: Nothing but this server's own files, and no other page around it.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class JSONResponse(Response):  # type: ignore[misc]
    """JSON that has no infinite numbers and may have halves of surrogate pairs."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json_text(content, allow_nan=False, separators=(",", ":"), default=_data_of).encode()


def _data_of(answer: Any) -> dict[str, Any]:
    """What a dataclass within an answer holds."""
    found: dict[str, Any] = answer.to_dict() if hasattr(answer, "to_dict") else asdict(answer)
    return found


def create_app(
    served: Served,
    suspicion: Suspicion | None = None,
    *,
    hosts: Iterable[str] | None = None,
    limits: Limits | None = None,
) -> Starlette:
    """The application for a model.

    Parameters
    ----------
    served : Served
        The model.
    suspicion : Suspicion, optional
        What is found suspect in the training file, if there is one.
    hosts : iterable of str, optional
        The names under which the server answers. Other names in a request mean that some other
        site has its name point here, to read what is none of its business.
    limits : Limits, optional
    """
    api = Api(served, suspicion or Suspicion(None), limits or Limits())
    asked = [
        Route(each.path, getattr(api, each.name), methods=[each.method]) for each in api.operations
    ]
    routes = [
        Route("/", page),
        Route("/openapi.json", api.openapi),
        *asked,
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    handlers: dict[Any, Callable[..., Any]] = {
        RequestError: refused,
        InputError: refused,
        HTTPException: refused,
        Exception: failed,
    }
    allowed = None if hosts is None else frozenset(hosts)
    guard = Middleware(Guard, hosts=allowed)
    return Starlette(routes=routes, middleware=[guard], exception_handlers=handlers)


class Guard:
    """Refuses other names for this server, and adds the headers to all answers."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        app = self.app
        if self.hosts is not None and host_in(Headers(scope=scope)) not in self.hosts:
            app = error(421, "this server goes by another name")
        await app(scope, receive, send_with_headers)


def host_in(headers: Headers) -> str:
    """The host that was asked for, without its port."""
    host: str = headers.get("host", "")
    if host.startswith("["):  # IPv6
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


class Api:
    """The answers of the JSON interface."""

    def __init__(self, served: Served, suspicion: Suspicion, limits: Limits) -> None:
        self.served = served
        self.suspicion = suspicion
        self.limits = limits
        self.description = describe(served)
        self.operations = operations(served)
        self._by_name = {each.name: each for each in self.operations}

    async def openapi(self, request: Request) -> Response:
        return JSONResponse(self.description)

    async def model(self, request: Request) -> Response:
        return JSONResponse(self.served.about())

    async def training(self, request: Request) -> Response:
        return JSONResponse(self.served.training())

    async def suspects(self, request: Request) -> Response:
        return JSONResponse(self.suspicion.state())

    async def predict(self, request: Request) -> Response:
        sentence, k = await self._read(request, self._by_name["predict"])
        return await self._answer(partial(self.served.predict, sentence, k))

    async def explain(self, request: Request) -> Response:
        sentence, token, of = await self._read(request, self._by_name["explain"])
        if token > len(sentence):
            raise RequestError(404, f"the sentence has no token {token}; it has {len(sentence)}")
        return await self._answer(partial(self.served.explain, sentence, token, of))

    async def _read(self, request: Request, operation: Operation) -> tuple[Any, ...]:
        """The sentence of a request, and its other parameters in their order."""
        found = read_object(await self._body(request), operation.parameter_names())
        others = [each.read(found) for each in operation.parameters or ()]
        sentence = read_sentence(found, self.served.columns, self.served.most_tokens)
        return sentence, *others

    async def _body(self, request: Request) -> bytes:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RequestError(
                415, "the body has to be JSON, with the content type application/json"
            )
        too_large = RequestError(413, f"the body is larger than {MOST_BYTES} bytes")
        declared = request.headers.get("content-length", "0")
        if not declared.isdigit() or int(declared) > MOST_BYTES:
            raise too_large
        body = b""
        try:
            with anyio.fail_after(self.limits.body):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > MOST_BYTES:
                        raise too_large
        except TimeoutError:
            seconds = f"{self.limits.body:g} seconds"
            raise RequestError(408, f"the request has not arrived within {seconds}") from None
        except ClientDisconnect:  # nobody hears the answer
            raise RequestError(400, "the request has not arrived as a whole") from None
        return body

    async def _answer(self, work: Callable[[], Prediction | Explanation]) -> Response:
        try:
            with anyio.fail_after(self.limits.answer):
                answer = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except TimeoutError:
            seconds = f"{self.limits.answer:g} seconds"
            raise RequestError(
                503, f"the answer has taken more than {seconds}; try a shorter sentence"
            ) from None
        return JSONResponse(answer)


async def page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html")


def error(status: int, message: str, headers: Any = None) -> Response:
    response = JSONResponse({"error": message}, status, headers)
    if status in (408, 413):  # what is left of the request is not worth reading
        response.headers["Connection"] = "close"
    return response


async def refused(request: Request, why: Exception) -> Response:
    """A user's mistake, in a sentence."""
    if isinstance(why, HTTPException):
        sentences = {
            404: f"there is nothing at {request.url.path}",
            405: f"{request.url.path} does not take {request.method}",
        }
        return error(why.status_code, sentences.get(why.status_code, why.detail), why.headers)
    return error(why.status if isinstance(why, RequestError) else 400, str(why))


async def failed(request: Request, why: Exception) -> Response:
    """A mistake of ours; the server's log has the details."""
    return error(500, "the server has made a mistake; its log says which")
