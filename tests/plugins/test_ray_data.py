"""Ray Data: a tagger as what ``map_batches`` calls."""

from __future__ import annotations

import pickle
from importlib.util import find_spec

import numpy as np
import pytest

import dualstruct.ray
from dualstruct import InputError, SequenceTagger

X = [["Ada", "left", "Rome"], ["Bo", "sings"]]
Y = [["B-PER", "O", "B-LOC"], ["B-PER", "O"]]


@pytest.fixture
def model(tmp_path):
    SequenceTagger("ner").fit(X, Y).save(tmp_path / "ner.dstruct")
    return tmp_path / "ner.dstruct"


def test_batches_of_words_and_of_texts_are_labelled(model):
    tagger = pickle.loads(pickle.dumps(dualstruct.ray.Tagger(model)))
    words = np.array([*X, []], dtype=object)
    found = tagger({"tokens": words, "id": np.arange(3)})
    assert found["labels"] == [*Y, []]
    assert found["id"].tolist() == [0, 1, 2]
    [first, none] = tagger({"text": ["Ada left Rome.", ""]})["spans"]
    assert first == [
        {"start": 0, "end": 3, "label": "PER", "text": "Ada"},
        {"start": 9, "end": 13, "label": "LOC", "text": "Rome"},
    ]
    assert none == []


def test_a_model_and_columns_that_are_not_there_are_named(model):
    with pytest.raises(InputError, match="there is no such file"):
        dualstruct.ray.Tagger(model.with_name("no.dstruct"))
    with pytest.raises(
        InputError, match='a batch with id has neither a column "tokens" nor "text"'
    ):
        dualstruct.ray.Tagger(model)({"id": [1]})


@pytest.mark.filterwarnings("ignore")
def test_ray_data_maps_batches_with_it(model):
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    from dualstruct.workers.ray import start_ray

    ray = start_ray(1, None)  # before anybody else imports it
    data = pytest.importorskip("ray.data")
    rows = [{"text": "Ada left Rome"}, {"text": "Bo sings"}] * 3
    labelled = data.from_items(rows).map_batches(dualstruct.ray.Tagger(model), batch_size=2)
    spans = [[span["label"] for span in row["spans"]] for row in labelled.take_all()]
    assert sorted(spans) == [["PER"]] * 3 + [["PER", "LOC"]] * 3
    assert ray.is_initialized()
