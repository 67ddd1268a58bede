"""The command explain."""

from __future__ import annotations

import json

import pytest

from dualstruct import DependencyParser, SequenceTagger, write_conllu
from dualstruct.datasets import load_english

COLUMNS = "Ada B-PER\nlives O\nin O\nTurin B-LOC\n\nBo B-PER\nleft O\nRome B-LOC\n"


@pytest.fixture
def model(tmp_path):
    X = [["Ada", "lives", "in", "Turin"], ["Bo", "left", "Rome"]]
    Y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-LOC"]]
    SequenceTagger(features="ner", C=1.0).fit(X, Y).save(tmp_path / "m.dstruct")
    (tmp_path / "new.txt").write_text(COLUMNS)
    return tmp_path / "m.dstruct"


def test_a_sentence_in_quotes_is_explained(run, model):
    code, out, err = run("explain", model, "Bo lives in Turin")
    assert (code, err) == (0, "")
    assert "4 Turin: B-LOC beats" in out
    assert "word[0]=Turin" in out or "smaller ones" in out


def test_one_token_of_a_file_as_json(run, model, tmp_path):
    code, out, _ = run(
        "explain", model, tmp_path / "new.txt", "--sentence", 2, "--token", 3, "--format", "json"
    )
    [sentence] = json.loads(out)["sentences"]
    assert code == 0
    assert sentence["sentence"] == 2
    assert [token["form"] for token in sentence["tokens"]] == ["Rome"]


def test_html_is_one_page(run, model, tmp_path):
    code, out, _ = run("explain", model, tmp_path / "new.txt", "--format", "html")
    assert code == 0
    assert out.count("<html") == 1
    assert out.count("<section>") == 2


def test_most_limits_the_sentences_and_says_so(run, model, tmp_path):
    _, out, err = run("explain", model, tmp_path / "new.txt", "--most", 1)
    assert "# 1 Ada" in out
    assert "# 2" not in out
    assert "--most" in err


def test_parsers_explain_a_sentence_by_its_sent_id(run, tmp_path):
    DependencyParser(hash_bits=12, passes=1).fit(load_english("train")[:30]).save(
        tmp_path / "p.dstruct"
    )
    treebank = load_english("test")
    write_conllu(tmp_path / "test.conllu", treebank.select([0, 1]))
    name = treebank[1].sent_id
    code, out, _ = run(
        "explain", tmp_path / "p.dstruct", tmp_path / "test.conllu", "--sentence", name
    )
    assert code == 0
    assert "# 2 " in out
    assert " beats " in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sentence", "7"], "there is no sentence 7"),
        (["--token", "9"], "token 9: the sentence has tokens 1 to 4"),
        (["--format", "pdf"], "--format is 'pdf'; it is text, html, json"),
    ],
)
def test_mistakes_are_one_sentence(run, model, tmp_path, arguments, message):
    code, out, err = run("explain", model, tmp_path / "new.txt", *arguments)
    assert code == 1
    assert out == ""
    assert message in err
    assert "Traceback" not in err
