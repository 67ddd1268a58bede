"""What evaluate says of mistakes, and the command compare."""

from __future__ import annotations

import json

import pytest

from command_line import run_command
from dualstruct import DependencyParser, SequenceTagger, write_columns, write_conllu
from dualstruct.datasets import load_english

GOLD = "-DOCSTART- O\n\nAda B-PER\nleft O\nTurin B-LOC\n\n-DOCSTART- O\n\nBo B-PER\nLi I-PER\n"
PREDICTED = "-DOCSTART- O\n\nAda B-PER\nleft O\nTurin B-ORG\n\n-DOCSTART- O\n\nBo B-PER\nLi O\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "gold.txt").write_text(GOLD)
    (tmp_path / "predicted.txt").write_text(PREDICTED)
    (tmp_path / "train.txt").write_text("Ada B-PER\nTurin B-LOC\n")
    return tmp_path


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    made = tmp_path_factory.mktemp("models")
    train, test = load_english("train")[:80], load_english("test")[:30]
    for name, sentences in (("train", train), ("test", test)):
        write_columns(made / f"{name}.txt", *zip(*((s.forms, s.entities) for s in sentences)))  # noqa: B905
        write_conllu(made / f"{name}.conllu", sentences)
    for passes in (1, 3):
        tagger = SequenceTagger(features="ner", passes=passes)
        tagger.fit([s.forms for s in train], [s.entities for s in train])
        tagger.save(made / f"tagger{passes}.dstruct")
        parser = DependencyParser(hash_bits=12, passes=passes).fit(train)
        parser.save(made / f"parser{passes}.dstruct")
    return made


def test_errors_are_shown_by_kind_with_gold_beside_predicted(run, files):
    code, out, err = run("evaluate", files / "gold.txt", files / "predicted.txt", "--errors")
    assert (code, err) == (0, "")
    assert "2 mistakes in 2 of 2 sentences" in out
    assert "LOC → ORG  sentence 1" in out
    assert "gold.txt, line 5" in out
    assert "gold      Ada left [Turin]LOC" in out
    assert "predicted Ada left [Turin]ORG" in out
    assert "gold      [Bo Li]PER" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("number", [[], ["0"], ["1"]])
def test_errors_may_come_without_a_number_anywhere(run, files, number):
    paths = [files / "gold.txt", files / "predicted.txt"]
    first = run("evaluate", "--errors", *number, *paths)
    assert first[0] == 0
    assert first == run("evaluate", *paths, "--errors", *number)
    assert ("[Turin]" in first[1]) == (number != ["0"])


def test_a_terminal_gets_colours(files):
    _, out, _ = run_command(
        ["evaluate", f"{files}/gold.txt", f"{files}/predicted.txt", "--errors"], terminal=True
    )
    assert "\x1b[" in out


def test_confusions_and_parts_as_text(run, files):
    code, out, _ = run(
        "evaluate", files / "gold.txt", files / "predicted.txt", "--confusion", "--by", "length",
        "--by", "document", "--by", "seen", "--train", files / "train.txt",
    )  # fmt: skip
    rows = [line.split() for line in out.split("\n")]
    assert code == 0
    assert ["PER", "2", "·", "·"] in rows
    assert ["1–10", "2", "3", "33.33", "33.33", "33.33"] in rows
    assert ["document", "2", "1", "1", "0.00", "0.00", "0.00"] in rows
    assert ["seen", "2", "50.00", "50.00", "50.00"] in rows
    assert ["unseen", "1", "0.00", "0.00", "0.00"] in rows


def test_everything_as_json_and_as_a_page(run, files):
    page = files / "page.html"
    arguments = (
        "evaluate", files / "gold.txt", files / "predicted.txt", "--errors", "1", "--confusion",
        "--by", "length", "--html", page, "--json",
    )  # fmt: skip
    code, out, err = run(*arguments)
    report = json.loads(out)
    assert code == 0
    assert "page written" in err
    assert report["mistakes"]["total"] == 2
    [example] = next(k for k in report["mistakes"]["kinds"] if k["kind"] == "type")["examples"]
    assert example["gold_spans"] == [{"type": "LOC", "start": 2, "end": 3}]
    assert example["forms"] == ["Ada", "left", "Turin"]
    assert sorted(report["confusion"]["labels"]) == ["LOC", "ORG", "PER"]
    assert report["by"]["length"][0]["support"] == 3
    assert "Confusions of types" in page.read_text()
    assert run(*arguments)[0] == 0  # a page may be written again


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--by", "size"], "--by is 'size'"),
        (["--by", "seen"], "--by seen needs --train FILE"),
        (["--html", "page.txt"], "should end in .html"),
        (["--html", "nowhere/page.html"], "there is no folder"),
    ],
)
def test_what_cannot_be_shown_is_said_before_anything_else(run, files, arguments, said):
    code, out, err = run("evaluate", files / "gold.txt", files / "predicted.txt", *arguments)
    assert (code, out) == (1, "")
    assert said in err


@pytest.mark.parametrize(("kind", "end", "scores"), [("tagger", "txt", 3), ("parser", "conllu", 2)])
def test_two_models_are_compared(run, models, kind, end, scores):
    one, other = models / f"{kind}1.dstruct", models / f"{kind}3.dstruct"
    code, out, err = run("compare", one, other, models / f"test.{end}", "--json")
    report = json.loads(out)
    assert (code, err) == (0, "")
    assert len(report["scores"]) == scores
    for row, path in (("one", one), ("other", other)):
        judged = json.loads(run("evaluate", path, models / f"test.{end}", "--json")[1])
        name = report["scores"][-1]["name"].lower()
        assert report["scores"][-1][row] == pytest.approx(judged[name])
    differing = report["one_better"] + report["other_better"] + report["neither_better"]
    assert 0 < len(report["different"]) <= differing
    code, out, _ = run("compare", one, other, models / f"test.{end}")
    assert f"They differ in {differing} of 30 sentences" in out


def test_a_model_is_compared_with_a_file_of_predictions(run, models, tmp_path):
    for kind, end in (("tagger", "txt"), ("parser", "conllu")):
        model, test = models / f"{kind}3.dstruct", models / f"test.{end}"
        file, page = tmp_path / f"predicted.{end}", tmp_path / "page.html"
        file.write_text(run("predict", model, test)[1])
        code, out, _ = run("compare", model, file, test, "--html", page)
        assert code == 0
        assert "They do not differ in any of 30 sentences." in out
        assert page.read_text().startswith("<!DOCTYPE html>")


def test_trees_and_labels_are_not_compared(run, models):
    code, out, err = run(
        "compare", models / "tagger1.dstruct", models / "parser1.dstruct", models / "test.conllu"
    )
    assert (code, out) == (1, "")
    assert err.count("\n") == 1


@pytest.fixture
def two_files(tmp_path):
    truth = load_english("test")[:3]
    heads = [list(one.heads) for one in truth]
    relations = [list(one.relations) for one in truth]
    relations[1][0] = "wrong"
    write_conllu(tmp_path / "gold.conllu", truth)
    predicted = truth.replace(heads=heads, relations=relations)
    write_conllu(tmp_path / "predicted.conllu", predicted)
    return tmp_path


def test_trees_that_differ_are_drawn_with_wrong_arcs_marked(run, two_files):
    paths = [two_files / "gold.conllu", two_files / "predicted.conllu"]
    code, out, err = run("draw", *paths, "--width", 100)
    assert (code, err) == (0, "")
    assert out.count("gold\n") == out.count("predicted\n") == 1
    assert "✗wrong" in out
    assert "\x1b" not in out
    assert "\x1b[1;31m✗wrong" in run_command(["draw", *map(str, paths)], terminal=True)[1]
    _, out, _ = run("draw", *paths, "--sentence", 1)
    assert "✗" not in out
    assert "the trees are the same" in run("draw", paths[0], paths[0])[1]


def test_many_trees_are_drawn_on_one_page(run, two_files):
    page = two_files / "page.html"
    code, out, _ = run("draw", two_files / "gold.conllu", "--html", page, "--most", 2)
    assert code == 0
    assert "1 more" in out
    assert page.read_text().count("<svg") == 2
    run("draw", two_files / "gold.conllu", two_files / "predicted.conllu", "--html", page)
    assert page.read_text().count("<svg") == 2
    assert page.read_text().count("class='arc wrong'") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gold.conllu", "predicted.conllu", "--svg", "a.svg"], "--html draws both"),
        (["gold.conllu", "--html", "a.svg"], "should end in .html"),
        (["gold.conllu", "other.conllu"], "sentences"),
    ],
)
def test_what_cannot_be_drawn_is_refused(run, two_files, monkeypatch, arguments, said):
    monkeypatch.chdir(two_files)
    write_conllu("other.conllu", load_english("test")[:1])
    code, out, err = run("draw", *arguments)
    assert (code, out) == (1, "")
    assert said in err
