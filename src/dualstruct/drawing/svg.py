"""Trees drawn as SVG: one self-contained picture that follows light and dark themes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from dualstruct.drawing.layout import Arc, Layout, Measures, check_tree, lay_out
from dualstruct.widths import cell_len

WORD_SIZE = 16
LABEL_SIZE = 12
LEVEL = 24  # between two arcs, one above the other
MARGIN = 16
CORNER = 8
#: How wide a character may be, in font sizes: fonts differ, so rather more than less.
CHARACTER = 0.65

#: The mark of wrong arcs.
WRONG = "✗"

_STYLE = """\
.paper { fill: #ffffff }
.word, .tag { fill: #1f2328 }
.tag { opacity: 0.65 }
.label { fill: #0550ae }
.arc { stroke: #57606a }
.tip { fill: #57606a }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117 }
  .word, .tag { fill: #e6edf3 }
  .label { fill: #79c0ff }
  .arc { stroke: #8b949e }
  .tip { fill: #8b949e }
}
.arc { fill: none; stroke-width: 1.3 }
.label.wrong, .tip.wrong { fill: #cf222e }
.arc.wrong { stroke: #cf222e; stroke-width: 2; stroke-dasharray: 5 3 }
.label.right, .tip.right { fill: #1a7f37 }
.arc.right { stroke: #1a7f37; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  .label.wrong, .tip.wrong { fill: #f85149 }
  .arc.wrong { stroke: #f85149 }
  .label.right, .tip.right { fill: #3fb950 }
  .arc.right { stroke: #3fb950 }
}
text { font-family: system-ui, "Helvetica Neue", Arial, sans-serif; text-anchor: middle }"""


@dataclass(frozen=True)
class Picture:
    """Where everything of a tree goes, in pixels."""

    layout: Layout
    tags: list[str]  #: what stands under the words
    side: int  #: what is free on the left of the layout and on its right
    base: int  #: where arcs end and words begin
    width: int
    height: int

    def middle(self, word: int) -> int:
        """The middle of a word."""
        return self.side + self.layout.starts[word] + self.layout.widths[word] // 2


def place_tree(
    words: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
) -> Picture:
    """Where the words, arcs and labels of a tree go, for whoever draws them.

    >>> picture = place_tree(["Ada", "sings"], [2, 0], ["nsubj", "root"])
    >>> [(arc.label, arc.level) for arc in picture.layout.arcs]
    [('nsubj', 1), ('root', 2)]
    """
    texts, numbers, labels = check_tree(words, heads, relations)
    _, _, below = check_tree(words, heads, tags)
    width_of = {text: _width(text, WORD_SIZE) for text in texts}
    for text, tag in zip(texts, below, strict=True):
        width_of[text] = max(width_of[text], _width(tag, LABEL_SIZE))
    sizes = Measures(
        word=lambda text: width_of[text],
        label=lambda text: _width(text, LABEL_SIZE) + 2 * CORNER,
        port=10,
        gap=WORD_SIZE,
    )
    layout = lay_out(texts, numbers, labels, sizes)
    base = MARGIN + LEVEL * layout.height + CORNER
    root_reach = max((_width(a.label, LABEL_SIZE) for a in layout.arcs if a.is_root), default=0)
    side = MARGIN + root_reach // 2
    height = base + WORD_SIZE + (LABEL_SIZE + 8 if tags is not None else 0) + MARGIN
    return Picture(layout, below, side, base, layout.width + 2 * side, height)


def tree_svg(
    words: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None = None,
    *,
    tags: Sequence[str] | None = None,
    marks: Mapping[int, str] | None = None,
) -> str:
    """Draw a dependency tree as SVG.

    Parameters
    ----------
    words, relations : list of str
    heads : list of int
        The number of each word's head, counted from 1; 0 is the root, -1 is none.
    tags : list of str, optional
        What to write under the words, their parts of speech for example.
    marks : dict, optional
        A character for some words, counted from 1, that stands before the relation of their arcs;
        arcs marked with ✗ are drawn as wrong ones, others as right ones.

    Examples
    --------
    >>> svg = tree_svg(["Ada", "sings"], [2, 0], ["nsubj", "root"], tags=["PROPN", "VERB"])
    >>> svg[:4], svg.count("<path class='arc'"), "PROPN" in svg
    ('<svg', 2, True)
    """
    chosen = marks or {}
    names = relations
    if chosen:
        names = [""] * len(words) if relations is None else relations
        names = [chosen.get(word, "") + name for word, name in enumerate(names, 1)]
    picture = place_tree(words, heads, names, tags)
    texts, side, base = picture.layout.words, picture.side, picture.base
    width, height = picture.width, picture.height
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}' role='img'>",
        f"<title>{escape(' '.join(texts), quote=False)}</title>",
        f"<style>{_STYLE}</style>",
        f"<rect class='paper' width='{width}' height='{height}'/>",
    ]
    arcs = sorted(picture.layout.arcs, key=lambda arc: -arc.level)
    kinds = {word - 1: " wrong" if mark == WRONG else " right" for word, mark in chosen.items()}
    parts += [_arc_path(arc, side, base, kinds.get(arc.dependent, "")) for arc in arcs]
    for arc in arcs:
        if arc.label:
            x = side + (arc.left + arc.right) // 2
            y = base - LEVEL * arc.level + (0 if arc.is_root else 4)
            parts.append(_background(x, y, arc.label))
            kind = "label" + kinds.get(arc.dependent, "")
            parts.append(_text(kind, LABEL_SIZE, x, y, arc.label))
    for word, text in enumerate(texts):
        x = picture.middle(word)
        parts.append(_text("word", WORD_SIZE, x, base + WORD_SIZE, text))
        if picture.tags[word]:
            y = base + WORD_SIZE + LABEL_SIZE + 6
            parts.append(_text("tag", LABEL_SIZE, x, y, picture.tags[word]))
    return "\n".join([*parts, "</svg>", ""])


def _width(text: str, size: int) -> int:
    return round(cell_len(text) * size * CHARACTER) + 1


def _text(kind: str, size: int, x: int, y: int, text: str) -> str:
    shown = escape(text, quote=False)
    return f"<text class='{kind}' font-size='{size}' x='{x}' y='{y}'>{shown}</text>"


def _background(x: int, y: int, label: str) -> str:
    """Paper under a label, so that lines do not run through it."""
    width = _width(label, LABEL_SIZE)
    return (
        f"<rect class='paper' x='{x - width // 2}' y='{y - LABEL_SIZE + 1}' width='{width}' "
        f"height='{LABEL_SIZE + 2}'/>"
    )


def _arc_path(arc: Arc, side: int, base: int, kind: str) -> str:
    """A line up, along and down, with a tip where it meets the dependent."""
    left, right, tip = side + arc.left, side + arc.right, side + arc.arrow
    top = base - LEVEL * arc.level
    if arc.is_root:
        line = f"M{left} {top + 5}V{base}"
    else:
        r = min(CORNER, (right - left) // 2)
        line = (
            f"M{left} {base}V{top + r}Q{left} {top} {left + r} {top}H{right - r}"
            f"Q{right} {top} {right} {top + r}V{base}"
        )
    return (
        f"<path class='arc{kind}' d='{line}'/>"
        f"<path class='tip{kind}' d='M{tip - 4} {base - 7}L{tip + 4} {base - 7}L{tip} {base}Z'/>"
    )
