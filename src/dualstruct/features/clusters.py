"""Brown clusters: words by their path in a binary tree."""

from __future__ import annotations

from dualstruct import _core
from dualstruct.data.opening import PathOrFile, in_file, name_of, read_bytes
from dualstruct.errors import InputError

__all__ = ["read_clusters"]


def read_clusters(path: PathOrFile) -> _core.Clusters:
    """Read a file of lines ``path TAB word TAB count``, the format of Liang's tool.

    Examples
    --------
    >>> import io
    >>> clusters = read_clusters(io.StringIO("0010\\tTurin\\t12\\n0011\\tParis\\t70\\n"))
    >>> len(clusters), clusters.path("Turin")
    (2, '0010')
    """
    data = read_bytes(path)
    try:
        return _core.Clusters.parse(data)
    except InputError as problem:
        raise InputError(in_file(name_of(path), problem)) from None
