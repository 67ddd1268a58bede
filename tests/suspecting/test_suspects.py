"""Suspects: wrong annotation comes first, with what the model would have said."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dualstruct import DependencyParser, InputError, SequenceTagger, write_conllu
from dualstruct.datasets import load_english


def corpus(wrong: int = 12, sentences: int = 150) -> tuple[list, list, set[int]]:
    """Words that tell their labels, and some sentences whose labels are drawn at random."""
    rng = np.random.default_rng(0)
    names = ["O", "B-A", "I-A", "B-B"]
    X, y = [], []
    for _ in range(sentences):
        true = rng.integers(0, 4, rng.integers(4, 9))
        X.append([f"w{k}{rng.integers(0, 5)}" for k in true])
        y.append([names[k] for k in true])
    bad = set(rng.choice(sentences, wrong, replace=False).tolist())
    for i in bad:
        y[i] = [names[(names.index(label) + rng.integers(1, 4)) % 4] for label in y[i]]
    return X, y, {i + 1 for i in bad}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    checkpoint = tmp_path_factory.mktemp("duals") / "run"
    X, y, bad = corpus()
    tagger = SequenceTagger(
        features="word[0]\n", loss="ramp", C=0.1, passes=30, checkpoint=checkpoint
    )
    return tagger.fit(X, y), X, y, bad, checkpoint


def test_sentences_with_random_labels_come_first(trained):
    tagger, X, y, bad, _ = trained
    found = tagger.suspects(X, y)
    assert {each.sentence for each in found[: len(bad)]} == bad
    assert len(found) == len(X)
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)


def test_a_suspect_says_what_the_model_would_have_said(trained):
    tagger, X, y, _, _ = trained
    first = tagger.suspects(X, y, top=1)[0]
    i = first.sentence - 1
    assert first.forms == tuple(X[i])
    for doubt in first.doubts:
        assert doubt.given == y[i][doubt.token - 1]
        assert doubt.predicted != doubt.given
        assert doubt.form == X[i][doubt.token - 1]
    assert len(first.doubts) >= len(X[i]) // 2
    json.dumps(first.to_dict())


def test_the_same_seed_finds_the_same(trained):
    tagger, X, y, _, _ = trained
    assert tagger.suspects(X, y, top=20) == tagger.suspects(X, y, top=20)


def test_a_loaded_model_needs_no_duals(trained, tmp_path):
    tagger, X, y, bad, _ = trained
    tagger.save(tmp_path / "m.dstruct")
    found = SequenceTagger.load(tmp_path / "m.dstruct").suspects(X, y, top=len(bad))
    assert {each.sentence for each in found} == bad


def test_new_sentences_are_judged_by_the_model_itself(trained):
    tagger = trained[0]
    strange = [["w00", "w10", "w30"], ["w00", "w10", "w31"]]
    labels = [["O", "B-A", "B-B"], ["B-B", "B-B", "O"]]
    found = tagger.suspects(strange, labels, folds=0)
    assert [each.sentence for each in found] == [2, 1]


def test_duals_of_training_tell_mass_bound_and_verdict(trained):
    tagger, X, y, bad, checkpoint = trained
    found = tagger.suspects(X, y, duals=checkpoint)
    assert all(0 <= each.dual_mass <= tagger.weight_of_loss() * 1.001 for each in found)
    assert {each.sentence for each in found if each.given_up} <= bad
    given_up = sum(bool(each.given_up) for each in found)
    assert given_up > 0
    assert all(each.given_up for each in found[:given_up])
    assert any(each.at_bound for each in found)


def test_labels_that_training_never_saw_are_suspect(trained):
    tagger, X, y, _, _ = trained
    strange = [["B-NEW"] * len(X[0]), *y[1:]]
    assert 1 in {each.sentence for each in tagger.suspects(X, strange, top=20)}


def test_a_checkpoint_of_other_sentences_is_refused(trained):
    tagger, X, y, _, checkpoint = trained
    with pytest.raises(InputError, match="a run on 150 sentences, and there are 149 here"):
        tagger.suspects(X[1:], y[1:], duals=checkpoint)


def test_a_checkpoint_without_duals_is_refused(tmp_path):
    X, y, _ = corpus(sentences=20, wrong=2)
    run = tmp_path / "run"
    crf = SequenceTagger(features="word[0]\n", loss="crf", solver="lbfgs", passes=2, checkpoint=run)
    with pytest.raises(InputError, match="holds no duals"):
        crf.fit(X, y).suspects(X, y, duals=run)


def test_features_of_pairs_of_labels_are_judged_too():
    X, y, bad = corpus()
    tagger = SequenceTagger(features="U00:%x[0,0]\nB00:%x[0,0]\nB\n", C=0.1, passes=3).fit(X, y)
    assert {each.sentence for each in tagger.suspects(X, y, top=len(bad))} == bad
    assert len(tagger.suspects(X, y, top=3, folds=0)) == 3


def test_sentences_with_unknown_labels_are_refused(trained):
    tagger, X, y, _, _ = trained
    partly = SequenceTagger(**{**tagger.get_params(), "unknown_label": "?", "checkpoint": None})
    partly.fit(X, y)
    with pytest.raises(InputError, match=r"leave out those with '\?'"):
        partly.suspects(X, [["?"] * len(X[0]), *y[1:]])


@pytest.mark.parametrize("folds", [1, 999])
def test_impossible_folds_are_refused(trained, folds):
    tagger, X, y, _, _ = trained
    with pytest.raises(InputError, match="folds"):
        tagger.suspects(X, y, folds=folds)


@pytest.fixture(scope="module")
def trees():
    treebank = load_english("train")[:120]
    bad = [5, 40, 77]
    sentences = list(treebank)
    for i in bad:
        n = len(sentences[i])
        sentences[i].heads[:] = [(k + 2) if k + 1 < n else 0 for k in range(n)]
        sentences[i].relations[:] = ["punct"] * n
    parser = DependencyParser(hash_bits=14, passes=2).fit(sentences)
    return parser, sentences, {i + 1 for i in bad}


def test_trees_that_are_wrong_come_first(trees):
    parser, sentences, bad = trees
    found = parser.suspects(sentences, top=3)
    assert {each.sentence for each in found} == bad
    assert "punct of " in found[0].doubts[0].given
    assert len(parser.suspects(sentences, top=5, folds=0)) == 5


@pytest.fixture
def files(trained, tmp_path):
    tagger, X, y, _, _ = trained
    tagger.save(tmp_path / "m.dstruct")
    text = "\n\n".join(
        "\n".join(f"{a}\t{b}" for a, b in zip(x, labels, strict=True))
        for x, labels in zip(X, y, strict=True)
    )
    (tmp_path / "train.txt").write_text(text + "\n")
    return tmp_path / "m.dstruct", tmp_path / "train.txt"


def test_the_command_ranks_and_says_where(run, files, trained):
    bad = trained[3]
    code, out, err = run("suspects", *files, "--top", 12)
    assert (code, err) == (0, "")
    assert out.startswith("1. sentence ")
    assert "train.txt, line " in out
    assert ", the model says " in out
    _, out, _ = run("suspects", *files, "--top", 12, "--format", "json")
    assert {row["sentence"] for row in json.loads(out)["suspects"]} == bad
    _, out, _ = run("suspects", *files, "--top", 1, "--format", "tsv")
    assert out.startswith("sentence\tscore\ttoken\tform\tgiven\tpredicted\tkind\tgiven_prob")


def test_the_command_takes_duals(run, files, trained, tmp_path):
    code, out, _ = run("suspects", *files, "--duals", trained[4], "--top", 3)
    assert code == 0
    assert "dual mass" in out
    assert "given up" in out
    code, _, err = run("suspects", *files, "--duals", tmp_path / "nowhere")
    assert code == 1
    assert "nowhere" in err
    assert "Traceback" not in err


def test_the_command_takes_trees(run, trees, tmp_path):
    parser, sentences, bad = trees
    parser.save(tmp_path / "p.dstruct")
    write_conllu(tmp_path / "train.conllu", sentences)
    code, out, _ = run(
        "suspects",
        tmp_path / "p.dstruct",
        tmp_path / "train.conllu",
        "--format",
        "json",
        "--top",
        3,
    )
    assert code == 0
    assert {row["sentence"] for row in json.loads(out)["suspects"]} == bad


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--folds", "1"], "--folds is 1"), (["--format", "xml"], "--format is 'xml'")],
)
def test_mistakes_are_one_sentence(run, files, arguments, message):
    code, _, err = run("suspects", *files, *arguments)
    assert code == 1
    assert message in err
