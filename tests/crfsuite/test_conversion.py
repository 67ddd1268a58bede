"""Models from CRFsuite's files to ours and back."""

from __future__ import annotations

import numpy as np
import pytest

from commands import run_command
from dualstruct import SequenceTagger
from dualstruct.compat import pycrfsuite
from dualstruct.crfsuite.conversion import END, START, crfsuite_from_tagger, tagger_from_crfsuite
from dualstruct.crfsuite.files import CRFsuiteModel, parse_crfsuite, write_crfsuite
from dualstruct.errors import InputError


def made_up(seed=0, sentences=20):
    random = np.random.default_rng(seed)
    X = [
        [{"word": str(random.integers(9)), "size": float(random.random())} for _ in range(n)]
        for n in random.integers(1, 7, size=sentences)
    ]
    names = ("O", "B-X", "I-X")
    Y = []
    for x in X:
        y = [names[int(item["word"]) // 3] for item in x]
        for t, label in enumerate(y):  # I-X only inside
            if label == "I-X" and (t == 0 or y[t - 1] == "O"):
                y[t] = "B-X"
        Y.append(y)
    return X, Y


X, Y = made_up()


def with_ends(x):
    """Items that say of themselves whether they are the first or the last."""
    items = [dict(item) for item in x]
    items[0][START] = 1.0
    items[-1][END] = 1.0
    return items


def trained_by_crfsuite():
    trainer = pycrfsuite.Trainer("lbfgs", {"c2": 0.1}, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    return trainer.train_inmemory()


def test_a_crfsuite_model_becomes_a_tagger_that_says_the_same(tmp_path):
    data = trained_by_crfsuite()
    tagger = pycrfsuite.Tagger()
    tagger.open_inmemory(data)
    tagger_from_crfsuite(parse_crfsuite(data)).save(tmp_path / "model.dstruct")
    ours = SequenceTagger.load(tmp_path / "model.dstruct")
    assert ours.classes_.tolist() == tagger.labels()
    new = made_up(seed=1)[0]
    assert ours.predict(new) == [tagger.tag(x) for x in new]
    for x, marginals in zip(new, ours.predict_marginals(new), strict=True):
        tagger.set(x)
        np.testing.assert_allclose(marginals, tagger.marginals(), atol=1e-5)


def test_a_converted_model_goes_on_learning():
    tagger = tagger_from_crfsuite(parse_crfsuite(trained_by_crfsuite()))
    tagger.partial_fit([[["new"], {"word": "1"}]] * 5, [["B-X", "I-X"]] * 5)
    assert tagger.predict([[["new"]]]) == [["B-X"]]
    assert tagger.score(X, Y) > 0.8


def test_there_and_back_again_keeps_every_weight():
    model = parse_crfsuite(trained_by_crfsuite())
    again = crfsuite_from_tagger(tagger_from_crfsuite(model))
    assert (again.labels, again.attributes) == (model.labels, model.attributes)
    assert again.state_attributes.tolist() == model.state_attributes.tolist()
    np.testing.assert_allclose(again.state_weights, model.state_weights, rtol=1e-7)
    np.testing.assert_allclose(again.transition_weights, model.transition_weights, rtol=1e-7)


@pytest.mark.parametrize("constraints", [None, "iob2"])
def test_a_tagger_becomes_a_model_that_crfsuite_tags_the_same(tmp_path, constraints):
    theirs = pytest.importorskip(
        "pycrfsuite", reason="missing: pip install python-crfsuite"
    ).Tagger()
    tagger = SequenceTagger("attributes", loss="crf", C=2.0, constraints=constraints).fit(X, Y)
    write_crfsuite(tmp_path / "model", crfsuite_from_tagger(tagger))
    theirs.open(str(tmp_path / "model"))
    assert theirs.labels() == tagger.classes_.tolist()
    new = made_up(seed=2)[0]
    for x, best, marginals in zip(
        new, tagger.predict(new), tagger.predict_marginals(new), strict=True
    ):
        assert theirs.tag(with_ends(x)) == best
        for t, row in enumerate(marginals):
            for label, probability in zip(theirs.labels(), row, strict=True):
                assert theirs.marginal(label, t) == pytest.approx(probability, abs=1e-5)


def test_features_of_templates_become_attributes(tmp_path):
    sentences = [["Ada", "left", "Oslo"], ["Bo", "saw", "Rome"]]
    labels = [["B-PER", "O", "B-LOC"]] * 2
    tagger = SequenceTagger("word[0]\nprefix(word[0],1)", C=1.0).fit(sentences, labels)
    model = crfsuite_from_tagger(tagger)
    there = pycrfsuite.Tagger()
    there.open_inmemory(model.to_bytes())
    items = [["word[0]=" + w, "prefix(word[0],1)=" + w[0]] for w in sentences[0]]
    items[0].append(START)
    items[-1].append(END)
    assert there.tag(items) == tagger.predict(sentences[:1])[0]


def test_what_cannot_be_converted_is_refused():
    hashed = SequenceTagger("attributes", hash_bits=10).fit(X, Y)
    with pytest.raises(InputError, match="hashed features have no names"):
        crfsuite_from_tagger(hashed)
    taken = SequenceTagger("attributes").fit([[["<s>"], ["b"]]], [["P", "Q"]])
    with pytest.raises(InputError, match="<s> is in the way"):
        crfsuite_from_tagger(taken)
    empty = (np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
    with pytest.raises(InputError, match="not UTF-8"):
        tagger_from_crfsuite(CRFsuiteModel(["a"], ["\udce9"], *empty, *empty))
    many = CRFsuiteModel([str(k) for k in range(4000)], ["x"] * 1_200_000, *empty, *empty)
    with pytest.raises(InputError, match="need a matrix of 18 GB"):
        tagger_from_crfsuite(many)


def convert(*arguments):
    return run_command("convert", *arguments)


def test_the_command_converts_both_ways(tmp_path):
    theirs, ours, back = (tmp_path / name for name in ("a.crfsuite", "b.dstruct", "c.crfsuite"))
    theirs.write_bytes(trained_by_crfsuite())
    done = convert(theirs, ours)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 labels, 10 attributes; dualstruct model written to ")
    assert SequenceTagger.load(ours).result_.stopped_by == "conversion"
    done = convert(ours, back)
    assert (done.returncode, done.stderr) == (0, "")
    assert parse_crfsuite(back.read_bytes()).labels == parse_crfsuite(theirs.read_bytes()).labels
    SequenceTagger("attributes").fit(X, Y).save(ours)
    done = convert(ours, back)
    assert done.returncode == 0
    assert "first item of a sequence needs the attribute <s>" in done.stderr


def test_the_command_says_in_one_line_what_is_wrong(tmp_path):
    (tmp_path / "bad").write_bytes(b"lCRF and nothing else")
    (tmp_path / "good").write_bytes(trained_by_crfsuite())
    SequenceTagger("attributes").fit(X, Y).save(tmp_path / "ours")
    for arguments, message in (
        ((tmp_path / "bad", tmp_path / "x"), "bad is damaged: it ends within its header"),
        ((tmp_path / "good", tmp_path / "good"), "choose another name"),
        ((tmp_path / "ours", tmp_path / "ours"), "exists and is not a CRFsuite model"),
        ((tmp_path / "none", tmp_path / "x"), "none"),
        ((tmp_path / "ours", tmp_path / "x.onnx"), ".crfsuite, .crfmodel, .crf, .model"),
        ((tmp_path / "ours", tmp_path / "x.dstruct"), "a CRFsuite model would be written there"),
        ((tmp_path / "good", tmp_path / "x.onnx"), "whose name ends in .dstruct"),
        ((tmp_path / "good", tmp_path / "x.crfsuite"), "a dualstruct model would be written there"),
    ):
        done = convert(*arguments)
        [line] = done.stderr.splitlines()
        assert line.startswith("dualstruct: ")
        assert message in line
        assert done.returncode == 1
        assert not list(tmp_path.glob("x*"))
