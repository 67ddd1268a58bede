"""One contract for training from memory and from disk: every parameter is taken, refused or warned
of alike, and the models are the same, bit for bit."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

from dualstruct import InputError, SequenceTagger
from dualstruct.data.arrays import read_arrays
from dualstruct.datasets import load_english
from dualstruct.labels.names import ManyLabelsWarning
from dualstruct.solvers import DCD
from dualstruct.tasks.tagging import large
from dualstruct.tasks.tagging.partial import UnknownLabelWarning

TREES = load_english()
X = [list(TREES[i].forms) for i in range(40)]
Y = [list(TREES[i].entities) for i in range(40)]
DEV = [list(TREES[i].forms) for i in range(40, 60)], [TREES[i].entities for i in range(40, 60)]
LABELS = sorted({label for row in Y for label in row})
QUICK = {"features": "word[0]\nsuffix(word[0],2)\n", "hash_bits": 10, "passes": 2}

#: What each parameter may be besides its default, with what it needs beside it.
TAKEN = {
    "features": [{"features": "auto"}, {"features": "ner"}],
    "loss": [{"loss": "crf"}, {"loss": "softmax-margin"}, {"loss": "ramp"}],
    "beta": [{"loss": "softmax_margin", "beta": 2.0}],
    "gamma": [{"loss": "softmax_margin", "gamma": 0.5}],
    "solver": [{"solver": "dcd-light"}, {"solver": DCD(revisits=2)}],
    "averaged": [{"averaged": True}],
    "C": [{"C": 1.0}],
    "gap": [{"gap": 0.5}],
    "passes": [{"passes": 3}],
    "seconds": [{"seconds": 1000.0}],
    "patience": [{"patience": 1}],
    "constraints": [{"constraints": None}, {"constraints": "iob2"}],
    "cost": [{"cost": {"O": 2.0}}, {"cost": {("O", "B-LOC"): 3.0}}],
    "class_weight": [{"class_weight": "balanced"}, {"class_weight": {"O": 0.5}}],
    "scheme": [{"scheme": "bilou"}, {"scheme": "bioes", "features": "auto"}],
    "unknown_label": [{"unknown_label": False}, {"unknown_label": LABELS[0]}],
    "hash_bits": [{"hash_bits": 12}],
    "unseen_labels": [{"unseen_labels": "count"}],
    "seed": [{"seed": 7}],
    "threads": [{"threads": 2}],
    "verbose": [{"verbose": False}],
    "checkpoint": [{"checkpoint": None}],
    "resume": [{"resume": False}],
    "dialect": [{"dialect": "dualstruct"}],
    "without": [{"features": "ner", "without": "shapes,affixes"}],
    "certify_every": [{"certify_every": 1}],
}
#: What needs all data in memory, and the word by which it is refused.
IN_MEMORY = {
    "min_count": [({"min_count": 2, "hash_bits": None}, "min_count")],
    "document_features": [({"document_features": True}, "document_features")],
    "stages": [({"stages": 2}, "stages")],
    "features": [({"features": "U:%x[0,0]\nB:%x[0,0]\n"}, "pairs of labels")],
    "engine": [({"engine": "local", "workers": 2}, "iterator")],
    "workers": [({"engine": "local", "workers": 2}, "iterator")],
    "address": [({"engine": "ray", "workers": 2, "address": "auto"}, "iterator")],
}
#: What has a test of its own, for it needs a file.
VECTORS = ("vectors", "keep_vectors")
#: What is wrong with each parameter.
REFUSED = {
    "features": [{"features": "nothing"}, {"features": 3}, {"features": "word[0"}],
    "loss": [{"loss": "zero"}],
    "beta": [{"loss": "softmax_margin", "beta": -1.0}, {"beta": 1.0}],
    "gamma": [{"loss": "softmax_margin", "gamma": -1.0}, {"gamma": 1.0}],
    "solver": [{"solver": "nobody"}, {"loss": "crf", "solver": "dcd"}, {"solver": "bqo"}],
    "C": [{"C": 0.0}, {"C": float("nan")}],
    "gap": [{"gap": -1.0}],
    "passes": [{"passes": 0}],
    "seconds": [{"seconds": -1.0}],
    "patience": [{"patience": 0}],
    "constraints": [{"constraints": "bio"}],
    "cost": [
        {"cost": {"B-XYZ": 1.0}},
        {"cost": np.ones((2, 2))},
        {"cost": {"O": 2.0}, "loss": "crf"},
        {"cost": {"O": 2.0}, "loss": "perceptron"},
    ],
    "class_weight": [
        {"class_weight": "even"},
        {"class_weight": {"B-XYZ": 1.0}},
        {"class_weight": {"O": -1.0}},
        {"class_weight": "balanced", "loss": "crf"},
        {"class_weight": {"O": 2.0}, "loss": "softmax_margin", "gamma": 0.0},
    ],
    "hash_bits": [{"hash_bits": 0}, {"hash_bits": 31}],
    "min_count": [{"min_count": 2}],
    "stages": [{"stages": 3}],
    "unseen_labels": [{"unseen_labels": "ignore"}],
    "threads": [{"threads": 0}],
    "dialect": [{"dialect": "latin"}],
    "without": [{"without": "verbs"}],
}


def outcome(train, tmp_path):
    """A model's metadata and arrays, or the refusal, and the warnings on the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            tagger = train()
        except InputError as error:
            return str(error), None, {(w.category, str(w.message)) for w in caught}
    path = tmp_path / "model.dstruct"
    tagger.save(path)
    metadata, arrays = read_arrays(path, tagger.model_format)
    clocks = metadata["result"], *metadata["result"]["trace"]
    for record in clocks:
        record.pop("seconds")
        record.pop("cpu_seconds", None)
    values = {name: (array.shape, array.tobytes()) for name, array in arrays.items()}
    return metadata, values, {(w.category, str(w.message)) for w in caught}


@pytest.fixture
def both(tmp_path, monkeypatch):
    """Outcomes of fit and of fit_large, which sees a few sentences at a time."""
    monkeypatch.setattr(large, "BLOCK_SENTENCES", 7)

    def run(settings, x=X, y=Y, dev=None):
        chosen = {**QUICK, **settings}
        memory = outcome(lambda: SequenceTagger(**chosen).fit(x, y, dev), tmp_path)
        disk = outcome(
            lambda: SequenceTagger(**chosen).fit_large(
                zip(iter(x), iter(y), strict=True), tmp_path / "disk", dev
            ),
            tmp_path,
        )
        return memory, disk

    return run


def cases(table):
    return [
        pytest.param(case, id=f"{name}-{k}")
        for name, given in table.items()
        for k, case in enumerate(given)
    ]


def test_every_parameter_has_a_case():
    parameters = set(inspect.signature(SequenceTagger).parameters)
    assert parameters <= {*TAKEN, *IN_MEMORY, *VECTORS}
    assert {*TAKEN, *IN_MEMORY, *REFUSED} - {"certify_every"} <= parameters


KNOWN = set(inspect.signature(SequenceTagger).parameters)


@pytest.mark.parametrize("held_out", [None, DEV], ids=["", "dev"])
@pytest.mark.parametrize("settings", cases({k: v for k, v in TAKEN.items() if k in KNOWN}))
def test_what_both_take_gives_the_same_model_bit_for_bit(settings, held_out, both):
    memory, disk = both(settings, dev=held_out)
    assert memory[1] is not None, memory[0]
    assert disk == memory


@pytest.mark.parametrize("settings", cases(REFUSED))
def test_what_one_refuses_the_other_refuses_too(settings, both):
    memory, disk = both(settings)
    assert memory[1] is disk[1] is None
    if settings != {"min_count": 2}:  # with hash_bits, and from disk alone
        assert disk == memory


@pytest.mark.parametrize(("settings", "word"), [c for each in IN_MEMORY.values() for c in each])
def test_what_needs_all_data_in_memory_is_refused_by_name(settings, word, tmp_path):
    tagger = SequenceTagger(**{**QUICK, **settings})
    with pytest.raises(InputError, match=word):
        tagger.fit_large(zip(X, Y, strict=True), tmp_path)


@pytest.mark.parametrize("keep", ["inside", "beside"])
def test_vectors_need_all_data_in_memory(keep, tmp_path):
    (tmp_path / "vectors.txt").write_text(f"{X[0][0]} 1 2\n{X[0][1]} 3 4\n")
    tagger = SequenceTagger("word[0]\n", vectors=tmp_path / "vectors.txt", keep_vectors=keep)
    with pytest.raises(InputError, match="vectors"):
        tagger.fit_large(zip(X, Y, strict=True), tmp_path / "disk")


def question_marks():
    return [["?" if t == 1 else label for t, label in enumerate(row)] for row in Y]


@pytest.mark.parametrize(
    ("y", "warning"),
    [
        (question_marks(), UnknownLabelWarning),
        ([[f"{w}{i}" for w in row] for i, row in enumerate(X)], ManyLabelsWarning),
    ],
    ids=["question marks", "words"],
)
def test_both_warn_of_labels_that_are_probably_none(y, warning, both):
    memory, disk = both({"passes": 1, "hash_bits": 4}, X[:9], y[:9])
    assert warning in {category for category, _ in memory[2]}
    assert disk == memory


def test_many_labels_are_no_surprise_in_much_text():
    y = [[f"tag{k % 31}" for k in range(40)] for _ in range(20)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SequenceTagger(**QUICK).fit([["w"] * 40] * 20, y)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (X, [*Y[:20], Y[20][:-1], *Y[21:]]),
        (X, [[0] * len(row) for row in Y]),
        (X, [*Y[:-1], [3.5] * len(Y[-1])]),
        ([*X[:30], [3], *X[31:]], [*Y[:30], ["O"], *Y[31:]]),
    ],
    ids=["lengths", "numbers", "numbers at the end", "tokens"],
)
def test_both_refuse_bad_sentences_in_the_same_words(x, y, both):
    memory, disk = both({}, x, y)
    assert memory[1] is disk[1] is None
    assert disk == memory


@pytest.mark.parametrize("dev", [None, DEV], ids=["", "dev"])
def test_a_development_set_calibrates_both(dev, both):
    for loss, calibrates in (("squared_hinge", True), ("crf", False)):
        memory, disk = both({"loss": loss}, dev=dev)
        assert disk == memory
        assert (disk[0]["temperature"] is not None) == (calibrates and dev is not None)


def test_features_with_values_may_come_late(both):
    x = [[{"word": w} for w in row] for row in X]
    x[-1] = [{"word": w, "length": float(len(w))} for w in X[-1]]
    x[20] = [{"word": w, "length": 2.5} for w in X[20]]
    memory, disk = both({"features": "attributes"}, x)
    assert memory[1] is not None
    assert disk == memory


def test_labels_that_change_what_auto_would_take_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "BLOCK_SENTENCES", 7)
    y = [["O"] * len(row) for row in Y[:7]] + Y[7:]
    pairs = zip(X, y, strict=True)
    with pytest.raises(InputError, match=r'features="auto" took pos .* name the features'):
        SequenceTagger(hash_bits=10).fit_large(pairs, tmp_path)
