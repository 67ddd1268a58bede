"""A second stage that sees what the first one predicts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct import (
    InDocuments,
    InputError,
    SequenceTagger,
    WithVectors,
    load_model,
    read_columns,
    write_columns,
)
from dualstruct.data.in_documents import documents_of
from dualstruct.data.sources import Share
from dualstruct.datasets import load_english
from dualstruct.tasks.tagging.stages import FOLDS, FirstStage, folds, label_attributes
from naive_context import naive_usual

PART = load_english("train")[::3]
X, Y = [s.forms for s in PART], [s.entities for s in PART]
PLACE = [i // 5 for i in range(len(X))]


@pytest.fixture(scope="module")
def tagger() -> SequenceTagger:
    return SequenceTagger(features="ner", stages=2, passes=3).fit(X, Y, documents=PLACE)


def test_two_stages_that_learned_from_a_file_are_kept(tmp_path):
    write_columns(tmp_path / "train.txt", [list(x) for x in X], Y)
    data = read_columns(tmp_path / "train.txt")
    tagger = SequenceTagger(features="ner", stages=2, passes=2).fit(data.tokens, data.labels)
    tagger.save(tmp_path / "model.dstruct")
    assert load_model(tmp_path / "model.dstruct").predict(X) == tagger.predict(X)


labelled = st.lists(
    st.tuples(
        st.lists(
            st.tuples(
                st.sampled_from(["Ada", "ada", "in"]),
                st.sampled_from(["B-PER", "I-PER", "O", "B-X"]),
            ),
            max_size=5,
        ),
        st.integers(0, 2),
    ),
    max_size=6,
)


@given(labelled)
def test_the_usual_label_is_that_of_all_other_occurrences(text):
    words = [[word for word, _ in pairs] for pairs, _ in text]
    labels = [[label for _, label in pairs] for pairs, _ in text]
    documents = [document for _, document in text]
    found = label_attributes(words, labels, np.array(documents, dtype=np.int64))
    for i, sentence in enumerate(words):
        for t in range(len(sentence)):
            usual = naive_usual(words, labels, documents, i, t)
            given = [s.removeprefix("usual=") for s in found[i][t] if s.startswith("usual=")]
            assert given == ([] if usual is None else [usual])
            assert f"label[0]={labels[i][t]}" in found[i][t]
            assert (f"label[-1]={labels[i][t - 1]}" in found[i][t]) == (t > 0)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=40), st.integers(0, 5))
def test_folds_do_not_divide_documents(documents, seed):
    found = folds(np.array(documents), seed)
    count = len(set(documents))
    expected = min(FOLDS, count if count > 1 else len(documents))
    assert sorted(set(found.tolist())) == list(range(expected))
    if count > 1:
        assert len(set(zip(documents, found.tolist(), strict=True))) == count


def test_labels_of_the_first_stage_are_of_models_that_have_not_seen_the_sentence():
    seen = []

    class Model:
        def __init__(self, sentences):
            self.sentences = sentences

        def best(self, X):
            assert all(sentence not in self.sentences for sentence in X)
            seen.extend(X)
            return [[f"by {len(self.sentences)}"] for _ in X]

    words = [[f"w{i}"] for i in range(20)]
    share = Share(InDocuments(words, [i // 2 for i in range(20)]), words, np.arange(20))
    trained = []

    def train(part, whole):
        trained.append(whole)
        return Model(list(part.X))

    found = FirstStage(train, seed=0).labelled(share)
    assert trained == [True] + [False] * FOLDS
    assert sorted(seen) == sorted(words)
    assert found.labels == [["by 16"]] * 20
    assert len(found.first.sentences) == 20
    assert documents_of(found.select([3, 1])).tolist() == [0, 1]


def test_the_second_stage_mends_what_the_first_one_cannot_see():
    words, labels, place = [], [], []
    for i in range(60):  # the name says nothing, the words beside it in another sentence do
        kind = "B-PER" if i % 2 else "B-LOC"
        words += [["Mr" if i % 2 else "in", f"n{i}"], ["so", f"n{i}", "is"]]
        labels += [["O", kind], ["O", kind, "O"]]
        place += [i, i]
    scores = {}
    for stages in (1, 2):
        tagger = SequenceTagger(features="word[0]\nword[-1]\n", stages=stages)
        tagger.fit(words[:80], labels[:80], documents=place[:80])
        scores[stages] = tagger.score(InDocuments(words[80:], place[80:]), labels[80:])
    assert scores[1] < 0.9
    assert scores[2] > scores[1] + 0.1


def test_a_model_of_two_stages_is_one_file(tagger, tmp_path):
    tagger.save(tmp_path / "m.dstruct")
    loaded = load_model(tmp_path / "m.dstruct")
    found = tagger.predict(X, documents=PLACE)
    assert loaded.predict(X, documents=PLACE) == found
    assert loaded.stages == 2
    assert pickle.loads(pickle.dumps(tagger)).predict(X, documents=PLACE) == found
    assert list(tagger.predict_iter(InDocuments(X, PLACE), block=7)) == found
    again = SequenceTagger(features="ner", stages=2, passes=3).fit(InDocuments(X, PLACE), Y)
    assert np.array_equal(again.weights_.emission, tagger.weights_.emission)


def test_everything_else_is_that_of_the_second_stage(tagger):
    words = InDocuments(X[:9], PLACE[:9])
    best = tagger.predict(words)
    assert [outputs[0][1] for outputs in tagger.predict_k_best(words, 2)] == best
    for marginals, labels in zip(tagger.predict_marginals(words, beta=1.0), best, strict=True):
        assert marginals.shape == (len(labels), len(tagger.classes_))
        np.testing.assert_allclose(marginals.sum(axis=1), 1, rtol=1e-4)
    told = tagger.explain(X[0])[0]
    assert abs(sum(each.amount for each in told.contributions) - told.difference) < 1e-6
    assert any(each.name.startswith("label[0]=") for each in told.contributions)
    assert tagger.calibrate(X, Y).predict_confidence(words)[0].labels == best[0]


def test_development_data_judge_both_stages():
    tagger = SequenceTagger(features="ner", stages=2, patience=2)
    tagger.fit(X[:100], Y[:100], dev=(X[100:], Y[100:]))
    assert tagger.result_.dev_score == pytest.approx(tagger.score(X[100:], Y[100:]))
    assert tagger.model_.temperature is not None


def test_vectors_documents_and_stages_go_together():
    words, labels = [["a", "b"], ["c"], ["a"], ["c", "b"]], [["A", "B"], ["C"], ["A"], ["C", "B"]]
    vectors = [np.eye(3)[["abc".index(w) for w in sentence]] for sentence in words]
    with_vectors = WithVectors(InDocuments(words, [0, 0, 1, 1]), vectors)
    tagger = SequenceTagger(features="word[0]\n", stages=2, document_features=True, C=1.0)
    assert tagger.fit(with_vectors, labels).predict(with_vectors) == labels


def test_what_two_stages_cannot_do_is_refused_in_a_sentence(tagger, tmp_path):
    with pytest.raises(InputError, match="fit it again on all data"):
        pickle.loads(pickle.dumps(tagger)).partial_fit(X[:5], Y[:5])
    with pytest.raises(InputError, match="model of one stage"):
        tagger.suspects(X, Y)
    with pytest.raises(InputError, match="stages is 3; it must be 1 or 2"):
        SequenceTagger(stages=3).fit(X, Y)
    with pytest.raises(InputError, match="at least two sentences"):
        SequenceTagger(stages=2).fit(X[:1], Y[:1])
    with pytest.raises(InputError, match="one machine"):
        SequenceTagger(stages=2, engine="local", workers=2).fit(X, Y)
    with pytest.raises(InputError, match="in memory"):
        SequenceTagger(stages=2).fit_large(zip(X, Y, strict=True), tmp_path)


def test_a_file_with_another_stage_in_its_first_is_refused(tagger):
    metadata, arrays = tagger.model_.state()
    metadata["features"]["first"] = metadata
    with pytest.raises(InputError, match="not a first stage"):
        type(tagger.model_).from_state(metadata, arrays)
    metadata["features"]["first"] = None
    with pytest.raises(InputError, match="not a first stage"):
        type(tagger.model_).from_state(metadata, arrays)
