"""What the command ``dualstruct serve`` does: a page for a model, on this machine."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from dualstruct.cli.listening import Browser, Host, Listening, Port, need_server
from dualstruct.cli.options import Json
from dualstruct.cli.output import tell
from dualstruct.cli.parameters import Argument, Option
from dualstruct.errors import InputError


def serve(
    models: Annotated[
        list[Path],
        Argument(
            metavar="MODEL [OTHER]",
            help="One or two model files written by train; with two, the page shows "
            "where they differ.",
        ),
    ],
    train: Annotated[
        Path | None,
        Option(help="The training file; the page then shows which of its labels look wrong."),
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    browser: Browser = True,
    as_json: Json = False,
) -> None:
    """Open a web page for a model: its predictions and the reasons.

    With two models, the page shows both predictions and marks the differences.

    The server also has a JSON interface (/api, described by /openapi.json). By default only this
    machine can reach it. Ctrl-C ends it.
    """
    need_server("serve")
    from dualstruct.estimators import load_model
    from dualstruct.serving.answers import serve_model
    from dualstruct.serving.app import create_app
    from dualstruct.serving.suspicion import Suspicion

    if train is not None and not train.is_file():
        raise InputError(f"{train} does not exist")
    if len(models) > 2:
        raise InputError(f"there are {len(models)} models; the page shows one, or two side by side")
    served, *others = [serve_model(load_model(path), path.name) for path in models]
    suspicion = Suspicion(None if train is None else partial(served.suspects, train))
    listening = Listening(host, port)
    beside = others[0] if others else None
    app = create_app(served, suspicion, beside=beside, hosts=listening.hosts)
    if not listening.near:
        tell(f"whoever reaches {host} can use the model")
    facts = {"model": str(models[0]), **({"beside": str(models[1])} if others else {})}
    listening.announce(" beside ".join(map(str, models)), facts, as_json)
    listening.run(app, browser, suspicion.start)
