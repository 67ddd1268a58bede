"""Tokenizers at the command line: learned, scored, used, and kept by taggers."""

from __future__ import annotations

import json

from commands import refusal, run
from dualstruct import LearnedTokenizer, SequenceTagger, write_columns, write_conllu
from dualstruct.datasets import load_english


def test_a_tokenizer_is_learned_scored_used_and_kept(tmp_path):
    english = load_english()
    write_conllu(tmp_path / "train.conllu", english[:200])
    write_conllu(tmp_path / "test.conllu", english[200:260])
    model = tmp_path / "words.dstruct"
    train = ["train", tmp_path / "train.conllu", "--task", "tokenize", "--passes", 4]
    report = json.loads(run(*train, "--model", model, "--json"))
    assert report["sentences"] == 200
    assert report["tokens"] == int(english[:200].lengths.sum())
    scores = json.loads(run("evaluate", model, tmp_path / "test.conllu", "--json"))["raw_text"]
    assert set(scores) == {"Tokens", "Sentences", "Words"}
    assert scores["Tokens"]["f1"] > 0.95
    (tmp_path / "new.txt").write_text("He left. She stayed.\n\nWhy?\n")
    made = run("predict", model, tmp_path / "new.txt", "--text")
    assert made.count("# newpar") == 2
    assert made.count("# text = ") == 3
    rows = json.loads(run("predict", model, tmp_path / "new.txt", "--json"))["sentences"]
    assert rows[0] == {"tokens": ["He", "left", "."]}
    assert "tokenizer: " in run("inspect", model)
    write_columns(tmp_path / "names.txt", english[:50].forms, [s.entities for s in english[:50]])
    tagger = ["train", tmp_path / "names.txt", "--passes", 1, "--tokenizer", model]
    run(*tagger, "--model", tmp_path / "ner.dstruct")
    kept = SequenceTagger.load(tmp_path / "ner.dstruct").tokenizer_
    assert isinstance(kept, LearnedTokenizer)
    found = run("predict", tmp_path / "ner.dstruct", tmp_path / "new.txt", "--text")
    assert [line.split()[0] for line in found.splitlines() if line] == [
        "He",
        "left",
        ".",
        "She",
        "stayed",
        ".",
        "Why",
        "?",
    ]


def test_what_a_tokenizer_cannot_do_is_refused(tmp_path):
    model = tmp_path / "words.dstruct"
    LearnedTokenizer(SequenceTagger(passes=1)).fit(load_english()[:20]).save(model)
    (tmp_path / "new.txt").write_text("He left.\n")
    write_conllu(tmp_path / "test.conllu", load_english()[:3])
    for arguments in (
        ("predict", model, tmp_path / "new.txt", "--marginals"),
        ("explain", model, "He left."),
        ("calibrate", model, tmp_path / "test.conllu"),
        ("suspects", model, tmp_path / "test.conllu"),
        ("evaluate", model, tmp_path / "test.conllu", "--confidence"),
    ):
        assert refusal(*arguments).startswith("a tokenizer ")
    assert "has no page" in refusal("serve", model)
    (tmp_path / "new.jsonl").write_text('{"text": "He left.", "spans": []}\n')
    message = refusal("train", tmp_path / "new.jsonl", "--task", "tokenize", "--model", model)
    assert "learns from texts that have tokens" in message


def test_a_pipeline_goes_from_raw_text_to_trees(tmp_path):
    english = load_english()
    write_conllu(tmp_path / "train.conllu", english[:200])
    write_conllu(tmp_path / "test.conllu", english[200:260])
    model = tmp_path / "all.dstruct"
    train = ["train", tmp_path / "train.conllu", "--task", "pipeline", "--folds", 2, "--passes", 2]
    run(*train, "--hash-bits", 14, "--model", model)
    made = run("predict", model, "--text", stdin="Tom sold two boats. He left.\n")
    assert made.count("# text = ") == 2
    rows = [line.split("\t") for line in made.splitlines() if line[:1].isdigit()]
    assert rows[1][1:4] == ["sold", "sell", "VERB"]
    assert rows[3][9] == "SpaceAfter=No"
    gold = json.loads(run("evaluate", model, tmp_path / "test.conllu", "--json"))
    assert gold["tags"]["upos"] > 0.7
    assert gold["tags"]["lemmas"] > 0.8
    raw = json.loads(run("evaluate", model, tmp_path / "test.conllu", "--raw-text", "--json"))
    assert raw["raw_text"]["Tokens"]["f1"] > 0.95
    assert 0.2 < raw["raw_text"]["LAS"]["f1"] < gold["conll18_las"] + 0.05
