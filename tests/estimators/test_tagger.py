"""SequenceTagger: scikit-learn's conventions, prediction, warm starts, model files."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dualstruct import (
    DCD,
    CSRSequences,
    InputError,
    NotFittedError,
    SequenceTagger,
    read_columns,
    write_columns,
)
from dualstruct.data.arrays import read_arrays, write_arrays
from dualstruct.data.writing import OutputError
from dualstruct.datasets import load_english
from dualstruct.labels.names import UnseenLabelWarning
from dualstruct.losses import LOSSES
from dualstruct.solvers import SOLVERS, Averaged

TRAIN, TEST = load_english("train"), load_english("test")
X, Y = [s.forms for s in TRAIN], [s.entities for s in TRAIN]
WITHOUT_DUAL = {"ramp-sdm", "dca", "mira", "perceptron", "sgd", "pegasos"}
X_TEST, Y_TEST = [s.forms for s in TEST], [s.entities for s in TEST]
POS, POS_TEST = [s.upos for s in TRAIN], [s.upos for s in TEST]


@pytest.fixture(scope="module")
def tagger() -> SequenceTagger:
    return SequenceTagger(C=0.5).fit(X, Y)


def test_the_embedded_corpus_is_learned_well():
    assert SequenceTagger(C=0.5).fit(X, Y).score(X_TEST, Y_TEST) > 0.8
    assert SequenceTagger(C=0.5).fit(X, POS).score(X_TEST, POS_TEST) > 0.9


def test_development_data_stops_training_and_keeps_the_best():
    tagger = SequenceTagger(C=0.5).fit(X, Y, dev=(X_TEST, Y_TEST))
    assert tagger.result_.stopped_by == "dev"
    assert tagger.score(X_TEST, Y_TEST) == tagger.result_.dev_score
    assert tagger.result_.dev_score == max(point.dev_score for point in tagger.result_.trace)


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_learns_the_corpus_and_survives_a_file(name, tmp_path):
    # The averages of Pegasos and the planes of the cutting plane method need many passes.
    passes, enough = {"pegasos": (40, 0.3), "cutting-plane": (60, 0.4)}.get(name, (12, 0.6))
    loss = SOLVERS[name].losses[0]
    tagger = SequenceTagger(solver=name, loss=loss, C=0.5, passes=passes).fit(X, Y)
    assert tagger.score(X_TEST, Y_TEST) > enough
    tagger.save(tmp_path / "m")
    loaded = SequenceTagger.load(tmp_path / "m")
    assert loaded.predict(X_TEST) == tagger.predict(X_TEST)
    assert (tagger.result_.gap is None) == (name in WITHOUT_DUAL)


@pytest.mark.parametrize(
    "solver", [*(kind() for kind in SOLVERS.values()), Averaged(DCD())], ids=repr
)
def test_a_solver_with_settings_survives_a_file_and_a_copy(solver, tmp_path):
    loss = solver.losses[0]
    tagger = SequenceTagger(solver=solver, loss=loss, passes=1).fit(X[:20], Y[:20])
    tagger.save(tmp_path / "m")
    assert repr(SequenceTagger.load(tmp_path / "m").solver) == repr(solver)
    assert repr(copy.deepcopy(tagger).solver) == repr(solver)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_has_a_solver_of_its_own(loss):
    tagger = SequenceTagger(loss=loss.replace("_", "-"), passes=8).fit(X, Y)
    # The risk bound is flat where the model is sure: from 0 it learns the most frequent label.
    scores = tagger.evaluate(X_TEST, Y_TEST)
    assert (scores.accuracy if loss == "risk_bound" else scores.score) > 0.6
    with pytest.raises(InputError, match="belong to the losses softmax_margin and risk_bound"):
        SequenceTagger(loss="hinge", beta=2.0).fit(X, Y)
    soft = SequenceTagger(loss="softmax_margin", beta=3.0, gamma=0.5, passes=8).fit(X, Y)
    assert soft.score(X_TEST, Y_TEST) > 0.6


def test_same_seed_same_model_file(tmp_path):
    for name in "ab":
        SequenceTagger(passes=3, seed=4).fit(X, Y).save(tmp_path / name)
    _, first = read_arrays(tmp_path / "a", "dualstruct tagger")
    _, second = read_arrays(tmp_path / "b", "dualstruct tagger")
    assert first.keys() == second.keys()
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)


def test_predictions_are_valid_iob2_by_construction(tagger):
    for labels in tagger.predict([words[::-1] for words in X_TEST]):  # nonsense, to provoke it
        before = "O"
        for label in labels:
            assert not label.startswith("I-") or before[2:] == label[2:]
            before = label
    free = SequenceTagger(C=0.5, constraints=None, passes=1).fit(X, Y)
    assert free.model_.transitions is None


def test_broken_training_labels_lift_the_constraints():
    broken = [list(labels) for labels in Y]
    broken[0] = ["I-PER"] + ["O"] * (len(X[0]) - 1)
    broken[1] = ["B-PER", "B-LOC"] + ["O"] * (len(X[1]) - 2)
    tagger = SequenceTagger(passes=1).fit(X, broken)
    assert tagger.model_.transitions is None
    with pytest.raises(InputError, match="sentence 1, token 1: the true label is not allowed"):
        SequenceTagger(passes=1, constraints="iob2").fit(X, broken)


def test_learning_in_bilou_gives_back_iob2(tagger):
    bilou = SequenceTagger(C=0.5, scheme="bilou").fit(X, Y, dev=(X_TEST, Y_TEST))
    assert any(label.startswith("U-") for label in bilou.classes_)
    predicted = bilou.predict(X_TEST)
    assert {label[:2] for labels in predicted for label in labels} <= {"O", "B-", "I-"}
    assert bilou.score(X_TEST, Y_TEST) > 0.8
    [best, *_] = bilou.predict_k_best(X_TEST[:1], 2)[0]
    assert best[1] == predicted[0]


def test_k_best_starts_with_the_prediction_and_falls(tagger):
    for labels, outputs in zip(
        tagger.predict(X_TEST), tagger.predict_k_best(X_TEST, 4), strict=True
    ):
        assert outputs[0][1] == labels
        scores = [score for score, _ in outputs]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(y) for _, y in outputs}) == len(outputs) == 4


def test_marginals_are_distributions_over_the_classes(tagger):
    marginals = tagger.predict_marginals(X_TEST, beta=1.0)
    assert [m.shape for m in marginals] == [(len(x), len(tagger.classes_)) for x in X_TEST]
    for m in marginals:
        np.testing.assert_allclose(m.sum(axis=1), 1, atol=1e-5)
    # As beta grows the distribution is that of the best labelling.
    sharp = tagger.predict_marginals(X_TEST, beta=200.0)
    best = [[tagger.classes_[k] for k in m.argmax(axis=1)] for m in sharp]
    agree = np.mean([a == b for a, b in zip(best, tagger.predict(X_TEST), strict=True)])
    assert agree > 0.95


def test_allowed_labels_are_obeyed(tagger):
    sentence = ["Ada", "lives", "in", "Turin"]
    allowed = [[["O"], None, None, ["B-ORG", "B-PER"]]]
    [labels] = tagger.predict([sentence], allowed=allowed)
    assert labels[0] == "O"
    assert labels[3] in ("B-ORG", "B-PER")
    assert tagger.predict([sentence], allowed=[None]) == tagger.predict([sentence])
    with pytest.raises(InputError, match="sentence 1, token 2: there is no label 'B-XYZ'"):
        tagger.predict([sentence], allowed=[[None, ["B-XYZ"], None, None]])
    with pytest.raises(InputError, match="sentence 1, token 2: no labelling satisfies"):
        tagger.predict([["a", "b"]], allowed=[[["O"], ["I-PER"]]])


def test_empty_sentences_and_no_sentences_are_handled(tagger):
    assert tagger.predict([[], ["Ada"], []])[0] == []
    assert tagger.predict([]) == []
    assert tagger.predict_marginals([[]], beta=1.0)[0].shape == (0, len(tagger.classes_))
    both = SequenceTagger(passes=2).fit([[], *X], [[], *Y])
    assert both.predict([[]]) == [[]]


def test_attribute_dicts_lists_and_matrices_train_the_same_model():
    words = sorted({word for sentence in X for word in sentence})
    column = {word: k for k, word in enumerate(words)}
    as_lists = [[[word] for word in sentence] for sentence in X]
    as_dicts = [[{word: True} for word in sentence] for sentence in X]
    flat = [column[word] for sentence in X for word in sentence]
    matrix = csr_matrix((np.ones(len(flat)), (range(len(flat)), flat)), (len(flat), len(words)))
    as_matrix = CSRSequences(matrix, [len(sentence) for sentence in X])
    template = SequenceTagger(features="word[0]\n", passes=4, C=1.0).fit(X, POS)
    expected = template.predict(X)
    assert template.score(X, POS) > 0.9
    for data in (as_lists, as_dicts, as_matrix):
        tagger = SequenceTagger(passes=4, C=1.0).fit(data, POS)
        assert tagger.predict(data) == expected


def test_real_values_count_as_such():
    x = [[{"size": 2.0}, {"size": -1.0}], [{"size": -0.5}]]
    y = [["big", "small"], ["small"]]
    tagger = SequenceTagger(C=10.0, passes=50).fit(x, y)
    assert tagger.predict([[{"size": 3.0}, {"size": -3.0}]]) == [["big", "small"]]
    assert tagger.weights_.weight("size", "big") > 0 > tagger.weights_.weight("size", "small")


def test_weights_can_be_read_by_name(tagger):
    table = tagger.weights_
    assert table.strongest(0) == table.strongest_pairs(0) == []
    strongest = table.strongest(5)
    assert [abs(row.weight) for row in strongest] == sorted(
        (abs(row.weight) for row in strongest), reverse=True
    )
    for row in strongest:
        assert table.weight(row.feature, row.label) == row.weight
    assert all(
        row.label == "B-LOC" and row.weight > 0 for row in table.strongest(3, "B-LOC", sign=1)
    )
    assert all(row.weight < 0 for row in table.strongest(3, sign=-1))
    assert sum(1 for _ in table) == len(table)
    assert table.weight("word[0]=never-seen", "O") == 0
    assert strongest[0].feature in repr(table)
    starts = [row for row in table.transitions() if row[0] == "<s>"]
    assert starts


def test_mistaking_a_costly_label_is_avoided():
    rare = SequenceTagger(C=0.05, passes=20, features="word[0]\n")
    plain = rare.fit(X, Y).evaluate(X_TEST, Y_TEST)
    costly = rare.set_params(cost={name: 5.0 for name in rare.classes_ if name != "O"})
    weighted = costly.fit(X, Y).evaluate(X_TEST, Y_TEST)
    assert weighted.predicted > plain.predicted


def test_hashing_keeps_the_score_and_the_size():
    hashed = SequenceTagger(C=0.5, hash_bits=16).fit(X, Y)
    assert hashed.n_features_ == 2**16
    assert hashed.score(X_TEST, Y_TEST) > 0.75


def test_a_saved_model_predicts_the_same(tagger, tmp_path):
    path = tmp_path / "ner.dstruct"
    for model in (tagger, SequenceTagger(hash_bits=14, passes=3).fit(X, Y)):
        model.save(path)
        loaded = SequenceTagger.load(path)
        assert loaded.predict(X_TEST) == model.predict(X_TEST)
        np.testing.assert_array_equal(loaded.classes_, model.classes_)
        assert loaded.result_.passes == model.result_.passes
        assert loaded.get_params()["C"] == model.C
        loaded.save(path)  # and once more
        assert SequenceTagger.load(path).predict(X_TEST) == model.predict(X_TEST)
    attributes = [[{"w": word} for word in sentence] for sentence in X]
    model = SequenceTagger(passes=2).fit(attributes, POS)
    model.save(path)
    assert SequenceTagger.load(path).predict(attributes) == model.predict(attributes)


def test_saving_leaves_out_features_without_weight(tagger, tmp_path):
    tagger.save(tmp_path / "m")
    loaded = SequenceTagger.load(tmp_path / "m")
    assert loaded.n_features_ < tagger.n_features_
    assert len(loaded.weights_) == len(tagger.weights_)
    assert loaded.weights_.strongest(20) == tagger.weights_.strongest(20)


def test_partial_fit_goes_on_from_the_model(tmp_path):
    half = SequenceTagger(C=0.5).fit(X[::2], Y[::2])
    before = half.score(X_TEST, Y_TEST)
    half.save(tmp_path / "m")
    whole = SequenceTagger.load(tmp_path / "m").partial_fit(X[1::2], Y[1::2])
    assert whole.score(X_TEST, Y_TEST) > before
    assert whole.n_features_ > half.n_features_ / 2
    assert 0 <= whole.result_.gap < 0.2


def test_partial_fit_learns_new_labels_and_keeps_the_old(tagger, tmp_path):
    tagger.save(tmp_path / "m")
    grown = SequenceTagger.load(tmp_path / "m").set_params(passes=50)
    new = [["we", "saw", "zorkan", "yesterday"], ["then", "zorkan", "slept"]]
    grown.partial_fit(new, [["O", "O", "B-DRAGON", "O"], ["O", "B-DRAGON", "O"]])
    assert "B-DRAGON" in grown.classes_
    assert grown.predict([["then", "we", "saw", "zorkan"]]) == [["O", "O", "O", "B-DRAGON"]]
    assert grown.score(X_TEST, Y_TEST) > tagger.score(X_TEST, Y_TEST) - 0.05
    fresh = SequenceTagger(passes=2)
    assert fresh.partial_fit(X, Y).result_.passes == 2


def test_a_failing_partial_fit_leaves_the_model_as_it_was(tagger):
    before, features = tagger.predict(X_TEST), tagger.n_features_
    with pytest.raises(InputError, match="sentence 1: 1 token, but 2 labels"):
        tagger.partial_fit([["new-word"]], [["O", "O"]])
    assert tagger.predict(X_TEST) == before
    assert tagger.n_features_ == features


def test_column_files_and_lists_train_the_same_model(tmp_path):
    path = tmp_path / "train.txt"
    write_columns(path, X, Y)
    data = read_columns(path)
    a = SequenceTagger(passes=3).fit(data.tokens, data.labels)
    b = SequenceTagger(passes=3).fit(X, Y)
    assert a.result_.w.array.tobytes() == b.result_.w.array.tobytes()
    assert a.predict(data.tokens[:5]) == b.predict(X[:5])
    assert a.score(data.tokens[100:], data.labels[100:]) == b.score(X[100:], Y[100:])


def test_scikit_learn_can_clone_search_and_pipe():
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import Pipeline

    tagger = SequenceTagger(passes=2, C=0.3, solver=DCD(revisits=2))
    twin = clone(tagger)
    assert twin.get_params()["C"] == 0.3
    assert repr(twin).startswith(
        "SequenceTagger(solver=DCD(revisits=2, admission=0.01, rounds=3), C=0.3"
    )
    search = GridSearchCV(SequenceTagger(passes=2), {"C": [0.01, 1.0]}, cv=2)
    search.fit(X[:120], POS[:120])
    assert search.best_params_["C"] in (0.01, 1.0)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(search.predict(X_TEST)) == len(X_TEST)
    pipe = Pipeline([("tag", SequenceTagger(passes=2))]).fit(X, POS)
    assert pipe.score(X_TEST, POS_TEST) > 0.7
    scores = cross_val_score(
        SequenceTagger(passes=2, unseen_labels="count"), X[:90], POS[:90], cv=3
    )
    assert (scores > 0.5).all()
    with pytest.raises(InputError, match="has no parameter 'c'"):
        SequenceTagger().set_params(c=1)


def test_importing_dualstruct_does_not_import_scikit_learn():
    code = "import sys, dualstruct; print('sklearn' in sys.modules, 'scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_an_untrained_tagger_says_so():
    for call in ("predict", "predict_marginals", "predict_k_best"):
        with pytest.raises(NotFittedError, match="not trained yet"):
            getattr(SequenceTagger(), call)([["a"]])
    with pytest.raises(NotFittedError):
        SequenceTagger().save("nowhere")


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([["a", "b"]], [["O"]], "sentence 1: 2 tokens, but 1 label"),
        ([["a"]], [["O"], ["O"]], "1 sentence, but labels for 2"),
        ([["a"]], [[1]], "labels are strings, but 1 is a int"),
        ([], [], "there are no labels"),
        ([[{"x": float("nan")}]], [["O"]], "sentence 1, token 1"),
        ([[{"x": float("inf")}]], [["O"]], "sentence 1, token 1"),
        ([["a", None]], [["O", "O"]], "sentence 1, token 2"),
    ],
)
def test_impossible_training_data_is_explained(x, y, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger().fit(x, y)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"C": 0}, "C is 0"),
        ({"C": float("nan")}, "C is nan"),
        ({"loss": "hinges"}, "hinges"),
        ({"solver": "adam"}, "unknown solver 'adam'"),
        ({"passes": 0}, "passes is 0"),
        ({"gap": -0.1}, "gap is -0.1"),
        ({"hash_bits": 50}, "hash_bits"),
        ({"min_count": 0}, "min_count"),
        ({"threads": 0}, "threads is 0"),
        ({"features": "nonsense"}, "nonsense"),
        ({"constraints": "iob9"}, "iob9"),
        ({"unseen_labels": "maybe"}, "unseen_labels"),
        ({"cost": {"B-XYZ": 2.0}}, "there is no label 'B-XYZ'"),
        ({"cost": {"O": -2.0}}, "cost"),
    ],
)
def test_impossible_parameters_are_explained(wrong, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger(**wrong).fit(X[:5], Y[:5])


def test_labels_never_seen_are_counted_warned_about_or_refused(tagger):
    x, y = [["Ada", "sings"]], [["B-SINGER", "O"]]
    with pytest.warns(UnseenLabelWarning, match="sentence 1, token 1: the label 'B-SINGER'"):
        scores = tagger.evaluate(x, y)
    assert scores.correct == 0
    strict = SequenceTagger(passes=1, unseen_labels="error").fit(X, Y)
    with pytest.raises(InputError, match="'B-SINGER' was never seen in training"):
        strict.score(x, y)
    with pytest.raises(InputError, match="'B-SINGER' was never seen in training"):
        strict.fit(X, Y, dev=(x, y))
    assert SequenceTagger(passes=1, unseen_labels="count").fit(X, Y).evaluate(x, y).support == 1


def test_a_trained_tagger_can_be_pickled_and_copied(tagger):
    for twin in (pickle.loads(pickle.dumps(tagger)), copy.deepcopy(tagger)):
        assert twin.predict(X_TEST) == tagger.predict(X_TEST)
        assert twin.get_params() == tagger.get_params()
        assert twin.result_.trace == tagger.result_.trace
    assert pickle.loads(pickle.dumps(SequenceTagger(C=3.0))).C == 3.0


def test_a_failed_fit_leaves_the_model_as_it_was():
    tagger = SequenceTagger(scheme="bilou", passes=2).fit(X, Y)
    before = tagger.predict(X_TEST)
    with pytest.raises(InputError, match="1 sentence, but labels for 2"):
        tagger.fit([["a"]], [["B-PER"], ["O"]])
    assert tagger.predict(X_TEST) == before


def test_prediction_goes_on_while_another_thread_trains():
    tagger = SequenceTagger(passes=1).fit(X[:50], Y[:50])
    failures = []
    done = threading.Event()

    def predict():
        while not done.is_set():
            try:
                tagger.predict(X_TEST[:5])
            except Exception as error:  # a test of threads collects what it cannot raise
                failures.append(error)

    threads = [threading.Thread(target=predict) for _ in range(2)]
    for thread in threads:
        thread.start()
    for k in range(10):
        tagger.fit(X[: 30 + 40 * k], Y[: 30 + 40 * k])
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []


def test_numbers_from_numpy_are_taken_as_parameters(tmp_path):
    tagger = SequenceTagger(
        passes=np.int64(2),
        seed=np.int64(3),
        C=np.float32(0.5),
        min_count=np.int64(1),
        solver=DCD(revisits=np.int64(2)),
        checkpoint=tmp_path / "state",
    )
    tagger.fit(X, Y).save(tmp_path / "m")
    loaded = SequenceTagger.load(tmp_path / "m")
    assert loaded.predict(X_TEST) == tagger.predict(X_TEST)
    assert repr(loaded.solver) == "DCD(revisits=2, admission=0.01, rounds=3)"


def test_empty_development_data_is_refused():
    with pytest.raises(InputError, match="development data has no tokens"):
        SequenceTagger().fit(X, Y, dev=([], []))


def model_file(path) -> bytes:
    SequenceTagger(passes=1).fit(X[:20], Y[:20]).save(path)
    return path.read_bytes()


def test_damaged_model_files_are_refused_in_one_sentence(tmp_path):
    path = tmp_path / "m.dstruct"
    good = model_file(path)
    rng = np.random.default_rng(0)
    broken = [b"", b"hello", good[:7], good[: len(good) // 2], good[:-1], b"\xff" * 100]
    header = int.from_bytes(good[:8], "little")
    for _ in range(300):  # flip bytes of the header: names, shapes, JSON
        bad = bytearray(good)
        bad[int(rng.integers(0, 8 + header))] ^= int(rng.integers(1, 256))
        broken.append(bytes(bad))
    messages = []
    for content in broken:
        path.write_bytes(content)
        # A flipped byte in a name that nobody reads, or in white space, may do no harm.
        with contextlib.suppress(InputError):
            SequenceTagger.load(path)
            continue
        with pytest.raises(InputError) as caught:
            SequenceTagger.load(path)
        messages.append(str(caught.value))
    assert len(messages) > 200
    assert all("m.dstruct" in message and "\n" not in message for message in messages)


def test_model_files_with_impossible_contents_are_refused(tmp_path):
    path = tmp_path / "m.dstruct"
    model_file(path)
    metadata, arrays = read_arrays(path, "dualstruct tagger")
    metadata = {k: v for k, v in metadata.items() if k not in ("format", "version")}

    def changed(new_metadata=None, new_arrays=None):
        write_arrays(
            path, "dualstruct tagger", metadata | (new_metadata or {}), arrays | (new_arrays or {})
        )
        return path

    for bad in (
        {"labels": ["O"]},
        {"labels": []},
        {"labels": None},
        {"parameters": {"unknown": 1}},
        {"features": {}},
        {"features": {**metadata["features"], "templates": "word[0"}},
    ):
        with pytest.raises(InputError, match=r"m\.dstruct is damaged"):
            SequenceTagger.load(changed(new_metadata=bad))
    for name in arrays:
        with pytest.raises(InputError, match=r"m\.dstruct"):
            SequenceTagger.load(changed(new_arrays={name: np.zeros(3, dtype=np.float64)}))
    bad_weights = arrays["emission.values"].copy()
    bad_weights[0] = np.nan
    with pytest.raises(InputError, match="NaN"):
        SequenceTagger.load(changed(new_arrays={"emission.values": bad_weights}))


def test_a_newer_or_foreign_model_file_is_refused_by_name(tmp_path, monkeypatch):
    path = tmp_path / "m.dstruct"
    monkeypatch.setattr("dualstruct.data.arrays.FORMAT_VERSION", 9)
    model_file(path)
    monkeypatch.undo()
    with pytest.raises(InputError, match="format version 9; this dualstruct reads up to 3: update"):
        SequenceTagger.load(path)
    write_arrays(path, "something else", {}, {"a": np.zeros(1)})
    with pytest.raises(InputError, match="is not a dualstruct tagger file"):
        SequenceTagger.load(path)
    with pytest.raises(InputError, match="does not exist"):
        SequenceTagger.load(tmp_path / "nothing")
    with pytest.raises(InputError, match="is a folder"):
        SequenceTagger.load(tmp_path)


def test_a_disk_that_fills_leaves_the_old_model_alone(tmp_path):
    path = tmp_path / "m.dstruct"
    good = model_file(path)
    # A child with a limit on file sizes gets the same short write as a full disk.
    code = f"""
import resource, signal
from dualstruct import SequenceTagger
from dualstruct.data.writing import OutputError
tagger = SequenceTagger.load({str(path)!r})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    tagger.save({str(path)!r})
except OutputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "m.dstruct could not be written" in done.stdout
    assert path.read_bytes() == good
    assert os.listdir(tmp_path) == ["m.dstruct"]


def test_a_folder_that_does_not_exist_is_explained(tagger, tmp_path):
    with pytest.raises(OutputError, match="could not be written: there is no folder"):
        tagger.save(tmp_path / "missing" / "m.dstruct")


def test_labels_stand_in_the_column_file_or_beside_the_sentences(tmp_path):
    file = tmp_path / "train.txt"
    file.write_text("a X\nb Y\n\n")
    with pytest.raises(InputError, match="labels were given beside a column file"):
        SequenceTagger(passes=1).fit(file, [["X", "Y"]])
    with pytest.raises(InputError, match="the labels are missing"):
        SequenceTagger(passes=1).fit([["a", "b"]])
    by_file = SequenceTagger(passes=1).fit(file)
    by_hand = SequenceTagger(passes=1).fit([["a", "b"]], [["X", "Y"]])
    np.testing.assert_array_equal(by_file.model_.w.array, by_hand.model_.w.array)
