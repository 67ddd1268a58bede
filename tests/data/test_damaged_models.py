"""Model files that something happened to are refused in a sentence, or predict all the same."""

from __future__ import annotations

import json
import struct
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct import SequenceTagger
from dualstruct.compat import pycrfsuite
from dualstruct.crfsuite.conversion import crfsuite_from_tagger
from dualstruct.data.arrays import read_arrays, write_arrays
from dualstruct.errors import InputError
from random_cases import cases

resource = pytest.importorskip("resource", reason="memory is measured as on Unix")

X = [["Ada", "lives", "in", "Turin"], ["Bo", "left", "Rome"]]
Y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-LOC"]]
FORMAT = "dualstruct tagger"
UNIT = 1 if sys.platform == "darwin" else 1024  # of what the system says about memory
ODD = [None, True, -1, 0, 7, 2**31, 2**62, 1e300, "", "x", "7", [], [1], {}, {"a": None}, [[0]]]


@pytest.fixture(scope="module", params=["templates", "hashed", "attributes"])
def healthy(request, tmp_path_factory):
    """A model file and a place for damaged ones."""
    folder = tmp_path_factory.mktemp("models")
    path = folder / "healthy.dstruct"
    templates = 'U:%x[0,0]\nU2:%m[0,0,"^.?"]\nB:%x[0,0]'
    if request.param == "attributes":
        SequenceTagger("attributes").fit([[[w] for w in x] for x in X], Y).save(path)
    else:
        bits = 6 if request.param == "hashed" else None
        SequenceTagger(templates, hash_bits=bits).fit(X, Y).save(path)
    return path


def loaded_or_refused(path) -> None:
    """Loading gives a model that predicts, or says what is wrong; it takes little memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = ""
    try:
        tagger = SequenceTagger.load(path)
        tokens = [[w] for w in X[0]] if tagger.n_columns_ is None else X[0]
        assert len(tagger.predict([tokens])[0]) == len(tokens)
    except InputError as error:
        said = str(error)
    assert "\n" not in said
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * UNIT < 300e6


@given(data=st.data())
def test_bytes_that_changed_or_went_missing(healthy, data):
    damaged = healthy.with_name("damaged.dstruct")
    damaged.write_bytes(mutated(healthy.read_bytes(), data))
    loaded_or_refused(damaged)


def mutated(healthy: bytes, data) -> bytes:
    content = bytearray(healthy)
    places = st.integers(0, len(content) - 1)
    what = data.draw(st.sampled_from(["cut", "flip", "number", "insert", "repeat"]))
    if what == "cut":
        content = content[: data.draw(places)]
    elif what == "insert":
        at = data.draw(places)
        content[at:at] = data.draw(st.binary(min_size=1, max_size=20))
    elif what == "repeat":
        content += content[data.draw(places) :]
    elif what == "number":
        at = data.draw(places) // 4 * 4
        number = data.draw(st.sampled_from([0, 1, 2**31, 2**32 - 1, len(content)]))
        content[at : at + 4] = struct.pack("<I", number)
    else:
        for _ in range(data.draw(st.integers(1, 8))):
            content[data.draw(places)] = data.draw(st.integers(0, 255))
    return bytes(content)


@pytest.fixture(scope="module")
def crfsuite_file() -> bytes:
    tagger = SequenceTagger("attributes").fit([[[w] for w in x] for x in X], Y)
    return crfsuite_from_tagger(tagger).to_bytes()


@cases(200)
@given(data=st.data())
def test_crfsuite_files_with_other_bytes(crfsuite_file, data):
    content = mutated(crfsuite_file, data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = ""
    try:
        tagger = pycrfsuite.Tagger()
        tagger.open_inmemory(content)
        assert len(tagger.tag([[w] for w in X[0]])) == len(X[0])
    except InputError as error:
        said = str(error)
    assert "\n" not in said
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * UNIT < 300e6


@pytest.mark.parametrize("huge", [2**16, 2**31, 2**62, 2**64 - 1])
def test_a_header_that_claims_to_be_huge(healthy, huge):
    damaged = healthy.with_name("damaged.dstruct")
    damaged.write_bytes(struct.pack("<Q", huge) + healthy.read_bytes()[8:])
    with pytest.raises(InputError, match="damaged"):
        SequenceTagger.load(damaged)


def places_in(value, path=()):
    """The ways to everything in a JSON value."""
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in inner:
        yield from places_in(part, (*path, key))


@given(data=st.data())
def test_metadata_that_are_not_what_they_should_be(healthy, data):
    metadata, arrays = read_arrays(healthy, FORMAT)
    metadata = json.loads(json.dumps(metadata))
    path = data.draw(st.sampled_from([p for p in places_in(metadata) if p and p != ("format",)]))
    holder = metadata
    for key in path[:-1]:
        holder = holder[key]
    if data.draw(st.booleans()):
        holder[path[-1]] = data.draw(st.sampled_from(ODD))
    else:
        del holder[path[-1]]
    damaged = healthy.with_name("damaged.dstruct")
    damaged.unlink(missing_ok=True)
    write_arrays(damaged, FORMAT, metadata, arrays)
    loaded_or_refused(damaged)


@given(data=st.data())
def test_arrays_that_are_not_what_they_should_be(healthy, data):
    metadata, arrays = read_arrays(healthy, FORMAT)
    del metadata["format"], metadata["version"]
    name = data.draw(st.sampled_from(sorted(arrays)))
    array = np.array(arrays[name])
    what = data.draw(st.sampled_from(["missing", "shorter", "type", "shape", "value"]))
    if what == "missing":
        del arrays[name]
    elif what == "shorter":
        arrays[name] = array[: len(array) // 2]
    elif what == "type":
        arrays[name] = array.astype(data.draw(st.sampled_from(["f8", "i4", "u1", "i8"])))
    elif what == "shape":
        arrays[name] = array.reshape(1, *array.shape)
    elif array.size:
        odd = [0, 1, -1, 2**31 - 1] if array.dtype.kind == "i" else [0, 1, 255]
        odd = [np.nan, np.inf, -1e38] if array.dtype.kind == "f" else odd
        array.reshape(-1)[data.draw(st.integers(0, array.size - 1))] = data.draw(
            st.sampled_from(odd)
        )
        arrays[name] = array
    damaged = healthy.with_name("damaged.dstruct")
    damaged.unlink(missing_ok=True)
    write_arrays(damaged, FORMAT, metadata, arrays)
    loaded_or_refused(damaged)
