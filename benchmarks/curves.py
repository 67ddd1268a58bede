"""The picture in docs/solvers.md, from curves that benchmarks/solvers.py has written.

    python benchmarks/solvers.py --corpora conll2000 --C 0.1 --parts solvers --seconds 30
    python benchmarks/curves.py --curves results/curves.json    # store them, and draw
    python benchmarks/curves.py                                 # draw what is stored

The left half shows how far each solver's dual is below the lowest primal that any solver of its
loss has reached, relative to that: it is an upper bound of what the dual still has to gain.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

from dualstruct.drawing.style import COLOURS, SETTINGS, name_lines

HERE = Path(__file__).parent
STORED = HERE / "results" / "solvers.json"
STYLES = {"squared_hinge": "-", "hinge": "--", "crf": ":"}


def condensed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the picture needs: CPU seconds, per cent of dual missing, test F1."""
    found = []
    for row in rows:
        lowest = min(other["primal"] for other in rows if other["loss"] == row["loss"])
        curve = [
            [
                round(point["seconds"], 3),
                round(100 * (lowest - point["dual"]) / lowest, 3),
                round(100 * point["score"], 2),
            ]
            for point in row["curve"]
        ]
        found.append({"solver": row["solver"], "loss": row["loss"], "curve": curve})
    return found


def draw(rows: list[dict[str, Any]], target: Path) -> None:
    with plt.rc_context(SETTINGS):
        figure, (gaps, scores) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
        gaps.set(xscale="log", yscale="log", ylim=(0.5, 120))
        gaps.set(ylabel="dual below the best primal, %", xlabel="CPU seconds")
        scores.set(xscale="log", ylim=(90, 94.2), ylabel="test F1", xlabel="CPU seconds")
        gaps.set_yticks([1, 10, 100], ["1", "10", "100"])
        ends: dict[Any, list[Any]] = {gaps: [], scores: []}
        for row, colour in zip(rows, COLOURS, strict=False):
            name = f"{row['solver'].split('(')[0]} ({row['loss'].replace('_', ' ')})"
            seconds, below, score = zip(*row["curve"], strict=True)
            for axes, values in ((gaps, below), (scores, score)):
                axes.plot(seconds, values, STYLES[row["loss"]], color=colour, linewidth=1.6)
                ends[axes].append((name, colour, seconds[-1], values[-1]))
        for axes in (gaps, scores):
            axes.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
            axes.minorticks_off()
            name_lines(axes, ends[axes], size=8)
        figure.savefig(target, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--curves", type=Path, help="store these curves first")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs/images/solvers.svg")
    options = parser.parse_args()
    if options.curves:
        rows = [row for row in json.loads(options.curves.read_text()) if row["threads"] == 1]
        chosen = [row for row in rows if (row["corpus"], row["C"]) == ("conll2000", 0.1)]
        lines = ",\n".join(json.dumps(row) for row in condensed(chosen))
        STORED.parent.mkdir(exist_ok=True)
        STORED.write_text(f"[\n{lines}\n]\n")
    draw(json.loads(STORED.read_text()), options.out)


if __name__ == "__main__":
    main()
