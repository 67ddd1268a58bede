"""What the command ``dualstruct serve`` does: a page for a model, on this machine."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dualstruct.cli.listening import Browser, Host, Listening, Port, need_server
from dualstruct.cli.options import Json
from dualstruct.cli.output import tell
from dualstruct.errors import InputError


def serve(
    model: Annotated[Path, typer.Argument(help="A model file that train wrote.")],
    train: Annotated[
        Path | None,
        typer.Option(help="The training file: the page shows which of its sentences are suspect."),
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    browser: Browser = True,
    as_json: Json = False,
) -> None:
    """Open a page for a model: type a sentence, see its labels or tree, and why.

    A JSON interface is beside it (/api, described by /openapi.json). It listens on this machine
    only by default, and needs no network. Ctrl-C ends it.
    """
    need_server("serve")
    from dualstruct.estimators import load_model
    from dualstruct.serving.answers import serve_model
    from dualstruct.serving.app import create_app
    from dualstruct.serving.suspicion import Suspicion

    if train is not None and not train.is_file():
        raise InputError(f"{train} does not exist")
    served = serve_model(load_model(model), model.name)
    suspicion = Suspicion(None if train is None else partial(served.suspects, train))
    listening = Listening(host, port)
    app = create_app(served, suspicion, hosts=listening.hosts)
    if not listening.near:
        tell(f"whoever reaches {host} can use the model")
    listening.announce(str(model), {"model": str(model)}, as_json)
    listening.run(app, browser, suspicion.start)
