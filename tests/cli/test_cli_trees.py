"""Trees at the command line: scored, drawn, and refused where they are broken."""

from __future__ import annotations

import json

import pytest

from commands import refusal, run
from dualstruct import Treebank, read_conllu, write_conllu
from dualstruct.datasets import english_path, load_english

TEST = load_english("test")


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


def test_files_that_split_the_text_otherwise_are_scored_as_raw_text(guess, tmp_path):
    whole = list(english := read_conllu(english_path())[:2])
    for name in ("forms", "lemmas", "upos", "xpos", "feats", "relations", "deps", "misc"):
        setattr(whole[0], name, getattr(whole[0], name) + getattr(whole[1], name))
    whole[0].heads += [1] * len(whole[1])
    write_conllu(tmp_path / "gold.conllu", english)
    write_conllu(tmp_path / "joined.conllu", whole[:1])
    files = tmp_path / "gold.conllu", tmp_path / "joined.conllu"
    report = json.loads(run("evaluate", *files, "--json"))["raw_text"]
    assert report["Words"]["f1"] == report["UPOS"]["aligned_accuracy"] == 1
    assert report["Sentences"]["f1"] == 0 < report["LAS"]["f1"] < 1
    assert run("evaluate", *files) == run("evaluate", *files, "--raw-text")
    same = run("evaluate", english_path(), english_path(), "--raw-text")
    assert same.splitlines()[-1].split() == ["BLEX", "100.00", "100.00", "100.00"]
    assert "the same" in refusal("evaluate", files[0], guess, "--raw-text")
    assert "same sentences" in refusal("evaluate", *files, "--errors")
    (tmp_path / "labels.txt").write_text("a O\n")
    message = refusal("evaluate", tmp_path / "labels.txt", tmp_path / "labels.txt", "--raw-text")
    assert message == "--raw-text compares files of CoNLL-U"


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


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with training and test trees, a parser and a pipeline."""
    folder = tmp_path_factory.mktemp("trees")
    write_conllu(folder / "train.conllu", load_english("train"))
    write_conllu(folder / "test.conllu", TEST)
    quick = ["--passes", 3, "--hash-bits", 14]
    for task, name in (("parse", "parser.dstruct"), ("tag+parse", "pipeline.dstruct")):
        folds = ["--folds", 2] if task == "tag+parse" else []
        train = ["train", folder / "train.conllu", "--task", task, "--model", folder / name]
        report = json.loads(run(*train, *quick, *folds, "--json"))
        assert report["passes"] == 3
        assert report["projective"]
        assert report["tokens"] == len(load_english("train").heads)
    return folder


def test_a_parser_is_trained_used_and_scored(files, tmp_path):
    out = run("predict", files / "parser.dstruct", files / "test.conllu")
    (tmp_path / "out.conllu").write_text(out, encoding="utf-8", newline="")
    parsed = read_conllu(tmp_path / "out.conllu", trees="one-root")
    assert bytes(parsed.replace(heads=TEST.heads, relations=TEST.relations)) == bytes(TEST)
    report = json.loads(run("evaluate", files / "parser.dstruct", files / "test.conllu", "--json"))
    by_file = json.loads(run("evaluate", files / "test.conllu", tmp_path / "out.conllu", "--json"))
    assert report["uas"] == by_file["uas"] > 0.75
    assert report["tokens_per_second"] > 0
    text = run("evaluate", files / "parser.dstruct", files / "test.conllu")
    assert f"{100 * report['las']:.2f}" in text
    assert "tokens per second" in text
    shown = run("inspect", files / "parser.dstruct")
    assert "projective trees with one root" in shown
    assert "nsubj" in shown


def test_a_pipeline_takes_conllu_tokens_and_text(files):
    model = files / "pipeline.dstruct"
    words = ["Tom", "sold", "two", "boats", "."]
    from_text = run("predict", model, "--text", stdin=" ".join(words))
    from_tokens = run("predict", model, stdin="\n".join(words) + "\n\n")
    from_columns = run("predict", model, stdin="\n".join(f"{w}\tX" for w in words) + "\n")
    blank = bytes(Treebank.from_columns([words]))
    from_conllu = run("predict", model, stdin=blank)
    assert from_text == "# newpar\n# text = Tom sold two boats .\n" + from_tokens
    assert from_tokens == from_columns == from_conllu
    assert [row.split("\t")[1] for row in from_tokens.strip().split("\n")] == words
    assert "\tVERB\t" in from_text
    report = json.loads(run("evaluate", model, files / "test.conllu", "--json"))
    assert report["tags"]["upos"] > 0.8
    assert "UPOS tagger: " in run("inspect", model)


def test_k_best_marginals_and_json(files):
    two = bytes(TEST[:2])
    model = files / "parser.dstruct"
    out = run("predict", model, "--k-best", 3, stdin=two)
    assert out.count("# rank = 3") == 2
    assert out.count(f"# sent_id = {TEST[0].sent_id}") == 3
    out = run("predict", model, "--marginals", stdin=two)
    assert out.count("|HeadProbability=0.") + out.count("|HeadProbability=1.") == len(
        TEST[:2].heads
    )
    report = json.loads(run("predict", model, "--k-best", 2, "--json", stdin=two))
    first = report["sentences"][0]
    assert first["tokens"] == TEST[0].forms
    assert first["k_best"][0]["heads"] == first["heads"]
    assert "cannot be printed together" in refusal(
        "predict", model, "--k-best", 2, "--marginals", stdin=two
    )


def test_training_goes_on_from_a_parser(files, tmp_path):
    train = ["train", files / "test.conllu", "--task", "parse", "--model", tmp_path / "m"]
    run(*train, "--start", files / "parser.dstruct", "--passes", 3)
    more = json.loads(run("evaluate", tmp_path / "m", files / "test.conllu", "--json"))
    before = json.loads(run("evaluate", files / "parser.dstruct", files / "test.conllu", "--json"))
    assert more["las"] > before["las"]


def test_bad_trees_are_refused_or_skipped_and_counted(files, tmp_path):
    heads = [list(s.heads) for s in TEST]
    heads[1][:2] = [2, 1]
    write_conllu(tmp_path / "bad.conllu", TEST.replace(heads=heads))
    train = ["train", tmp_path / "bad.conllu", "--task", "parse", "--model", tmp_path / "m"]
    message = refusal(*train)
    assert message.startswith("bad.conllu, line ")
    assert message.endswith(
        f"(sent_id {TEST[1].sent_id}): the heads go round in a cycle: 1 → 2 → 1"
    )
    assert not (tmp_path / "m").exists()
    quick = ["--bad-trees", "skip", "--passes", 1, "--hash-bits", 12, "--json"]
    assert json.loads(run(*train, *quick))["skipped"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--task", "parsing"],
            "--task is 'parsing'; it must be tag, parse, tag+parse",
        ),
        (["--task", "parse", "--features", "ner"], "--features is for --task tag"),
        (
            ["--task", "parse", "--projective", "maybe"],
            "--projective is 'maybe'; it must be auto, yes",
        ),
        (["--task", "tag", "--no-lemma"], "--no-lemma is for --task parse"),
        (["--task", "tag+parse", "--folds", "1"], "folds is 1"),
        (["--task", "parse", "--dev", "missing.conllu"], "missing.conllu: there is no such file"),
        (["--task", "parse", "--bad-trees", "mend"], "bad_trees is 'mend'"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message, files, tmp_path):
    train = ["train", files / "test.conllu", "--model", tmp_path / "m"]
    assert message in refusal(*train, *options)
    assert not (tmp_path / "m").exists()


def test_models_and_files_that_do_not_fit_are_explained(files, tmp_path):
    parser = files / "parser.dstruct"
    assert "where CoNLL-U has 10" in refusal("predict", parser, stdin="a b\n")
    assert "--text needs a model that also tags" in refusal(
        "predict", parser, "--text", stdin="a b"
    )
    bare = bytes(Treebank.from_columns([["a"]]))
    assert "there are no lemmas" in refusal("predict", parser, stdin=bare)
    pipeline = files / "pipeline.dstruct"
    assert "line 2: this is not UTF-8 text" in refusal("predict", pipeline, stdin=b"a\n\xff\n")
    message = refusal("train", files / "train.conllu", "--model", tmp_path / "m")
    assert "looks like CoNLL-U; --task parse" in message
