"""Attributes that tokens state themselves, and sparse matrices."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import naive_features as naive
from dualstruct.errors import InputError
from dualstruct.features import from_state, make_extractor
from dualstruct.features.matrices import CSRSequences

KEYS = st.text(max_size=3)
VALUES = st.recursive(
    st.one_of(
        KEYS,
        st.booleans(),
        st.integers(-5, 5),
        st.floats(-1e6, 1e6, width=32),
        st.lists(KEYS, max_size=3),
        st.tuples(KEYS),
        st.sets(KEYS, max_size=3),
        st.frozensets(KEYS, max_size=2),
    ),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
TOKENS = st.one_of(
    st.dictionaries(KEYS, VALUES, max_size=4), st.lists(KEYS, max_size=4), st.sets(KEYS, max_size=4)
)
SENTENCES = st.lists(st.lists(TOKENS, max_size=4), max_size=4)


def named_rows(extractor, rows):
    names = extractor.names(rows.ids)
    values = np.ones(len(rows.ids)) if rows.values is None else rows.values
    pairs = list(zip(names, values.tolist(), strict=True))
    return [pairs[a:b] for a, b in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)]


def naive_rows(sentences):
    return [naive.attributes(token) for sentence in sentences for token in sentence]


@given(SENTENCES)
def test_attributes_mean_what_the_naive_reader_says(sentences):
    extractor = make_extractor()
    rows = extractor.fit(sentences)
    assert named_rows(extractor, rows) == naive_rows(sentences)
    assert np.diff(rows.sentences).tolist() == [len(s) for s in sentences]
    all_ones = all(weight == 1 for row in naive_rows(sentences) for _, weight in row)
    assert (rows.values is None) == all_ones


@given(SENTENCES, SENTENCES)
def test_transform_drops_exactly_the_unknown_attributes(train, test):
    extractor = make_extractor("attributes")
    extractor.fit(train)
    known = {name for row in naive_rows(train) for name, _ in row}
    expected = [[pair for pair in row if pair[0] in known] for row in naive_rows(test)]
    assert named_rows(extractor, extractor.transform(test)) == expected
    assert extractor.dimension == len(known)


@given(SENTENCES, SENTENCES)
def test_min_count_select_and_growth_agree_with_counting(first, second):
    extractor = make_extractor(min_count=2)
    rows = extractor.fit(first)
    names = [[name for name, _ in row] for row in naive_rows(first)]
    frequent = {name for row in naive.keep_frequent(names, 2) for name in row}
    expected = [[pair for pair in row if pair[0] in frequent] for row in naive_rows(first)]
    assert named_rows(extractor, rows) == expected
    old = extractor.names(np.arange(extractor.dimension))
    extractor.fit(second)
    assert extractor.names(np.arange(len(old))) == old
    keep = np.arange(extractor.dimension) % 2 == 0
    kept = [n for n, k in zip(extractor.names(np.arange(len(keep))), keep, strict=True) if k]
    extractor.select(keep)
    assert extractor.names(np.arange(extractor.dimension)) == kept
    assert [extractor.find(name) for name in kept] == list(range(len(kept)))


@given(SENTENCES, SENTENCES, st.booleans())
def test_state_brings_back_attributes(first, second, by_pickle):
    extractor = make_extractor()
    extractor.fit(first)
    restored = (
        pickle.loads(pickle.dumps(extractor)) if by_pickle else from_state(*extractor.state())
    )
    assert named_rows(restored, restored.fit(second)) == naive_rows(second)
    assert np.array_equal(restored.transform(first).ids, extractor.transform(first).ids)


def test_hashed_attributes_need_no_table():
    extractor = make_extractor(hash_bits=20)
    rows = extractor.transform([[{"word": "Ada"}, ["word:Ada"]]])
    assert rows.ids[0] == rows.ids[1] == extractor.find("word:Ada")
    assert rows.dimension == extractor.dimension == 2**20
    assert extractor.name(int(rows.ids[0])) == f"#{rows.ids[0]}"
    assert extractor.find(f"#{rows.ids[0]}") == rows.ids[0]
    assert np.array_equal(from_state(*extractor.state()).fit([[["word:Ada"]]]).ids, rows.ids[:1])


def test_numpy_numbers_are_weights():
    extractor = make_extractor()
    token = {"a": np.float32(0.5), "b": np.int64(2), "c": np.bool_(True), "d": np.bool_(False)}
    rows = extractor.fit([[token]])
    assert named_rows(extractor, rows) == [[("a", 0.5), ("b", 2.0), ("c", 1.0)]]


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([[{"a": 1}], [{"b": 2}, {"x": {"y": float("nan")}}]],
         'sentence 2, token 2: attribute "x:y": the value is NaN'),
        ([[{"a": float("inf")}]], 'sentence 1, token 1: attribute "a": the value is infinite'),
        ([[{"a": 1e300}]], 'sentence 1, token 1: attribute "a": the value is infinite'),
        ([[{"a": None}]], 'attribute "a": the value is a NoneType, not a str, a number'),
        ([[{"a": b"x"}]], 'attribute "a": the value is a bytes'),
        ([[{"a": ["x", 3]}]], 'attribute "a": item 2 is a int, not a str'),
        ([[{"a": {"x", 3}}]], 'attribute "a": item . is a int, not a str'),
        ([[["x", 3]]], "sentence 1, token 1: item 2 is a int, not a str"),
        ([[{3: "x"}]], "sentence 1, token 1: an attribute's name is a int, not a str"),
        ([["word"]], "sentence 1, token 1: a dict or a list of str .*, not a str .*templates"),
        ([{"a": 1}], "sentence 1: a list of tokens is expected, not a dict"),
        ([[3]], "sentence 1, token 1: a dict or a list of str is expected, not a int"),
        ([[["\ud800"]]], "sentence 1, token 1: .*surrogate"),
    ],
)  # fmt: skip
def test_bad_attributes_are_named_and_change_nothing(sentences, message):
    extractor = make_extractor()
    extractor.fit([[["known"]]])
    with pytest.raises(InputError, match=message):
        extractor.fit(sentences)
    assert extractor.names(np.arange(extractor.dimension)) == ["known"]
    with pytest.raises(InputError, match=message):
        make_extractor(hash_bits=8).transform(sentences)


def test_endless_nesting_is_refused():
    token: dict[str, object] = {}
    token["again"] = token
    with pytest.raises(InputError, match="nested too deeply"):
        make_extractor().fit([[token]])


MATRIX = scipy.sparse.csr_matrix([[1, 0, 2.5], [0, 0, 0], [0, 1, 0], [0, 0, 3]])


def test_matrix_columns_are_the_ids():
    rows = make_extractor().fit(CSRSequences(MATRIX, [3, 0, 1]))
    assert rows.offsets.tolist() == [0, 2, 2, 3, 4]
    assert rows.ids.tolist() == [0, 2, 1, 2]
    assert rows.values is not None
    assert rows.values.tolist() == [1, 2.5, 1, 3]
    assert rows.sentences.tolist() == [0, 3, 3, 4]
    assert rows.dimension == 3
    assert (rows.matrix() != MATRIX).nnz == 0


def test_one_matrix_a_sentence_is_the_same_as_one_for_all():
    rows = make_extractor().fit([MATRIX[:3], MATRIX[3:3], MATRIX[3:]])
    whole = make_extractor().fit(CSRSequences(MATRIX, [3, 0, 1]))
    assert np.array_equal(rows.ids, whole.ids)
    assert np.array_equal(rows.sentences, whole.sentences)


def test_sequences_give_out_their_sentences():
    sequences = CSRSequences(MATRIX, [3, 0, 1])
    rows = make_extractor().fit([sequences[i] for i in range(3)])
    assert np.array_equal(rows.ids, sequences.ids)
    assert rows.sentences.tolist() == [0, 3, 3, 4]
    assert sequences[-1].toarray().tolist() == [[0, 0, 3]]
    with pytest.raises(IndexError):
        sequences[3]


def test_matrices_of_ones_have_no_values():
    assert make_extractor().fit(CSRSequences(np.eye(2), [2])).values is None


def test_matrix_features_can_be_dropped_added_named_and_stored():
    extractor = make_extractor(min_count=2)
    named = CSRSequences(MATRIX, [4], names=["a", "b", "c"])
    extractor.fit(named)
    assert extractor.names([0]) == ["c"]
    wider = scipy.sparse.hstack([MATRIX, [[1], [1], [0], [0]]]).tocsr()
    assert extractor.transform(CSRSequences(wider, [4])).ids.tolist() == [0, 0]
    assert extractor.fit(CSRSequences(wider, [4])).ids.tolist() == [0, 1, 1, 0]
    assert extractor.names([0, 1]) == ["c", "#3"]
    assert named.names == ["a", "b", "c"]
    extractor.select([False, True])
    restored = from_state(*extractor.state())
    for one in (extractor, restored):
        assert one.names([0]) == ["#3"]
        assert one.find("#3") == 0
        assert one.find("c") is None
        assert one.transform(CSRSequences(wider, [4])).offsets.tolist() == [0, 1, 2, 2, 2]
        assert one.transform([]).sentences.tolist() == [0]


def test_matrices_without_names_are_called_by_column():
    extractor = make_extractor()
    extractor.fit(CSRSequences(MATRIX, [4]))
    extractor.select([True, False, True])
    assert extractor.names([0, 1]) == ["#0", "#2"]
    assert [extractor.find(name) for name in ("#2", "#1", "#9", "x")] == [1, None, None, None]


def test_bad_matrices_are_refused():
    bad = MATRIX.copy()
    bad.data[2] = np.nan
    with pytest.raises(InputError, match="sentence 2, token 1: the value in column 1 is nan"):
        CSRSequences(bad, [2, 2])
    with pytest.raises(InputError, match="add up to 3, but the matrix has 4 rows"):
        CSRSequences(MATRIX, [2, 1])
    with pytest.raises(InputError, match="2 names for 3 columns"):
        CSRSequences(MATRIX, [4], names=["a", "b"])
    with pytest.raises(InputError, match="sentence 2: 2 columns, but sentence 1 has 3"):
        make_extractor().fit([MATRIX, MATRIX[:, :2]])
    with pytest.raises(InputError, match=r"sentence 2: a matrix of numbers .* not a list"):
        make_extractor().fit([MATRIX, [{"a": 1}]])
    with pytest.raises(InputError, match="no meaning for matrices"):
        make_extractor(hash_bits=3).fit([MATRIX])


def test_attributes_and_matrices_do_not_mix():
    extractor = make_extractor()
    extractor.fit([[["a"]]])
    for call in (extractor.fit, extractor.transform):
        with pytest.raises(InputError, match="attributes"):
            call([MATRIX])
    extractor = make_extractor()
    extractor.fit([MATRIX])
    for call in (extractor.fit, extractor.transform):
        with pytest.raises(InputError, match="matri"):
            call([[["a"]]])


def test_nonsense_in_a_state_is_refused():
    extractor = make_extractor()
    extractor.fit([[["a", "b"]]])
    settings, arrays = extractor.state()
    matrices = make_extractor()
    matrices.fit(CSRSequences(MATRIX, [4], names=["a", "b", "c"]))
    matrix_settings, matrix_arrays = matrices.state()
    twice = {"name_bytes": np.frombuffer(b"aa", np.uint8), "name_offsets": np.array([0, 1, 2])}
    for bad_settings, bad_arrays in [
        ({**settings, "kind": "words"}, arrays),
        ({**settings, "source": None}, arrays),
        (settings, {}),
        (settings, twice),
        ({**settings, "hash_bits": 99}, arrays),
        (matrix_settings, {}),
        (matrix_settings, {**matrix_arrays, "columns": np.array([0, 2, 1], np.int32)}),
        (matrix_settings, {**matrix_arrays, "columns": np.array([0], np.int32)}),
        (matrix_settings, {**matrix_arrays, "name_offsets": np.array([0, 2, 1, 3])}),
        (matrix_settings, {**matrix_arrays, "name_bytes": np.array([255, 1, 1], np.uint8)}),
    ]:
        with pytest.raises(InputError):  # at the latest when the features are used
            from_state(bad_settings, bad_arrays).names([0])
