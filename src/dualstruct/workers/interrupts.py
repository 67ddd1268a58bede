"""Ctrl-C while workers are at work elsewhere, in threads or on other machines."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def hearing_ctrl_c(tell: Callable[[int], None]) -> Iterator[Callable[[], int]]:
    """Ctrl-C calls ``tell`` with how often it was pressed; says so when asked, too.

    As an exception it could come between any two steps of the caller and leave workers behind that
    nobody has asked to stop.
    """
    presses = 0

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal presses
        presses += 1
        tell(presses)

    # Only the main thread may listen, and only it hears.
    listens = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, press) if listens else None
    try:
        yield lambda: presses
    finally:
        if listens:
            signal.signal(signal.SIGINT, before)
