"""Sentences as other libraries hold them: taken, or refused with what to write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse

from dualstruct import InputError, SequenceTagger

WORDS = [["Ada", "sings"], ["Bo", "left", "Rome"], ["Cy"]] * 3
NAMES = ["O", "B-LOC", "B-PER"]
NUMBERS = [[2, 0], [2, 0, 1], [2]] * 3
LABELS = [[NAMES[k] for k in row] for row in NUMBERS]


@dataclass
class ClassLabel:
    names: list[str]


@dataclass
class Value:
    dtype: str


@dataclass
class Sequence:
    feature: object


class Dataset:
    """As the library datasets has it, as far as a tagger looks."""

    def __init__(self, columns, features):
        self.columns, self.features = columns, features

    @property
    def column_names(self):
        return list(self.columns)

    def __len__(self):
        return len(WORDS)

    def __getitem__(self, key):
        if isinstance(key, str):
            return self.columns[key]
        return {name: column[key] for name, column in self.columns.items()}


STRINGS = Sequence(Value("string"))


def dataset(**columns):
    """Words with other columns, each of them values and a feature."""
    values = {"id": list(range(9)), "tokens": WORDS}
    features = {"id": Value("string"), "tokens": STRINGS}
    for name, (column, feature) in columns.items():
        values[name], features[name] = column, feature
    return Dataset(values, features)


NER = NUMBERS, Sequence(ClassLabel(NAMES))
POS = [[0] * len(row) for row in WORDS], Sequence(ClassLabel(["X"]))


def model(tagger):
    return tagger.classes_.tolist(), tagger.result_.w.array.tobytes()


@pytest.mark.parametrize(
    "data",
    [
        dataset(ner_tags=NER),
        dataset(pos_tags=POS, ner_tags=NER, chunk_tags=POS),
        dataset(kinds=NER),
        dataset(labels=(LABELS, STRINGS)),
    ],
    ids=["ner_tags", "several kinds", "another name", "strings"],
)
def test_a_dataset_is_its_words_and_the_names_of_its_labels(data):
    expected = SequenceTagger("word[0]\n").fit(WORDS, LABELS, dev=(WORDS, LABELS))
    tagger = SequenceTagger("word[0]\n").fit(data, dev=data)
    assert model(tagger) == model(expected)
    assert tagger.predict(data) == expected.predict(WORDS)
    assert tagger.evaluate(data, LABELS) == expected.evaluate(WORDS, LABELS)
    assert model(SequenceTagger("word[0]\n").partial_fit(data, dev=data)) == model(expected)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (dataset(), None, r"has no column of labels: .*fit\(dataset\[\"tokens\"\], tags\)"),
        (dataset(a=NER, b=NER), None, "has several, a, b: give its labels as lists of strings"),
        (Dataset({"text": WORDS}, {"text": STRINGS}), LABELS, "has no column of words"),
        (dataset(ner_tags=([[7]] * 9, NER[1])), None, "ner_tags: there is no label 7; there are 3"),
        (WORDS, NUMBERS, r"labels are strings, but \d is a int: give \[\[names\[k\]"),
        ({"train": dataset(ner_tags=NER)}, None, r'a dict with train: .*data\["train"\]'),
        ([dataset(ner_tags=NER)[0]], None, r'sentence 1 is a dict .*\[row\["tokens"\] for row in'),
    ],
    ids=["no labels", "two kinds", "no words", "number", "numbers", "parts", "rows"],
)
def test_what_is_not_clear_is_refused_with_what_to_write(X, y, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger("word[0]\n").fit(X, y)


class DataFrame:
    """As pandas has it, as far as a tagger looks."""

    columns = ("word", "pos")
    ndim, shape = 2, (2, 2)

    def __len__(self):
        return 2

    def itertuples(self):
        raise AssertionError("it was looked at")


def test_a_data_frame_a_sentence_is_refused_with_what_to_write():
    message = r"sentence 1 is a DataFrame: .*to_dict\('records'\).*itertuples.*to_numpy"
    with pytest.raises(InputError, match=message):
        SequenceTagger().fit([DataFrame()], [["A", "B"]])
    with pytest.raises(InputError, match=r"one DataFrame: .*groupby"):
        SequenceTagger().fit(DataFrame(), [["A", "B"]])
    tagger = SequenceTagger("word[0]\n").fit(WORDS, LABELS)
    with pytest.raises(InputError, match=message):
        tagger.predict([DataFrame()])


RNG = np.random.default_rng(3)
ARRAYS = [RNG.integers(0, 3, size=(len(row), 4)).astype(float) for row in WORDS]


@pytest.mark.parametrize(
    "kind",
    [np.float64, np.float32, np.int64, np.int8],
)
def test_a_dense_array_a_sentence_is_its_sparse_matrix(kind):
    dense = [array.astype(kind) for array in ARRAYS]
    sparse = [scipy.sparse.csr_matrix(array) for array in ARRAYS]
    expected = SequenceTagger(C=1.0).fit(sparse, LABELS, dev=(sparse, LABELS))
    tagger = SequenceTagger(C=1.0).fit(dense, LABELS, dev=(dense, LABELS))
    assert model(tagger) == model(expected)
    assert tagger.predict(dense) == expected.predict(sparse) == tagger.predict(sparse)
    assert list(tagger.predict_iter(iter(dense), block=2)) == tagger.predict(dense)
    assert len(tagger.explain(dense[0])) == 2
    assert len(tagger.suspects(dense, LABELS, top=2)) == 2


def test_one_array_of_sentences_of_the_same_length_is_taken():
    X, y = np.stack([a[:1] for a in ARRAYS]), [row[:1] for row in LABELS]
    assert model(SequenceTagger().fit(X, y)) == model(SequenceTagger().fit(list(X), y))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([*ARRAYS[:-1], WORDS[-1]], "sentence 9: a matrix of numbers .* not a list"),
        ([*ARRAYS[:-1], np.ones((1, 3))], "sentence 9: 3 columns, but sentence 1 has 4"),
        ([*ARRAYS[:-1], np.full((1, 4), np.nan)], "sentence 9, token 1: the value in column 0 is"),
        ([*ARRAYS[:-1], np.ones((2, 4))], "sentence 9: 2 tokens, but 1 label"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(X, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger().fit(X, LABELS)
