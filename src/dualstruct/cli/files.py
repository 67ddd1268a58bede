"""What the commands read and write."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualstruct.cli.output import tell, warnings_printed
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

    def described(warning: Warning) -> str:
        if not isinstance(warning, UnseenLabelWarning):
            return str(warning)
        found = warning.found
        where = data.where(found.sentence, found.token)
        return (
            f"{where}: the label {found.label!r} was never seen in training; "
            "such tokens count as mistakes"
        )

    try:
        with warnings_printed(described):
            yield
    except UnseenLabelError as error:
        found = error.found
        where = data.where(found.sentence, found.token)
        raise InputError(f"{where}: the label {found.label!r} was never seen in training") from None


def check_outputs(written: list[Path | None], read: list[Any]) -> None:
    """A model that cannot be written, or would destroy data, must not cost a training run."""
    from dualstruct.data.arrays import check_target

    for path in written:
        if path is not None:
            check_target(path)
            if path.suffix != ".dstruct":
                _check_not_read(path, read)


def check_page(path: Path | None, read: list[Any]) -> None:
    """Refuse a name that no page can be written to, before any work is done."""
    from dualstruct.data.arrays import check_writable

    if path is None:
        return
    if path.suffix not in (".html", ".htm"):
        raise InputError(f"--html writes a page: {path} should end in .html")
    check_writable(path)
    _check_not_read(path, read)


def write_page(path: Path, page: str) -> None:
    """Write a page, and say so."""
    from dualstruct.data.writing import replace_file

    replace_file(path, page.encode("utf-8", "backslashreplace"))
    tell(f"page written to {path}")


def _check_not_read(path: Path, read: list[Any]) -> None:
    inputs = {Path(source).resolve() for source in read if source is not None}
    if path.resolve() in inputs:
        raise InputError(f"{path} is read by this command and cannot be written by it as well")
