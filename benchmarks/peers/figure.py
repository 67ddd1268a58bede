"""Score against time, a panel for each corpus: python benchmarks/peers/figure.py docs/benchmarks.md

Drawn from the tables of the page, so that the picture and the page never differ.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from pictures import COLOURS, INK, plt

from dualstruct.drawing.style import spread

NAME = "images/benchmarks.svg"
#: A tool, its score, and its CPU seconds.
Row = tuple[str, float, float]


def tables_of(page: str) -> dict[str, list[Row]]:
    """The tables of the page, by corpus."""
    tables = {}
    for corpus, text in re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL):
        rows = re.findall(r"^\| ([\w .()=-]+?) \| ([\d.]+) \|.*\| ([\d.]+) \|$", text, re.MULTILINE)
        if len(rows) > 1 and "| tool |" in text:
            tables[corpus] = [(tool, float(score), float(total)) for tool, score, total in rows]
    return tables


def draw(tables: dict[str, list[Row]], path: Path) -> None:
    columns = min(2, len(tables))
    rows = -(-len(tables) // columns)
    figure, panels = plt.subplots(rows, columns, figsize=(10, 3.2 * rows), squeeze=False)
    for panel in panels.flat[len(tables) :]:
        panel.axis("off")
    for panel, (corpus, table) in zip(panels.flat, tables.items(), strict=False):
        ranked = sorted(table, key=lambda row: -row[1])
        scores = [score for _, score, _ in ranked]
        low = max(min(scores), scores[0] - 6)
        high = scores[0] + 0.05 * (scores[0] - low)
        inside = [max(score, low) for score in scores]
        step = (high - low) / max(11, len(inside) - 1)
        heights = spread(inside, step, low)
        right = max(total for *_, total in table) * 1.6
        for (tool, score, total), height in zip(ranked, heights, strict=True):
            ours = tool.startswith("dualstruct")
            colour = COLOURS[0] if ours else COLOURS[1]
            place = max(score, low)
            panel.plot(total, place, "o" if ours else "s", color=colour, clip_on=False)
            panel.plot([total, right], [place, height], color=INK, linewidth=0.4, clip_on=False)
            shown = f" {tool} {score:.1f}" + (" ↓" if score < low else "")
            panel.text(right, height, shown, color=colour, fontsize=8, va="center")
        panel.set(title=corpus, xscale="log", xlim=(None, right), ylim=(low, high))
        panel.xaxis.set_major_formatter(lambda seconds, _: f"{seconds:g} s")
        panel.xaxis.set_minor_formatter("")
        panel.set_ylabel("score")
    figure.supxlabel("CPU seconds: prepare, train and test (up and to the left is better)")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    page = Path(sys.argv[1])
    draw(tables_of(page.read_text(encoding="utf-8")), page.parent / NAME)
