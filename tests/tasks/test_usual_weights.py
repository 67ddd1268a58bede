"""C that nobody gave: one for each loss, less where few features describe many tokens."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from dualstruct import DependencyParser, Multiclass, SequenceTagger, StructuredSVM

X = [["Ada", "sings"], ["Bo", "hums"]]
Y = [["N", "V"], ["N", "V"]]


@pytest.mark.parametrize(
    ("loss", "C"), [("squared_hinge", 0.1), ("hinge", 0.1), ("crf", 3.0), ("softmax_margin", 1.0)]
)
def test_each_loss_has_its_own(loss, C, tmp_path):
    tagger = SequenceTagger("word[0]\n", loss=loss).fit(X, Y)
    assert tagger.result_.C == C
    same = SequenceTagger("word[0]\n", loss=loss, C=C).fit(X, Y)
    assert tagger.result_.w.array.tobytes() == same.result_.w.array.tobytes()
    tagger.save(tmp_path / "m.dstruct")
    loaded = SequenceTagger.load(tmp_path / "m.dstruct")
    assert (loaded.C, loaded.result_.C) == (None, C)


def test_one_that_is_given_counts():
    assert SequenceTagger("word[0]\n", loss="crf", C=0.5).fit(X, Y).result_.C == 0.5
    assert DependencyParser(loss="crf").weight_of_loss() == 0.01
    assert StructuredSVM(Multiclass(), loss="crf").weight_of_loss(1e6) < 1


def dense(sentences: int, seed: int):
    """Letters as pixels with noise: ten of them, in four styles."""
    pixels = np.random.default_rng(7).random((10, 4, 48)) < 0.35
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(sentences):
        letters = rng.integers(10, size=6)
        seen = pixels[letters, rng.integers(4)] ^ (rng.random((6, 48)) < 0.25)
        X.append(scipy.sparse.csr_matrix(seen.astype(np.float32)))
        y.append([chr(97 + letter) for letter in letters])
    return X, y


def test_dense_features_get_less_and_do_better():
    (train, truth), (test, expected) = dense(600, 1), dense(150, 2)
    mass = sum(x.multiply(x).sum() for x in train) / 48
    scores = {}
    for loss, usual in (("squared_hinge", 0.1), ("crf", 3.0)):
        given = SequenceTagger(loss=loss).fit(train, truth)
        assert pytest.approx(usual * (100 / mass) ** 0.5, rel=0.01) == given.result_.C
        usually = SequenceTagger(loss=loss, C=usual).fit(train, truth)
        for name, model in (("given", given), ("usual", usually)):
            scores[loss, name] = model.evaluate(test, expected).accuracy
        assert scores[loss, "given"] > scores[loss, "usual"] + 0.01, scores
    assert SequenceTagger(loss="hinge").fit(train, truth).result_.C == 0.1
