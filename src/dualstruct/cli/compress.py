"""The command that makes model files small."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dualstruct.cli.files import check_outputs
from dualstruct.cli.options import Json, Model, Reading, SameColumns, SameLabelColumn, Threads
from dualstruct.cli.output import print_json, say, tell
from dualstruct.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from dualstruct.compressing import Compression


def compress(
    model: Model,
    out: Annotated[Path, Argument(help="The file to write.")],
    dev: Annotated[
        str | None,
        Option(
            help="Labelled data that were not used for training; the loss of "
            "accuracy is measured on them."
        ),
    ] = None,
    loss_of: Annotated[
        float, Option(help="How much the score on --dev may fall: 0.0005 is 0.05 points.")
    ] = 0.0005,
    size: Annotated[
        str | None, Option(help="The largest acceptable file size, for example 450KB or 1MB.")
    ] = None,
    bits: Annotated[
        int | None, Option(min=3, max=8, help="Bits per weight; 8 or 6 by default.")
    ] = None,
    names: Annotated[
        bool,
        Option(
            "--names/--no-names",
            help="Keep feature names; without them the model can predict, but not explain.",
        ),
    ] = True,
    label_column: SameLabelColumn = None,
    columns: SameColumns = None,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Make a model smaller: fewer weights, fewer bits, packed names.

    With --dev, the result is the smallest file whose score falls by at most --loss-of; with --size,
    the best one of at most this size. A compressed model works like any other; training that
    starts from it (train --start) produces an uncompressed model.
    """
    check_outputs([out], [model, dev])
    reading = Reading(label_column, columns, threads)
    choice = {"loss_of": loss_of, "size": size, "bits": bits, "names": names}
    found = compressed_file(model, out, dev, reading, **choice)
    if as_json:
        print_json({"model": str(out), **found.summary()})
    else:
        say(found)
        say(f"model written to {out}")


def compressed_file(
    model: Path, out: Path, dev: str | None, reading: Reading, **choice: Any
) -> Compression[Any]:
    """Compress a model file into another one."""
    from dualstruct.cli.models import open_model
    from dualstruct.compressing import compress as compressed
    from dualstruct.data.arrays import check_target

    check_target(out)

    def watch(tried: Compression[Any]) -> None:
        if sys.stderr.isatty():
            tell(str(tried))

    opened = open_model(model)
    data = None if dev is None else opened.labelled(dev, reading)
    found: Compression[Any] = compressed(opened.model, data, watch=watch, **choice)
    found.save(out)
    return found
