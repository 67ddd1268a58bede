"""The web application: the page, its files, and the JSON interface.

A sentence is answered by a thread, because the core does not hold the GIL. Bodies are bounded in
size and in the time that they may take to arrive, answers in the time that somebody waits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from dualstruct.explaining.results import Explanation
from dualstruct.serving.answers import Prediction, Served, check_comparable
from dualstruct.serving.connections import Limits
from dualstruct.serving.guarding import HANDLERS, JSONResponse, guards, read_body
from dualstruct.serving.openapi import Operation, describe, operations
from dualstruct.serving.requests import RequestError, read_object, read_sentence
from dualstruct.serving.suspicion import Suspicion

STATIC = Path(__file__).with_name("static")


def create_app(
    served: Served,
    suspicion: Suspicion | None = None,
    *,
    beside: Served | None = None,
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
    beside : Served, optional
        Another model of the same kind, whose answers the page shows beside; its interface is under
        ``/beside``.
    hosts : iterable of str, optional
        The names under which the server answers. Other names in a request mean that some other
        site has its name point here, to read what is none of its business.
    limits : Limits, optional
    """
    limits = limits or Limits()
    routes: list[BaseRoute] = [
        Route("/", page),
        *interface(Api(served, suspicion or Suspicion(None), limits, beside)),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    if beside is not None:
        check_comparable(served, beside)
        routes.append(Mount("/beside", routes=interface(Api(beside, Suspicion(None), limits))))
    return Starlette(routes=routes, middleware=guards(hosts), exception_handlers=HANDLERS)


def interface(api: Api) -> list[BaseRoute]:
    """The JSON interface for a model, and its description."""
    asked = [
        Route(each.path, getattr(api, each.name), methods=[each.method]) for each in api.operations
    ]
    return [Route("/openapi.json", api.openapi), *asked]


class Api:
    """The answers of the JSON interface."""

    def __init__(
        self, served: Served, suspicion: Suspicion, limits: Limits, beside: Served | None = None
    ) -> None:
        self.served = served
        self.beside = beside
        self.suspicion = suspicion
        self.limits = limits
        self.description = describe(served)
        self.operations = operations(served)
        self._by_name = {each.name: each for each in self.operations}

    async def openapi(self, request: Request) -> Response:
        return JSONResponse(self.description)

    async def model(self, request: Request) -> Response:
        return JSONResponse(self.served.about(self.beside))

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
        found = read_object(await read_body(request, self.limits), operation.parameter_names())
        others = [each.read(found) for each in operation.parameters or ()]
        sentence = read_sentence(
            found, self.served.columns, self.served.most_tokens, self.served.splitter
        )
        return sentence, *others

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
