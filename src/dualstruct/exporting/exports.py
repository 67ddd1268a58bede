"""Writing a model as a program."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dualstruct.data.arrays import check_writable
from dualstruct.data.opening import read_pieces
from dualstruct.data.writing import OutputError, replace_file
from dualstruct.errors import InputError
from dualstruct.exporting.targets import TARGETS, Target

__all__ = ["Exported", "export_model"]

#: What tells a file that was exported from one that somebody wrote.
_MARK = b"exported by dualstruct"


@dataclass(frozen=True)
class Exported:
    """What was written."""

    target: str
    files: dict[str, int]  #: their bytes, by path

    def summary(self) -> dict[str, Any]:
        """As JSON."""
        return {"target": self.target, "files": self.files}


def export_model(
    model: Any,
    path: str | os.PathLike[str],
    target: str = "python",
    *,
    weights: Literal["inside", "beside"] = "inside",
) -> Exported:
    """Write a model as a program that does not need dualstruct.

    Parameters
    ----------
    model : SequenceTagger
    path : path
        The file ``….py`` to write, or the folder for other targets.
    target : str
        One of :data:`TARGETS`.
    weights : {"inside", "beside"}
        Whether the weights are in the Python file, or in a file ``….weights`` beside it.

    Examples
    --------
    >>> import runpy
    >>> from tempfile import TemporaryDirectory
    >>> from dualstruct import SequenceTagger
    >>> tagger = SequenceTagger(features="pos").fit([["a", "dog"]], [["DET", "NOUN"]])
    >>> with TemporaryDirectory() as folder:
    ...     _ = export_model(tagger, Path(folder) / "tagger.py")
    ...     exported = runpy.run_path(str(Path(folder) / "tagger.py"))
    >>> exported["tag"](["a", "dog"])
    ['DET', 'NOUN']
    """
    chosen = find_target(target)
    if weights not in ("inside", "beside"):
        raise InputError(f"weights is {weights!r}; it must be inside or beside")
    out = Path(path)
    check_place(out, chosen)
    if model.model_format not in chosen.kinds:
        others = [each.name for each in TARGETS.values() if model.model_format in each.kinds]
        only = f" to {target}, only to {' and '.join(others)}" if others else ""
        raise InputError(f"a {type(model).__name__} cannot be exported{only}")
    files = chosen.kinds[model.model_format](model, out.stem, weights == "beside")
    folder = out if chosen.folder else out.parent
    for name in files:
        _check_file(folder / name)
    if chosen.folder:
        out.mkdir(exist_ok=True)
    for name, data in files.items():
        replace_file(folder / name, data)
    return Exported(target, {str(folder / name): len(data) for name, data in files.items()})


def find_target(name: str) -> Target:
    """The target of this name."""
    if name not in TARGETS:
        raise InputError(f"there is no target {name!r}; the targets are {', '.join(TARGETS)}")
    return TARGETS[name]


def check_place(out: Path, target: Target) -> None:
    """Refuse a name that the target cannot be written to, before any work is done."""
    if target.folder:
        if out.exists() and not out.is_dir():
            raise OutputError(f"{out} is a file; the target {target.name} is a folder")
        if not out.parent.is_dir():
            raise OutputError(f"{out} could not be written: there is no folder {out.parent}")
        return
    if out.suffix != ".py":
        raise InputError(f"{out}: the target python is one file, whose name ends in .py")
    check_writable(out)


def _check_file(path: Path) -> None:
    """Refuse to write over what was not exported; data beside the code begin as ours do."""
    if not path.is_file() or not path.stat().st_size:
        return
    if path.suffix in (".py", ".mjs", ".ts") and _MARK not in next(read_pieces(path, 4096), b""):
        raise OutputError(f"{path} exists and was not exported by dualstruct; choose another name")
