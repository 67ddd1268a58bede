"""Drawn trees can be read back: every arc leads from its head to its dependent, with its label."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dualstruct import InputError
from dualstruct.datasets import load_english
from dualstruct.drawing import draw_comparison, draw_tree, tree_page, tree_svg
from dualstruct.drawing.layout import Measures, lay_out
from random_cases import cases

WORDS = ["a", "cat", "sat", "on", "mats", "reluctantly", "!", "I"]
LABELS = ["nsubj", "x", "obl:npmod", "root", "det"]


@st.composite
def trees(draw, most=8):
    """Words and labels with the heads of a tree, projective or not, under one root or several."""
    n = draw(st.integers(1, most))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for place, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:place]]))
    words = [draw(st.sampled_from(WORDS)) for _ in range(n)]
    return words, heads, [draw(st.sampled_from(LABELS)) for _ in range(n)]


def read_back(drawing: str, words: list[str]) -> list[int]:
    """The heads that somebody sees who follows the lines of a drawing in one piece."""
    *lines, text = drawing.split("\n")
    width = max(map(len, lines))
    rows = [line.ljust(width) for line in lines]
    *rows, arrows = rows
    starts, at = [], 0
    for word in words:
        at = text.index(word, at)
        starts.append(at)
        at += len(word)

    def word_under(column):
        """A port is above its word, or, where a word is too short for its ports, close to it."""
        return min(
            range(len(words)),
            key=lambda t: max(starts[t] - column, column - starts[t] - len(words[t]) + 1, 0),
        )

    heads = [-1] * len(words)
    for column, mark in enumerate(arrows):
        if mark != "▼":
            continue
        row = len(rows) - 1
        # Where lines cross and room is scarce, a label may lie upon a line that continues above it.
        while rows[row][column] in "│┼" or (row and rows[row - 1][column] in "│┼╭╮"):
            if rows[row][column] in "╭╮":
                break
            row -= 1
        corner = rows[row][column]
        if corner in "╭╮":  # follow the line to its other end; labels and crossings lie upon it
            step = 1 if corner == "╭" else -1
            end = column + step
            while rows[row][end] not in ("╮┤" if step == 1 else "╭├"):
                end += step
            heads[word_under(column)] = word_under(end) + 1
        else:  # the root's label
            heads[word_under(column)] = 0
    return heads


@given(trees())
def test_arcs_in_the_terminal_lead_to_the_heads(tree):
    words, heads, labels = tree
    drawing = draw_tree(words, heads, labels, width=10_000)
    assert read_back(drawing, words) == heads
    for label in labels:
        assert label in drawing


@given(trees(most=8), st.integers(20, 60))
def test_pieces_are_no_wider_than_the_terminal_and_hold_all_words(tree, width):
    words, heads, labels = tree
    drawing = draw_tree(words, heads, labels, width=width)
    widest = max(map(cell_len, words))
    if "─ " not in drawing:  # not the indented form
        assert max(map(cell_len, drawing.split("\n"))) <= max(width, widest)
    assert sum(drawing.count(word) for word in set(words)) >= len(set(words))


def test_a_long_sentence_becomes_an_indented_tree_with_every_word_once():
    n = 120
    words = [f"w{t:03}" for t in range(1, n + 1)]
    drawing = draw_tree(words, [0, *range(1, n)], ["dep"] * n, width=80)
    lines = drawing.split("\n")
    assert len(lines) == n
    assert lines[0] == "  1 w001  dep"
    assert lines[2] == "  3    └─ w003  dep"


def test_the_drawing_of_an_english_sentence():
    words = ["The", "old", "dog", "barked", "at", "me"]
    heads, labels = [3, 3, 4, 0, 6, 4], ["det", "amod", "nsubj", "root", "case", "obl"]
    expected = """\
                    root
 ╭───det────╮         │╭────obl────╮
 │   ╭─amod─┤╭─nsubj─╮││   ╭─case─╮│
 ▼   ▼      │▼       │▼│   ▼      │▼
The old    dog     barked at      me
"""
    assert draw_tree(words, heads, labels, width=80) + "\n" == expected


def test_wide_characters_keep_their_arcs_above_them():
    drawing = draw_tree(["猫", "が", "好き"], [3, 1, 0], ["nsubj", "case", "root"], width=80)
    *_, arrows, text = drawing.split("\n")
    assert text == "猫     が 好き"
    assert [cell_len(text[: text.index(word)]) for word in ("猫", "が", "好き")] == [0, 7, 10]
    assert [column for column, mark in enumerate(arrows) if mark == "▼"] == [0, 8, 12]


@given(trees(most=10))
def test_lines_and_labels_of_a_layout_do_not_lie_upon_each_other(tree):
    words, heads, labels = tree
    sizes = Measures(word=len, label=lambda label: len(label) + 2, port=1, gap=1)
    arcs = [arc for arc in lay_out(words, heads, labels, sizes).arcs if not arc.is_root]
    for arc in arcs:
        assert arc.right - arc.left > len(arc.label) + 2
    for a, b in combinations(arcs, 2):
        if a.level == b.level:
            assert a.right < b.left or b.right < a.left


@given(trees(most=10))
def test_svg_is_well_formed_and_its_labels_do_not_overlap(tree):
    words, heads, labels = tree
    root = ElementTree.fromstring(tree_svg(words, heads, labels, tags=["X"] * len(words)))
    space = "{http://www.w3.org/2000/svg}"
    texts = root.findall(f"{space}text")
    assert [t.text for t in texts if t.get("class") == "word"] == words
    assert sorted(t.text for t in texts if t.get("class") == "label") == sorted(labels)
    boxes = [
        tuple(float(r.get(key)) for key in ("x", "y", "width", "height"))
        for r in root.findall(f"{space}rect")
        if r.get("x")
    ]
    assert len(boxes) == len(words)
    for (x, y, w, h), (u, v, k, m) in combinations(boxes, 2):
        assert x + w <= u or u + k <= x or y + h <= v or v + m <= y
    view = list(map(float, root.get("viewBox").split()))
    assert all(x >= 0 and x + w <= view[2] and y >= 0 for x, y, w, _ in boxes)


def test_words_cannot_break_out_of_svg_or_the_terminal():
    words = ["<script>&'\"", "\x1b[31mred\x07", "\x00"]
    svg = tree_svg(words, [0, 1, 1], ["</text>", "a&b", "x"])
    texts = [t.text for t in ElementTree.fromstring(svg).iter() if t.get("class") == "word"]
    assert texts == [words[0], "�[31mred�", "�"]
    assert "\x1b" not in draw_tree(words, [0, 1, 1], width=80)


def test_every_sentence_of_the_corpus_can_be_drawn():
    for sentence in load_english("test"):
        drawing = draw_tree(sentence.forms, sentence.heads, sentence.relations, width=1000)
        assert read_back(drawing, sentence.forms) == sentence.heads


def test_words_without_heads_are_left_without_arcs():
    drawing = draw_tree(["a", "b", "c"], [-1, 0, 2], ["x", "root", "obj"], width=80)
    assert drawing.count("▼") == 2
    assert "x" not in drawing


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([1, 0], "word 1: its head is 1"),
        ([3, 0], "its head is 3, in a sentence of 2"),
        ([0], "2 w"),
    ],
)
def test_impossible_heads_are_refused(heads, message):
    with pytest.raises(InputError, match=message):
        draw_tree(["a", "b"], heads)


@given(trees(most=30), st.integers(20, 60), st.booleans())
@cases(60)
def test_no_line_is_wider_than_the_terminal(tree, width, marked):
    words, heads, labels = tree
    words = [word * (1 + 7 * (t % 5 == 3)) for t, word in enumerate(words)]
    marks = dict.fromkeys(range(1, len(words) + 1, 2), "✗") if marked else None
    for drawing in (
        draw_tree(words, heads, labels, width=width, marks=marks),
        draw_tree(words, list(range(len(words))), labels, width=width, marks=marks),
    ):
        assert max(map(cell_len, drawing.split("\n"))) <= width


def test_words_wider_than_the_terminal_get_an_ellipsis():
    drawing = draw_tree(["a" * 50, "b"], [2, 0], ["x", "root"], width=20)
    assert "a" * 19 + "…" in drawing


def test_marked_arcs_have_the_mark_for_a_tip_and_before_the_label():
    words, heads, relations = ["Ada", "sings", "well"], [2, 0, 2], ["obj", "root", "advmod"]
    drawing = draw_tree(words, heads, relations, marks={1: "✗", 2: "✓"})
    *_, arrows, text = drawing.split("\n")
    assert arrows.replace("│", "").split() == ["✗", "✓", "▼"]
    assert text.split() == words
    assert "─✗obj─" in drawing
    assert "✓root" in drawing
    picture = tree_svg(words, heads, relations, marks={1: "✗", 2: "✓"})
    assert picture.count("class='arc wrong'") == picture.count("class='arc right'") == 1
    assert ">✗obj<" in picture
    assert "✗" not in tree_svg(words, heads, marks={})


def test_the_arcs_in_which_two_trees_differ_are_marked_in_both():
    truth = load_english("test")[0]
    heads = [2 if word == 4 else head for word, head in enumerate(truth.heads, 1)]
    predicted = replace(truth, heads=heads, relations=["x", *truth.relations[1:]])
    wrong = [w for w in range(1, len(heads) + 1) if w == 1 or truth.heads[w - 1] != heads[w - 1]]
    drawing = draw_comparison(truth, predicted, width=1000)
    gold, other = drawing.split("\n\npredicted\n")
    assert gold.split("\n")[-2].count("✓") == len(wrong)
    assert other.split("\n")[-2].count("✗") == len(wrong)
    page = tree_page([("a < b", [truth, predicted]), ("c", [truth])], "t")
    assert page.count("<svg") == 3
    assert page.count("class='arc wrong'") == page.count("class='arc right'") == len(wrong)
    assert "a &lt; b" in page
    with pytest.raises(InputError, match="same words"):
        draw_comparison(truth, load_english("test")[1])
