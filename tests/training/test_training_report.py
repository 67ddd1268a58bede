"""What training says of itself names the metric and the clock: the line, the result, the JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from commands import run
from dualstruct import DependencyParser, Multiclass, SequenceTagger, StructuredSVM, write_columns
from dualstruct.datasets import load_english
from dualstruct.training.progress import ProgressLine
from dualstruct.training.results import FitResult
from dualstruct.training.stopping import Stopping

TREES = load_english("test")
FORMS = [sentence.forms for sentence in TREES]
TAGS, ENTITIES = ([getattr(s, name) for s in TREES] for name in ("upos", "entities"))


def fitted(model, X, y=None):
    return model.fit(X, y, dev=(X, y) if y is not None else X)


#: A model of each kind, and what its development score is.
MODELS = {
    "F1": lambda: fitted(SequenceTagger("word[0]\n", passes=1), FORMS, ENTITIES),
    "accuracy": lambda: fitted(SequenceTagger("word[0]\n", passes=1), FORMS, TAGS),
    "LAS": lambda: fitted(DependencyParser(hash_bits=12, passes=1), TREES),
    "score": lambda: fitted(
        StructuredSVM(Multiclass(), passes=1), [[0.0, 1.0], [1.0, 0.0]], ["a", "b"]
    ),
}


@pytest.mark.parametrize("metric", MODELS)
def test_every_score_is_named(metric):
    result = MODELS[metric]().result_
    assert result.dev_metric == metric
    assert f", dev {metric} {100 * result.dev_score:.2f} (pass 1)" in str(result)
    [point] = result.trace
    line = ProgressLine(Stopping(passes=1), show=False).describe(point)
    assert f" · dev {metric} {100 * point.dev_score:.2f} (best " in line
    again = FitResult.from_summary(json.loads(json.dumps(result.summary())), lambda: result.w)
    assert again.dev_metric == metric


def test_the_line_names_the_clock_and_the_best_score():
    [point] = MODELS["accuracy"]().result_.trace
    line = ProgressLine(Stopping(passes=3), show=False)
    told = line.describe(replace(point, dev_score=0.75, seconds=4.0))
    assert told.endswith(" · dev accuracy 75.00 (best 75.00) · wall 4.0 s · 8 s left")


def test_a_result_without_a_score_names_none():
    result = SequenceTagger("word[0]\n", passes=1).fit(FORMS, TAGS).result_
    assert result.dev_metric is None
    assert "dev" not in str(result)


def test_the_command_names_metric_and_clock(tmp_path):
    file = tmp_path / "train.txt"
    write_columns(file, FORMS, ENTITIES)
    options = ("train", file, "--dev", file, "--model", tmp_path / "m", "--passes", 1)
    report = json.loads(run(*options, "--json"))
    assert report["dev_metric"] == "F1"
    assert report["wall_seconds"] == report["seconds"] > sum(report["seconds_split"].values()) / 2
    told = run(*options)
    assert "dev F1 " in told
    assert "\nwall time: read " in told
