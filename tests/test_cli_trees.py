"""Trees at the command line: scored, drawn, and refused where they are broken."""

from __future__ import annotations

import json

import pytest

from dualstruct import Treebank, read_conllu, write_conllu
from dualstruct.datasets import english_path
from test_cli import refusal, run


@pytest.fixture
def guess(tmp_path):
    """The embedded corpus with every second word of a sentence hung from its root."""
    truth = read_conllu(english_path())
    heads = []
    for sentence in truth:
        root = sentence.heads.index(0) + 1
        heads.append([h if t % 2 or not h else root for t, h in enumerate(sentence.heads)])
        for t, head in enumerate(heads[-1]):
            if head == t + 1:
                heads[-1][t] = 0
    write_conllu(tmp_path / "guess.conllu", truth.replace(heads=heads))
    return tmp_path / "guess.conllu"


def test_two_files_are_compared(guess):
    report = json.loads(run("evaluate", english_path(), guess, "--json"))
    assert 0.3 < report["uas"] < 0.9
    assert report["las"] <= report["uas"]
    assert report["without_punctuation"]["words"] < report["words"]
    assert report["per_relation"]["root"]["support"] == report["sentences"]
    text = run("evaluate", english_path(), guess)
    assert f"{100 * report['uas']:.2f}" in text
    assert "without punctuation" in text


def test_files_that_do_not_fit_are_explained(guess, tmp_path):
    write_conllu(tmp_path / "short.conllu", read_conllu(guess)[1:])
    message = refusal("evaluate", english_path(), tmp_path / "short.conllu")
    assert message.startswith("english.conllu has 578 sentences, but short.conllu has 577")
    message = refusal("evaluate", tmp_path / "nothing.conllu", guess)
    assert "nothing.conllu: there is no such file" in message
    (tmp_path / "words.conllu").write_bytes(bytes(Treebank.from_columns([["a"]])))
    message = refusal("evaluate", tmp_path / "words.conllu", tmp_path / "words.conllu")
    assert message == "words.conllu, line 1: word 1 has no head"


def test_a_tree_is_drawn_in_the_terminal_and_as_svg(tmp_path):
    out = run("draw", english_path(), "--sentence", "news-002", "--width", 100)
    assert "▼" in out
    assert "Storm   leaves thousands" in out
    assert run("draw", english_path(), "--sentence", 2, "--width", 100) == out
    assert run("draw", english_path(), "--most", 3).count("# news-") == 3
    run("draw", english_path(), "--sentence", "news-002", "--svg", tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8").startswith("<svg")
    piped = run("draw", "-", "--width", 100, stdin=english_path().read_bytes())
    assert "# news-001" in piped


def test_what_cannot_be_drawn_is_explained(tmp_path):
    assert "no sentence 'x'" in refusal("draw", english_path(), "--sentence", "x")
    assert "end in .svg" in refusal("draw", english_path(), "--svg", tmp_path / "tree.png")
    write_conllu(tmp_path / "w.conllu", Treebank.from_columns([["a"]]))
    assert refusal("draw", tmp_path / "w.conllu").endswith("the sentence has no heads to draw")
