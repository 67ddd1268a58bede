"""The progress line: pass, objective, gap, development score, time left; on standard error."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dualstruct.widths import cell_len, cut_to

if TYPE_CHECKING:
    from typing_extensions import Self

    from dualstruct.training.results import TracePoint
    from dualstruct.training.stopping import Stopping


class StatusLine:
    """One line on standard error that changes, and is gone at the end; nothing if nobody looks."""

    def __init__(self, show: bool = True) -> None:
        self._show = show
        self._shown = 0  # how many columns are written on

    @property
    def seen(self) -> bool:
        return self._show and _is_seen(sys.stderr)

    def write(self, text: str) -> None:
        """Show this instead of what was there."""
        if not self.seen:
            return
        # In a narrow terminal it is cut: a line that is broken would leave its rest behind.
        room = shutil.get_terminal_size().columns - 1
        line = text if cell_len(text) <= room else cut_to(text, room - 1) + "…"
        columns = cell_len(line)
        with suppress(OSError, ValueError):
            sys.stderr.write("\r" + line + " " * (self._shown - columns))
            sys.stderr.write("\r" * (columns == 0))
            sys.stderr.flush()
        self._shown = columns


class ProgressLine:
    """A line that says where training stands, and is gone when it ends."""

    def __init__(self, stopping: Stopping, show: bool) -> None:
        self._stopping = stopping
        self._line = StatusLine(show)
        self._best: float | None = None

    def __enter__(self) -> Self:
        self._line.write("training …")
        return self

    def update(self, point: TracePoint, iterate: object) -> None:
        if self._line.seen:
            self._line.write(self.describe(point))

    def describe(self, point: TracePoint) -> str:
        """The line for one trace point."""
        from dualstruct.training.results import objective, percent

        parts = [f"pass {point.passes}"]
        if point.dual is not None:
            parts.append(f"primal ≥ {objective(point.dual)}")
        if point.gap is not None:
            parts.append(f"gap {percent(point.gap)}" + " (estimate)" * point.estimate)
        elif point.gap_estimate is not None:
            parts.append(f"gap ~{percent(point.gap_estimate)}")
        if point.dev_score is not None:
            self._best = max(point.dev_score, self._best or 0)
            best = f"(best {100 * self._best:.2f})"
            parts.append(f"dev {point.dev_metric} {100 * point.dev_score:.2f} {best}")
        parts.append(f"wall {point.seconds:.1f} s")
        left = self._time_left(point)
        if left is not None:
            parts.append(f"{left:.0f} s left")
        return " · ".join(parts)

    def _time_left(self, point: TracePoint) -> float | None:
        limits = []
        if self._stopping.passes is not None:
            limits.append(point.seconds / point.passes * (self._stopping.passes - point.passes))
        if self._stopping.seconds is not None:
            limits.append(max(self._stopping.seconds - point.seconds, 0))
        return min(limits) if limits else None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._line.write("")


def _is_seen(stream: Any) -> bool:
    """Whether somebody looks at a stream: a terminal, or a notebook."""
    if stream is None:
        return False
    return type(stream).__module__.startswith("ipykernel.") or bool(stream.isatty())
