"""What the command ``dualstruct serve`` does: a page for a model, on this machine."""

from __future__ import annotations

import ipaddress
import socket
import sys
import threading
import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dualstruct.cli.options import Json
from dualstruct.cli.output import print_json, say, tell
from dualstruct.errors import InputError

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    model: Annotated[Path, typer.Argument(help="A model file that train wrote.")],
    train: Annotated[
        Path | None,
        typer.Option(help="The training file: the page shows which of its sentences are suspect."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; others than this reach the network.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 8000,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    as_json: Json = False,
) -> None:
    """Open a page for a model: type a sentence, see its labels or tree, and why.

    A JSON interface is beside it (/api, described by /openapi.json). It listens on this machine
    only by default, and needs no network. Ctrl-C ends it.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise InputError(
            "serve needs starlette and uvicorn: pip install 'dualstruct[serve]'"
        ) from None
    from dualstruct.estimators import load_model
    from dualstruct.serving.answers import serve_model
    from dualstruct.serving.app import create_app
    from dualstruct.serving.connections import Limits, bounded_config
    from dualstruct.serving.log import logged
    from dualstruct.serving.suspicion import Suspicion

    if train is not None and not train.is_file():
        raise InputError(f"{train} does not exist")
    served = serve_model(load_model(model), model.name)
    suspicion = Suspicion(None if train is None else partial(served.suspects, train))
    listening = _listen(host, port)
    near = _is_loopback(host)
    limits = Limits()
    app = create_app(served, suspicion, hosts=(*LOOPBACK, host) if near else None, limits=limits)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/"
    if not near:
        tell(f"whoever reaches {host} can use the model")
    if as_json:
        print_json({"model": str(model), "address": address})
    else:
        say(f"{model} is at {address} (Ctrl-C ends it)")
    sys.stdout.flush()
    suspicion.start()
    config = bounded_config(app, limits)
    if browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    try:
        with logged():
            uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        tell("ended")


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0]
        raise InputError(
            f"cannot listen on port {port} of {host}: {why}; --host and --port name others"
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
