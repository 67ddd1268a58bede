"""The look of all pictures: safe colours, on light and dark pages, with direct labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

#: Okabe and Ito's colours, as bright as is readable on white and on black.
COLOURS = ["#3b82c4", "#d9822b", "#1a9e77", "#c25b9b", "#b8562e", "#7a7f87"]
INK = "#7d828b"  #: for text and axes: readable on white and on black
mpl.rcParams.update(
    {
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.prop_cycle": mpl.cycler(color=COLOURS),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlecolor": INK,
        "axes.titlesize": 11,
        "figure.figsize": (6.4, 3.6),
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "savefig.facecolor": "none",
        "svg.hashsalt": "dualstruct",  # the same picture is the same file
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
)


def line(axes: Any, x: Any, y: Any, name: str, **options: Any) -> None:
    """A line with its name at its end, in its colour."""
    [drawn] = axes.plot(x, y, **options)
    axes.annotate(
        f" {name}", (x[-1], y[-1]), color=drawn.get_color(), va="center", annotation_clip=False
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
