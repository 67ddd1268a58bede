"""Features of several kinds side by side, users' functions among them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from dualstruct import SequenceTagger, WithVectors, load_model
from dualstruct.errors import InputError
from dualstruct.features import make_extractor
from dualstruct.features.functions import FunctionExtractor
from dualstruct.features.presets import PRESETS

X = [["Ada", "lives", "in", "Turin"], ["Bo", "left", "Rome"], ["Cy", "sings"]]
Y = [["PER", "O", "O", "LOC"], ["PER", "O", "LOC"], ["PER", "O"]]


def ends(sentence):
    return [[word[-1], f"long{len(word) > 3}"] for word in sentence]


def sizes(sentence):
    return [{"size": len(word) / 2, "place": {"at": str(i)}} for i, word in enumerate(sentence)]


words = st.text("abAB", min_size=1, max_size=3)
sentences = st.lists(st.lists(words, max_size=4), min_size=1, max_size=4)


def named(extractor, rows):
    """Each token's features and values by name."""
    values = np.ones(len(rows.ids), np.float32) if rows.values is None else rows.values
    cells = list(zip(extractor.names(rows.ids), values.tolist(), strict=True))
    return [cells[a:b] for a, b in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)]


@given(sentences, sentences, st.integers(1, 2))
def test_tokens_have_the_features_of_all_members_of_a_list(first, later, min_count):
    if not any(first) or not any(later):
        return
    both = make_extractor(["word[0]\n", ends, "lower(word[-1])\n", sizes], min_count=min_count)
    alone = [
        make_extractor(part, min_count=min_count)
        for part in ("word[0]\nlower(word[-1])\n", ends, sizes)
    ]
    known: list[str] = []
    for X in (first, later):  # what comes later adds ids, and changes none
        parts = [named(each, each.fit(X)) for each in alone]
        rows = both.fit(X)
        assert named(both, rows) == [[*a, *b, *c] for a, b, c in zip(*parts, strict=True)]
        names = both.names(range(both.dimension))
        assert names[: len(known)] == known
        known = names
        assert len(set(names)) == len(names) == both.dimension
        assert [both.find(name) for name in names] == list(range(len(names)))
    keep = np.arange(both.dimension) % 3 > 0
    again = both.copy()
    assert named(again, again.transform(later)) == named(both, both.transform(later))
    again.select(keep)
    kept = {name for name, k in zip(known, keep, strict=True) if k}
    wanted = [[c for c in row if c[0] in kept] for row in named(both, both.transform(later))]
    assert named(again, again.transform(later)) == wanted


def test_hashed_features_of_a_list_share_their_numbers():
    both = make_extractor(["word[0]\n", ends], hash_bits=18)
    rows = both.fit(X)
    assert both.dimension == 2**18 == rows.dimension
    assert both.names_in(X)[:3] == ["word[0]=Ada", "ends:a", "ends:longFalse"]
    assert both.find("ends:a") == rows.ids[1]
    tagger = SequenceTagger(["word[0]\n", ends], hash_bits=12).fit(X, Y)
    assert tagger.predict(X) == Y


def test_a_model_with_a_function_asks_for_it_again(tmp_path):
    tagger = SequenceTagger(["pos", ends, sizes]).fit(X, Y)
    path = tmp_path / "model.dstruct"
    tagger.save(path)
    assert SequenceTagger.load(path, functions=[sizes, ends]).predict(X) == tagger.predict(X)
    for loaded in (load_model(path), SequenceTagger.load(path, functions=[sizes])):
        assert len(loaded.weights_) == len(tagger.weights_)  # the weights can be looked at
        with pytest.raises(InputError, match=r"function ends, .*load\(path, functions=\[ends\]\)"):
            loaded.predict(X)
    with pytest.raises(InputError, match="no features of a function named; its functions are ends"):
        SequenceTagger.load(path, functions=[named])


def test_pickles_copies_and_going_on_keep_the_functions():
    tagger = SequenceTagger(["pos", ends]).fit(X, Y)
    again = pickle.loads(pickle.dumps(tagger))
    assert again.predict(X) == Y
    assert clone(tagger).fit(X, Y).predict(X) == Y
    new = [["Turin", "calls", "Zoë"]]
    before = tagger.n_features_
    tagger.partial_fit(new, [["LOC", "O", "PER"]])
    assert tagger.n_features_ > before
    assert tagger.predict(new) == [["LOC", "O", "PER"]]
    explained = tagger.explain(X[0])
    assert any("ends:" in c.name for token in explained for c in token.contributions)


def test_a_function_beside_vectors_and_crfpp_templates():
    vectors = [np.eye(2)[[0, 1, 1, 0]], np.eye(2)[[0, 1, 0]], np.eye(2)]
    tagger = SequenceTagger(["U00:%x[0,0]\nB01:%x[0,0]\n", ends]).fit(WithVectors(X, vectors), Y)
    assert tagger.predict(WithVectors(X, vectors)) == Y
    assert len(tagger.model_.pair_weights())


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([], "features is an empty list"),
        (
            ["ner", lambda s: s[1:]],
            "sentence 1: <lambda> gave features of 3 tokens; the sentence has 4",
        ),
        (["ner", lambda s: None], "sentence 1: <lambda> gave a NoneType"),
        ([lambda s: "abcd"], "sentence 1: <lambda> gave a str"),
        (["ner", lambda s: s, lambda s: s], "two functions are called <lambda>"),
        (["ner", 3], "features cannot be a int"),
        (["ner", "nothing.txt"], 'features="nothing.txt" is neither a file nor one of'),
        (["ner", "U:%x[0,0]\n"], "templates of CRF\\+\\+ and Wapiti cannot stand beside others"),
        (["word[0]", "word[0"], 'templates, line 1, column 7: "]" is expected'),
    ],
)
def test_bad_lists_are_refused(features, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger(features).fit(X, Y)


def test_functions_are_refused_on_workers():
    with pytest.raises(InputError, match="for one machine: leave out engine"):
        SequenceTagger(["pos", ends], engine="local", workers=2).fit(X, Y)


def test_crafted_parts_of_a_model_are_refused():
    extractor = make_extractor(["word[0]\n", ends])
    extractor.fit(X)
    settings, arrays = extractor.state()
    make = type(extractor).from_state
    for name, bad in (
        ("part_ids_0", np.zeros(9, np.int32)),
        ("part_ids_1", np.arange(2, dtype=np.int32)),
    ):
        with pytest.raises(InputError, match="features: the"):
            make(settings, arrays | {name: bad})
    with pytest.raises(InputError, match="parts have no parts"):
        make({"kind": "joined", "parts": [settings]}, arrays)
    with pytest.raises(InputError):
        FunctionExtractor.from_state({"kind": "function", "name": 3, "inner": {}}, {})


def test_a_model_keeps_the_templates_of_its_preset(tmp_path, monkeypatch):
    tagger = SequenceTagger("pos-rich").fit(X, Y)
    tagger.save(tmp_path / "m.dstruct")
    monkeypatch.setitem(PRESETS, "pos-rich", "bias\n")
    loaded = SequenceTagger.load(tmp_path / "m.dstruct")
    assert loaded.predict(X) == tagger.predict(X) == Y
    assert str(loaded.model_.extractor.templates) == str(tagger.model_.extractor.templates)
