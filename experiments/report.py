"""What an experiment says: tables, figures, relations, and the record of how it was run."""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from dualstruct.data.writing import replace_file
from dualstruct.drawing.style import COLOURS, INK, SETTINGS, name_lines
from dualstruct.screen import Column, Screen, Text
from dualstruct.screen import Table as Columns

from .curves import Run
from .options import Options

Cell = str | float | None
PACKAGES = ("dualstruct", "numpy", "scipy", "scikit-learn", "matplotlib")
#: What was not measured, in a table.
NOTHING = "–"
#: More panels than that beside each other are too small to read on a page.
COLUMNS = 2
VERDICTS = ("confirmed", "not distinguishable", "refuted", "not reached")
STYLES = {"yes": "green", "confirmed": "green", "no": "red", "refuted": "red"}
T = TypeVar("T")


@dataclass(frozen=True)
class Table:
    title: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Line:
    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: str = "-"
    #: Where several runs lie between, if it is a mean of them.
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True)
class Panel:
    """One pair of axes; bars instead of lines if ``bars``."""

    title: str
    x: str
    y: str
    lines: list[Line]
    log_x: bool = False
    log_y: bool = False
    bars: bool = False


@dataclass(frozen=True)
class Figure:
    name: str
    title: str
    panels: list[Panel]
    columns: int


@dataclass(frozen=True)
class Relation:
    """A claim of a paper, and the result here."""

    claim: str
    holds: bool
    measured: str
    why: str  #: shown when it is not confirmed
    #: What was measured as a number (a difference in per cent, a ratio of times, a share), which is
    #: what makes several runs comparable; None if it is no number.
    value: float | None = None
    kind: str = ""  #: difference, ratio or share
    above: float = 0.0  #: the claim holds if the number is above this
    below: float = math.inf  #: and below this
    published: str = ""
    verdict: str = ""  #: of several runs: confirmed, refuted, not distinguishable, not reached

    @property
    def answer(self) -> str:
        """The verdict; of one run, which no test can judge, yes or no."""
        return self.verdict or ("yes" if self.holds else "no")

    @property
    def reason(self) -> str:
        """Why it is not confirmed; nothing if it is."""
        return "" if self.answer in ("yes", "confirmed") else self.why


@dataclass
class Report:
    """What an experiment found; the experiment fills it, the command shows and writes it."""

    name: str
    title: str
    options: Options
    notes: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    interrupted: bool = False
    #: CPU seconds of a run that is over; None while it is not.
    spent: float | None = None
    #: Which of how many runs with different seeds it is, and when the first of them began.
    part: tuple[int, int] = (0, 1)
    begun: float = field(default_factory=time.time)
    repeats: int = 1  #: of how many runs it is the mean
    console: Screen = field(default_factory=lambda: Screen(messages=True))

    def __post_init__(self) -> None:
        self._started, self._cpu_started = time.time(), time.process_time()

    def cpu_seconds(self) -> float:
        """What it has cost."""
        return time.process_time() - self._cpu_started if self.spent is None else self.spent

    def progress(self, what: str) -> None:
        """A line on standard error: long experiments say where they are."""
        self.console.print(f"{self.cpu_seconds():7.1f} s  {what}", "dim")

    def each(self, tasks: dict[str, T]) -> Iterator[tuple[str, T]]:
        """The tasks one by one, with a line that says which, of which run, and the time left."""
        number, runs = self.part
        for k, (name, task) in enumerate(tasks.items()):
            done = (number + k / len(tasks)) / runs
            spent = time.time() - self.begun
            left = "" if done == 0 else f", about {duration(spent / done - spent)} left"
            of_runs = "" if runs == 1 else f", run {number + 1} of {runs}"
            self.progress(f"task {k + 1} of {len(tasks)}{of_runs}: {name}{left}")
            yield name, task

    def note(self, text: str) -> None:
        """A sentence about data or settings."""
        self.notes.append(text)

    def add(self, run: Run) -> None:
        """Keep a run for the record."""
        self.runs.append(run)
        last = run.points[-1]
        self.progress(
            f"{run.task}, {run.label}, C = {run.C:g}: {100 * run.score:.2f} after "
            f"{last.passes} passes, {last.seconds:.2f} s"
        )

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        """A table; numbers are shown as they are read best."""
        self.tables.append(Table(title, list(columns), [[shown(c) for c in row] for row in rows]))

    def figure(self, name: str, title: str, panels: Sequence[Panel]) -> None:
        """A figure of the panels that have lines in them, two beside each other."""
        drawn = [panel for panel in panels if panel.lines]
        if drawn:
            self.figures.append(Figure(name, title, drawn, min(COLUMNS, len(drawn))))

    def relation(
        self,
        claim: str,
        holds: bool,
        measured: str,
        why: str = "",
        value: float | None = None,
        **limits: Any,
    ) -> None:
        """A claim of the paper, whether it holds here, by how much, and if not, why.

        Small versions do not say why: there, the data are too few.
        """
        reason = "" if self.options.quick else why
        self.relations.append(Relation(claim, bool(holds), measured, reason, value, **limits))

    def compare(
        self, claim: str, ours: float, other: float, published: float | None = None, why: str = ""
    ) -> None:
        """The claim that one score (a share) is above another."""
        difference = 100 * (ours - other)
        theirs = "" if published is None else f" (published: {published:+.1f})"
        self.relation(
            claim, difference > 0, f"by {signed(difference)}", why, difference, kind="difference",
            published=theirs,
        )  # fmt: skip

    def quicker(
        self,
        claim: str,
        ours: float | None,
        other: float | None,
        factor: float = 1.0,
        limit: float | None = None,
        why: str = "",
        published: str = "",
    ) -> None:
        """The claim that one time is below another by at least a factor; None is never.

        ``limit`` is how long the other one had: what it did not reach by then took it longer.
        """
        if ours is None:
            ratio, text = 0.0, "not reached"
        elif other is None:
            ratio = math.inf if limit is None else limit / ours
            bound = "" if limit is None else f", {ratio:.1f} times as long or more"
            text = f"{ours:.2f} s, and the other one did not get there{bound}"
        else:
            ratio = other / max(ours, 1e-9)
            text = f"{ours:.2f} s against {other:.2f} s, {ratio:.1f} times as fast"
        self.relation(
            claim, ratio >= factor, text, why, ratio, kind="ratio", above=factor,
            published=published,
        )  # fmt: skip

    def for_json(self) -> Any:
        """The record, without numbers that JSON lacks."""
        return _finite(self.record())

    def show(self, console: Screen) -> None:
        """Print the tables and the comparison."""
        console.print(Text(f"{self.name}: {self.title}", style="bold"))
        for note in self.notes:
            console.print(note)
        for table in self.tables:
            columns = [
                Column(Text(name, "bold"), right=k > 0, folds=False)
                for k, name in enumerate(table.columns)
            ]
            shown_table = Columns(*columns, left=0)
            for row in table.rows:
                shown_table.add(*row)
            console.print(Text(f"\n{table.title}", style="bold"))
            console.print(shown_table)
        console.print(Text("\nWhat the paper claims, and what was measured", style="bold"))
        for relation in self.relations:
            mark = Text(f"{relation.answer:20}", style=STYLES.get(relation.answer, "yellow"))
            console.print(mark.append(f"{relation.claim}: {relation.measured}{relation.published}"))
            if relation.reason:
                console.print(Text(f"     {relation.reason}", style="dim"))
        console.print(Text(f"\n{self.verdict()}", style="bold"))

    def verdict(self) -> str:
        """How many relations hold, or what several runs say of them."""
        held = sum(relation.holds for relation in self.relations)
        size = " of this small version" if self.options.quick else ""
        verdicts = Counter(relation.verdict for relation in self.relations if relation.verdict)
        if verdicts:
            counts = ", ".join(f"{verdicts[name]} {name}" for name in VERDICTS if verdicts[name])
            return f"Of {len(self.relations)} relations{size}: {counts}."
        return f"{held} of {len(self.relations)} relations{size} hold."

    def markdown(self) -> str:
        """The same as a page."""
        return f"# {self.name}: {self.title}\n\n" + self.section(f"{self.name}-", "png")

    def section(self, figures: str, kind: str = "svg") -> str:
        """What a page says below its heading; figures are files of a kind at this prefix."""
        lines = []
        lines += [f"- {note}" for note in self.notes]
        for table in self.tables:
            lines += [
                "",
                f"**{table.title}**",
                "",
                _row(table.columns),
                _row(["---"] * len(table.columns)),
            ]
            lines += [_row(row) for row in table.rows]
        for figure in self.figures:
            lines += ["", f"![{figure.title}]({figures}{figure.name}.{kind})", "", figure.title]
        lines += ["", "| claim | here | measured |", "| --- | --- | --- |"]
        for relation in self.relations:
            why = relation.reason
            why = f". {why[0].upper()}{why[1:]}." if why else ""
            measured = relation.measured + relation.published + why
            lines.append(_row([relation.claim, relation.answer, measured]))
        return "\n".join([*lines, "", self.verdict(), ""])

    def record(self) -> dict[str, Any]:
        """Everything, for a JSON file."""
        return {
            "experiment": self.name,
            "title": self.title,
            "options": options_record(self.options),
            "seed": self.options.seed,
            "started": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(self._started)),
            "seconds": time.time() - self._started,
            "cpu_seconds": self.cpu_seconds(),
            "versions": {"python": platform.python_version(), **_versions()},
            "machine": _machine(),
            "interrupted": self.interrupted,
            "repeats": self.repeats,
            "notes": self.notes,
            "tables": [asdict(table) for table in self.tables],
            "figures": [asdict(figure) for figure in self.figures],
            "relations": [asdict(relation) for relation in self.relations],
            "runs": [run.summary() for run in self.runs],
        }

    def write(self, folder: Path) -> list[Path]:
        """NAME.json, NAME.md and the figures; which files were written."""
        folder.mkdir(parents=True, exist_ok=True)
        files = {
            f"{self.name}.json": json.dumps(self.for_json(), indent=1, ensure_ascii=False),
            f"{self.name}.md": self.markdown(),
        }
        written = []
        for name, text in files.items():
            replace_file(folder / name, text.encode())
            written.append(folder / name)
        for figure in self.figures:
            path = folder / f"{self.name}-{figure.name}.png"
            if not draw(figure, path):
                break
            written.append(path)
        return written


def options_record(options: Options) -> dict[str, Any]:
    """The options, for a JSON file; of the data only what their folder is called."""
    folder = None if options.data is None else options.data.name
    return {**asdict(options), "data": folder, "tasks": list(options.tasks)}


def shown(cell: Cell) -> str:
    """A number for people.

    >>> shown(0.1234), shown(12.345), shown(1234.5), shown(None), shown("DCD")
    ('0.123', '12.3', '1,234', '–', 'DCD')
    """
    if cell is None:
        return NOTHING
    if isinstance(cell, str):
        return cell
    if abs(cell) >= 1000:
        return f"{cell:,.0f}"
    return f"{cell:.3g}"


def percent(share: float | None) -> str:
    """A score with two decimals.

    >>> percent(0.93456), percent(None)
    ('93.46', '–')
    """
    return NOTHING if share is None else f"{100 * share:.2f}"


def signed(difference: float) -> str:
    """A difference in per cent.

    >>> signed(0.123), signed(-0.0012)
    ('+0.12', '-0.0012')
    """
    return f"{difference:+.{2 if abs(difference) >= 0.01 else 4}f}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> duration(42), duration(600), duration(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _machine() -> dict[str, Any]:
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    return {"system": platform.system(), "processor": model, "cores": os.cpu_count()}


def _finite(value: Any) -> Any:
    """JSON has no infinity and no NaN."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _zoom(axes: Any, lines: Sequence[Line]) -> None:
    """First passes far below the rest would hide the others: the axis begins above them."""
    values = sorted(y for line in lines for y in line.y)
    if len(values) < 4:
        return
    top = max([values[-1], *(y for line in lines for y in line.high)])
    usual = values[int(0.4 * len(values))]
    # Something of every line, and where it and its band end.
    seen = min(min(max(line.y), line.y[-1], *line.low[-1:]) for line in lines if len(line.y))
    floor = min(values[-1] - 2 * (values[-1] - usual), seen - 0.1 * (top - seen))
    if floor > values[0]:
        axes.set_ylim(floor, top + 0.05 * (top - floor))


def draw(figure: Figure, path: Path) -> bool:
    """Draw a figure as SVG or PNG, by the name's ending; False if matplotlib is not installed."""
    try:
        from matplotlib import rc_context
    except ImportError:
        return False
    with rc_context(SETTINGS):
        _draw(figure, path)
    return True


def _draw(figure: Figure, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    rows = -(-len(figure.panels) // figure.columns)
    canvas = Canvas(figsize=(4.2 * figure.columns, 2.9 * rows), layout="constrained")
    FigureCanvasAgg(canvas)
    labels = list(dict.fromkeys(line.label for panel in figure.panels for line in panel.lines))
    colours = {label: COLOURS[k % len(COLOURS)] for k, label in enumerate(labels)}
    for k, panel in enumerate(figure.panels):
        axes = canvas.add_subplot(rows, figure.columns, k + 1)
        axes.set_title(panel.title, fontsize=10)
        axes.set_xlabel(panel.x, fontsize=9)
        axes.set_ylabel(panel.y, fontsize=9)
        axes.tick_params(labelsize=8)
        (_bars if panel.bars else _curves)(axes, panel, colours)
    canvas.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {}, dpi=110)


def _bars(axes: Any, panel: Panel, colours: dict[str, str]) -> None:
    """Groups of bars; the name of each is above the first group."""
    width = 0.8 / len(panel.lines)
    for number, line in enumerate(panel.lines):
        places = [x + (number - (len(panel.lines) - 1) / 2) * width for x in range(len(line.x))]
        axes.bar(places, line.y, width, color=colours[line.label], label=line.label)
        if len(line.low):
            axes.vlines(places, line.low, line.high, color=INK, linewidth=1)
        axes.set_xticks(range(len(line.x)), [f"{x:g}" for x in line.x])
    heights = [y for line in panel.lines for y in (*line.y, *line.low, *line.high)]
    room = 0.15 * (max(heights) - min(heights)) + 0.05
    axes.set_ylim(min(heights) - room, max(heights) + room)
    axes.legend(
        fontsize=8, frameon=False, labelcolor="linecolor", handlelength=0.8, loc="lower left",
        bbox_to_anchor=(1.0, 0.0),
    )  # fmt: skip


def _curves(axes: Any, panel: Panel, colours: dict[str, str]) -> None:
    """Lines with their names at their ends, and bands where several runs lie."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    for line in panel.lines:
        colour = colours[line.label]
        axes.plot(
            line.x, line.y, line.style, color=colour, linewidth=1.4,
            marker="o" if len(line.x) <= 12 else None, markersize=3,
        )  # fmt: skip
        if len(line.low):
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.2, linewidth=0)
    if panel.log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_locator(NullLocator())
    if panel.log_y:
        axes.set_yscale("log")
        heights = [y for line in panel.lines for y in line.y]
        few = max(heights, default=1) < 100 * min(heights, default=1)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        _zoom(axes, panel.lines)
    if panel.x == "passes":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    ends = {
        line.label: (line.label, colours[line.label], line.x[-1], line.y[-1])
        for line in panel.lines
        if len(line.x)
    }
    name_lines(axes, list(ends.values()), size=8)
