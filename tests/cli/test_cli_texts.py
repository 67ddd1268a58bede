"""From texts with marked spans to a model, and from text to spans, by three commands."""

from __future__ import annotations

import io
import json
import sys

import pytest

from commands import dualstruct, refusal
from dualstruct import SequenceTagger
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.datasets import load_english
from dualstruct.texts import Document, iter_documents, write_documents
from dualstruct.texts.documents import joined, split_documents
from dualstruct.texts.formats.columns import with_spans


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    marked = [with_spans(joined([s.forms], [s.entities])) for s in load_english("train")]
    documents = [Document(each.text, each.spans) for each in marked]
    split_documents(documents, Tokenizer())
    assert sum(len(each.spans) for each in documents) > 50
    for name in ("train.jsonl", "train.labelstudio.json", "train.brat", "train.conll"):
        write_documents(folder / name, documents)
    return folder


@pytest.fixture
def ask(run, monkeypatch):
    """A command with standard input; it must succeed."""

    def ask(*arguments, stdin=""):
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin.encode())))
        )
        code, out, err = run(*arguments)
        assert code == 0, err
        return out

    return ask


@pytest.fixture
def model(files, ask):
    path = files / "ner.dstruct"
    if not path.exists():
        ask("train", files / "train.jsonl", "--features", "ner", "--loss", "crf", "--model", path)
    return path


def test_three_commands_lead_from_marked_texts_to_spans(files, model, ask):
    report = json.loads(ask("evaluate", model, files / "train.jsonl", "--json"))
    assert report["f1"] > 0.95
    text = "Ada lives in Lisbon, near Tom's.\n\nHello 👍🏽 Lisbon!\n"
    rows = [
        json.loads(line)
        for line in ask("predict", model, "--text", "--format", "jsonl", stdin=text).splitlines()
    ]
    assert [row["text"] for row in rows] == [
        "Ada lives in Lisbon, near Tom's.",
        "Hello 👍🏽 Lisbon!",
    ]
    for row in rows:
        for each in [*row["tokens"], *row["spans"]]:
            assert row["text"][each["start"] : each["end"]] == each["text"]
        assert all(0 < span["probability"] <= 1 for span in row["spans"])
    assert ("LOC", "Lisbon") in [(s["label"], s["text"]) for s in rows[0]["spans"]]
    assert [t["text"] for t in rows[1]["tokens"]] == ["Hello", "👍🏽", "Lisbon", "!"]


@pytest.mark.parametrize("source", ["train.labelstudio.json", "train.brat", "train.conll"])
def test_every_format_trains_the_same_model(files, ask, source, tmp_path):
    options = ["--features", "ner", "--passes", "3", "--model"]
    ask("train", files / "train.jsonl", *options, tmp_path / "a")
    ask("train", files / source, *options, tmp_path / "b")
    found = [
        json.loads(ask("evaluate", tmp_path / m, files / "train.conll", "--json")) for m in "ab"
    ]
    assert found[0]["f1"] == found[1]["f1"] > 0.7


@pytest.mark.parametrize("format", ["conll", "conllu", "csv", "labelstudio", "brat", "jsonl"])
def test_predictions_are_written_in_every_format(files, model, ask, format, tmp_path):
    target, text = tmp_path / "out", "Ada lives in Lisbon .\n"
    options = ["--format", format, "--output", target]
    assert ask("predict", model, "--text", *options, stdin=text) == ""
    [document] = iter_documents(target, format)
    assert document.text == "Ada lives in Lisbon ."
    assert [document.text[s.start : s.end] for s in document.spans][-1] == "Lisbon"
    if format != "brat":
        printed = ask("predict", model, "--text", "--format", format, stdin=text)
        assert printed == target.read_text()


def test_brat_cannot_be_printed(model, run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Ada\n")))
    code, _, err = run("predict", model, "--text", "--format", "brat")
    assert code == 1
    assert "--format brat cannot be printed; --output names its folder" in err


def test_texts_come_out_as_they_came_in(files, model, ask):
    """Lines of JSON give lines of JSON, with what stood beside the text."""
    row = {"text": "In Lisbon.", "meta": {"source": "x"}}
    [line] = ask("predict", model, "-", stdin=json.dumps(row) + "\n").splitlines()
    found = json.loads(line)
    assert found["meta"] == {"source": "x"}
    assert [s["text"] for s in found["spans"]] == ["Lisbon"]


def test_columns_become_documents(files, model, ask):
    out = ask("predict", model, "--format", "jsonl", stdin="In\nLisbon\n\nHello\n")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["text"] for row in rows] == ["In Lisbon", "Hello"]
    assert [s["text"] for s in rows[0]["spans"]] == ["Lisbon"]


def test_text_is_split_as_the_model_or_the_user_says(files, ask, tmp_path):
    ask(
        "train", files / "train.jsonl", "--passes", "1", "--model", tmp_path / "m",
        "--tokenizer", "hyphens=keep",
    )  # fmt: skip
    assert SequenceTagger.load(tmp_path / "m").tokenizer_.hyphens == "keep"
    ask(
        "train", files / "train.conll", "--passes", "1", "--model", tmp_path / "n",
        "--tokenizer", "hyphens=keep",
    )  # fmt: skip
    assert SequenceTagger.load(tmp_path / "n").tokenizer_.hyphens == "keep"
    first = "Well-known Bo's. He left.\n"

    def words(*options):
        out = ask("predict", tmp_path / "m", "--text", *options, stdin=first)
        return [[row.split("\t")[0] for row in s.split("\n")] for s in out.strip().split("\n\n")]

    assert words() == [["Well-known", "Bo", "'s", "."], ["He", "left", "."]]
    assert words("--presplit") == [["Well-known", "Bo's.", "He", "left."]]
    assert words("--tokenizer", "sentences=lines") == [
        ["Well", "-", "known", "Bo", "'s", ".", "He", "left", "."]
    ]


def test_spans_that_do_not_fit_are_told_or_refused(model, run, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "In Lisbon", "spans": [[3, 6, "LOC"], [3, 9, "LOC"]]}\n')
    code, _, err = run("evaluate", model, path)
    assert code == 1
    assert "a.jsonl, line 1: the spans 3-6 LOC 'Lis' and 3-9 LOC 'Lisbon' overlap" in err
    code, _, err = run("evaluate", model, path, "--overlapping", "longest")
    assert code == 0
    assert "1 of 2 spans does not begin and end with a token, and was moved" in err
    code, _, err = run("evaluate", model, path, "--misaligned", "refuse")
    assert code == 1
    assert "the span 3-6 LOC 'Lis' does not begin and end with a token" in err
    path.write_text('{"text": "In Lisbon"}\n')
    code, _, err = run("train", path, "--model", tmp_path / "n")
    assert code == 1
    assert "a.jsonl: no span is marked in its texts" in err


def test_convert_says_what_became_of_spans_that_do_not_fit_tokens(ask, tmp_path):
    source, target = tmp_path / "a.jsonl", tmp_path / "a.conll"
    spans = [{"start": 0, "end": 2, "label": "PER"}, {"start": 9, "end": 14, "label": "LOC"}]
    source.write_text(json.dumps({"text": "Ada left Turin.", "spans": spans}) + "\n")
    done = dualstruct("convert", source, target)
    assert "1 document with 2 spans written" in done.stdout
    assert "1 of 2 spans does not begin and end with a token, and was moved" in done.stderr
    assert "Ada\tB-PER" in target.read_text()
    ask("convert", source, target, "--misaligned", "drop")
    assert "Ada\tO" in target.read_text()
    assert "does not begin and end" in refusal("convert", source, target, "--misaligned", "refuse")
    both = [{"start": 9, "end": 14, "label": "ORG"}, {"start": 4, "end": 14, "label": "LOC"}]
    source.write_text(json.dumps({"text": "Ada left Turin.", "spans": both}) + "\n")
    said = refusal("convert", source, target)
    assert "4-14 LOC" in said
    assert "9-14 ORG" in said
    ask("convert", source, target, "--overlapping", "longest")
    assert "left\tB-LOC\nTurin\tI-LOC" in target.read_text()
    ask("convert", source, tmp_path / "b.jsonl")  # where spans stay spans all of them are kept
    assert len(json.loads((tmp_path / "b.jsonl").read_text())["spans"]) == 2


def test_convert_turns_data_into_other_formats(files, ask, tmp_path):
    out = ask("convert", files / "train.jsonl", tmp_path / "a.conllu")
    assert f"{len(load_english('train'))} documents with" in out
    ask("convert", tmp_path / "a.conllu", tmp_path / "b.jsonl")
    both = [list(iter_documents(path)) for path in (files / "train.jsonl", tmp_path / "b.jsonl")]
    assert [(d.text, d.spans) for d in both[0]] == [(d.text, d.spans) for d in both[1]]


def test_convert_keeps_labels_of_tokens_or_says_that_it_cannot(ask, tmp_path):
    words, tags = tmp_path / "words.jsonl", tmp_path / "tags.conllu"
    words.write_text('{"tokens": ["Ada", "Wu", "left"], "ner_tags": ["B-PER", "I-PER", "O"]}\n')
    ask("convert", words, tmp_path / "a.brat")
    [document] = iter_documents(tmp_path / "a.brat")
    assert [(s.start, s.end, s.label) for s in document.spans] == [(0, 6, "PER")]
    tags.write_bytes(str(load_english("train")[0]).encode())
    said = ask("convert", tags, tmp_path / "tags.jsonl", "--label-column", "upos")
    assert f"1 document with {len(load_english('train')[0])} labels written" in said
    ask("convert", tmp_path / "tags.jsonl", tmp_path / "b.conllu")
    [back] = iter_documents(tmp_path / "b.conllu")
    assert back.labels == load_english("train")[0].upos
    said = refusal("convert", tags, tmp_path / "b.brat", "--label-column", "upos")
    assert "and brat has spans alone; jsonl, conll" in said


def test_tags_of_conllu_are_learned_by_name(ask, tmp_path):
    write = load_english("train")[:40]
    path = tmp_path / "a.conllu"
    path.write_bytes(b"".join(str(s).encode() for s in write))
    for label, expected in (("upos", "VERB"), ("misc:Entity", "O")):
        ask("train", path, "--label-column", label, "--passes", "2", "--model", tmp_path / "m")
        assert expected in SequenceTagger.load(tmp_path / "m").classes_
        report = ask("evaluate", tmp_path / "m", path, "--label-column", label, "--json")
        assert json.loads(report)["accuracy"] > 0.8


def test_several_files_and_files_larger_than_memory(files, ask, tmp_path):
    options = ["--features", "ner", "--hash-bits", "12", "--passes", "2", "--model"]
    twice = [files / "train.jsonl", files / "train.jsonl"]
    ask("train", *twice, *options, tmp_path / "a")
    report = ask(
        "train", files / "train.jsonl", "--out-of-core", tmp_path / "f", *options, tmp_path / "b"
    )
    assert "tokens" in report
    a, b = (SequenceTagger.load(tmp_path / name) for name in "ab")
    assert list(a.classes_) == list(b.classes_)
    assert a.tokenizer_ == b.tokenizer_
    [document] = iter_documents(io.StringIO('{"text": "x"}'), "jsonl")
    assert document == Document("x", where="file, line 1")
