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
    assert "word[0]=Turin" in out or "others together" in out


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
        (["--format", "pdf"], "--format is 'pdf'; it must be one of text, html, json"),
    ],
)
def test_mistakes_are_one_sentence(run, model, tmp_path, arguments, message):
    code, out, err = run("explain", model, tmp_path / "new.txt", *arguments)
    assert code == 1
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_what_is_wrong_is_explained_against_what_is_right(run, model, tmp_path):
    (tmp_path / "gold.txt").write_text("Ada B-PER\nleft O\n\nBo B-LOC\nleft O\n\nBo B-ORG\n")
    code, out, err = run("explain", model, tmp_path / "gold.txt", "--gold")
    assert (code, err) == (0, "")
    assert "# 1" not in out
    assert "1 Bo: the wrong B-PER beats the right B-LOC by" in out
    assert "B-ORG is right, and the model cannot say so here" in out
    _, out, err = run("explain", model, tmp_path / "new.txt", "--gold")
    assert (out, err) == ("", "dualstruct: nothing is wrong here\n")
    _, out, _ = run("explain", model, "Bo left", "--labels", "B-LOC O")
    assert "the right B-LOC" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Bo left", "--gold"], "--labels gives the true labels"),
        (["new.txt", "--labels", "O"], "--labels is for a sentence in quotes"),
        (["new.txt", "--gold", "--text"], "plain text has none"),
    ],
)
def test_what_is_right_must_be_known(run, model, arguments, said):
    code, out, err = run("explain", model, *arguments)
    assert (code, out) == (1, "")
    assert said in err


def test_wrong_arcs_are_explained(run, tmp_path):
    parser = DependencyParser(hash_bits=12, passes=1).fit(load_english("train")[:30])
    parser.save(tmp_path / "p.dstruct")
    write_conllu(tmp_path / "test.conllu", load_english("test")[:2])
    code, out, _ = run("explain", tmp_path / "p.dstruct", tmp_path / "test.conllu", "--gold")
    assert code == 0
    assert "beats the right" in out
