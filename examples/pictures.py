"""The look of the gallery's pictures: dualstruct.drawing.style, and where they go."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

from dualstruct.drawing.style import COLOURS, INK, SETTINGS, name_lines

__all__ = ["COLOURS", "INK", "line", "name_lines", "place", "plt", "save"]

mpl.rcParams.update({**SETTINGS, "axes.prop_cycle": mpl.cycler(color=COLOURS)})


def line(axes: Any, x: Any, y: Any, name: str, **options: Any) -> None:
    """A line with its name at its end, in its colour."""
    [drawn] = axes.plot(x, y, **options)
    axes.annotate(
        name,
        (x[-1], y[-1]),
        xytext=(7, 0),
        textcoords="offset points",
        color=drawn.get_color(),
        va="center",
        annotation_clip=False,
    )


def save(script: str, figure: Any = None) -> None:
    """Write the picture of a script to the folder that its first argument names."""
    path = place(script)
    (figure or plt.gcf()).savefig(path, bbox_inches="tight", metadata={"Date": None})


def place(script: str) -> Path:
    """Where a picture goes: docs/gallery, or the folder that the first argument names."""
    usual = Path(script).resolve().parents[1] / "docs" / "gallery"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else usual
    return folder / f"{Path(script).stem}.svg"
