"""``dualstruct predict --out``: many files on several workers, each written once, and resumed."""

from __future__ import annotations

import gzip
import json

import pytest

from commands import run_command
from dualstruct import SequenceTagger, write_columns
from dualstruct.datasets import load_english

TREES = load_english()
X = [list(TREES[i].forms) for i in range(60)]
Y = [list(TREES[i].entities) for i in range(60)]


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A model and a folder of five files of texts."""
    place = tmp_path_factory.mktemp("shards")
    SequenceTagger("ner", passes=3).fit(X, Y).save(place / "ner.dstruct")
    texts = place / "texts"
    texts.mkdir()
    for k in range(5):
        lines = [json.dumps({"text": " ".join(X[i])}) + "\n" for i in range(k, 60, 5)]
        data = "".join(lines).encode()
        if k == 3:
            (texts / f"{k}.jsonl.gz").write_bytes(gzip.compress(data))
        else:
            (texts / f"{k}.jsonl").write_bytes(data)
    return place


def label(given, out, *options):
    pattern = str(given / "texts" / "*.jsonl*")
    return run_command("predict", given / "ner.dstruct", pattern, "--out", out, *options)


@pytest.mark.parametrize("engine", [(), ("--engine", "local", "--workers", "2")])
def test_each_file_gets_what_predict_prints_for_it(engine, given, tmp_path):
    ran = label(given, tmp_path / "out", *engine)
    assert ran.returncode == 0, ran.stderr
    assert "5 files labelled" in ran.stdout
    for file in (given / "texts").iterdir():
        alone = run_command("predict", given / "ner.dstruct", file)
        written = tmp_path / "out" / file.name.removesuffix(".gz")
        assert written.read_text(encoding="utf-8") == alone.stdout


def test_the_same_command_does_the_rest_and_leaves_what_is_there(given, tmp_path):
    out = tmp_path / "out"
    assert label(given, out).returncode == 0
    whole = {file.name: file.read_bytes() for file in out.iterdir()}
    (out / "1.jsonl").unlink()
    (out / "2.jsonl").write_text("kept\n")
    ran = label(given, out, "--engine", "local", "--workers", "3", "--json")
    assert ran.returncode == 2 or "differ" in ran.stderr  # other options: another run
    ran = label(given, out, "--engine", "local", "--workers", "3")
    assert "5 files labelled" in ran.stdout
    assert "4 of them before" in ran.stdout
    assert (out / "1.jsonl").read_bytes() == whole["1.jsonl"]
    assert (out / "2.jsonl").read_text() == "kept\n"


def test_a_folder_of_another_run_is_refused(given, tmp_path):
    assert label(given, tmp_path / "out").returncode == 0
    other = given / "other.dstruct"
    SequenceTagger("pos", passes=1).fit(X, Y).save(other)
    ran = run_command("predict", other, given / "texts", "--out", tmp_path / "out")
    assert ran.returncode != 0
    assert "holds predictions of another run (model" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_bad_file_is_named_and_the_others_stay(given, tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"text": "Ada sings."}\n')
    (folder / "b.jsonl").write_text('{"text": "Ada sings."}\n{"text": }\n')
    ran = run_command("predict", given / "ner.dstruct", folder, "--out", tmp_path / "out")
    assert ran.returncode != 0
    assert "b.jsonl" in ran.stderr
    assert "line 2" in ran.stderr
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "a.jsonl",
        "dualstruct-predict.json",
    ]


def test_files_of_the_same_name_and_lone_options_are_refused(given, tmp_path):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        write_columns(tmp_path / name / "a.txt", X[:2], Y[:2])
    ran = run_command(
        "predict", given / "ner.dstruct", tmp_path / "*" / "a.txt", "--out", tmp_path / "out"
    )
    assert "would both be written to" in ran.stderr
    ran = run_command("predict", given / "ner.dstruct", "--workers", "2", input="")
    assert "--workers is for many files" in ran.stderr
    ran = run_command("predict", given / "ner.dstruct", "--out", tmp_path / "out", input="")
    assert "--out is for files" in ran.stderr


def test_other_formats_get_their_ending(given, tmp_path):
    ran = label(given, tmp_path / "out", "--format", "conll")
    assert ran.returncode == 0, ran.stderr
    assert len(list((tmp_path / "out").glob("*.conll"))) == 5
