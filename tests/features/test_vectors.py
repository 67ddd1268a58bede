"""Dense vectors beside sparse features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct import InputError, SequenceTagger, WithVectors
from dualstruct.features import VectorExtractor, from_state, make_extractor
from random_cases import cases

RNG = np.random.default_rng(0)
WORDS = [["a", "b", "c"], ["b"], ["c", "a"]] * 8
VECTORS = [RNG.normal(size=(len(words), 4)).astype(np.float32) for words in WORDS]
#: What only the vectors know.
LABELS = [["P" if v[0] > 0 else "N" for v in rows] for rows in VECTORS]


@cases(40)
@given(st.integers(0, 2**32 - 1), st.integers(0, 4), st.booleans())
def test_rows_are_those_of_dense_matrices_side_by_side(seed, width, stacked):
    rng = np.random.default_rng(seed)
    words = [[str(k) for k in rng.integers(0, 5, n)] for n in rng.integers(1, 4, 3)]
    vectors = [rng.normal(size=(len(x), width)).astype(np.float32) for x in words]
    given = np.vstack(vectors) if stacked else vectors
    extractor = VectorExtractor(make_extractor("word[0]\nword[-1]\n"))
    found = extractor.fit(WithVectors(words, given)).matrix().toarray()
    plain = make_extractor("word[0]\nword[-1]\n").fit(words).matrix().toarray()
    np.testing.assert_array_equal(found, np.hstack([np.vstack(vectors), plain]))
    again = from_state(*extractor.state())
    np.testing.assert_array_equal(
        again.transform(WithVectors(words, given)).matrix().toarray(), found
    )
    assert [extractor.find(name) for name in extractor.names(range(extractor.dimension))] == list(
        range(extractor.dimension)
    )


def test_a_tagger_learns_what_only_the_vectors_know(tmp_path):
    X = WithVectors(WORDS, VECTORS)
    tagger = SequenceTagger("word[0]\n", C=10.0, passes=50).fit(X, LABELS, dev=(X, LABELS))
    assert tagger.score(X, LABELS) == 1.0
    assert SequenceTagger("word[0]\n", C=10.0).fit(WORDS, LABELS).score(WORDS, LABELS) < 1.0
    tagger.save(tmp_path / "m.dstruct")
    loaded = SequenceTagger.load(tmp_path / "m.dstruct")
    assert loaded.predict(X) == tagger.predict(X) == LABELS
    assert loaded.predict(WithVectors(WORDS, np.vstack(VECTORS))) == LABELS
    more = loaded.partial_fit(WithVectors([["new"]], [np.ones((1, 4))]), [["P"]])
    assert more.predict(WithVectors([["new"]], [np.ones((1, 4))])) == [["P"]]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_number_is_named_by_sentence_and_token(bad):
    vectors = [array.copy() for array in VECTORS]
    vectors[2][1, 3] = bad
    for form in (vectors, np.vstack(vectors)):
        with pytest.raises(InputError, match=r"sentence 3, token 2: entry 3 .* (nan|inf)"):
            SequenceTagger("word[0]\n").fit(WithVectors(WORDS, form), LABELS)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (VECTORS[1:], "24 sentences, but vectors for 23"),
        ([*VECTORS[:-1], VECTORS[-1][:, :2]], "sentence 24: the vectors have shape"),
        ([*VECTORS[:-1], VECTORS[-1][:1]], "sentence 24: 2 tokens, but 1 vector"),
        (np.ones((3, 4)), "3 vectors for the 48 tokens"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(vectors, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger("word[0]\n").fit(WithVectors(WORDS, vectors), LABELS)


def test_a_model_of_vectors_asks_for_them():
    tagger = SequenceTagger("word[0]\n").fit(WithVectors(WORDS, VECTORS), LABELS)
    with pytest.raises(InputError, match="WithVectors"):
        tagger.predict(WORDS)
    with pytest.raises(InputError, match="2 entries"):
        tagger.predict(WithVectors([["a"]], [np.ones((1, 2))]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dicts_may_hold_vectors(dtype):
    tokens = [[{"word": "x", "vec": np.array([1.5, 0.0, -2.0, 9.0], dtype)[::2]}]]
    extractor = make_extractor("attributes")
    rows = extractor.fit(tokens)
    assert extractor.names(rows.ids) == ["word:x", "vec:0", "vec:1"]
    assert rows.values.tolist() == [1.0, 1.5, -2.0]
    X = [
        [{"word": w, "vec": v} for w, v in zip(words, rows_, strict=True)]
        for words, rows_ in zip(WORDS, VECTORS, strict=True)
    ]
    assert SequenceTagger(C=10.0, passes=50).fit(X, LABELS).score(X, LABELS) == 1.0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array([1.0, np.nan]), r'sentence 1, token 2: attribute "vec:1": the value is NaN'),
        (np.ones((2, 2)), "ndarray"),
    ],
)
def test_vectors_in_dicts_that_make_no_sense_are_refused(value, message):
    with pytest.raises(InputError, match=message):
        make_extractor("attributes").fit([[{"w": "a"}, {"vec": value}]])
