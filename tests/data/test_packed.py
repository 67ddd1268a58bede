"""Arrays in files take little room and come back bit for bit; what is damaged is refused."""

from __future__ import annotations

import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct.data.packed import PackedRows, pack, squeeze, unpack
from dualstruct.errors import InputError
from random_cases import cases


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@st.composite
def states(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    width = draw(st.sampled_from([1, 3, 22, 300, 70_000]))
    rows = -(-draw(st.integers(1, 3000)) // width)
    matrix = rng.normal(size=(rows, width)).astype(np.float32)
    matrix[rng.random(matrix.shape) < draw(st.sampled_from([0.0, 0.5, 0.99, 1.0]))] = 0
    if draw(st.booleans()):
        matrix = np.round(matrix)
    matrix[-1, -1] = draw(st.sampled_from([0.0, -0.0, np.inf, np.nan, 1e-45]))
    steps = rng.integers(0, draw(st.sampled_from([1, 9, 300, 2**20])), draw(st.integers(0, 3000)))
    return {
        "matrix": matrix,
        "flat": matrix.ravel()[: draw(st.integers(0, 2500))],
        "cube": np.zeros((20, 8, 8), np.float32),
        "offsets": np.cumsum(steps).astype(np.int64),
        "places": np.unique(np.cumsum(steps)).astype(np.uint32),
        "falling": -np.cumsum(steps).astype(np.int64),
        "bytes": rng.integers(0, 256, 50).astype(np.uint8),
        "nothing": np.zeros((0, 5), np.float32),
        "hashes": rng.integers(0, 2**63, 1200).astype(np.uint64),
    }


@cases(30)
@given(arrays=states(), form=st.sampled_from([pack, squeeze]))
def test_what_is_packed_comes_back_bit_for_bit(arrays, form):
    metadata, packed = form({"about": [1]}, arrays)
    about, back = unpack(metadata, packed)
    assert about == {"about": [1]}
    assert back.keys() == arrays.keys()
    assert all(same(back[name], arrays[name]) for name in arrays)


def test_zeros_small_steps_and_few_values_take_little_room():
    weights = np.zeros((5000, 20), np.float32)
    weights[::7, 3] = np.where(np.arange(715) % 2, 0.5, -0.25)
    offsets = np.arange(5001, dtype=np.int64) * 12
    size = [
        sum(array.nbytes for array in form({}, {"w": weights, "o": offsets})[1].values())
        for form in (pack, squeeze)
    ]
    assert size[0] == 5000 + 715 * 5 + 5001
    assert size[1] < 300


@pytest.fixture(scope="module")
def packed():
    weights = np.zeros((300, 20), np.float32)
    weights[::7, 3] = 1.5
    return weights


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.update({"w.columns": a["w.columns"] + np.uint8(20)}),
        lambda a: a.update({"w.counts": a["w.counts"][:-1]}),
        lambda a: a.update({"w.counts": a["w.counts"] * np.uint8(0)}),
        lambda a: a.update({"w.counts": a["w.counts"] + np.uint8(1)}),
        lambda a: a.update({"w.values": a["w.values"][:-1]}),
        lambda a: a.update({"w.columns": a["w.columns"].astype(np.uint16)}),
        lambda a: a.update({"w.counts": a["w.counts"].astype(np.int8)}),
        lambda a: a.pop("w.counts"),
        lambda a: a.pop("w.values"),
    ],
)
def test_rows_that_do_not_fit_are_refused(packed, change):
    metadata, arrays = pack({}, {"w": packed})
    change(arrays)
    with pytest.raises(InputError):
        unpack(metadata, arrays)


@pytest.mark.parametrize("shape", [[2**20, 2**20], [300, 2**39], [2**40], [-1], [], "x", [1.5]])
@pytest.mark.parametrize("form", [pack, squeeze])
def test_a_file_may_not_ask_for_more_than_is_in_proportion(packed, shape, form):
    metadata, arrays = form({}, {"w": packed})
    metadata["packed"]["w"]["shape"] = shape
    with pytest.raises(InputError):
        unpack(metadata, arrays)


def test_bytes_that_expand_without_end_are_refused(packed):
    metadata, _ = squeeze({}, {"w": packed})
    [first, *_] = metadata["squeezed"]
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 3, "pb": 0, "dict_size": 2**20}]
    bomb = lzma.compress(bytes(2**24), lzma.FORMAT_RAW, filters=filters)
    data = np.frombuffer(bomb, np.uint8)
    metadata["squeezed"] = [first | {"length": len(bomb)}]
    with pytest.raises(InputError, match="not as long as it says"):
        unpack(metadata, {"squeezed": data})


@cases(30)
@given(data=st.data())
def test_squeezed_bytes_that_changed_are_refused_or_come_back(packed, data):
    metadata, arrays = squeeze({}, {"w": packed})
    changed = arrays["squeezed"].copy()
    changed[data.draw(st.integers(0, len(changed) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        _, back = unpack(metadata, {"squeezed": changed})
    except InputError:
        return
    assert back["w"].shape == packed.shape


def test_rows_that_wait_are_checked_before_and_the_same_afterwards():
    weights = np.zeros((300, 7), np.float32)
    weights[::3, 2] = np.arange(1, 101)
    metadata, packed = pack({}, {"w": weights})
    waiting = unpack(metadata, dict(packed), later={"w"})[1]["w"]
    assert isinstance(waiting, PackedRows)
    assert waiting.shape == weights.shape
    assert np.array_equal(np.asarray(waiting), weights)
    for name, value in (("w.counts", 2), ("w.columns", 7)):
        changed = {**packed, name: packed[name].copy()}
        changed[name][0] = value
        with pytest.raises(InputError, match="the array"):
            unpack(metadata, changed, later={"w"})
