"""The suspects in a training file, looked for while the page is already there."""

from __future__ import annotations

import threading
from collections.abc import Callable

from dualstruct.errors import DualstructError
from dualstruct.serving.shapes import LocatedSuspect, SearchState, SuspectsAnswer

WITHOUT_FILE = "start the server with --train FILE to see with which sentences the model disagrees"


class Suspicion:
    """Runs a search once, in a thread, and reports its progress.

    Parameters
    ----------
    search : callable, optional
        Gives the suspects, the worst first; None if there is no training file.
    """

    def __init__(self, search: Callable[[], list[LocatedSuspect]] | None) -> None:
        self._search = search
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._put("missing", WITHOUT_FILE)

    def start(self) -> None:
        """Begin to look, in the background."""
        if self._search is not None:
            self._put("working", "looking through the training file …")
            self._thread = threading.Thread(target=self._run, name="suspects", daemon=True)
            self._thread.start()

    def join(self, timeout: float) -> None:
        """Wait for the search to end."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _run(self) -> None:
        assert self._search is not None
        try:
            found = self._search()
        except DualstructError as error:
            self._put("failed", str(error))
        except Exception as error:
            self._put("failed", f"the search ended with {type(error).__name__}: {error}")
        else:
            self._put("ready", "", found)

    def _put(
        self, state: SearchState, message: str, suspects: list[LocatedSuspect] | None = None
    ) -> None:
        with self._lock:
            self._state: SuspectsAnswer = {
                "state": state,
                "message": message,
                "suspects": suspects or [],
            }

    def state(self) -> SuspectsAnswer:
        """For JSON: missing, working, ready or failed; why; and the suspects."""
        with self._lock:
            return self._state
