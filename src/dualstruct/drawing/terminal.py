"""Trees drawn with box characters."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence

from dualstruct.drawing.layout import Arc, Layout, Measures, check_tree, lay_out
from dualstruct.widths import cell_len, cut_to

#: Drawings that take more pieces than this are shown as an indented tree.
MOST_PIECES = 3

_LEFT, _RIGHT, _UP, _DOWN = 1, 2, 4, 8
_LINES = {
    _LEFT | _RIGHT: "─",
    _UP | _DOWN: "│",
    _RIGHT | _DOWN: "╭",
    _LEFT | _DOWN: "╮",
    _RIGHT | _UP | _DOWN: "├",
    _LEFT | _UP | _DOWN: "┤",
    _LEFT | _RIGHT | _UP | _DOWN: "┼",
}


def draw_tree(
    words: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None = None,
    *,
    width: int | None = None,
    marks: Mapping[int, str] | None = None,
) -> str:
    """Draw a dependency tree with its arcs above the words.

    Where two arcs cross, the lines go straight on (``┼``). A sentence that is wider than the
    terminal is cut into pieces, and arcs run on from one piece to the next; a long one
    becomes an indented tree. No line is wider than the terminal: words that are get an ellipsis.

    Parameters
    ----------
    words, relations : list of str
    heads : list of int
        The number of each word's head, counted from 1; 0 is the root, -1 is none.
    width : int, optional
        The width in columns; that of the terminal by default.
    marks : dict, optional
        A character for some words, counted from 1: it is the tip of the arc to the word and stands
        before its relation. ``{3: "✗"}`` marks the arc to the third word as wrong.

    Examples
    --------
    >>> print(draw_tree(["Ada", "sings", "."], [2, 0, 2], ["nsubj", "root", "punct"]))
            root
     ╭─nsubj─╮│╭─punct─╮
     ▼       │▼│       ▼
    Ada     sings      .
    >>> print(draw_tree(["Ada", "sings"], [2, 0], ["obj", "root"], marks={1: "✗"}))
            root
     ╭─✗obj─╮│
     ✗      │▼
    Ada    sings
    """
    texts, numbers, labels = check_tree(words, heads, relations)
    columns = width or shutil.get_terminal_size().columns
    texts = [_shortened(text, columns) for text in texts]
    tips = {word - 1: mark for word, mark in (marks or {}).items()}
    labels = [tips.get(word, "") + label for word, label in enumerate(labels)]
    if sum(map(cell_len, texts)) > MOST_PIECES * columns:
        return _indented(texts, numbers, labels, columns)
    layout = lay_out(texts, numbers, labels, _SIZES)
    columns = min(columns, layout.width + _margin(layout))
    pieces = _cut(layout, columns)
    if len(pieces) > MOST_PIECES:
        return _indented(texts, numbers, labels, columns)
    lines = _draw_lines(layout)
    borders = _borders(layout, pieces, columns)
    placed = _place_labels(layout, lines, borders)
    drawn = [
        _piece(layout, lines, placed, words_here, border, tips)
        for words_here, border in zip(pieces, borders, strict=True)
    ]
    return "\n\n".join(drawn)


def _label_width(label: str) -> int:
    return cell_len(label) + 2


_SIZES = Measures(word=cell_len, label=_label_width, port=1, gap=1)


def _margin(layout: Layout) -> int:
    """As much room as a label may need after the last word."""
    return max((_label_width(arc.label) for arc in layout.arcs), default=0)


def _cut(layout: Layout, columns: int) -> list[tuple[int, int]]:
    """The first and the last word of each piece, the pieces about equally wide."""
    pieces = _cut_at(layout, columns)
    while columns > 1 and len(narrower := _cut_at(layout, columns - 1)) == len(pieces) > 1:
        columns, pieces = columns - 1, narrower
    return pieces


def _cut_at(layout: Layout, columns: int) -> list[tuple[int, int]]:
    pieces: list[tuple[int, int]] = []
    first = 0
    for word, start in enumerate(layout.starts):
        if start + layout.widths[word] - layout.starts[first] > columns and word > first:
            pieces.append((first, word - 1))
            first = word
    return [*pieces, (first, len(layout.starts) - 1)] if layout.starts else []


def _draw_lines(layout: Layout) -> list[list[int]]:
    """Which sides of each cell a line touches; row 0 is the highest level."""
    cells = [[0] * (layout.width + _margin(layout)) for _ in range(layout.height)]
    for arc in layout.arcs:
        top = layout.height - arc.level
        if not arc.is_root:
            cells[top][arc.left] |= _RIGHT
            cells[top][arc.right] |= _LEFT
            for x in range(arc.left + 1, arc.right):
                cells[top][x] |= _LEFT | _RIGHT
        for x in {arc.left, arc.right}:
            cells[top][x] |= _DOWN
            for row in range(top + 1, layout.height):
                cells[row][x] |= _UP | _DOWN
    return cells


def _borders(layout: Layout, pieces: list[tuple[int, int]], columns: int) -> list[tuple[int, int]]:
    """The first column of each piece and the one after its last.

    Columns before the next piece that do not fit are left out: only arcs that run on are there.
    """
    borders = []
    for first, last in pieces:
        begin = layout.starts[first]
        end = max(begin + columns, layout.starts[last] + layout.widths[last])
        if last + 1 < len(layout.starts):
            end = min(end, layout.starts[last + 1])
        borders.append((begin, end))
    return borders


def _place_labels(
    layout: Layout, lines: list[list[int]], borders: list[tuple[int, int]]
) -> dict[Arc, tuple[int, str]]:
    """The column in which each label begins: in the dependent's piece if it fits in there.

    Where an arc is cut so that it fits nowhere, it is shortened.
    """
    places: dict[Arc, tuple[int, str]] = {}
    for arc in layout.arcs:
        row = lines[layout.height - arc.level]

        def preference(piece: tuple[int, int], arc: Arc = arc) -> tuple[bool, int]:
            room = min(piece[1], arc.right) - max(piece[0], arc.left)
            return not piece[0] <= arc.arrow < piece[1], -room

        shortened = (arc.label[:n].ljust(n + 1, "…") for n in range(len(arc.label) - 1, 0, -1))
        tries = (
            (label, piece)
            for label in [arc.label, *shortened]
            for piece in sorted(borders, key=preference)
        )
        for label, (begin, end) in tries:
            place = _label_place(arc, label, row, begin, end)
            if place is not None:
                places[arc] = place, label
                break
    return places


def _piece(
    layout: Layout,
    lines: list[list[int]],
    labels: dict[Arc, tuple[int, str]],
    words: tuple[int, int],
    border: tuple[int, int],
    tips: Mapping[int, str],
) -> str:
    """Some of the words with the lines and labels above them."""
    begin, end = border
    rows = [[_LINES.get(cell, " ") for cell in row[begin:end]] for row in lines]
    arrows = [_LINES[_UP | _DOWN] if x in _ends(layout) else " " for x in range(begin, end)]
    for arc in layout.arcs:
        if begin <= arc.arrow < end:
            arrows[arc.arrow - begin] = tips.get(arc.dependent, "▼")
        column, label = labels.get(arc, (-1, ""))
        if begin <= column < end:
            place, written = column - begin, _by_column(label)
            rows[layout.height - arc.level][place : place + len(written)] = written
    text = ""
    for word in range(words[0], words[1] + 1):
        text += " " * (layout.starts[word] - begin - cell_len(text)) + layout.words[word]
    drawn = ["".join(row).rstrip() for row in [*rows, arrows]]
    return "\n".join([*(line for line in drawn if line), text])


def _ends(layout: Layout) -> set[int]:
    return {x for arc in layout.arcs for x in (arc.left, arc.right)}


def _by_column(text: str) -> list[str]:
    """The characters of a text, with an empty string behind those that take two columns."""
    columns: list[str] = []
    for character in text:
        width = cell_len(character)
        if width == 0 and columns:
            columns[-1] += character
        else:
            columns += [character, *[""] * (width - 1)]
    return columns


def _label_place(arc: Arc, label: str, row: list[int], begin: int, end: int) -> int | None:
    """Where in a piece an arc's label would begin: in the middle of what is seen of the arc."""
    width = cell_len(label)
    if not width:
        return None
    if arc.is_root:
        inside = begin <= arc.left < end
        return max(min(arc.left - width // 2, end - width), begin) if inside else None
    left, right = max(arc.left + 1, begin), min(arc.right, end)
    places = range(left, right - width + 1)
    if not places:
        return None
    middle = (left + right - width) // 2

    def spoils(place: int) -> tuple[int, int]:
        """Lines that the label would hide, and its distance from the middle."""
        crossed = sum(cell != _LEFT | _RIGHT for cell in row[place : place + width])
        return crossed, abs(place - middle)

    return min(places, key=spoils)


def _shortened(text: str, columns: int) -> str:
    """The text, or as much of it as fits, with an ellipsis."""
    if cell_len(text) <= columns:
        return text
    return cut_to(text, columns - 1).rstrip() + "…"


def _indented(words: list[str], heads: list[int], relations: list[str], columns: int) -> str:
    """One word per line under its head, in the order of the sentence, with its number.

    Deep trees have narrow branches. Where even these are too wide, the first branches are left out
    of deep lines, and what is too long is shortened.
    """
    for parts in (("├─ ", "└─ ", "│  ", "   "), ("├", "└", "│", " ")):
        lines = ["".join(line) for line in _branches(words, heads, relations, parts)]
        if max(map(cell_len, lines), default=0) <= columns:
            return "\n".join(lines)
    most = columns // 2
    lines = []
    for number, branches, word in _branches(words, heads, relations, ("├─ ", "└─ ", "│  ", "   ")):
        shown = branches if len(branches) <= most else "…" + branches[1 - most :]
        lines.append(_shortened(number + shown + word, columns))
    return "\n".join(lines)


def _branches(
    words: list[str], heads: list[int], relations: list[str], parts: tuple[str, str, str, str]
) -> list[tuple[str, str, str]]:
    """Numbers, branches and words with relations.

    ``parts`` are the branches to a child and to the last one, and what is under these.
    """
    to_child, to_last, beside, under_last = parts
    children: dict[int, list[int]] = {}
    for word, head in enumerate(heads, 1):
        children.setdefault(max(head, 0), []).append(word)
    digits = len(str(len(words)))
    lines: list[tuple[str, str, str]] = []
    # (word, what stands before its line, what stands before those of its children)
    waiting = [(word, "", "") for word in reversed(children.get(0, []))]
    while waiting:
        word, before, under = waiting.pop()
        label = f"  {relations[word - 1]}" if relations[word - 1] else ""
        lines.append((f"{word:{digits}} ", before, f"{words[word - 1]}{label}"))
        below = children.get(word, [])
        for place, child in reversed(list(enumerate(below, 1))):
            is_last = place == len(below)
            branch, gap = (to_last, under_last) if is_last else (to_child, beside)
            waiting.append((child, under + branch, under + gap))
    return lines
