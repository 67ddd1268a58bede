"""dualstruct.compat.sklearn_crfsuite under scikit-learn, beside python-crfsuite."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_score

import dualstruct.compat.sklearn_crfsuite as sklearn_crfsuite
from dualstruct.compat import pycrfsuite
from dualstruct.compat.sklearn_crfsuite import CRF, metrics, scorers
from dualstruct.errors import InputError, NotFittedError


def made_up(seed=0, sentences=24):
    random = np.random.default_rng(seed)
    X = [
        [{"word": str(random.integers(9)), "size": float(random.random())} for _ in range(n)]
        for n in random.integers(1, 7, size=sentences)
    ]
    return X, [[f"L{int(item['word']) // 3}" for item in x] for x in X]


X, Y = made_up()


@pytest.fixture
def crf():
    return CRF(c1=0.05, c2=0.05, max_iterations=30, all_possible_transitions=True).fit(X, Y)


def test_the_model_is_that_of_the_trainer(crf, tmp_path):
    params = {"c1": 0.05, "c2": 0.05, "max_iterations": 30, "feature.possible_transitions": True}
    trainer = pycrfsuite.Trainer("lbfgs", params, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == crf.modelfile.bytes
    tagger = pycrfsuite.Tagger()
    tagger.open(tmp_path / "model")
    assert crf.predict(X) == [tagger.tag(x) for x in X]
    assert crf.predict_single(X[0]) == tagger.tag(X[0])
    assert crf.classes_ == tagger.labels() == crf.tagger_.labels()
    info = tagger.info()
    assert crf.state_features_ == info.state_features
    assert crf.transition_features_ == info.transitions
    assert crf.attributes_ == list(info.attributes)
    assert crf.num_attributes_ == len(info.attributes)
    assert crf.size_ == os.path.getsize(tmp_path / "model")
    assert crf.training_log_.last_iteration["loss"] == trainer.logparser.last_iteration["loss"]


def test_python_crfsuite_opens_the_model_and_agrees(crf):
    theirs = pytest.importorskip(
        "pycrfsuite", reason="missing: pip install python-crfsuite"
    ).Tagger()
    theirs.open(crf.modelfile.name)
    for x, marginals in zip(X, crf.predict_marginals(X), strict=True):
        assert crf.predict_single(x) == theirs.tag(x)
        assert marginals == crf.predict_marginals_single(x)
        for t, row in enumerate(marginals):
            assert sum(row.values()) == pytest.approx(1)
            for label, probability in row.items():
                assert probability == pytest.approx(theirs.marginal(label, t), abs=1e-9)


ALL = {
    "lbfgs": {"c1": 0.1, "c2": 0.1, "num_memories": 4, "epsilon": 1e-4, "period": 5, "delta": 1e-4,
              "linesearch": "Backtracking", "max_linesearch": 10},
    "l2sgd": {"c2": 0.1, "period": 5, "delta": 1e-4, "calibration_eta": 0.2, "calibration_rate": 3,
              "calibration_samples": 10, "calibration_candidates": 4, "calibration_max_trials": 9},
    "ap": {"epsilon": 0.01},
    "pa": {"pa_type": 2, "c": 0.5, "error_sensitive": False, "averaging": False, "epsilon": 0.01},
    "arow": {"variance": 2, "gamma": 0.5, "epsilon": 0.01},
}  # fmt: skip


@pytest.mark.parametrize("algorithm", ALL)
def test_every_parameter_reaches_its_algorithm(algorithm):
    crf = CRF(
        algorithm, 1, all_possible_states=True, all_possible_transitions=False, max_iterations=20
    )
    crf.set_params(**ALL[algorithm]).fit(X, Y)
    assert crf.score(X, Y) > 0.9


def test_a_parameter_of_another_algorithm_is_refused():
    with pytest.raises(ValueError, match="Parameter not found: variance"):
        CRF(variance=1.0).fit(X, Y)


def test_clone_repr_and_pickle(crf):
    assert repr(CRF(c1=0.1)) == "CRF(c1=0.1)"
    copy = clone(crf)
    assert copy.get_params() == crf.get_params()
    assert copy.tagger_ is None
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict(X) == crf.predict(X)
    assert again.state_features_ == crf.state_features_
    assert again.training_log_.last_iteration == crf.training_log_.last_iteration
    assert pickle.loads(pickle.dumps(CRF(c2=3.0))).c2 == 3.0


def test_attributes_of_an_unfitted_crf_are_none():
    crf = CRF()
    assert crf.training_log_ is crf.tagger_ is crf.classes_ is crf.size_ is None
    assert crf.attributes_ is crf.num_attributes_ is None
    assert crf.state_features_ is crf.transition_features_ is None
    assert crf.modelfile.name is crf.modelfile.bytes is None


def test_searches_and_cross_validation():
    f1 = make_scorer(metrics.flat_f1_score, average="weighted", labels=["L0", "L1", "L2"])
    crf = CRF(max_iterations=10)
    grid = GridSearchCV(crf, {"c2": [0.01, 100.0]}, cv=3, scoring=f1).fit(X, Y)
    assert grid.best_params_ == {"c2": 0.01}
    assert grid.best_estimator_.score(X, Y) == pytest.approx(1)
    random = RandomizedSearchCV(
        crf, {"c1": [0.01, 0.1], "c2": [0.1]}, n_iter=2, cv=2, scoring=scorers.sequence_accuracy
    ).fit(X, Y)
    assert random.best_score_ > 0.5
    assert cross_val_score(crf, X, Y, cv=3, scoring=scorers.flat_accuracy).mean() > 0.8
    assert cross_val_score(crf, X, Y, cv=3).mean() > 0.8


def test_a_subclass_is_an_estimator_too():
    class Mine(CRF):
        def predict(self, X):
            return [[label.lower() for label in y] for y in super().predict(X)]

    assert clone(Mine(c2=0.1)).fit(X, Y).predict(X[:1])[0][0].startswith("l")


def test_metrics_are_scikit_learns_on_flat_labels():
    truth, found = [["a", "b"], ["a"], []], [["a", "a"], ["b"], []]
    flat = (["a", "b", "a"], ["a", "a", "b"])
    assert metrics.flat_f1_score(truth, found, average="micro") == f1_score(*flat, average="micro")
    assert metrics.flat_accuracy_score(truth, found) == pytest.approx(1 / 3)
    assert metrics.sequence_accuracy_score(truth, found) == pytest.approx(1 / 3)
    assert metrics.flat_precision_score(truth, found, average=None).tolist() == [0.5, 0.0]
    assert metrics.flat_recall_score(truth, found, average=None).tolist() == [0.5, 0.0]
    beta = metrics.flat_fbeta_score(truth, found, beta=2, average=None)
    assert beta.tolist() == [0.5, 0.0]
    report = metrics.flat_classification_report(truth, found, labels=["a"], digits=3)
    assert "0.500" in report
    with pytest.raises(InputError, match="sequence 2: 1 true labels, 2 predicted"):
        metrics.flat_accuracy_score([["a"], ["b"]], [["a"], ["b", "c"]])
    assert metrics.sequence_accuracy_score([["a", "b"], ["c"]], [["c"], ["a", "b"]]) == 0
    with pytest.raises(InputError, match="1 true sequences, but 0"):
        metrics.sequence_accuracy_score([["a"]], [])


def test_development_data_are_scored_but_not_learned():
    crf = CRF(max_iterations=3)
    crf.fit(X[:12], Y[:12], X_dev=X[12:], y_dev=Y[12:])
    last = crf.training_log_.last_iteration
    tokens = sum(map(len, Y[12:]))
    right = crf.score(X[12:], Y[12:])
    assert last["item_accuracy_float"] == pytest.approx(right, abs=0.5 / tokens)
    alone = CRF(max_iterations=3).fit(X[:12], Y[:12])
    assert alone.state_features_ == crf.state_features_
    with pytest.raises(InputError, match="belong together"):
        crf.fit(X, Y, X_dev=X)


def test_verbose_prints_a_line_an_iteration(capsys):
    CRF(max_iterations=3, verbose=True).fit(X, Y, X, Y)
    printed = capsys.readouterr().out.splitlines()
    table = printed.index("Label  Precision  Recall     F1  Support")
    assert [line.split()[0] for line in printed[table + 1 : table + 4]] == ["L0", "L1", "L2"]
    lines = [line for line in printed if line.startswith("Iter ")]
    assert len(lines) == 3
    assert "loss=" in lines[0]
    assert "F1=" in lines[0]
    CRF("ap", max_iterations=2).fit(X, Y)
    assert capsys.readouterr().out == ""


def test_model_filename_is_written_and_read(tmp_path):
    path = tmp_path / "model.crfsuite"
    crf = CRF(c2=0.1, model_filename=str(path)).fit(X, Y)
    assert crf.modelfile.name == str(path)
    assert path.read_bytes() == crf.modelfile.bytes
    opened = CRF(model_filename=path)
    assert opened.predict(X) == crf.predict(X)
    assert CRF(model_filename=tmp_path / "none").tagger_ is None


def test_no_file_is_made_unless_its_name_is_asked_for(tmp_path, monkeypatch, crf):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    clone(crf).fit(X, Y).predict(X)
    assert not list(tmp_path.iterdir())
    fresh = clone(crf).fit(X, Y)
    name = fresh.modelfile.name
    assert name == fresh.modelfile.name
    assert Path(name).read_bytes() == fresh.modelfile.bytes
    del fresh
    assert not list(tmp_path.iterdir())
    kept = clone(crf).set_params(keep_tempfiles=True).fit(X, Y).modelfile.name
    assert os.path.exists(kept)


def test_the_model_file_can_be_named_refreshed_and_cleaned_up(tmp_path, monkeypatch, crf):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    crf.modelfile.ensure_name()
    first = crf.modelfile.name
    assert Path(first).read_bytes() == crf.modelfile.bytes
    crf.modelfile.cleanup()
    assert not list(tmp_path.iterdir())
    assert crf.predict(X) == pickle.loads(pickle.dumps(crf)).predict(X)
    crf.modelfile.refresh()
    assert Path(crf.modelfile.name).read_bytes() == b""
    assert pickle.loads(pickle.dumps(crf)).predict(X) == crf.predict(X)  # no other model came
    other = CRF("ap", max_iterations=1).fit(X[:2], Y[:2])
    Path(crf.modelfile.name).write_bytes(other.modelfile.bytes)
    crf.modelfile.cleanup()
    assert pickle.loads(pickle.dumps(crf)).state_features_ == other.state_features_


def test_a_model_written_to_the_file_of_an_untrained_crf_is_its_model(crf):
    fresh = CRF()
    fresh.modelfile.refresh()
    Path(fresh.modelfile.name).write_bytes(crf.modelfile.bytes)
    assert fresh.predict(X) == crf.predict(X)


def test_a_named_model_file_is_never_deleted_nor_overwritten_by_copies(tmp_path):
    path = tmp_path / "model.crfsuite"
    crf = CRF(c2=0.1, model_filename=path).fit(X, Y)
    crf.modelfile.refresh()
    crf.modelfile.cleanup()
    assert path.read_bytes() == crf.modelfile.bytes
    path.write_bytes(b"lCRF of somebody else")
    assert pickle.loads(pickle.dumps(crf)).predict(X) == crf.predict(X)
    assert path.read_bytes() == b"lCRF of somebody else"


def test_bad_input_is_named():
    with pytest.raises(NotFittedError, match="call fit first"):
        CRF().predict(X)
    with pytest.raises(NotFittedError, match=r"no model in .*nowhere: call fit first"):
        CRF(model_filename="nowhere").predict(X)
    with pytest.raises(InputError, match="no labels to train on"):
        CRF().fit([[]], [[]])
    with pytest.raises(InputError, match="X has 24 sequences, but y has 1"):
        CRF().fit(X, Y[:1])
    with pytest.raises(InputError, match=r"sequence 2 of X: .*\|x\| = 1, \|y\| = 2"):
        CRF().fit([[["a"]], [["b"]]], [["A"], ["A", "B"]])
    with pytest.raises(InputError, match="trainer_cls"):
        CRF(trainer_cls=dict).fit(X, Y)


def test_a_trainer_of_ones_own_is_used():
    seen = []

    class Counting(pycrfsuite.Trainer):
        def on_iteration(self, log, info):
            seen.append(info["num"])

    CRF(max_iterations=2, trainer_cls=Counting, verbose=True).fit(X, Y)
    assert seen == [1, 2]
    assert sklearn_crfsuite.metrics is metrics
