"""Small files ask for little work: bounds that are refused by name."""

from __future__ import annotations

import pytest

from dualstruct import DependencyParser, InputError, SequenceTagger
from dualstruct.data.arrays import read_arrays, write_arrays
from dualstruct.data.schema import parse_json
from dualstruct.datasets import load_english
from dualstruct.estimators import load_model
from dualstruct.features.patterns import parse_patterns
from dualstruct.features.templates import MOST_TEMPLATES, parse_templates
from dualstruct.training.checkpoints import MANIFEST_FORMAT, _signed, _verified

X, Y = [["Ada", "lives", "in", "Turin"]], [["B-PER", "O", "O", "B-LOC"]]
CUBE = "word[-100..100] & word[-100..100] & word[-100..100]"


def test_ranges_that_multiply_are_refused_before_they_are_written_out():
    said = r"line 1, column 1: its ranges make 8,120,601 templates; there may be 10,000 at most"
    with pytest.raises(InputError, match=said):
        parse_templates(CUBE)
    with pytest.raises(InputError, match="make more than 10,000 terms"):
        parse_templates("prefix(suffix(word[-100..100],1..100),1..100)")
    many = "\n".join(f"word[{k}] & word[-80..80]" for k in range(-100, 101))
    with pytest.raises(InputError, match=r"line 63: there are more than 10,000 templates"):
        parse_templates(many)
    assert len(parse_templates("word[-50..49] & word[-50..49]").templates) == MOST_TEMPLATES


@pytest.mark.parametrize("template", ["word[{}]", "word[-{}..0]", "suffix(word[0],{})"])
def test_numbers_of_thousands_of_digits_are_refused(template):
    with pytest.raises(InputError, match="too many digits"):
        parse_templates(template.format("9" * 5000))


@pytest.mark.parametrize("pattern", ["U00:%x[{},0]", "U00:%x[0,{}]"])
def test_numbers_of_thousands_of_digits_in_patterns_are_refused(pattern):
    with pytest.raises(InputError, match="has to lie between"):
        parse_patterns(pattern.format("9" * 5000))


def test_functions_nested_thousands_deep_are_refused():
    with pytest.raises(InputError, match="more than 20 functions are nested"):
        parse_templates("lower(" * 5000 + "word[0]" + ")" * 5000)
    parse_templates("lower(" * 20 + "word[0]" + ")" * 20)
    parse_templates("lower(word[0]) & " * 30 + "lower(word[0])")  # beside each other, not nested


def changed(path, **metadata):
    stored, arrays = read_arrays(path, SequenceTagger.model_format)
    write_arrays(path, SequenceTagger.model_format, {**stored, **metadata}, arrays)


def test_a_models_templates_and_columns_are_bounded(tmp_path):
    path = tmp_path / "m.dstruct"
    SequenceTagger(passes=1).fit(X, Y).save(path)
    features = read_arrays(path, SequenceTagger.model_format)[0]["features"]
    changed(path, features={**features, "templates": CUBE})
    with pytest.raises(InputError, match=r"m\.dstruct is damaged: .*make 8,120,601 templates"):
        load_model(path)
    changed(path, features=features, columns=10**9)
    said = r"columns is 1000000000; it must be a whole number from 1 to 10,000, or null"
    with pytest.raises(InputError, match=said):
        load_model(path)


def test_bits_that_ask_for_gigabytes_are_refused(tmp_path):
    path = tmp_path / "m.dstruct"
    DependencyParser(hash_bits=10, passes=1).fit(load_english("train").select(range(9))).save(path)
    metadata, arrays = read_arrays(path, DependencyParser.model_format)
    assert sorted(arrays) == ["weights", "weights_places.steps"]
    few = {name: array[:9] for name, array in arrays.items()}
    metadata["packed"]["weights_places"]["shape"] = [9]
    for bits, said in [
        (28, ": 9 weights of .* are in the file; the bits of its shape may ask for 134,217,728"),
        (60, r"shape\.line_bits is 60; it must be a whole number from 4 to 28"),
    ]:
        metadata["shape"]["line_bits"] = bits
        write_arrays(path, DependencyParser.model_format, metadata, few)
        with pytest.raises(InputError, match=said):
            load_model(path)


def test_more_best_outputs_than_anybody_reads_are_refused():
    tagger = SequenceTagger(passes=1).fit(X, Y)
    for k in (0, 10_001, 10**6):
        with pytest.raises(InputError, match=f"k is {k}; it must be 1 to 10,000"):
            tagger.predict_k_best(X, k)
    assert len(tagger.predict_k_best(X, 10_000)[0]) <= 10_000


def manifest(**changes):
    files = [{"name": "a", "bytes": 3, "checksum": [1, -2]}]
    whole = {"format": MANIFEST_FORMAT, "version": 1, "passes": 2, "workers": 1}
    return {**whole, "settings": {}, "files": files, **changes}


def test_every_flipped_bit_of_a_manifest_is_refused():
    good = _signed(manifest())
    assert _verified(good) is not None
    for place in range(len(good)):
        for bit in range(8):
            damaged = bytearray(good)
            damaged[place] ^= 1 << bit
            assert _verified(bytes(damaged)) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"passes": "2"}, r"manifest\.passes is '2'; it must be a whole number at least 0"),
        ({"workers": 2}, r"manifest\.files is a list of 1; one per worker is expected"),
        ({"files": [{"name": "a", "bytes": 3}]}, r"manifest\.files\[0\]\.checksum is missing"),
        ({"files": [7]}, r"manifest\.files\[0\] is 7; it must be an object"),
        ({"version": 9}, "written by a later dualstruct"),
    ],
)
def test_a_manifest_that_is_signed_and_wrong_is_refused_by_field(changes, said):
    with pytest.raises(InputError, match=said):
        _verified(_signed(manifest(**changes)))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "1" * 10_000, "", "\ud800"])
def test_json_that_is_none_or_nested_too_deeply_is_a_sentence(text):
    with pytest.raises(InputError, match="the header: this is not JSON, or too deeply nested"):
        parse_json(text, "the header")
