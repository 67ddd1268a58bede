"""The model of a CRF: bytes in memory, and a file with them once somebody asks for its name."""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from pathlib import Path
from typing import Any

from dualstruct.data.leftovers import own_folder
from dualstruct.data.writing import replace_file
from dualstruct.errors import InputError

__all__ = ["FileResource"]

Data = bytes  # which is also the name of a property
#: Where pickles of sklearn-crfsuite hold the model.
_PICKLED = "__FILE_RESOURCE_DATA__"
_SETTINGS = ("keep_tempfiles", "suffix", "prefix")


class FileResource:
    """A model, and the file that holds it where there is one.

    sklearn-crfsuite's class of this name is a file from the beginning; this one has none until
    ``name`` is asked for or :meth:`ensure_name` called. Its pickles have the same layout.

    Parameters
    ----------
    filename : path, optional
        The file of the model; a temporary one by default.
    keep_tempfiles : bool
        Do not delete the temporary file.
    suffix, prefix : str
        How the name of the temporary file ends and begins.
    data : bytes, optional
        The model, where it is not to be read from the file.

    Examples
    --------
    >>> resource = FileResource()
    >>> resource.name is resource.bytes is None
    True
    >>> resource.ensure_name()
    >>> with open(resource.name, "wb") as file:
    ...     file.write(b"lCRF")
    4
    >>> resource.bytes
    b'lCRF'
    """

    def __init__(
        self,
        filename: str | os.PathLike[str] | None = None,
        keep_tempfiles: bool | None = False,
        suffix: str = "",
        prefix: str = "",
        data: Data | None = None,
    ) -> None:
        self.auto = filename is None
        self.keep_tempfiles = keep_tempfiles
        self.suffix = suffix
        self.prefix = prefix
        self._path = None if filename is None else os.fspath(filename)
        self._bytes = data
        self._outdated = False
        self._delete: weakref.finalize[[], FileResource] | None = None

    @property
    def bytes(self) -> Data | None:
        """The model; None if there is none, neither in memory nor in the file."""
        if (self._bytes is None or self._outdated) and self._path is not None:
            path = Path(self._path)
            found = path.read_bytes() if path.exists() else b""
            if found:
                self._bytes, self._outdated = found, False
        return self._bytes

    @property
    def name(self) -> str | None:
        """The path of the file. A temporary one is made where there is a model and no file."""
        if self._path is None and self._bytes is not None:
            self.ensure_name()
        return self._path

    def ensure_name(self) -> None:
        """Make sure that there is a file: with the model, or empty for one to come."""
        if self._path is not None:
            return
        held = contextlib.ExitStack()
        if self.keep_tempfiles:
            folder = Path(tempfile.mkdtemp(prefix="dualstruct-"))
        else:
            folder = held.enter_context(own_folder(tempfile.gettempdir()))
            self._delete = weakref.finalize(self, held.close)
        self._path = str(folder / (self.prefix + self.suffix or "model"))
        replace_file(self._path, self._bytes or b"")

    def cleanup(self) -> None:
        """Delete the temporary file; the model stays in memory."""
        if self._delete is not None:
            self._bytes = self.bytes
            self._delete()
            self._delete = self._path = None

    def refresh(self) -> None:
        """Make room for another model: an empty temporary file, or the file that was named.

        What is written there becomes the model; until then it is the old one.
        """
        self.cleanup()
        held, self._bytes = self._bytes, None
        self.ensure_name()
        self._bytes, self._outdated = held, True

    def __getstate__(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in ("auto", *_SETTINGS)}
        state["name"] = None if self.auto else self._path
        if self.bytes is not None:
            state[_PICKLED] = self.bytes
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "auto" not in state:
            raise InputError(
                "the names in this pickle are bytes, as Python 2 wrote them: load it with "
                "encoding='latin1'"
            )
        data = state.get(_PICKLED)
        # A str of Python 2 is one character a byte under encoding='latin1'.
        data = data.encode("latin1") if isinstance(data, str) else data
        settings = {name: state[name] for name in _SETTINGS}
        FileResource.__init__(self, None if state["auto"] else state["name"], data=data, **settings)
