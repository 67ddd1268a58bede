"""Arguments and options that several commands have."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[Path, typer.Argument(help="A model file that train wrote.")]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Which columns make up the tokens, such as 0,2, counted from 0; all but the label by "
        "default."
    ),
]
LabelColumn = Annotated[
    int | None,
    typer.Option(
        help="Where the label is, counted from 0, or from the end if negative. Default: -1."
    ),
]
#: The same for a model, which knows how its training file was read.
SameColumns = Annotated[
    str | None,
    typer.Option("--columns", help="Which columns make up the tokens; as in training by default."),
]
SameLabelColumn = Annotated[
    int | None,
    typer.Option("--label-column", help="Where the label is; as in training by default."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads for inference.")]


@dataclass(frozen=True)
class Reading:
    """How a model's files are read; what is None is as in training."""

    label_column: int | None
    columns: str | None
    threads: int


@dataclass(frozen=True)
class Wanted:
    """What predictions are printed with."""

    k_best: int | None
    marginals: bool
    confidence: bool
