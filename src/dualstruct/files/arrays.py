"""Files of arrays and facts: safetensors with one JSON object in its header.

Such a file can be memory-mapped, holds no code, and is written beside its place and then
renamed: a full disk or a crash leaves the old file as it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from dualstruct.errors import InputError
from dualstruct.files.writing import OutputError

#: Raised when the layout changes so that older programs would misread it.
FORMAT_VERSION = 1


def write_arrays(
    path: str | Path, format: str, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write facts (JSON) and arrays to ``path``, all or nothing."""
    path = Path(path)
    check_target(path)
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    checksum = _checksum(tensors)
    header = {"format": format, "version": FORMAT_VERSION, "checksum": checksum, **facts}
    beside = None
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        text = json.dumps(header, default=_plain_number)
        save_file(tensors, beside, metadata={"dualstruct": text})
        with open(beside, "r+b") as written:
            os.fsync(written.fileno())
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, path)
        beside = None
    except (OSError, SafetensorError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise OutputError(f"{path} could not be written: {reason}") from None
    finally:
        if beside is not None:
            Path(beside).unlink(missing_ok=True)


def read_arrays(path: str | Path, format: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What :func:`write_arrays` wrote."""
    with _opened(path, format) as (file, facts):
        if facts["format"] != format:
            raise InputError(f"{path} is not a {format} file, but a {facts['format']} file")
        if facts["version"] > FORMAT_VERSION:
            raise InputError(
                f"{path} has format version {facts['version']}; this dualstruct reads up to "
                f"{FORMAT_VERSION}: update dualstruct to read it"
            )
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if facts.pop("checksum") != _checksum(arrays):
            raise InputError(f"{path} is damaged: its checksum does not match")
        return facts, arrays


def format_of(path: str | Path) -> str:
    """What kind of file :func:`write_arrays` was told to write."""
    with _opened(path, "dualstruct model") as (_, facts):
        return str(facts["format"])


@contextmanager
def _opened(path: str | Path, format: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A file and the facts in its header."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a file")
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            if "dualstruct" not in metadata:
                raise InputError(f"{path} is not a {format} file")
            facts = json.loads(metadata["dualstruct"])
            if not isinstance(facts, dict) or "format" not in facts:
                raise InputError(f"{path} is not a {format} file")
            yield file, facts
    except OSError as error:
        raise InputError(f"{path} could not be read: {error.strerror or error}") from None
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is damaged, cut short or not a {format} file") from None


def check_target(path: Path) -> None:
    """Refuse to write over what is not a file of ours, or where nothing can be written."""
    if path.is_dir():
        raise OutputError(f"{path} is a folder; a file name is wanted")
    if path.exists():
        if not path.is_file():
            raise OutputError(f"{path} is not a regular file")
        if path.stat().st_size and not is_ours(path):
            raise OutputError(
                f"{path} exists and is not a file that dualstruct wrote; choose another name"
            )
    elif not path.parent.is_dir():
        raise OutputError(f"{path} could not be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path} could not be written: no permission in {path.parent}")


def is_ours(path: str | Path) -> bool:
    """Whether a file begins like one that :func:`write_arrays` wrote."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return length < 10**9 and b'"dualstruct"' in file.read(length)


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    total = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        total.update(name.encode())
        total.update(np.ascontiguousarray(arrays[name]).data)
    return total.hexdigest()


def _plain_number(value: Any) -> Any:
    """numpy's numbers, which parameter searches hand out, as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be written to a file")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
