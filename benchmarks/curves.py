"""The picture in docs/solvers.md, from the curves that benchmarks/solvers.py has written.

    python benchmarks/solvers.py --corpora conll2000 --C 0.1 --parts solvers --seconds 30
    python benchmarks/curves.py [--curves results/curves.json] [--out docs/images/solvers.svg]

The left half shows how far each solver's dual is below the lowest primal that any solver of its
loss has reached, relative to that: it is an upper bound of what the dual still has to gain.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

STYLES = {"squared_hinge": "-", "hinge": "--", "crf": ":"}
#: Colours that stay apart for colour-blind readers (Okabe & Ito).
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#000000")


def draw(rows: list[dict[str, Any]], target: Path) -> None:
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "dualstruct", "font.size": 9})
    figure, (gaps, scores) = plt.subplots(1, 2, figsize=(8.4, 3.9), constrained_layout=True)
    for row, colour in zip(rows, COLOURS, strict=False):
        lowest = min(other["primal"] for other in rows if other["loss"] == row["loss"])
        seconds = [point["seconds"] for point in row["curve"]]
        below = [(lowest - point["dual"]) / lowest for point in row["curve"]]
        style = {"color": colour, "linestyle": STYLES[row["loss"]], "linewidth": 1.6}
        name = f"{row['solver'].split('(')[0]} ({row['loss'].replace('_', ' ')})"
        gaps.plot(seconds, [100 * share for share in below], label=name, **style)
        scores.plot(seconds, [100 * point["score"] for point in row["curve"]], label=name, **style)
    gaps.set(xscale="log", yscale="log", ylim=(0.5, 120), ylabel="dual below the best primal, %")
    scores.set(xscale="log", ylim=(88, 94.2), ylabel="test F1")
    for axis in (gaps, scores):
        axis.set(xlabel="CPU seconds")
        axis.grid(color="#d0d7de", linewidth=0.5)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    gaps.set_yticks([1, 10, 100], ["1", "10", "100"])
    for axis in (gaps, scores):
        axis.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    figure.legend(
        *gaps.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
    )
    figure.savefig(target, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--curves", type=Path, default=Path("results/curves.json"))
    parser.add_argument("--out", type=Path, default=Path("docs/images/solvers.svg"))
    options = parser.parse_args()
    rows = [row for row in json.loads(options.curves.read_text()) if row["corpus"] == "conll2000"]
    draw([row for row in rows if row["C"] == 0.1 and row["threads"] == 1], options.out)


if __name__ == "__main__":
    main()
