"""Model files and checkpoints: what comes back from them, and that not a bit of them may change."""

from __future__ import annotations

import hashlib
import json
import os

import numpy as np
import pytest
import safetensors.numpy

from dualstruct import (
    DependencyParser,
    ParsingPipeline,
    SequenceTagger,
    StructuredSVM,
    Tokenizer,
)
from dualstruct.data.arrays import FORMAT_VERSION, format_of, read_arrays, write_arrays
from dualstruct.datasets import load_english
from dualstruct.distributed import BQO
from dualstruct.errors import InputError
from dualstruct.estimators import load_model
from dualstruct.solvers import CPD, DCD, LBFGS, SDM, Averaged, FrankWolfe
from dualstruct.structures import Multiclass
from dualstruct.training.resuming import CHECKPOINT_FORMAT
from dualstruct.training.settings import kept_settings

#: Bits that are flipped in each file; `make flips` takes 10,000.
FLIPS = int(os.environ.get("FLIPS", "200"))

X = [["Ada", "lives", "in", "Turin"], ["Bo", "left", "Rome"], ["Turin", "sleeps"]]
Y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-LOC"], ["B-LOC", "O"]]
TREES = load_english("train").select(range(12))
POINTS = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.0], [0.0, 0.7]]), ["a", "b", "b", "a"]

#: What no file may choose. A new parameter belongs here, or among those that the model keeps.
OF_THE_RUN = {
    "threads": 3,
    "verbose": True,
    "certify_every": 1,
    "checkpoint": "/nowhere/checkpoint",
    "resume": True,
    "engine": "ray",
    "workers": 7,
    "address": "192.0.2.1:6379",
    "features": "word[0]",
    "dialect": "wapiti",
    "vectors": "/nowhere/vectors",
    "keep_vectors": "beside",
    "clusters": "/nowhere/clusters",
    "structure": None,
}
#: Values that are not the default, of what the model keeps.
KEPT = {
    "loss": "softmax_margin",
    "beta": 2.0,
    "gamma": 0.5,
    "solver": LBFGS(memory_size=3, tolerance=0.25),
    "averaged": "the other one",
    "C": 0.375,
    "gap": 0.125,
    "passes": 2,
    "seconds": 1e6,
    "patience": 3,
    "seed": 11,
    "constraints": None,
    "scheme": "bilou",
    "cost": {"B-PER": 2.0},
    "class_weight": {"B-PER": 2.0},
    "unknown_label": "?",
    "hash_bits": 13,
    "min_count": 2,
    "without": "shapes,affixes",
    "document_features": True,
    "stages": 2,
    "unseen_labels": "count",
    "projective": False,
    "single_root": False,
    "order": 2,
    "grandparents": False,
    "most_heads": 4,
    "lemma": False,
    "morphology": False,
    "xpos": False,
    "label_cost": 0.75,
    "bad_trees": "skip",
    "minimum_risk": 1.5,
    "on_error": "skip",
}


def trained(kind):
    if kind is SequenceTagger:
        return kind(passes=1).fit(X, Y)
    if kind is StructuredSVM:
        return kind(Multiclass(), passes=1).fit(*POINTS)
    return kind(hash_bits=10, passes=1).fit(TREES)


def loaded(kind, path):
    return kind.load(path, Multiclass()) if kind is StructuredSVM else load_model(path)


ESTIMATORS = (SequenceTagger, DependencyParser, StructuredSVM)


@pytest.fixture(scope="module", params=ESTIMATORS, ids=lambda kind: kind.__name__)
def model(request):
    return trained(request.param)


def test_every_parameter_is_one_of_the_model_or_of_the_run(model):
    kept = set(kept_settings(model))
    assert set(model.get_params()) == kept | (set(OF_THE_RUN) & set(model.get_params()))
    assert kept <= set(KEPT)
    assert not kept & set(OF_THE_RUN)


def test_what_the_model_keeps_comes_back(model, tmp_path):
    kind, before = type(model), model.get_params()
    try:
        for name in kept_settings(kind):
            other = not before[name] if name == "averaged" else KEPT[name]
            model.set_params(**{name: other})
            model.set_params(loss="softmax_margin" if name in ("beta", "gamma") else model.loss)
            model.save(tmp_path / "m.dstruct")
            back = loaded(kind, tmp_path / "m.dstruct")
            assert repr(getattr(back, name)) == repr(other)
            model.set_params(**before)
    finally:
        model.set_params(**before)


def test_settings_of_a_run_never_come_from_a_file(model, tmp_path):
    kind, path = type(model), tmp_path / "m.dstruct"
    model.set_params(threads=2, verbose=True)
    model.save(path)
    model.set_params(threads=1, verbose=False)
    metadata, arrays = read_arrays(path, kind.model_format)
    chosen = {name: value for name, value in OF_THE_RUN.items() if name in model.get_params()}
    metadata["parameters"] |= chosen
    write_arrays(path, kind.model_format, metadata, arrays)
    back = loaded(kind, path)
    for name in chosen:
        if name != "structure":
            assert getattr(back, name) == kind._defaults()[name], name


def test_a_pipelines_parts_take_no_settings_of_a_run_from_a_file(tmp_path):
    path = tmp_path / "m.dstruct"
    parser = DependencyParser(hash_bits=10, passes=1)
    ParsingPipeline(tags=("upos",), parser=parser, folds=2).fit(TREES).save(path)
    metadata, arrays = read_arrays(path, ParsingPipeline.model_format)
    for part in metadata["parts"].values():
        part["parameters"] |= {
            name: OF_THE_RUN[name] for name in ("threads", "checkpoint", "engine")
        }
    write_arrays(path, ParsingPipeline.model_format, metadata, arrays)
    back = load_model(path)
    assert [back.tagger, back.parser, back.verbose] == [None, None, False]
    for part in (back.taggers_["upos"], back.parser_):
        for name in set(OF_THE_RUN) & set(part.get_params()):
            assert getattr(part, name) == type(part)._defaults()[name], name


def test_training_on_from_a_strangers_model_writes_nothing(tmp_path):
    path, victim = tmp_path / "evil.dstruct", tmp_path / "precious.dstruct"
    SequenceTagger(passes=1, seed=5).fit(X, Y).save(victim)
    before = victim.read_bytes()
    SequenceTagger(passes=1).fit(X, Y).save(path)
    metadata, arrays = read_arrays(path, SequenceTagger.model_format)
    metadata["parameters"] |= {"checkpoint": str(victim), "engine": "ray", "address": "192.0.2.1:1"}
    write_arrays(path, SequenceTagger.model_format, metadata, arrays)
    load_model(path).partial_fit(X, Y)
    assert victim.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name, victim.name]


def test_a_parameter_that_is_none_is_refused_by_name(tmp_path):
    path = tmp_path / "m.dstruct"
    SequenceTagger(passes=1).fit(X, Y).save(path)
    metadata, arrays = read_arrays(path, SequenceTagger.model_format)
    for name, value, said in [
        ("__class__", 1, "parameters has '__class__'"),
        ("self", 1, "parameters has 'self'"),
        ("C", "large", r"parameters\.C is 'large'; it must be a number"),
        ("passes", 2.5, r"parameters\.passes is 2\.5; it must be a whole number, or null"),
        ("passes", 2**80, r"parameters\.passes is 12089\d*; it must be a whole number, or null"),
        ("solver", {"name": "exec", "settings": {}, "averaged": False}, "there is no solver"),
        (
            "solver",
            {"name": "dcd", "settings": {"revisits": "9"}, "averaged": False},
            r"settings\.revisits is '9'; it must be a whole number",
        ),
    ]:
        changed = {**metadata, "parameters": {**metadata["parameters"], name: value}}
        write_arrays(path, SequenceTagger.model_format, changed, arrays)
        with pytest.raises(InputError, match=said):
            load_model(path)


@pytest.mark.parametrize("solver", [DCD(revisits=2), Averaged(DCD()), "auto"], ids=repr)
def test_solvers_come_back_from_files(solver, tmp_path):
    SequenceTagger(solver=solver, passes=1).fit(X, Y).save(tmp_path / "m.dstruct")
    assert repr(load_model(tmp_path / "m.dstruct").solver) == repr(solver)


@pytest.mark.parametrize(
    ("name", "settings", "present"),
    [
        ("dcd", {"inner_passes": 2, "delta": 0.01}, DCD(revisits=2)),
        ("frank-wolfe", {"cached_passes": 3, "averaged": False}, FrankWolfe(revisits=3)),
        ("sdm", {"kappa2": 4}, SDM(max_revisits=4)),
        ("cpd", {"max_inner_passes": 7}, CPD(max_revisits=7)),
        ("bqo", {"solver": "dcd", "solver_settings": {"inner_passes": 2}}, BQO(DCD(revisits=2))),
    ],
)
def test_settings_of_solvers_come_back_from_files_of_before(name, settings, present, tmp_path):
    path = tmp_path / "m.dstruct"
    SequenceTagger(passes=1).fit(X, Y).save(path)
    metadata, arrays = read_arrays(path, SequenceTagger.model_format)
    metadata["parameters"]["solver"] = {"name": name, "settings": settings, "averaged": False}
    write_arrays(path, SequenceTagger.model_format, metadata, arrays)
    assert repr(load_model(path).solver) == repr(present)


def test_a_checkpoint_of_before_is_resumed_from(tmp_path):
    path = tmp_path / "checkpoint"
    SequenceTagger(solver=DCD(revisits=2), passes=2, checkpoint=path).fit(X, Y)
    metadata, arrays = read_arrays(path, CHECKPOINT_FORMAT)
    metadata["fingerprint"]["settings"] = {"inner_passes": 2, "delta": 0.01}
    write_arrays(path, CHECKPOINT_FORMAT, metadata, arrays)
    again = SequenceTagger(solver=DCD(revisits=2), passes=3, checkpoint=path, resume=True)
    assert again.fit(X, Y).result_.passes == 3
    other = SequenceTagger(solver=DCD(revisits=3), passes=4, checkpoint=path, resume=True)
    with pytest.raises(InputError, match="another run: its settings"):
        other.fit(X, Y)


def some_files(folder):
    for kind in (SequenceTagger, DependencyParser):
        path = folder / f"{kind.__name__}.dstruct"
        trained(kind).save(path)
        yield path, kind.load
    checkpoint = folder / "checkpoint"
    for solver in ("dcd", "cutting-plane"):
        path = folder / f"{solver}.checkpoint"
        tagger = SequenceTagger(solver=solver, passes=2, checkpoint=checkpoint)
        tagger.fit(X, Y)
        checkpoint.rename(path)
        yield path, lambda path: read_arrays(path, CHECKPOINT_FORMAT)


def test_every_flipped_bit_is_refused(tmp_path):
    for path, load in some_files(tmp_path):
        load(path)
        good = path.read_bytes()
        header = 8 + int.from_bytes(good[:8], "little")
        rng = np.random.default_rng(0)
        # Half of them in the header, which is the smaller part.
        places = [int(rng.integers(0, header)) for _ in range(FLIPS // 2)]
        places += [int(rng.integers(0, len(good))) for _ in range(FLIPS // 2)]
        for place in places:
            bit = 1 << int(rng.integers(0, 8))
            damaged = bytearray(good)
            damaged[place] ^= bit
            path.write_bytes(damaged)
            with pytest.raises(InputError, match=r"damaged|not a dualstruct|format version"):
                load(path)


def test_every_bit_around_version_and_checksum_counts(tmp_path):
    path = tmp_path / "a"
    write_arrays(path, "some", {"labels": ["x"]}, {"a": np.arange(3)})
    good = path.read_bytes()
    kept = good.index(b'\\"checksum') + 30
    for place in range(len(good)):
        for bit in range(8) if place < kept else [place % 8]:
            damaged = bytearray(good)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            with pytest.raises(InputError):
                read_arrays(path, "some")


ARRAYS = {
    "numbers": np.arange(6, dtype=np.int32).reshape(2, 3),
    "one": np.array([np.nan, 2.5]),
    "none": np.zeros((0, 4), dtype=np.float32),
    "flags": np.array([True, False, True]),
    "bytes": np.frombuffer("ü".encode(), np.uint8),
    "across": np.arange(6, dtype=np.uint64).reshape(2, 3).T,
    "big": np.arange(3, dtype=">i2"),
}


def test_our_files_are_safetensors(tmp_path):
    path = tmp_path / "a"
    write_arrays(path, "some", {"name": "ü\ud800\n"}, ARRAYS)
    theirs = safetensors.numpy.load_file(path)
    metadata, ours = read_arrays(path, "some")
    assert metadata == {"name": "ü\ud800\n", "format": "some", "version": FORMAT_VERSION}
    for found in (theirs, ours):
        assert found.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            assert found[name].dtype == array.dtype.newbyteorder("=")
            np.testing.assert_array_equal(found[name], array)
    assert all(array.flags.aligned and array.flags.writeable for array in ours.values())


def old_file(path, metadata, arrays):
    """What version 1 wrote: a checksum of the arrays alone."""
    total = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        total.update(name.encode())
        total.update(np.ascontiguousarray(arrays[name]).data)
    header = {**metadata, "version": 1, "checksum": total.hexdigest()}
    safetensors.numpy.save_file(arrays, path, metadata={"dualstruct": json.dumps(header)})


def test_files_of_version_1_are_read(tmp_path):
    path = tmp_path / "m.dstruct"
    tagger = SequenceTagger(passes=1).fit(X, Y)
    tagger.save(path)
    metadata, arrays = read_arrays(path, SequenceTagger.model_format)
    metadata["parameters"] |= {"threads": 2}
    old_file(path, metadata, arrays)
    assert load_model(path).predict(X) == tagger.predict(X)
    assert format_of(path) == SequenceTagger.model_format
    arrays["emission"] = arrays["emission"] + 1
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(InputError, match="checksum does not match"):
        load_model(path)


def test_pipelines_written_before_they_had_tokenizers_and_lemmas_are_read(tmp_path):
    """Their files held folds and parts, taggers and a parser, and nothing else."""
    path = tmp_path / "m.dstruct"
    pipeline = ParsingPipeline(parser=DependencyParser(hash_bits=10, passes=1), folds=2).fit(TREES)
    metadata, arrays = pipeline.state()
    assert metadata.keys() == {"folds", "parts"}
    assert metadata["parts"].keys() == {"upos", "parser"}
    old_file(path, {"format": ParsingPipeline.model_format, **metadata}, arrays)
    back = load_model(path)
    assert isinstance(back.tokenizer_, Tokenizer)
    assert back.get_params()["tags"] == ["upos"]
    words = [list(sentence.forms) for sentence in TREES[:5]]
    assert bytes(back.predict(words)) == bytes(pipeline.predict(words))
    text = "Ada sings. Bo left!"
    assert bytes(back.predict_text([text])) == bytes(pipeline.predict_text([text]))


def crafted(path, header: bytes, data: bytes = b""):
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


OURS = json.dumps({"format": "some", "version": 1, "checksum": ""})


@pytest.mark.parametrize(
    "listed",
    [
        {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}},  # too short for its shape
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}},  # a gap before it
        {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, -4]}},
        {"a": {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 2**66]}},
        {"a": {"dtype": "F32", "shape": [0, 2**61], "data_offsets": [0, 0]}},
        {"a": {"dtype": "F32", "shape": [1] * 99, "data_offsets": [0, 4]}},
        {"a": {"dtype": "O", "shape": [1], "data_offsets": [0, 8]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}},
        {"a": {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]}},
        {"a": [1]},
        {
            "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
            "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]},  # over the one before
        },
        {"__metadata__": 7},
        {"__metadata__": {"dualstruct": 7}},
        {"__metadata__": {"dualstruct": "[]"}},
        {"__metadata__": {"dualstruct": '{"format": 1}'}},
        {"__metadata__": {"dualstruct": '{"format": "some"}'}},
        {"__metadata__": {"dualstruct": '{"format":"some","version":"1","checksum":""}'}},
        {"__metadata__": {"dualstruct": '{"format":"some","version":2,"checksum":"%s"}'}},
        {"__metadata__": {"dualstruct": "[" * 100_000}},
        {"__metadata__": {"dualstruct": "1" * 10_000}},
    ],
    ids=str,
)
def test_headers_that_cannot_be_are_refused(listed, tmp_path):
    path = tmp_path / "a"
    crafted(path, json.dumps({"__metadata__": {"dualstruct": OURS}, **listed}).encode(), b"\0" * 8)
    with pytest.raises(InputError, match="damaged"):
        read_arrays(path, "some")
    with pytest.raises(InputError, match="damaged"):
        load_model(path)


@pytest.mark.parametrize("header", [b"[" * 200_000, b"{" + b'"a":{' * 50_000, b"", b"7", b"\xff"])
def test_headers_that_are_no_json_are_refused(header, tmp_path):
    crafted(tmp_path / "a", header)
    with pytest.raises(InputError, match="damaged"):
        read_arrays(tmp_path / "a", "some")


def test_a_file_cut_short_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a"
    write_arrays(path, "some", {}, {"a": np.zeros(1000)})
    size = path.stat()
    path.write_bytes(path.read_bytes()[:-100])
    monkeypatch.setattr(os, "fstat", lambda _: size)
    with pytest.raises(InputError, match="cut short"):
        read_arrays(path, "some")
