"""How a page is served: on which address, until Ctrl-C."""

from __future__ import annotations

import ipaddress
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from dualstruct.cli.output import print_json, say, tell
from dualstruct.cli.parameters import Option
from dualstruct.errors import InputError

LOOPBACK = ("127.0.0.1", "::1", "localhost")

Host = Annotated[
    str,
    Option(
        help="The address to listen on. With any other address than the default, "
        "the network can reach the page."
    ),
]
Port = Annotated[int, Option(min=0, max=65535, help="The port; 0 means any free port.")]
Browser = Annotated[bool, Option(help="Open the page in a browser.")]


def need_server(command: str) -> None:
    """An error unless the libraries that serve pages are installed."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise InputError(
            f"{command} needs starlette and uvicorn: pip install 'dualstruct[serve]'"
        ) from None


class Listening:
    """An address that is listened on, and the page there."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.near = is_loopback(host)
        self._socket = _listen(host, port)
        shown = f"[{host}]" if ":" in host else host
        self.address = f"http://{shown}:{self._socket.getsockname()[1]}/"

    @property
    def hosts(self) -> tuple[str, ...] | None:
        """The names by which it may be asked; any where others reach it."""
        return (*LOOPBACK, self.host) if self.near else None

    def announce(self, name: str, facts: dict[str, Any], as_json: bool, address: str = "") -> None:
        """Say where it is."""
        where = address or self.address
        if as_json:
            print_json({**facts, "address": where})
        else:
            say(f"{name} is at {where} (Ctrl-C ends it)")
        sys.stdout.flush()

    def run(self, app: Any, browser: bool, begin: Callable[[], None], address: str = "") -> None:
        """Serve until Ctrl-C."""
        import uvicorn

        from dualstruct.serving.connections import Limits, bounded_config
        from dualstruct.serving.log import logged

        server = uvicorn.Server(bounded_config(app, Limits()))
        with _interrupts_end(server):
            begin()
            if browser:
                where = address or self.address
                threading.Thread(target=webbrowser.open, args=(where,), daemon=True).start()
            with logged():
                server.run(sockets=[self._socket])
        tell("ended")


@contextmanager
def _interrupts_end(server: Any) -> Iterator[None]:
    """Ctrl-C ends the server, however far it has come.

    As an exception it may be raised where nothing gets it, before the handlers of the server itself
    are there, and is lost.
    """

    def interrupted(*received: object) -> None:
        server.should_exit = True

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        made = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0]
        raise InputError(
            f"cannot listen on port {port} of {host}: {why}; --host and --port name others"
        ) from None
    # Answers go out at once: without it, a part of one may wait 40 ms for the client to say that
    # another part has come. Connections inherit it.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
