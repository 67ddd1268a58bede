"""Confidence at the command line: calibrate, predict --confidence, evaluate --reliability."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dualstruct import DependencyParser, SequenceTagger, write_conllu
from dualstruct.datasets import load_english


def write(path, seed, sentences):
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(sentences):
        for _ in range(rng.integers(2, 6)):
            k = rng.integers(0, 3)
            seen = k if rng.random() < 0.8 else rng.integers(0, 3)
            lines.append(f"w{seen}{rng.integers(0, 5)}\t{('O', 'B-A', 'I-A')[k]}")
        lines.append("")
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def files(tmp_path):
    train, dev = write(tmp_path / "train.txt", 0, 150), write(tmp_path / "dev.txt", 1, 80)
    X, y = [], []
    for block in train.read_text().split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line]
        X.append([row[0] for row in rows])
        y.append([row[1] for row in rows])
    model = tmp_path / "m.dstruct"
    SequenceTagger(features="word[0]\n", passes=3, constraints=None).fit(X, y).save(model)
    return model, dev


def test_a_model_without_temperature_refuses_confidence(run, files):
    model, dev = files
    code, out, err = run("predict", model, dev, "--confidence")
    assert (code, out) == (1, "")
    assert "never calibrated" in err
    assert "dualstruct calibrate MODEL DEV" in err
    code, out, err = run("predict", model, dev, "--marginals")
    assert code == 0
    assert err.count("never calibrated") == 1


def test_calibrate_makes_confidence_possible(run, files):
    model, dev = files
    code, out, _ = run("calibrate", model, dev)
    assert code == 0
    assert out.startswith("temperature ")
    code, out, err = run("predict", model, dev, "--confidence", "--k-best", 2)
    assert (code, err) == (0, "")
    first = out.split("\n\n")[0].splitlines()
    assert first[0].startswith("# 1 ")
    assert any(line.startswith("# probability 0.") for line in first)
    assert 0 < float(first[-1].split("\t")[2]) <= 1
    assert "# entity A " in out
    code, out, _ = run("predict", model, dev, "--confidence", "--json")
    sentence = json.loads(out)["sentences"][0]
    assert {"probability", "marginals", "entities", "k_best", "labels"} <= set(sentence)
    assert sentence["tokens"][0].startswith("w")


def test_evaluate_compares_confidence_with_accuracy(run, files, tmp_path):
    model, dev = files
    run("calibrate", model, dev)
    picture = tmp_path / "r.svg"
    code, out, _ = run("evaluate", model, dev, "--reliability", picture)
    assert code == 0
    assert "tokens: " in out
    assert "entities: " in out
    assert "ECE" in out
    assert picture.read_text().startswith("<svg")
    _, out, _ = run("evaluate", model, dev, "--confidence", "--json")
    report = json.loads(out)
    assert 0 <= report["confidence"]["tokens"]["ece"] < 0.2
    assert report["confidence"]["tokens"]["accuracy"] == pytest.approx(report["accuracy"])


def test_a_picture_of_another_kind_is_refused_before_work(run, files, tmp_path):
    model, dev = files
    code, _, err = run("evaluate", model, dev, "--reliability", tmp_path / "r.pdf")
    assert code == 1
    assert ".svg or .png" in err


def test_parsers_speak_of_trees_and_heads(run, tmp_path):
    treebank = load_english("train")
    model, dev = tmp_path / "p.dstruct", tmp_path / "dev.conllu"
    DependencyParser(hash_bits=12, passes=1).fit(treebank[:40]).save(model)
    write_conllu(dev, treebank.select(range(40, 60)))
    code, _, err = run("predict", model, dev, "--confidence")
    assert code == 1
    assert "never calibrated" in err
    assert run("calibrate", model, dev)[0] == 0
    code, out, _ = run("predict", model, dev, "--confidence")
    assert code == 0
    assert out.count("# probability = ") == 20
    assert "HeadProbability=" in out
    _, out, _ = run("evaluate", model, dev, "--confidence", "--json")
    assert set(json.loads(out)["confidence"]) == {"heads", "arcs", "trees"}
    _, out, _ = run("predict", model, dev, "--confidence", "--json")
    assert len(json.loads(out)["sentences"][0]["confidence"]["heads"]) == len(treebank[40])
