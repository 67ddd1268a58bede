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
        Path, Argument(help="A model file that train wrote, or one of CRFsuite or Wapiti.")
    ],
    out: Annotated[Path, Argument(help="The file to write, ….py, or a folder for other targets.")],
    target: Annotated[
        str,
        Option(help="What to write: python, one file; js or wasm, a module for Node and browsers."),
    ] = "python",
    weights: Annotated[
        str,
        Option(help="Where a Python file has its weights: inside, or beside it."),
    ] = "inside",
    as_json: Json = False,
) -> None:
    """Write a model as a program that needs no dualstruct: Python or JavaScript.

    Its labels are those of predict, for words, columns or attributes, and for texts. Models with
    vectors, functions as features, documents, a first stage or a learned tokenizer are refused.
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
