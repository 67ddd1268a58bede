"""Wapiti's model files: text, with all strings preceded by their length in bytes.

    #mdl#2#5             a chain (2) with 5 weights that are not 0
    #rdr#2/0/0           2 templates, whose last column is 0
    12:u00:%x[-1,0],
    1:b,
    #qrk#2               2 labels
    3:I-A,
    1:A,
    #qrk#3               3 observations
    7:u00:the,
    8:u00:_x-1,
    1:b,
    0=0x1.8p+1           place=weight, the weight in hexadecimal

An observation that begins with u has a weight for each label, one with b for each pair of labels
(label before, label), one with * both. Their places follow each other in the order of the
observations.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.opening import PathOrFile, begins_with, name_of, read_bytes
from dualstruct.data.writing import replace_file
from dualstruct.errors import InputError
from dualstruct.printable import plural

__all__ = ["WapitiModel", "is_wapiti", "parse_wapiti", "read_wapiti", "write_wapiti"]

_MAGIC = b"#mdl#"
_CHAIN = 2
#: Labels that such a file may have; pairs of them have weights.
MOST_LABELS = 10_000
_WEIGHT = re.compile(
    rb"(\d{1,19})=([+-]?(?:0x[0-9a-fA-F.]+p[+-]?\d{1,5}|[0-9.]+(?:e[+-]?\d+)?))\s*"
)


@dataclass(frozen=True, eq=False)
class WapitiModel:
    """What such a file holds."""

    templates: list[str]
    labels: list[str]
    observations: list[str]
    places: NDArray[np.int64]  #: of the weights that are not 0, rising
    weights: NDArray[np.float64]

    def starts(self) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Where the weights of each observation for labels begin, and those for pairs (−1: it has
        none), and how many places there are."""
        return _starts(self.observations, len(self.labels))


def _starts(
    observations: list[str], labels: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    single = np.array([name[:1] in ("u", "*") for name in observations], np.bool_)
    paired = np.array([name[:1] in ("b", "*") for name in observations], np.bool_)
    sizes = single * labels + paired * labels**2
    ends = np.cumsum(sizes, dtype=np.int64)
    begins = ends - sizes
    of_pairs = np.where(paired, begins + single * labels, -1)
    return np.where(single, begins, -1), of_pairs, int(ends[-1]) if len(ends) else 0


def is_wapiti(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like a model of Wapiti's."""
    return begins_with(path, _MAGIC)


def read_wapiti(source: PathOrFile) -> WapitiModel:
    """Read a model file of Wapiti's; ``.gz``, ``.xz`` and ``.bz2`` are unpacked."""
    return parse_wapiti(read_bytes(source), name_of(source))


def parse_wapiti(data: bytes, name: str = "the model") -> WapitiModel:
    """The same from bytes.

    Examples
    --------
    >>> head = b"#mdl#2#1\\n#rdr#1/0/0\\n9:u:%x[0,0],\\n"
    >>> text = head + b"#qrk#2\\n1:A,\\n1:B,\\n#qrk#1\\n3:u:x,\\n1=0x1p-1\\n"
    >>> model = parse_wapiti(text)
    >>> model.labels, model.observations, model.places.tolist(), model.weights.tolist()
    (['A', 'B'], ['u:x'], [1], [0.5])
    """
    return _Parser(data, name).model()


class _Parser:
    """Goes over the bytes; every complaint names the line."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name, self.at = data, name, 0

    def fail(self, reason: str) -> InputError:
        line = self.data.count(b"\n", 0, self.at) + 1
        return InputError(f"{self.name}, line {line}: {reason}")

    def header(self, pattern: str, what: str) -> list[int]:
        found = re.compile(pattern.encode()).match(self.data, self.at)
        if found is None:
            raise self.fail(
                f"{what} is expected here; this is not a model of Wapiti's, or a damaged one"
            )
        numbers = [int(number) for number in found.groups() if number is not None]
        if max(numbers) > len(self.data):
            raise self.fail("there is less in the file than it says")
        self.at = found.end()
        return numbers

    def strings(self, count: int) -> list[str]:
        """So many strings, each with its length before it and a comma after it."""
        found = []
        for _ in range(count):
            colon = self.data.find(b":", self.at, self.at + 12)
            length = self.data[self.at : colon]
            if colon < 0 or not length.isdigit():
                raise self.fail("the length of a string is expected here")
            begin, end = colon + 1, colon + 1 + int(length)
            if self.data[end : end + 1] != b",":
                raise self.fail("a string is not as long as it says")
            try:
                found.append(self.data[begin:end].decode())
            except UnicodeDecodeError:
                raise self.fail("this string is not UTF-8 text") from None
            self.at = end + 1
            while self.data[self.at : self.at + 1] in (b"\n", b"\r"):
                self.at += 1
        return found

    def model(self) -> WapitiModel:
        numbers = self.header(r"#mdl#(\d{1,9})(?:#(\d{1,9}))?\r?\n", "#mdl#2#…")
        if len(numbers) == 2 and numbers[0] != _CHAIN:
            raise self.fail("only chains (type 2) can be read, not maximum entropy models")
        active = numbers[-1]
        count, _, alone = self.header(r"#rdr#(\d{1,9})/(\d{1,9})/(\d{1,9})\r?\n", "#rdr#…")
        if alone:
            raise self.fail("models without templates (autouni) cannot be read")
        templates = self.strings(count)
        labels = self.strings(*self.header(r"#qrk#(\d{1,9})\r?\n", "#qrk#… with the labels"))
        if not 1 <= len(labels) <= MOST_LABELS or len(set(labels)) < len(labels):
            raise self.fail(
                f"{plural(len(labels), 'label')}, each once, cannot be: 1 to {MOST_LABELS} can"
            )
        seen = self.header(r"#qrk#(\d{1,9})\r?\n", "#qrk#… with the observations")
        observations = self.strings(*seen)
        places, weights = np.empty(active, np.int64), np.empty(active)
        size = _starts(observations, len(labels))[2]
        before = -1
        for k in range(active):
            found = _WEIGHT.match(self.data, self.at)
            if found is None:
                raise self.fail("a weight is expected here, such as 12=0x1.8p-3")
            place = int(found[1])
            number = found[2].decode()
            try:
                weight = float.fromhex(number) if "x" in number else float(number)
            except (ValueError, OverflowError):
                raise self.fail(f"{number} is not a number") from None
            if not before < place < size or not np.isfinite(weight) or abs(weight) > 1e30:
                raise self.fail(f"a weight {number} at place {place:,} cannot be; {size:,} are")
            places[k], weights[k], before = place, weight, place
            self.at = found.end()
        if self.data[self.at :].strip():
            raise self.fail("there is more in the file than it says")
        return WapitiModel(templates, labels, observations, places, weights)


def write_wapiti(path: str | Path, model: WapitiModel) -> None:
    """Write a model file for Wapiti, all or nothing."""
    replace_file(path, wapiti_bytes(model))


def wapiti_bytes(model: WapitiModel) -> bytes:
    """The same as bytes."""
    columns = [int(found) for t in model.templates for found in re.findall(r"\[@?-?\d+,(\d+)", t)]
    pieces = [f"#mdl#{_CHAIN}#{len(model.weights)}\n".encode()]
    pieces.append(f"#rdr#{len(model.templates)}/{max(columns, default=0)}/0\n".encode())
    pieces += map(_string, model.templates)
    for names in (model.labels, model.observations):
        pieces.append(f"#qrk#{len(names)}\n".encode())
        pieces += map(_string, names)
    pairs = zip(model.places.tolist(), model.weights.tolist(), strict=True)
    pieces += (f"{place}={weight.hex()}\n".encode() for place, weight in pairs)
    return b"".join(pieces)


def _string(text: str) -> bytes:
    data = text.encode()
    return b"%d:%s,\n" % (len(data), data)
