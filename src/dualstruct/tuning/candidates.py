"""Everything that was tried, as a table, a plot in the terminal and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dualstruct.training.results import percent

#: How wide the plot in the terminal is, and at least.
WIDTH, NARROWEST = 24, 8


@dataclass(frozen=True)
class Candidate:
    """Settings that were tried."""

    settings: dict[str, Any]  #: what differs from the estimator that was given
    score: float | None  #: on the examples held out; None if it could not be tried
    spread: float | None  #: the standard error of the score
    gain: float | None  #: over the settings that were given, on the same examples
    gain_spread: float | None  #: the standard error of the gain
    folds: int  #: on how many it was tried before it was dropped
    seconds: float  #: wall time of its runs
    gap: float | None  #: from the optimum, relative, at the end of the last run
    certified: bool  #: whether no weights can do better by more than the gap
    chosen: bool = False
    note: str = ""  #: why it could not be tried

    @classmethod
    def refused(cls, settings: dict[str, Any], seconds: float, note: str) -> Candidate:
        """One that could not be tried."""
        return cls(settings, None, None, None, None, 0, seconds, None, False, note=note)

    @property
    def name(self) -> str:
        """The settings for people.

        >>> Candidate({"loss": "crf", "C": 1.0}, 0.9, 0.01, 0.0, 0.0, 5, 1.0, None, False).name
        'loss crf, C 1'
        """
        if not self.settings:
            return "as given"
        return ", ".join(f"{name} {shown(value)}" for name, value in self.settings.items())

    @property
    def certificate(self) -> str:
        """The gap for people: ``~`` if it bounds nothing, ``none`` if the solver has none.

        >>> Candidate({}, 0.9, 0.01, 0.0, 0.0, 5, 1.0, 0.031, True).certificate
        '3.1 %'
        """
        if self.gap is None:
            return "none"
        return percent(self.gap) if self.certified else f"~{percent(self.gap)}"


def shown(value: Any) -> str:
    """A setting, as the command takes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


class Candidates(Sequence[Candidate]):
    """What tuning tried, the best first.

    Parameters
    ----------
    rows : list of Candidate
    metric : str
        What the scores are: F1, accuracy, LAS.
    certain : float
        How many standard errors a candidate had to be ahead of the given settings.
    """

    def __init__(self, rows: list[Candidate], metric: str, certain: float = 0.0) -> None:
        def place(row: Candidate) -> tuple[float, ...]:
            score = -1.0 if row.score is None else row.score
            return -row.folds, -score, not row.chosen

        self._rows = sorted(rows, key=place)
        self.metric, self.certain = metric, certain

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self._rows)

    def __getitem__(self, i: Any) -> Any:
        return self._rows[i]

    def to_dicts(self) -> list[dict[str, Any]]:
        """For JSON, or a data frame."""
        return [asdict(row) for row in self._rows]

    def table(self, width: int | None = None) -> str:
        """Scores with their spreads as text; ``*`` is what was chosen.

        ``gap`` is how far from the optimum the last run of a candidate may have ended (after all
        passes that were judged), relative to the objective: certified, or with ``~`` an estimate.
        A line of the plot is from one standard error below the score to one above. Where lines
        have at most ``width`` columns, the plot is narrower, or left out.
        """
        tried = [row for row in self._rows if row.score is not None]
        low, high = _range(tried)
        names = [row.name for row in self._rows]
        wide = max(map(len, [*names, "candidate"]))
        head = (
            f"  {'candidate':{wide}}  {self.metric:>8} {'±':5} {'gain':>6} {'±':5} {'folds':>6} "
            f"{'seconds':>8} {'gap':>7}"
        )
        lines = [head]
        room = WIDTH if width is None else min(WIDTH, width - len(head) - 2)
        for row, name in zip(self._rows, names, strict=True):
            mark = "*" if row.chosen else " "
            if row.score is None:
                lines.append(f"{mark} {name:{wide}}  {row.note}")
                continue
            error = _percents(row.spread, "5.2f")
            gain = _percents(row.gain, "+6.2f")
            gain_error = _percents(row.gain_spread, "5.2f")
            lines.append(
                f"{mark} {name:{wide}}  {100 * row.score:8.2f} {error} {gain} {gain_error} "
                f"{row.folds:6} {row.seconds:8.1f} {row.certificate:>7}  "
                f"{_interval(row, low, high, room) if room >= NARROWEST else ''}".rstrip()
            )
        return "\n".join(lines)

    def svg(self) -> str:
        """The same as a picture: a line for each candidate, its score and its spread."""
        from html import escape

        tried = [row for row in self._rows if row.score is not None]
        low, high = _range(tried)
        left, right, step = 330, 640, 22
        height = step * len(tried) + 50

        def x(value: float) -> float:
            return left + (right - left) * (value - low) / max(high - low, 1e-9)

        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" width="720" '
            f'height="{height}" font-family="sans-serif" font-size="12">',
            f'<text x="{right}" y="16" text-anchor="end">{escape(self.metric)}</text>',
        ]
        for n, row in enumerate(tried):
            y = 36 + step * n
            assert row.score is not None
            colour = "#b3261e" if row.chosen else "#33658a"
            weight = ' font-weight="bold"' if row.chosen else ""
            error = row.spread if row.spread is not None and row.spread < 1 else 0.0
            parts += [
                f'<text x="{left - 12}" y="{y + 4}" text-anchor="end"{weight}>'
                f"{escape(row.name)}</text>",
                f'<line x1="{x(row.score - error):.1f}" x2="{x(row.score + error):.1f}" '
                f'y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>',
                f'<circle cx="{x(row.score):.1f}" cy="{y}" r="4" fill="{colour}"/>',
                f'<text x="{right + 16}" y="{y + 4}"{weight}>{100 * row.score:.2f}</text>',
            ]
        return "\n".join([*parts, "</svg>\n"])

    def __repr__(self) -> str:
        return self.table()


def _range(tried: list[Candidate]) -> tuple[float, float]:
    """What a plot has to show."""
    ends = [
        (row.score or 0.0) + sign * min(row.spread or 0.0, 1.0) for row in tried for sign in (-1, 1)
    ]
    return (min(ends), max(ends)) if ends else (0.0, 1.0)


def _percents(value: float | None, form: str) -> str:
    width = int(form.lstrip("+").partition(".")[0])
    if value is None or not abs(value) < 1e6:
        return " " * width
    return format(100 * value, form)


def _interval(row: Candidate, low: float, high: float, width: int) -> str:
    """A score and its spread as a piece of a line."""
    assert row.score is not None
    scale = (width - 1) / max(high - low, 1e-9)
    error = min(row.spread or 0.0, 1.0)
    begin = round(scale * (row.score - error - low))
    end = round(scale * (row.score + error - low))
    at = round(scale * (row.score - low))
    cells = [" "] * width
    cells[begin : end + 1] = ["─"] * (end + 1 - begin)
    cells[at] = "●"
    return "".join(cells)
