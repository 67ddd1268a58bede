"""What the commands read and write."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualstruct.cli.output import warnings_told
from dualstruct.errors import InputError

if TYPE_CHECKING:
    from dualstruct.data.columns import ColumnFile


def read(path: str, label_column: int, columns: str | None) -> ColumnFile:
    """A column file to train on."""
    from dualstruct.data.columns import read_columns

    return read_columns(path, label_column=label_column, columns=column_numbers(columns))


def column_numbers(columns: str | None) -> list[int] | None:
    """0,2 as numbers."""
    if columns is None:
        return None
    try:
        return [int(part) for part in columns.split(",")]
    except ValueError:
        raise InputError(f"--columns is {columns!r}; numbers such as 0,2 are wanted") from None


@contextlib.contextmanager
def located(data: ColumnFile) -> Iterator[None]:
    """Says where in the file an unseen label stands."""
    from dualstruct.labels.names import UnseenLabelError, UnseenLabelWarning

    def told(warning: Warning) -> str:
        if not isinstance(warning, UnseenLabelWarning):
            return str(warning)
        found = warning.found
        where = data.where(found.sentence, found.token)
        return (
            f"{where}: the label {found.label!r} was never seen in training; "
            "such tokens count as mistakes"
        )

    try:
        with warnings_told(told):
            yield
    except UnseenLabelError as error:
        found = error.found
        where = data.where(found.sentence, found.token)
        raise InputError(f"{where}: the label {found.label!r} was never seen in training") from None


def check_outputs(written: list[Path | None], read: list[Any]) -> None:
    """A model that cannot be written, or would destroy data, must not cost a training run."""
    from dualstruct.data.arrays import check_target

    inputs = {Path(source).resolve() for source in read if source is not None}
    for path in written:
        if path is None:
            continue
        check_target(path)
        if path.resolve() in inputs and not path.suffix == ".dstruct":
            raise InputError(f"{path} is read by this command and cannot be written by it as well")
