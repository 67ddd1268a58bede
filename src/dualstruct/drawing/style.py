"""The one look of all plots: colours for every kind of sight, light and dark pages, direct labels.

Used by the gallery, the benchmarks and the papers' figures. Nothing here imports matplotlib;
``SETTINGS`` goes to its ``rc_context`` or ``rcParams``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: Okabe and Ito's colours, each readable on white and on black.
COLOURS = ("#3b82c4", "#d9822b", "#1a9e77", "#c25b9b", "#b8562e", "#7a7f87", "#8f78d8")
INK = "#7d828b"  #: for text and axes: readable on white and on black
SETTINGS: dict[str, Any] = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlesize": 11,
    "figure.facecolor": "none",
    "figure.figsize": (5.4, 3.3),
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "savefig.facecolor": "none",
    "svg.hashsalt": "dualstruct",  # the same picture is the same file
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def spread(places: Sequence[float], least: float, low: float = 0.0) -> list[float]:
    """Heights in falling order, moved apart so that neighbours have a least distance.

    They move down, and up again as far as the last would be below ``low``.

    >>> spread([0.9, 0.88, 0.5], 0.1)
    [0.9, 0.8, 0.5]
    >>> spread([0.5, 0.1, 0.0], 0.25)
    [0.5, 0.25, 0.0]
    """
    found: list[float] = []
    for place in places:
        found.append(min(place, found[-1] - least) if found else place)
    for k in reversed(range(len(found))):
        found[k] = max(found[k], low if k + 1 == len(found) else found[k + 1] + least)
    return found


def name_lines(axes: Any, ends: Sequence[tuple[str, str, float, float]], size: float = 9) -> None:
    """Write the name of each line, in its colour, to the right of the axes beside its end.

    Names never overlap; a thin line leads from the end of a line to its name. The limits and
    scales of the axes must be set before. An end is a name, a colour, x and y.
    """
    axes.get_xlim(), axes.get_ylim()  # settle what is scaled automatically
    inches = axes.figure.get_size_inches()[1] * axes.get_position().height
    least = 1.25 * size / 72 / inches
    to_axes = axes.transData + axes.transAxes.inverted()
    placed = [(name, colour, to_axes.transform((x, y))) for name, colour, x, y in ends]
    placed.sort(key=lambda each: -each[2][1])
    heights = spread([min(max(place[1], 0.0), 1.0) for *_, place in placed], least)
    for (name, colour, place), height in zip(placed, heights, strict=True):
        start = min(place[0], 1.0), min(max(place[1], 0.0), 1.0)
        axes.plot(
            [start[0], 1.03], [start[1], height], transform=axes.transAxes, color=colour,
            linewidth=0.6, alpha=0.7, clip_on=False, scalex=False, scaley=False,
        )  # fmt: skip
        axes.text(
            1.04, height, name, color=colour, fontsize=size, va="center", transform=axes.transAxes
        )
