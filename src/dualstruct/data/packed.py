"""Arrays of a state as a file holds them, without loss: what is 0 is left out, and small numbers
take few bytes.

An array that is packed becomes several, and ``packed`` in the metadata says how it is
reconstructed.

rows    numbers of which most are 0: how many are not in each row, their columns, and they
steps   whole numbers that never fall, as offsets do: the differences
levels  numbers of few different values: these, and which it is (in compressed files)
front   names in order: how many bytes of the one before each begins with, and the rest (in
        compressed files)

In a compressed file all of that is one array of bytes, squeezed by LZMA.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import Range, SchemaError, fit_type, stored_array
from dualstruct.data.writing import OutputError

__all__ = ["PackedRows", "is_squeezed", "pack", "squeeze", "unpack"]

Arrays = dict[str, NDArray[Any]]
Metadata = dict[str, Any]

#: Smaller arrays are left as they are.
_LEAST = 1024
#: How many numbers a row has where an array is one long row.
_ROW = 64
_MOST_LEVELS = 256
#: A file may ask for so many bytes of memory, or so many times its own.
_MOST_BYTES, _MOST_TIMES = 2**28, 256
_UNSIGNED: tuple[Any, ...] = (np.uint8, np.uint16, np.uint32)
_SQUEEZED = "squeezed"
#: A larger window would gain next to nothing, and takes 12 times its size to write.
_WINDOW = {"lc": 3, "pb": 0, "dict_size": 2**20}
#: Names of features: their bytes end to end, and where each begins.
_BYTES, _OFFSETS = "name_bytes", "name_offsets"
_DTYPES = Literal["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
                  "float16", "float32", "float64"]  # fmt: skip


@dataclass(eq=False, repr=False)
class _Packed:
    """How an array was packed."""

    how: Literal["rows", "steps", "levels", "front"]
    dtype: Literal["float32", "int64", "uint32", "uint8"]
    shape: Annotated[list[Annotated[int, Range(0, 2**40)]], Range(1, 8)]


@dataclass(eq=False, repr=False)
class _Piece:
    """An array among the bytes that were squeezed."""

    name: str
    dtype: _DTYPES
    shape: Annotated[list[Annotated[int, Range(0, 2**40)]], Range(0, 8)]
    length: Annotated[int, Range(0, 2**40)]


def pack(
    metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> tuple[Metadata, Arrays]:
    """A state as ordinary files hold it; :func:`unpack` gives it back, bit for bit.

    Examples
    --------
    >>> weights = np.zeros((500, 4), np.float32)
    >>> weights[7, 2] = 1.5
    >>> packed = pack({}, {"w": weights})
    >>> sorted(packed[1]), sum(array.nbytes for array in packed[1].values())
    (['w.columns', 'w.counts', 'w.values'], 505)
    >>> bool((unpack(*packed)[1]["w"] == weights).all())
    True
    """
    how: Metadata = {}
    found: Arrays = {}
    asked = stored = 0
    for name, array in arrays.items():
        parts = None
        if array.size >= _LEAST and array.dtype == np.float32:
            parts, kind = _rows(array), "rows"
        elif array.size >= _LEAST and array.dtype in (np.int64, np.uint32) and array.ndim == 1:
            parts, kind = _steps(array), "steps"
        needed = sum(part.nbytes for part in (parts or {}).values())
        if parts is None or needed >= array.nbytes or asked + array.nbytes > _most(stored + needed):
            found[name] = array
            stored += array.nbytes
            continue
        asked, stored = asked + array.nbytes, stored + needed
        found |= {f"{name}.{part}": values for part, values in parts.items()}
        how[name] = {"how": kind, "dtype": str(array.dtype), "shape": list(array.shape)}
    return ({**metadata, "packed": how} if how else dict(metadata)), found


def squeeze(
    metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> tuple[Metadata, Arrays]:
    """A state as compressed files hold it."""
    import lzma  # not before it is needed: ordinary files are opened without it

    names, others = _front_coded(arrays)
    about, packed = pack(metadata, others)
    how = names | about.get("packed", {})
    pieces, streams = [], []
    for name, array in list(packed.items()):
        if array.dtype == np.float32 and array.size >= _LEAST:
            levels, codes = np.unique(array.view(np.uint32), return_inverse=True)
            if len(levels) <= _MOST_LEVELS:
                del packed[name]
                packed[f"{name}.levels"] = levels.view(np.float32)
                packed[f"{name}.codes"] = codes.reshape(-1).astype(np.uint8)
                shape = list(array.shape)
                how[name] = {"how": "levels", "dtype": "float32", "shape": shape}
    for name, array in sorted(packed.items()):
        stream = lzma.compress(_planes(array), lzma.FORMAT_RAW, filters=_filters())
        streams.append(stream)
        pieces.append(
            {"name": name, "dtype": str(array.dtype), "shape": list(array.shape)}
            | {"length": len(stream)}
        )
    data = np.frombuffer(b"".join(streams), np.uint8)
    if _asked(how, packed) > _most(len(data)):
        raise OutputError(
            "the weights are too many for what is in them; train with fewer hash_bits to compress"
        )
    return {**about, "packed": how, _SQUEEZED: pieces}, {_SQUEEZED: data}


class PackedRows:
    """A matrix that is not built yet: ``np.asarray`` does it.

    What could be wrong with it has been looked for.
    """

    def __init__(
        self,
        name: str,
        shape: tuple[int, int],
        counts: Any,
        columns: Any,
        values: NDArray[np.float32],
    ) -> None:
        self.shape, self.counts, self.columns, self.values = shape, counts, columns, values
        width = shape[1]
        whole = len(counts) == shape[0] and len(columns) == len(values)
        if not whole or int(counts.sum(dtype=np.int64)) != len(values):
            raise SchemaError(f'the array "{name}" has more or fewer numbers than it says')
        if len(columns) and int(columns.max()) >= width:
            raise SchemaError(f'the array "{name}" has a number beyond the end of its row')

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.float32]:
        dense = np.zeros(self.shape, np.float32)
        _core.expand_rows(self.counts, self.columns, self.values, dense)
        return dense if dtype is None else dense.astype(dtype)


def unpack(
    metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], later: Collection[str] = ()
) -> tuple[Metadata, Arrays]:
    """The counterpart of both. What a file asks for must be in proportion to what it holds.

    Matrices whose names are in ``later`` come as :class:`PackedRows`, if they are stored in rows.
    """
    about, found = dict(metadata), dict(arrays)
    stored = sum(array.nbytes for array in found.values())
    room = _Room(_most(stored))
    if _SQUEEZED in about:
        found = _expanded(about.pop(_SQUEEZED), found, room)
    packed = fit_type(dict[str, _Packed], about.pop("packed", {}), "packed")
    made: Any
    for kind, restored in _UNPACKED.items():
        for name, how in packed.items():
            if how.how == kind:
                made = restored(name, how, found, room)
                if isinstance(made, PackedRows) and name not in later:
                    made = np.asarray(made)
                found[name] = made
    return about, found


def is_squeezed(metadata: Mapping[str, Any]) -> bool:
    """Whether a file with such metadata is a compressed one."""
    return _SQUEEZED in metadata


def _most(stored: int) -> int:
    """How many bytes of memory a file of so many bytes may ask for."""
    return max(_MOST_BYTES, _MOST_TIMES * stored)


def _asked(how: Metadata, packed: Arrays) -> int:
    """How many bytes unpacking takes: those of each step."""
    sizes = [np.dtype(each["dtype"]).itemsize * math.prod(each["shape"]) for each in how.values()]
    return int(sum(array.nbytes for array in packed.values()) + sum(sizes))


class _Room:
    """How many bytes a file may still ask for."""

    def __init__(self, bytes: int) -> None:
        self._left = bytes

    def take(self, name: str, shape: list[int], dtype: str) -> int:
        """How many elements such an array has."""
        elements = 1
        for size in shape:
            elements *= size
        self._left -= elements * np.dtype(dtype).itemsize
        if self._left < 0:
            raise SchemaError(f'the array "{name}" is too large for a file of this size')
        return elements


def _smallest(numbers: NDArray[Any], *others: NDArray[Any]) -> Any:
    """The type of the fewest bytes that has room for all of these, if there is one."""
    most = max((int(array.max()) for array in (numbers, *others) if array.size), default=0)
    return next((dtype for dtype in _UNSIGNED if most <= np.iinfo(dtype).max), None)


def _rows(array: NDArray[Any]) -> Arrays | None:
    filled = array.reshape(-1).view(np.uint32) != 0  # -0.0 is not 0 here: nothing may change
    width = array.shape[-1] if array.ndim > 1 else _ROW
    filled = np.append(filled, np.zeros(-len(filled) % width, np.bool_)).reshape(-1, width)
    counts = np.count_nonzero(filled, axis=1)
    places = np.flatnonzero(filled)
    dtype = _smallest(counts, np.array([width - 1]))
    return {
        "counts": counts.astype(dtype),
        "columns": (places % width).astype(dtype),
        "values": array.reshape(-1)[places],
    }


def _from_rows(name: str, how: _Packed, arrays: Arrays, room: _Room) -> Any:
    elements = room.take(name, how.shape, how.dtype)
    counts = arrays.pop(f"{name}.counts", None)
    columns = arrays.pop(f"{name}.columns", None)
    values = stored_array(arrays, f"{name}.values", np.float32)
    del arrays[f"{name}.values"]
    if counts is None or columns is None or counts.ndim != 1 or columns.ndim != 1:
        raise SchemaError(f'a part of the array "{name}" is missing')
    if counts.dtype != columns.dtype or counts.dtype not in _UNSIGNED or how.dtype != "float32":
        raise SchemaError(f'the parts of the array "{name}" are of other types than they may be')
    if len(how.shape) == 2 and how.shape[1]:
        return PackedRows(name, (how.shape[0], how.shape[1]), counts, columns, values)
    width = how.shape[-1] if len(how.shape) > 1 else _ROW
    rows = -(-elements // width) if width else 0
    dense = np.zeros((rows, max(width, 1)), np.float32)
    _core.expand_rows(counts, columns, values, dense)
    return dense.reshape(-1)[:elements].reshape(how.shape)


def _steps(array: NDArray[Any]) -> Arrays | None:
    if array[0] < 0 or (array[1:] < array[:-1]).any():
        return None
    steps = np.diff(array, prepend=array.dtype.type(0))
    dtype = _smallest(steps)
    return None if dtype is None else {"steps": steps.astype(dtype)}


def _from_steps(name: str, how: _Packed, arrays: Arrays, room: _Room) -> NDArray[Any]:
    elements = room.take(name, how.shape, how.dtype)
    steps = arrays.pop(f"{name}.steps", None)
    if steps is None or steps.shape != (elements,) or steps.dtype not in _UNSIGNED:
        raise SchemaError(f'the steps of the array "{name}" are missing, or not as many as it says')
    sums = np.cumsum(steps, dtype=np.int64)
    if elements and int(sums[-1]) > np.iinfo(how.dtype).max:
        raise SchemaError(f'the array "{name}" rises too far')
    return np.asarray(sums.astype(how.dtype, copy=False))


def _from_levels(name: str, how: _Packed, arrays: Arrays, room: _Room) -> NDArray[Any]:
    elements = room.take(name, how.shape, how.dtype)
    levels = stored_array(arrays, f"{name}.levels", np.float32)
    codes = stored_array(arrays, f"{name}.codes", np.uint8)
    if len(codes) != elements or (elements and int(codes.max()) >= len(levels)):
        raise SchemaError(f'the array "{name}" has a number without a level, or too few of them')
    del arrays[f"{name}.levels"], arrays[f"{name}.codes"]
    return np.asarray(levels[codes].reshape(how.shape))


def _front_coded(arrays: Mapping[str, NDArray[Any]]) -> tuple[Metadata, Arrays]:
    """Arrays with the names of features front-coded, and how that was done."""
    how: Metadata = {}
    found = dict(arrays)
    for name, offsets in arrays.items():
        base = name.removesuffix(_OFFSETS)
        data = arrays.get(f"{base}{_BYTES}")
        if base == name or data is None or len(offsets) < _LEAST or not data.all():
            continue
        del found[name], found[f"{base}{_BYTES}"]
        found[f"{base}{_BYTES}.shared"], found[f"{base}{_BYTES}.rest"] = _core.front_coded(
            data, offsets
        )
        for each, array in ((f"{base}{_BYTES}", data), (name, offsets)):
            how[each] = {"how": "front", "dtype": str(array.dtype), "shape": list(array.shape)}
    return how, found


def _from_front(name: str, how: _Packed, arrays: Arrays, room: _Room) -> NDArray[Any]:
    elements = room.take(name, how.shape, how.dtype)
    if name.endswith(_BYTES):
        shared = stored_array(arrays, f"{name}.shared", np.uint8)
        rest = stored_array(arrays, f"{name}.rest", np.uint8)
        del arrays[f"{name}.shared"], arrays[f"{name}.rest"]
        room.take(name, [len(shared)], "int64")
        data, arrays[name.removesuffix(_BYTES) + _OFFSETS] = _core.from_front_coded(
            shared, rest, elements
        )
        arrays[name] = data
    if name not in arrays or arrays[name].shape != (elements,):
        raise SchemaError(f'the names of "{name}" are not as long as it says')
    return stored_array(arrays, name, how.dtype)


#: In the order in which it is undone: the numbers of rows may be levels.
_UNPACKED: dict[str, Any] = {
    "levels": _from_levels,
    "rows": _from_rows,
    "steps": _from_steps,
    "front": _from_front,
}


def _planes(array: NDArray[Any]) -> bytes:
    """The first bytes of all numbers, then the second ones: equal bytes come together."""
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    return little.reshape(-1).view(np.uint8).reshape(-1, array.itemsize).T.tobytes()


def _filters() -> list[dict[str, int]]:
    import lzma

    return [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, **_WINDOW}]


def _expanded(pieces: Any, arrays: Arrays, room: _Room) -> Arrays:
    import lzma

    data = memoryview(stored_array(arrays, _SQUEEZED, np.uint8))  # type: ignore[arg-type]
    found: Arrays = {}
    begin = 0
    for piece in fit_type(list[_Piece], pieces, _SQUEEZED):
        elements = room.take(piece.name, piece.shape, piece.dtype)
        dtype = np.dtype(piece.dtype).newbyteorder("<")
        wanted = elements * dtype.itemsize
        reader = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_filters())
        try:
            # One more than it should be: so that more is noticed.
            plain = reader.decompress(data[begin : begin + piece.length], wanted + 1)
        except lzma.LZMAError:
            raise SchemaError(f'the array "{piece.name}" cannot be expanded') from None
        begin += piece.length
        if len(plain) != wanted or piece.name in found:
            raise SchemaError(f'the array "{piece.name}" is not as long as it says')
        planes = np.frombuffer(plain, np.uint8).reshape(dtype.itemsize, elements)
        flat = np.ascontiguousarray(planes.T).reshape(-1).view(dtype)
        found[piece.name] = flat.astype(piece.dtype, copy=False).reshape(piece.shape)
    if begin != len(data):
        raise SchemaError("there is more in the file than it says")
    return found
