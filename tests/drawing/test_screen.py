"""What is shown in columns: nothing is lost or too wide, and only terminals get colours."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct.screen import NARROW, Column, Screen, Table, Text, plain
from dualstruct.widths import cell_len

WORDS = st.text(alphabet="ab猫é +=[]\N{COMBINING ACUTE ACCENT}", max_size=40)
STYLES = st.sampled_from(["", "bold", "dim", "bold red"])
TEXTS = st.lists(st.tuples(WORDS, STYLES), max_size=4)


def text_of(pieces):
    text = Text()
    for piece, style in pieces:
        text.append(piece, style)
    return text


@given(TEXTS, st.integers(2, 30))
def test_folding_loses_only_spaces_and_keeps_styles(pieces, columns):
    text = text_of(pieces)
    lines = text.folded(columns)
    assert all(cell_len(str(line)) <= columns for line in lines)
    assert "".join(map(str, lines)).replace(" ", "") == str(text).replace(" ", "")
    styles = [(letter, style) for piece, style in text.pieces for letter in piece]
    kept = [(letter, style) for line in lines for piece, style in line.pieces for letter in piece]
    assert [each for each in kept if each[0] != " "] == [each for each in styles if each[0] != " "]


@given(TEXTS)
def test_colours_add_codes_and_nothing_else(pieces):
    text = text_of(pieces)
    assert re.sub(r"\x1b\[[\d;]*m", "", text.coloured()) == str(text)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5), st.integers(2 * NARROW + 3, 60))
def test_a_table_that_may_fold_fits(rows, columns):
    table = Table(Column(Text("name")), Column(Text("count"), right=True))
    for row in rows:
        table.add(*row)
    lines = plain(table, columns)
    assert all(cell_len(line) <= columns for line in lines)
    found = "".join("".join(lines).split())
    assert sorted(found) == sorted("namecount" + "".join("".join(map("".join, rows)).split()))


def test_columns_stand_below_each_other():
    table = Table(Column(Text("word")), Column(Text("count"), right=True), left=0)
    table.add("猫", "12")
    table.add("a cat", "")
    assert plain(table) == ["word   count", "猫        12", "a cat"]


@pytest.mark.parametrize(("terminal", "no_colour", "coloured"), [(1, 0, 1), (1, 1, 0), (0, 0, 0)])
def test_only_terminals_get_colours(terminal, no_colour, coloured, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: bool(terminal), raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("WT_SESSION", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    Screen().print(Text("right", "green"))
    Screen(quiet=True).print("nothing")
    assert capsys.readouterr().out == ("\x1b[32mright\x1b[0m\n" if coloured else "right\n")
