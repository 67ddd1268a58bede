"""The command that writes models as programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

from dualstruct.cli.files import check_not_read
from dualstruct.cli.options import Json
from dualstruct.cli.output import print_json, say
from dualstruct.cli.parameters import Argument, Option


def export(
    model: Annotated[
        Path, Argument(help="A model file written by train, or one of CRFsuite or Wapiti.")
    ],
    out: Annotated[
        Path, Argument(help="The .py file to write, or a folder for the other targets.")
    ],
    target: Annotated[
        str,
        Option(
            metavar="python|js|wasm",
            help="python writes one file; js and wasm write a module for Node and browsers.",
        ),
    ] = "python",
    weights: Annotated[
        str,
        Option(
            metavar="inside|beside",
            help="Store the weights inside the Python file, or in a file beside it.",
        ),
    ] = "inside",
    as_json: Json = False,
) -> None:
    """Write a model as a program that does not need dualstruct.

    The program predicts the same labels as dualstruct. Models with vectors, feature functions,
    document features, two stages or a learned tokenizer cannot be exported.
    """
    from dualstruct.compressing import show_size
    from dualstruct.exporting import export_model, open_exportable
    from dualstruct.exporting.exports import check_place, find_target

    check_not_read(out, [model])
    check_place(out, find_target(target))
    found = export_model(open_exportable(model), out, target, weights=cast(Any, weights))
    if as_json:
        print_json(found.summary())
    else:
        for path, size in found.files.items():
            say(f"{path}: {show_size(size)}")
