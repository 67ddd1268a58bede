"""Sizes of files, as people write them."""

from __future__ import annotations

import re

from dualstruct.errors import InputError

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20}


def parse_size(size: int | str) -> int:
    """A number of bytes.

    >>> parse_size("0.45 MB"), parse_size("16KiB"), parse_size(1000)
    (450000, 16384, 1000)
    """
    found = re.fullmatch(r"\s*([0-9]{1,12}(?:\.[0-9]{1,12})?)\s*([A-Za-z]*)\s*", str(size))
    if found is None or found[2].upper() not in _UNITS or not float(found[1]):
        raise InputError(f"size is {size!r}; it must be a size such as 450KB or 1.5MB")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def show_size(size: int) -> str:
    """Bytes for people.

    >>> show_size(450_123), show_size(27_204_338), show_size(80)
    ('450.1 KB', '27.20 MB', '80 bytes')
    """
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1e3:.1f} KB" if size < 10**6 else f"{size / 1e6:.2f} MB"
