"""Files of arrays and metadata: the format of safetensors, with one JSON object in its metadata.

    8 bytes   the length of the header
    header    JSON: where each array lies, its type and shape; in ``__metadata__`` ours, as text
    arrays    one after the other

Such a file holds no code, and other programs that know safetensors can read its arrays. It is read
into memory, not mapped: a file that shrinks meanwhile is refused, and does not end the process. The
checksum is that of the whole file, with zeros in its own place.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

try:  # hashlib would bring OpenSSL with it, 5 MB of memory for nothing
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

from dualstruct import _core
from dualstruct.data.writing import OutputError, followed, replacing
from dualstruct.errors import InputError

#: Raised when the layout changes so that older programs would misread it. In version 1 the checksum
#: is that of the arrays, in 2 of the whole file; from 3 on the arrays come into it by sums of the
#: core's, which take a tenth of the time, and may be packed (:mod:`dualstruct.data.packed`).
FORMAT_VERSION = 3
#: Bytes of a header, as in safetensors.
LONGEST_HEADER = 100_000_000
_MOST_DIMENSIONS = 8
_NO_CHECKSUM = "0" * 64
_TYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "F16": "<f2",
    "U32": "<u4",
    "I32": "<i4",
    "F32": "<f4",
    "U64": "<u8",
    "I64": "<i8",
    "F64": "<f8",
}
_TYPE_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}


def write_arrays(
    path: str | Path, format: str, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write metadata (JSON) and arrays to ``path``, all or nothing."""
    path = Path(path)
    check_target(path)
    header, tensors = _laid_out(path, format, metadata, arrays)
    with replacing(path) as file:
        _put(file, header, tensors)


def packed_arrays(
    format: str, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> bytes:
    """The same as bytes."""
    file = BytesIO()
    _put(file, *_laid_out("the file", format, metadata, arrays))
    return file.getvalue()


def _laid_out(
    path: str | Path, format: str, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> tuple[bytes, list[NDArray[Any]]]:
    """The header, and the arrays in their order in the file."""
    fixed = {"format": format, "version": FORMAT_VERSION, "checksum": _NO_CHECKSUM}
    ours = _json({**fixed, **metadata, **fixed})
    listed: dict[str, Any] = {"__metadata__": {"dualstruct": ours}}
    tensors = []
    end = 0
    for name, array in sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0])):
        array = np.ascontiguousarray(array)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        shape, begin, end = list(array.shape), end, end + array.nbytes
        dtype = _TYPE_NAMES[array.dtype]
        listed[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
        tensors.append(array)
    header = json.dumps(listed, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    if len(header) > LONGEST_HEADER:
        raise OutputError(
            f"{path} could not be written: its header takes {len(header):,} bytes, more than "
            f"{LONGEST_HEADER:,}"
        )
    return header, tensors


def _put(file: IO[bytes], header: bytes, tensors: Iterable[NDArray[Any]]) -> None:
    total = blake2b(digest_size=32)
    start = len(header).to_bytes(8, "little") + header
    file.write(start)
    total.update(start)
    for tensor in tensors:
        file.write(_bytes_of(tensor))
        total.update(_sum_of(tensor))
    file.seek(8 + _place_of(_NO_CHECKSUM, header))
    file.write(total.hexdigest().encode())


def read_arrays(path: str | Path, format: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What :func:`write_arrays` wrote."""
    with _opened(path, format) as (file, header):
        metadata = header.metadata
        if metadata["format"] != format:
            raise InputError(f"{path} is not a {format} file, but a {metadata['format']} file")
        if metadata["version"] > FORMAT_VERSION:
            raise InputError(
                f"{path} has format version {metadata['version']}; this dualstruct reads up to "
                f"{FORMAT_VERSION}: update dualstruct to read it"
            )
        # In one piece: large ones get large pages, which come ten times as fast.
        data = np.empty(header.places[-1].end if header.places else 0, np.uint8)
        if file.readinto(data.data) != data.nbytes:
            raise _DamageError
        arrays = {}
        for place in header.places:
            part = data[place.begin : place.end]
            whole = part if place.begin % place.dtype.itemsize == 0 else part.copy()
            arrays[place.name] = whole.view(place.dtype).reshape(place.shape)
        if header.checksum(arrays) != metadata.pop("checksum"):
            raise InputError(f"{path} is damaged: its checksum does not match")
        return metadata, arrays


def format_of(path: str | Path) -> str:
    """What kind of file :func:`write_arrays` was asked to write."""
    with _opened(path, "dualstruct model") as (_, header):
        return str(header.metadata["format"])


class _DamageError(Exception):
    """A file is not what was written."""


class _Place(NamedTuple):
    """Where an array lies."""

    begin: int
    end: int
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class _Header(NamedTuple):
    text: bytes
    metadata: dict[str, Any]
    places: list[_Place]  #: in the order of the file, without gaps

    def checksum(self, arrays: Mapping[str, NDArray[Any]]) -> str:
        """What the checksum of such a file should be."""
        stored = self.metadata["checksum"]
        if len(stored) < len(_NO_CHECKSUM):  # of version 1
            total = blake2b(digest_size=16)
            for name in sorted(arrays):
                total.update(name.encode())
                total.update(arrays[name].data)
            return total.hexdigest()
        at = _place_of(stored, self.text)
        total = blake2b(len(self.text).to_bytes(8, "little"), digest_size=32)
        total.update(self.text[:at] + _NO_CHECKSUM.encode() + self.text[at + len(stored) :])
        quick = self.metadata["version"] >= 3
        for place in self.places:
            array = arrays[place.name]
            total.update(_sum_of(array) if quick else _bytes_of(array))
        return total.hexdigest()


def _place_of(checksum: str, header: bytes) -> int:
    """Where the checksum stands in a header."""
    before = b'\\"checksum\\": \\"'  # text in JSON in JSON
    return header.index(before + checksum.encode()) + len(before)


@contextmanager
def _opened(path: str | Path, format: str) -> Iterator[tuple[BufferedReader, _Header]]:
    """A file of dualstruct, after its header."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a file")
    try:
        with open(path, "rb") as file:
            yield file, _read_header(file)
    except OSError as error:
        raise InputError(f"{path} could not be read: {error.strerror or error}") from None
    except (_DamageError, ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is damaged, cut short or not a {format} file") from None


def _read_header(file: BufferedReader) -> _Header:
    about = os.fstat(file.fileno())
    length = int.from_bytes(file.read(8), "little")
    _check(stat.S_ISREG(about.st_mode) and length <= min(LONGEST_HEADER, about.st_size - 8))
    text = file.read(length)
    listed = json.loads(text)
    _check(isinstance(listed, dict))
    metadata = json.loads(listed.pop("__metadata__")["dualstruct"])
    _check(isinstance(metadata, dict) and isinstance(metadata["format"], str))
    _check(type(metadata["version"]) is int and isinstance(metadata["checksum"], str))
    places = sorted(_place(name, about) for name, about in listed.items())
    end = 0
    for place in places:
        _check(place.begin == end)
        end = place.end
    _check(8 + length + end == about.st_size)
    return _Header(text, metadata, places)


def _place(name: str, about: Mapping[str, Any]) -> _Place:
    dtype, shape = np.dtype(_TYPES[about["dtype"]]), about["shape"]
    begin, end = about["data_offsets"]
    _check(isinstance(shape, list) and len(shape) <= _MOST_DIMENSIONS)
    _check(all(type(number) is int and 0 <= number < 2**62 for number in (begin, end, *shape)))
    elements = 1
    for number in shape:
        elements *= number
    _check(end - begin == elements * dtype.itemsize)
    return _Place(begin, end, name, dtype, tuple(shape))


def _check(good: bool) -> None:
    if not good:
        raise _DamageError


def check_target(path: Path) -> None:
    """Refuse to write over what is not a file of dualstruct, or where nothing can be written."""
    check_writable(path)
    path = followed(path)
    if path.exists() and path.stat().st_size and not is_ours(path):
        raise OutputError(
            f"{path} exists and is not a file written by dualstruct; choose another name"
        )


def check_writable(path: Path) -> None:
    """Refuse a place where nothing can be written."""
    path = followed(path)
    if path.is_dir():
        raise OutputError(f"{path} is a folder; a file name is expected")
    if path.exists():
        if not path.is_file():
            raise OutputError(f"{path} is not a regular file")
    elif not path.parent.is_dir():
        raise OutputError(f"{path} could not be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path} could not be written: no permission in {path.parent}")


def is_ours(path: str | Path) -> bool:
    """Whether a file begins like one that :func:`write_arrays` wrote."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return length <= LONGEST_HEADER and b'"dualstruct"' in file.read(length)


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _sum_of(array: NDArray[Any]) -> bytes:
    return _core.checksum(array.reshape(-1).view(np.uint8)).to_bytes(8, "little")


def as_json(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Facts as they come back from a file: lists for tuples, Python's numbers for numpy's."""
    back: dict[str, Any] = json.loads(_json(metadata))
    return back


def _json(metadata: Mapping[str, Any]) -> str:
    return json.dumps(metadata, default=_plain_number)


def _plain_number(value: Any) -> Any:
    """numpy's numbers, which parameter searches hand out, as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be written to a file")
