"""Reliability diagrams: accuracy against confidence, as SVG, or as PNG with matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

from dualstruct.data.writing import replace_file
from dualstruct.errors import InputError
from dualstruct.metrics.reliability import Reliability

SIZE, LEFT, TOP, GAP, BELOW = 220, 56, 48, 90, 70

_STYLE = """\
.paper { fill: #ffffff }
text { fill: #1f2328; font: 12px system-ui, "Helvetica Neue", Arial, sans-serif }
.frame { fill: none; stroke: #8c959f }
.ideal { stroke: #8c959f; stroke-dasharray: 4 4 }
.bar { fill: #0969da; fill-opacity: 0.75 }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117 }
  text { fill: #e6edf3 }
  .bar { fill: #58a6ff }
}"""


def reliability_svg(diagrams: Sequence[Reliability]) -> str:
    """One diagram beside the other; a bar's width shows its bin, its height what was right."""
    width = LEFT + len(diagrams) * (SIZE + GAP) - GAP + 24
    height = TOP + SIZE + BELOW
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}' role='img'>",
        "<title>Reliability: the share of right answers by confidence</title>",
        f"<style>{_STYLE}</style>",
        f"<rect class='paper' width='{width}' height='{height}'/>",
    ]
    for number, diagram in enumerate(diagrams):
        parts += _diagram(diagram, LEFT + number * (SIZE + GAP))
    return "\n".join([*parts, "</svg>\n"])


def _diagram(diagram: Reliability, left: int) -> list[str]:
    bottom = TOP + SIZE
    title = f"{escape(diagram.what, quote=False)}: ECE {100 * diagram.ece:.2f} %"
    parts = [
        f"<text x='{left}' y='{TOP - 24}'>{title}</text>",
        f"<text x='{left}' y='{TOP - 8}' opacity='0.7'>{diagram.count:,} of them</text>",
    ]
    for each in diagram.bins:
        x, wide = left + each.low * SIZE, (each.high - each.low) * SIZE - 1
        tall = each.accuracy * SIZE
        parts.append(
            f"<rect class='bar' x='{x:.1f}' y='{bottom - tall:.1f}' width='{wide:.1f}' "
            f"height='{tall:.1f}'><title>{each.count:,}: confidence {each.confidence:.3f}, "
            f"right {each.accuracy:.3f}</title></rect>"
        )
    parts += [
        f"<line class='ideal' x1='{left}' y1='{bottom}' x2='{left + SIZE}' y2='{TOP}'/>",
        f"<rect class='frame' x='{left}' y='{TOP}' width='{SIZE}' height='{SIZE}'/>",
    ]
    for tick in (0, 0.5, 1):
        x, y = left + tick * SIZE, bottom - tick * SIZE
        parts += [
            f"<text x='{x:.0f}' y='{bottom + 16}' text-anchor='middle'>{tick:g}</text>",
            f"<text x='{left - 6}' y='{y + 4:.0f}' text-anchor='end'>{tick:g}</text>",
        ]
    middle = left + SIZE / 2
    parts.append(f"<text x='{middle:.0f}' y='{bottom + 36}' text-anchor='middle'>confidence</text>")
    parts.append(
        f"<text transform='translate({left - 34} {TOP + SIZE / 2:.0f}) rotate(-90)' "
        "text-anchor='middle'>right</text>"
    )
    return parts


def draw_reliability(diagrams: Sequence[Reliability], path: Path) -> None:
    """Write the diagrams to a file that ends in .svg or .png."""
    check_picture(path)
    data = reliability_svg(diagrams).encode() if path.suffix == ".svg" else _png(diagrams)
    replace_file(path, data)


def check_picture(path: Path) -> None:
    """Refuse a name that no picture can be written to, before any work is done."""
    if path.suffix not in (".svg", ".png"):
        raise InputError(f"{path} should end in .svg or .png")
    if path.suffix == ".png":
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            raise InputError(
                f"{path}: PNG needs matplotlib, which is not installed; SVG does without"
            ) from None


def _png(diagrams: Sequence[Reliability]) -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(diagrams), 4), layout="constrained")
    for place, diagram in zip(
        figure.subplots(1, len(diagrams), squeeze=False)[0], diagrams, strict=True
    ):
        place.bar(
            [each.low for each in diagram.bins],
            [each.accuracy for each in diagram.bins],
            [each.high - each.low for each in diagram.bins],
            align="edge",
            alpha=0.75,
        )
        place.plot([0, 1], [0, 1], "--", color="grey")
        place.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="right")
        place.set_title(f"{diagram.what}: ECE {100 * diagram.ece:.2f} %")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    return picture.getvalue()
