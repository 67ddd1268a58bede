"""What guards every page: names, origins, a token, headers, sizes, and errors as sentences."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from dataclasses import asdict
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote, unquote

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dualstruct.errors import InputError
from dualstruct.printable import json_text
from dualstruct.serving.connections import Limits
from dualstruct.serving.requests import MOST_BYTES, RequestError

__all__ = ["HANDLERS", "Guard", "JSONResponse", "RequestError", "error", "guards", "read_body"]

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
COOKIE = "dualstruct_token"


class JSONResponse(Response):  # type: ignore[misc]
    """JSON that has no infinite numbers and may have halves of surrogate pairs."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json_text(content, allow_nan=False, separators=(",", ":"), default=_data_of).encode()


def _data_of(answer: Any) -> dict[str, Any]:
    """What a dataclass within an answer holds."""
    found: dict[str, Any] = answer.to_dict() if hasattr(answer, "to_dict") else asdict(answer)
    return found


class Guard:
    """Refuses other names, pages of others and strangers; adds the headers to all answers.

    Parameters
    ----------
    app : application
    hosts : set of str, or None
        The names under which the server answers. Other names in a request mean that some other
        site has its name point here, to read what is none of its business.
    token : str, optional
        What a client has to know: as ``?token=`` of the page, which then sets a cookie, or as
        ``Authorization: Bearer`` (or Label Studio's ``Token``).
    same_origin : bool
        Whether pages of other servers are refused.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: frozenset[str] | None,
        token: str | None = None,
        same_origin: bool = False,
    ) -> None:
        self.app = app
        self.hosts = hosts
        self.token = token
        self.same_origin = same_origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        app = self._refusal(scope) or self.app
        await app(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        if self.hosts is not None and host_in(headers) not in self.hosts:
            return error(421, "this server goes by another name")
        origin = headers.get("origin") if self.same_origin else None
        if origin is not None and origin.partition("://")[2] != headers.get("host"):
            return error(403, "pages of other servers may not ask this one")
        if self.token is None or self._knows(headers):
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and _same(given, self.token):
            answer = RedirectResponse("./", 303)
            answer.set_cookie(COOKIE, quote(self.token), httponly=True, samesite="strict")
            return answer
        return error(401, "this server needs a token: open the page with ?token=")

    def _knows(self, headers: Headers) -> bool:
        assert self.token is not None
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() in ("bearer", "token") and _same(given.strip(), self.token):
            return True
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return found is not None and _same(unquote(found.value), self.token)


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode("utf-8", "replace"))


def guards(hosts: Iterable[str] | None, **options: Any) -> list[Middleware]:
    """What stands before an application."""
    allowed = None if hosts is None else frozenset(hosts)
    return [Middleware(Guard, hosts=allowed, **options)]


def host_in(headers: Headers) -> str:
    """The host that was asked for, without its port."""
    host: str = headers.get("host", "")
    if host.startswith("["):  # IPv6
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


async def read_body(request: Request, limits: Limits, most: int = MOST_BYTES) -> bytes:
    """The body of a request, which has to be JSON, of bounded size, and in time."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError(415, "the body has to be JSON, with the content type application/json")
    too_large = RequestError(413, f"the body is larger than {most} bytes")
    declared = request.headers.get("content-length", "0")
    if not declared.isdigit() or int(declared) > most:
        raise too_large
    body = b""
    try:
        with anyio.fail_after(limits.body):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise too_large
    except TimeoutError:
        seconds = f"{limits.body:g} seconds"
        raise RequestError(408, f"the request has not arrived within {seconds}") from None
    except ClientDisconnect:  # nobody hears the answer
        raise RequestError(400, "the request has not arrived as a whole") from None
    return body


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


HANDLERS: dict[Any, Callable[..., Any]] = {
    RequestError: refused,
    InputError: refused,
    HTTPException: refused,
    Exception: failed,
}
