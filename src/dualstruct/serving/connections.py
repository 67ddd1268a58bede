"""What one client may take of the server: time, connections, and room in the log.

A connection waits for a request, or answers one. It may wait for ``Limits.header`` seconds until a
request begins, and as long again until its headers are there; a slow client does not get
more. Then ``Limits.request`` seconds remain until there is an answer, and as many for the
client to take it. There are at most
``Limits.connections``: one more takes the place of the one that has waited longest, and where all
are answering it is turned down.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["Limits", "bounded_config", "bounded_protocol", "most_connections"]

#: Descriptors for everything else: the model, the page's files, pipes, the log.
RESERVED = 64

_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%s"
)
_BUSY = b'{"error":"the server has too many requests at once; try again later"}'


@dataclass(frozen=True)
class Limits:
    """How long things may take, in seconds, and how many connections there may be."""

    header: float = 10.0  #: until a request begins, and until its headers have arrived
    body: float = 10.0  #: until its body has arrived
    answer: float = 20.0  #: until an answer is there
    request: float = 60.0  #: from the headers until the answer, and from then until it was taken
    connections: int = 256


def most_connections(limits: Limits) -> int:
    """How many connections the server can hold, and as many again that wait to be accepted."""
    try:
        import resource
    except ImportError:  # Windows
        return limits.connections
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return limits.connections
    return max(min(limits.connections, (descriptors - RESERVED) // 2), 4)


def bounded_protocol(limits: Limits) -> type[asyncio.Protocol]:
    """The protocol of uvicorn, with these limits."""
    most = most_connections(limits)

    class Bounded(H11Protocol):  # type: ignore[misc]
        """One connection."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.since = self.loop.time()  # waiting or answering
            self.begun = False  # whether anything of the next request is there
            self.taking = False  # whether it got more time to take an answer
            self.deadline: asyncio.TimerHandle | None = None

        @property
        def is_answering(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.wait()
            open_ones = [each for each in self.connections if not each.transport.is_closing()]
            if len(open_ones) <= most:
                return
            waiting = [each for each in open_ones if each is not self and not each.is_answering]
            if waiting:
                min(waiting, key=lambda each: each.since).transport.abort()
            else:
                transport.write(_FULL % (len(_BUSY), _BUSY))
                transport.close()

        def data_received(self, data: bytes) -> None:
            answering = self.is_answering
            super().data_received(data)
            if self.is_answering and not answering:
                self.allow(limits.request)
            elif not answering and not self.begun:
                self.begun = True
                self.allow(limits.header)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.is_answering:  # the next request was there already
                self.allow(limits.request)
            else:
                self.wait()

        def connection_lost(self, problem: Exception | None) -> None:
            super().connection_lost(problem)
            if self.deadline is not None:
                self.deadline.cancel()

        def wait(self) -> None:
            """For the next request."""
            self.begun = self.taking = False
            self.allow(limits.header)

        def allow(self, seconds: float) -> None:
            """From now on; then the connection ends, whatever is still to be read or written."""
            if self.deadline is not None:
                self.deadline.cancel()
            self.since = self.loop.time()
            self.deadline = self.loop.call_later(seconds, self.end)

        def end(self) -> None:
            """Time is up; only a client that is still to take its answer gets more, once."""
            if self.transport.get_write_buffer_size() and not self.taking:
                self.taking = True
                self.allow(limits.request)
            else:
                self.transport.abort()

    return Bounded


def bounded_config(app: Any, limits: Limits, **options: Any) -> Config:
    """How uvicorn serves an application within limits; nothing is written but by :mod:`logging`."""
    return Config(
        app,
        http=bounded_protocol(limits),
        ws="none",
        lifespan="off",
        server_header=False,
        access_log=False,
        log_config=None,
        # As many are accepted at once, before any is turned down.
        backlog=most_connections(limits),
        timeout_keep_alive=max(int(limits.header), 1),
        timeout_graceful_shutdown=5,
        **options,
    )
