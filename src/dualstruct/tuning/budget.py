"""How long a search may take."""

from __future__ import annotations

import math
import time

from dualstruct.errors import InputError
from dualstruct.training.results import TracePoint

#: By how much training may end too late: certifying the result takes about as long as a pass.
LATE = 0.05
#: Runs that are under way when the search is over end a little later, and two at a time are slower
#: than one: what is better is not given up for so little. Training ends in time in any case.
ROOM = 0.2
#: Training at the end may take so many times what the runs predict: passes get longer.
LONGER_THAN_THOUGHT = 1.25


def check_seconds(seconds: float, name: str) -> None:
    """Refuse what is not a time."""
    if not 0 < seconds < math.inf:
        raise InputError(f"{name} is {seconds:g}; it must be a number of seconds above 0")


class Budget:
    """How much time and how many runs are left."""

    def __init__(self, seconds: float | None, runs: int | None) -> None:
        if seconds is not None:
            check_seconds(seconds, "budget")
        if runs is not None and runs < 1:
            raise InputError(f"trials is {runs}; it must be at least 1")
        self._seconds, self._runs = seconds, runs
        self._started = time.perf_counter()
        self.reserve = 0.0  #: seconds for the training at the end
        self.stopped = False  #: whether somebody has stopped the search

    @property
    def seconds(self) -> float | None:
        """All that there were."""
        return self._seconds

    @property
    def until_end(self) -> float:
        """Seconds for more runs and the training at the end."""
        if self._seconds is None:
            return math.inf
        return self._started + self._seconds - time.perf_counter()

    @property
    def left(self) -> float:
        """Seconds for more runs."""
        return self.until_end - self.reserve

    def too_short_for(self, seconds: float) -> bool:
        """Whether a training of about so many seconds may take it all."""
        return self._seconds is not None and LONGER_THAN_THOUGHT * seconds > self._seconds

    def set_aside(self, seconds: float) -> None:
        """Leave time for a training at the end of about so many seconds."""
        self.reserve = LONGER_THAN_THOUGHT * seconds

    @property
    def over(self) -> bool:
        return self.stopped or self.left <= 0

    def take(self) -> bool:
        """Whether there may be one more run."""
        if self.over or self._runs == 0:
            return False
        if self._runs is not None:
            self._runs -= 1
        return True

    def allows(self, seconds: float) -> bool:
        """Whether there is time for a training at the end that takes so long."""
        return self._seconds is None or seconds <= self.until_end + ROOM * self._seconds

    def leaves_no_pass(self, point: TracePoint, _: object) -> bool:
        """A callback of training: whether there is no time for a pass as long as the last ones."""
        if self._seconds is None:
            return False
        return self.until_end + LATE * self._seconds < point.seconds / point.passes
