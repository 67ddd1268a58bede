"""When training stops."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dualstruct.errors import InputError


@dataclass(frozen=True)
class Stopping:
    """When to stop; the first rule that applies counts.

    Parameters
    ----------
    gap : float, optional
        A certified relative gap between 0 and 1, for instance 0.01.
    passes : int, optional
        The maximum number of passes.
    seconds : float, optional
        A time limit, checked after each pass.
    patience : int
        Passes without a better development score, if there is one.
    """

    gap: float | None = None
    passes: int | None = None
    seconds: float | None = None
    patience: int = 5

    def __post_init__(self) -> None:
        if self.gap is not None and not 0 < self.gap < 1:
            raise InputError(
                f"gap is {self.gap}; it must be between 0 and 1, for instance 0.01 for 1 %"
            )
        for name, least in (("passes", 1), ("seconds", 0.0), ("patience", 1)):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise InputError(f"{name} is {value}; it must be at least {least}")
        if self.seconds == math.inf:
            raise InputError("seconds is infinite; without a limit, leave it out")
