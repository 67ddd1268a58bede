"""Compressed models are small, say what they lost, and do everything that models do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import refusal, run
from dualstruct import (
    DependencyParser,
    ParsingPipeline,
    SequenceTagger,
    StructuredSVM,
    _core,
    compress,
    load_model,
    write_columns,
    write_conllu,
)
from dualstruct.compressing.rounding import round_weights
from dualstruct.datasets import load_english
from dualstruct.errors import InputError
from dualstruct.exporting.packing import pack
from dualstruct.features.base import decode_names, encode_names
from dualstruct.structures import Multiclass

TREES = load_english("train").select(range(80))
DEV = load_english("test").select(range(40))
QUICK = {"hash_bits": 14, "passes": 2}
PATTERNS = "U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB:%x[0,0]\n"


def attributes(sentences):
    return [[[f"w={w}", f"s={w[-2:]}"] for w in s] for s in sentences]


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(features="pos").fit(TREES.forms, TREES.upos)


@pytest.fixture(scope="module", params=["templates", "patterns", "attributes", "parser", "words"])
def trained(request, tagger):
    """A model, and data to judge it by."""
    forms, dev = TREES.forms, (DEV.forms, DEV.upos)
    if request.param == "templates":
        return tagger, dev
    if request.param == "patterns":
        return SequenceTagger(features=PATTERNS, passes=3).fit(forms, TREES.upos), dev
    if request.param == "attributes":
        found = SequenceTagger("attributes", passes=3).fit(attributes(forms), TREES.upos)
        return found, (attributes(DEV.forms), DEV.upos)
    if request.param == "parser":
        return DependencyParser(**QUICK).fit(TREES), (DEV,)
    parser = DependencyParser(**QUICK)
    return ParsingPipeline(parser=parser, folds=2).fit(TREES), (DEV,)


def naive_levels(w, bits):
    """One weight at a time."""
    sizes = [abs(float(x)) ** 0.5 for x in w.flat if x]
    low, high = min(sizes), max(sizes)
    levels = [low + k * (high - low) / (2 ** (bits - 1) - 1) for k in range(2 ** (bits - 1))]
    found = np.zeros_like(w)
    for place, x in np.ndenumerate(w):
        if x:
            nearest = min(levels, key=lambda level: abs(level - abs(float(x)) ** 0.5))
            found[place] = np.copysign(nearest**2, x)
    return found


def naive_choice(w, keep, uses):
    """Raises the price of a bit step by step until few enough weights are worth it."""
    worth = w.astype(float) ** 2 * ((uses + 0.3) ** (2 / 3))[:, None]
    price, most = 1e-5, round(keep * np.count_nonzero(w))
    while True:
        kept = np.zeros(w.shape, bool)
        for i, row in enumerate(worth):
            bought = (row >= 7 * price) & (w[i] != 0)
            if (row[bought] - 7 * price).sum() >= 16 * price:
                kept[i] = bought
        if np.count_nonzero(kept) <= most:
            return kept
        price *= 1.01


@pytest.fixture(scope="module")
def weights():
    w = np.random.default_rng(3).normal(size=(60, 5)).astype(np.float32) ** 3
    w[::3] = 0
    return w


@pytest.mark.parametrize("bits", [3, 6, 8])
def test_levels_are_those_of_one_weight_at_a_time(weights, bits):
    np.testing.assert_allclose(round_weights(weights, 1.0, bits), naive_levels(weights, bits), 1e-5)


@pytest.mark.parametrize("keep", [0.7, 0.4, 0.1])
def test_weights_stay_that_are_worth_their_bits(weights, keep):
    uses = np.random.default_rng(4).integers(0, 9, len(weights))
    kept = round_weights(weights, keep, 8, uses) != 0
    wanted = naive_choice(weights, keep, uses)
    assert np.count_nonzero(kept != wanted) <= 3  # the step of the price
    assert 0 < np.count_nonzero(kept) <= keep * np.count_nonzero(weights) + 1


def test_of_one_long_row_the_largest_weights_stay():
    w = np.random.default_rng(5).normal(size=1000).astype(np.float32)
    kept = round_weights(w, 0.25, 8) != 0
    assert np.count_nonzero(kept) == 250
    assert np.abs(w[kept]).min() >= np.abs(w[~kept]).max()


def test_rows_that_are_used_stay_before_others_of_the_same_size():
    w = np.full((4, 2), 0.5, np.float32)
    found = round_weights(w, 0.5, 8, np.array([0, 9, 0, 3]))
    assert found.any(axis=1).tolist() == [False, True, False, True]


def test_a_compressed_model_is_small_and_comes_back_from_its_file(trained, tmp_path):
    model, dev = trained
    found = compress(model, dev, loss_of=0.02)
    assert found.score >= found.score_before - 0.02
    assert found.score == pytest.approx(found.model.score(*dev))
    assert found.weights < found.weights_before
    path = tmp_path / "small.dstruct"
    found.save(path)
    assert path.stat().st_size == found.size < found.size_before / 3
    loaded = load_model(path)
    assert loaded.score(*dev) == found.score
    loaded.save(tmp_path / "again.dstruct")
    assert (tmp_path / "again.dstruct").stat().st_size == found.size


def test_the_largest_share_of_the_weights_that_fits_is_kept(tagger):
    sizes = [compress(tagger, size=size) for size in ("60KB", "30KB", 20_000)]
    assert [each.size <= most for each, most in zip(sizes, (6e4, 3e4, 2e4), strict=True)] == [
        True
    ] * 3
    assert sizes[0].weights > sizes[1].weights > sizes[2].weights
    assert sizes[0].size > 45_000


def test_a_size_that_cannot_be_reached_says_what_can(tagger):
    with pytest.raises(
        InputError, match=r"cannot be made as small as 900 bytes: \d.* is the smallest"
    ):
        compress(tagger, size=900)
    for wrong in ("much", "-3KB", "0", "3 XB"):
        with pytest.raises(InputError, match="a size such as 450KB"):
            compress(tagger, size=wrong)
    with pytest.raises(InputError, match="bits is 2"):
        compress(tagger, bits=2)


def test_it_explains_calibrates_and_training_makes_it_ordinary_again(tagger, tmp_path):
    small = compress(tagger, size="40KB").model
    tokens = list(DEV.forms[0])
    explained = small.explain(tokens)[0]
    names = {each.name for each in explained.contributions}
    assert any(name.startswith("word[0]=") or "(word[0]" in name for name in names)
    assert small.calibrate(DEV.forms, DEV.upos).temperature_ > 0
    small.save(tmp_path / "small.dstruct")
    loaded = SequenceTagger.load(tmp_path / "small.dstruct")
    assert loaded.is_compressed_
    assert loaded.temperature_ == small.temperature_
    strongest = loaded.weights_.strongest(1)[0]
    assert loaded.weights_.weight(strongest.feature, strongest.label) == strongest.weight
    unknown = loaded.model_.extractor.transform([["Zzyzx"]])
    known = loaded.model_.extractor.names(unknown.ids)
    assert not any("Zzyzx" in name for name in known)
    loaded.partial_fit(TREES.forms, TREES.upos)
    assert not loaded.is_compressed_
    loaded.save(tmp_path / "large.dstruct")
    assert (tmp_path / "large.dstruct").stat().st_size > 80_000
    assert loaded.score(DEV.forms, DEV.upos) > small.score(DEV.forms, DEV.upos) - 0.02


def test_without_names_it_predicts_and_says_what_it_cannot_do(trained, tmp_path):
    model, dev = trained
    named = compress(model, dev, loss_of=0.02, bits=8)
    found = compress(model, dev, loss_of=0.02, bits=8, names=False)
    assert found.size <= 1.05 * named.size
    assert abs(found.score - named.score) < 0.01
    path = tmp_path / "small.dstruct"
    found.save(path)
    loaded = load_model(path)
    assert path.stat().st_size == found.size
    assert loaded.score(*dev) == found.score


def test_names_that_were_left_out_are_missed_by_name(tagger, tmp_path):
    small = compress(tagger, size="30KB", names=False).model
    small.save(tmp_path / "small.dstruct")
    loaded = SequenceTagger.load(tmp_path / "small.dstruct")
    assert not loaded.model_.extractor.has_names
    tokens = list(DEV.forms[0])
    unseen = loaded.model_.extractor.transform([[f"Zzyzx{k}qq{k}" for k in range(300)]])
    plain = tagger.model_.extractor.transform([[f"Zzyzx{k}qq{k}" for k in range(300)]])
    assert len(unseen.ids) <= len(plain.ids) + 5
    for asks in (
        lambda: loaded.explain(tokens),
        lambda: loaded.weights_.strongest(1),
        lambda: loaded.partial_fit(TREES.forms, TREES.upos),
        lambda: pack(loaded),
    ):
        with pytest.raises(InputError, match="names of this model's features were left out"):
            asks()
    assert loaded.calibrate(DEV.forms, DEV.upos).temperature_ > 0
    assert "were left out" in refusal("explain", tmp_path / "small.dstruct", " ".join(tokens))
    assert "were left out" in refusal("inspect", tmp_path / "small.dstruct")


def test_names_of_functions_cannot_be_left_out():
    tagger = SequenceTagger(["pos", ends]).fit(TREES.forms, TREES.upos)
    with pytest.raises(InputError, match="names can be left out of features of templates"):
        compress(tagger, names=False)


def ends(sentence):
    return [[word[-1]] for word in sentence]


@given(st.lists(st.text(max_size=300), max_size=40))
def test_names_come_back_from_front_coding(names):
    names = sorted(name.replace("\0", "") for name in names)
    data, offsets = encode_names(names)
    shared, rest = _core.front_coded(data, offsets)
    back = _core.from_front_coded(shared, rest, len(data))
    assert decode_names(*back) == names
    shared = np.append(shared, np.uint8(0))
    with pytest.raises(InputError):
        _core.from_front_coded(shared, rest, len(data))
    with pytest.raises(InputError):
        _core.from_front_coded(np.zeros(0, np.uint8), np.append(rest, np.uint8(0)), len(data))


def test_front_coding_takes_what_names_share_from_the_one_before():
    data, offsets = encode_names(["word=a", "word=ab", "xyz"])
    shared, rest = _core.front_coded(data, offsets)
    assert shared.tolist() == [0, 6, 0]
    assert rest.tobytes() == b"word=a\0b\0xyz\0"
    for wrong, most in (([1, 6, 0], 99), ([0, 7, 0], 99), ([0, 6, 0], 10)):
        with pytest.raises(InputError, match="features: the names"):
            _core.from_front_coded(np.array(wrong, np.uint8), rest, most)


def test_any_structure_can_be_compressed(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2000)).astype(np.float32)
    y = [str(k) for k in np.argmax(X[:, :3], axis=1)]
    svm = StructuredSVM(Multiclass(), passes=5).fit(X, y)
    found = compress(svm, (X, y), loss_of=0.0)
    found.save(tmp_path / "svm.dstruct")
    assert "only Python code" in refusal("compress", tmp_path / "svm.dstruct", tmp_path / "b")
    loaded = StructuredSVM.load(tmp_path / "svm.dstruct", Multiclass())
    assert loaded.predict(X) == svm.predict(X)
    assert found.size < found.size_before / 4


def test_a_damaged_compressed_file_is_refused(tagger, tmp_path):
    path = tmp_path / "small.dstruct"
    compress(tagger, size="40KB").save(path)
    whole = path.read_bytes()
    for place in np.random.default_rng(1).integers(0, len(whole), 60):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        with pytest.raises(InputError):
            SequenceTagger.load(path)


def test_the_command_compresses_taggers_and_trees(tagger, tmp_path):
    dev, trees = tmp_path / "dev.txt", tmp_path / "dev.conllu"
    write_columns(dev, DEV.forms, DEV.upos)
    write_conllu(trees, DEV)
    large, small = tmp_path / "large.dstruct", tmp_path / "small.dstruct"
    tagger.save(large)
    told = run("compress", large, small, "--dev", dev, "--loss-of", 0.02)
    assert "bits each; score" in told
    assert small.stat().st_size < large.stat().st_size / 4
    assert "cannot be made" in refusal("compress", large, small, "--size", "1KB")
    assert "size is 'no'" in refusal("compress", large, small, "--size", "no")
    DependencyParser(**QUICK).fit(TREES).save(large)
    run("compress", large, small, "--dev", trees, "--loss-of", 0.02, "--json")
    assert small.stat().st_size < large.stat().st_size / 3


def test_train_with_a_size_writes_a_small_model(tmp_path):
    train, model = tmp_path / "train.txt", tmp_path / "m.dstruct"
    write_columns(train, TREES.forms, TREES.upos)
    run("train", train, "--model", model, "--passes", 2, "--size", "30KB")
    assert model.stat().st_size <= 30_000
    assert load_model(model).is_compressed_
    told = refusal("train", train, "--model", model, "--passes", 2, "--size", "1KB")
    assert "is the smallest" in told
    assert "m.dstruct holds the model as trained" in told
    assert not load_model(model).is_compressed_
