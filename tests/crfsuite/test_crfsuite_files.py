"""CRFsuite's model files: those that it wrote are read, those written here it opens."""

from __future__ import annotations

import struct
import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct.crfsuite.files import (
    CRFsuiteModel,
    is_crfsuite,
    open_crfsuite,
    parse_crfsuite,
    read_crfsuite,
    write_crfsuite,
)
from dualstruct.errors import InputError
from random_cases import cases

pycrfsuite = pytest.importorskip("pycrfsuite", reason="missing: pip install python-crfsuite")

WORDS = ["Ada", "saw", "a", "très", "grey", "cat", "in", "Oslo", "東京", "and", "left"]
LABELS = ["O", "B-PER", "B-LOC", "I-LOC", "NOUN"]


def made_up(seed, sentences=12, labels=LABELS):
    """Sentences of dicts with words, affixes and numbers, and labels at random."""
    random = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(sentences):
        words = random.choice(WORDS, size=random.integers(1, 9))
        X.append(
            [
                {
                    "word": str(w),
                    "end": str(w)[-2:],
                    "size": len(w) / 7,
                    "last": t + 1 == len(words),
                }
                for t, w in enumerate(words)
            ]
        )
        Y.append([str(label) for label in random.choice(labels, size=len(words))])
    return X, Y


def crfsuite_model(path, seed=0, algorithm="lbfgs", labels=LABELS, **params):
    X, Y = made_up(seed, labels=labels)
    trainer = pycrfsuite.Trainer(algorithm, {"max_iterations": 8, **params}, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(str(path))
    return path.read_bytes()


VARIANTS = [
    {},
    {"c1": 0.4, "c2": 0.01},
    {"feature.possible_states": True, "feature.possible_transitions": True},
    {"feature.minfreq": 2},
    {"algorithm": "ap"},
    {"algorithm": "arow"},
    {"labels": ["only"]},
]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_a_model_read_and_written_again_is_the_same_file(tmp_path, variant):
    data = crfsuite_model(tmp_path / "theirs", **variant)
    assert parse_crfsuite(data).to_bytes() == data


def test_a_model_with_thousands_of_names_is_the_same_file(tmp_path):
    trainer = pycrfsuite.Trainer("ap", {"max_iterations": 1}, verbose=False)
    for i in range(60):
        names = [f"attribute {'x' * (k % 40)} {i * 60 + k}" for k in range(60)]
        trainer.append([names], [f"label {i}"])
    trainer.train(str(tmp_path / "theirs"))
    data = (tmp_path / "theirs").read_bytes()
    model = parse_crfsuite(data)
    assert len(model.attributes) > 3000
    assert model.to_bytes() == data


def tagged(tagger, sentence):
    labels = tagger.tag(sentence)
    marginals = [[tagger.marginal(k, t) for k in tagger.labels()] for t in range(len(sentence))]
    return labels, np.array(marginals), tagger.probability(labels)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_models_of_crfsuite_decode_identically_here(tmp_path, variant):
    path = tmp_path / "theirs"
    crfsuite_model(path, **variant)
    model = open_crfsuite(path.read_bytes())
    names, chain = model.labels, model.chain
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    assert names == tagger.labels()
    for sentence in made_up(seed=1)[0]:
        labels, marginals, probability = tagged(tagger, sentence)
        _, offsets, ids, values = model.transform([sentence])
        emissions = model.emissions(offsets, ids, values)
        best = chain.decode(emissions)
        assert [names[k] for k in best] == labels
        log_partition, ours = chain.sum(emissions)
        np.testing.assert_allclose(ours, marginals, atol=1e-12)
        score = chain.score(emissions, best)
        assert np.exp(score - log_partition) == pytest.approx(probability, abs=1e-12)


NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


@st.composite
def models(draw):
    labels = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    attributes = draw(st.lists(NAMES, min_size=1, max_size=8, unique=True))
    K, A = len(labels), len(attributes)
    weights = st.floats(-50, 50)
    state = draw(st.dictionaries(st.integers(0, A * K - 1), weights))
    moves = draw(st.dictionaries(st.integers(0, K * K - 1), weights))
    return CRFsuiteModel(
        labels,
        attributes,
        *(np.array([f(n) for n in state], np.int32) for f in (lambda n: n // K, lambda n: n % K)),
        np.array(list(state.values()), float),
        *(np.array([f(n) for n in moves], np.int32) for f in (lambda n: n // K, lambda n: n % K)),
        np.array(list(moves.values()), float),
    )


@given(models(), st.data())
@cases(60)
def test_models_written_here_open_in_crfsuite_and_tag_identically(tmp_path_factory, model, data):
    path = tmp_path_factory.getbasetemp() / "ours"
    write_crfsuite(path, model)
    assert is_crfsuite(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    assert sorted(tagger.labels()) == sorted(model.labels)
    names = st.sampled_from([*model.attributes, "unknown attribute"])
    sentence = data.draw(st.lists(st.lists(names, max_size=4), min_size=1, max_size=5))
    file = open_crfsuite(path.read_bytes())
    _, offsets, ids, values = file.transform([sentence])
    emissions = file.emissions(offsets, ids, values)
    labels = [model.labels[k] for k in file.chain.decode(emissions)]
    assert tagger.tag(sentence) == labels
    _, marginals = file.chain.sum(emissions)
    for t in range(len(sentence)):
        for k, label in enumerate(model.labels):
            assert tagger.marginal(label, t) == pytest.approx(marginals[t, k], abs=1e-6)
    tagger.close()


@given(models(), st.sampled_from([1, 100]))  # by products, or by logarithms
def test_sums_over_labellings_are_those_of_enumeration(model, scale):
    K, chain = len(model.labels), open_crfsuite(model.to_bytes()).chain
    emissions = scale * np.linspace(-3, 5, 3 * K).reshape(3, K)[::-1]
    scores = {y: chain.score(emissions, np.array(y, np.int32)) for y in product(range(K), repeat=3)}
    log_partition, marginals = chain.sum(emissions)
    assert log_partition == pytest.approx(np.logaddexp.reduce(list(scores.values())))
    for t in range(3):
        for k in range(K):
            share = sum(np.exp(s - log_partition) for y, s in scores.items() if y[t] == k)
            assert marginals[t, k] == pytest.approx(share, rel=1e-6, abs=1e-9)
    best = tuple(chain.decode(emissions).tolist())
    assert scores[best] == pytest.approx(max(scores.values()))


def test_long_sentences_and_large_weights_do_not_overflow():
    model = CRFsuiteModel(
        ["a", "b"], ["x"], *(np.array([0, 0]), np.array([0, 1]), np.array([900.0, 899.0])),
        *(np.array([0]), np.array([1]), np.array([-800.0])),
    )  # fmt: skip
    file = open_crfsuite(model.to_bytes())
    emissions = file.emissions(np.arange(2001, dtype=np.int64), np.zeros(2000, np.int32), None)
    log_partition, marginals = file.chain.sum(emissions)
    assert np.isfinite(log_partition)
    np.testing.assert_allclose(marginals.sum(axis=1), 1)


def test_hashes_of_all_lengths_find_their_names_in_crfsuite(tmp_path):
    attributes = ["x" * n for n in range(1, 80)]
    model = CRFsuiteModel(
        ["no", "yes"], attributes,
        *(np.arange(79), np.ones(79, np.int32), np.ones(79)),
        *(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)),
    )  # fmt: skip
    write_crfsuite(tmp_path / "model", model)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    assert tagger.tag([[name] for name in attributes]) == ["yes"] * 79


def test_names_that_are_not_utf8_survive(tmp_path):
    model = CRFsuiteModel(
        ["\udce9", "b"], ["caf\udce9", "café"],
        *(np.array([0, 1]), np.array([0, 1]), np.array([1.0, 2.0])),
        *(np.array([0]), np.array([1]), np.array([1.0])),
    )  # fmt: skip
    again = parse_crfsuite(model.to_bytes())
    assert (again.labels, again.attributes) == (model.labels, model.attributes)
    assert b"caf\xe9\0" in model.to_bytes()
    file = open_crfsuite(model.to_bytes())
    assert file.transform([[["café", "caf"]]])[2].tolist() == [1]


@pytest.mark.parametrize(
    ("labels", "attributes", "message"),
    [
        (["a\0b"], ["x"], "label 'a.x00b' has a NUL"),
        (["a", "a"], ["x"], "two labels have the same name"),
        (["a"], ["x", "x"], "two attributes have the same name"),
    ],
)
def test_what_crfsuite_cannot_store_is_refused(labels, attributes, message):
    empty = (np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
    with pytest.raises(InputError, match=message):
        CRFsuiteModel(labels, attributes, *empty, *empty).to_bytes()


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    return crfsuite_model(tmp_path_factory.mktemp("models") / "model")


def test_every_truncation_is_refused(healthy):
    for end in [*range(60), *range(60, len(healthy), 97), len(healthy) - 1]:
        with pytest.raises(InputError, match="model"):
            parse_crfsuite(healthy[:end], "model")


def or_refused(call, *args):
    """The answer of a call, or None if it says in one sentence that the model is damaged."""
    try:
        return call(*args)
    except InputError as error:
        if not str(error).startswith("model is") or "\n" in str(error):
            pytest.fail(f"not a sentence about the model: {error}")


def parsed_or_refused(data, names=()):
    """Read all of it; open it and look up every name and every number."""
    model = or_refused(parse_crfsuite, data, "model")
    file = or_refused(open_crfsuite, data, "model")
    assert model is None or file is not None
    if file is None:
        return
    for name in names:
        rows = or_refused(file.transform, [[[name]]])
        assert model is None or rows is not None
        if rows is None:
            continue
        emissions = or_refused(file.emissions, *rows[1:])
        assert model is None or emissions is not None
        if emissions is not None:
            assert np.isfinite(emissions).all()
            file.chain.decode(emissions)


@given(st.data())
@cases(200)
def test_flipped_bytes_never_crash(healthy, data):
    damaged = bytearray(healthy)
    places = st.one_of(st.integers(0, 60), st.integers(0, len(healthy) - 1))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(places)] = data.draw(st.integers(0, 255))
    parsed_or_refused(bytes(damaged), parse_crfsuite(healthy).attributes)


def changed(data, place, number):
    """The same bytes but for one number."""
    return data[:place] + struct.pack("<I", number) + data[place + 4 :]


def word(data, place):
    return struct.unpack_from("<I", data, place)[0]


CONTRADICTION = r"^model is damaged: the references of attributes contradict the features$"


def test_what_is_damaged_is_refused_when_it_is_needed_and_the_rest_serves(healthy):
    attributes = parse_crfsuite(healthy).attributes
    list_of_second = word(healthy, word(healthy, 44) + 12 + 4)  # the header's last place: AFRF
    damaged = changed(healthy, list_of_second + 4, 0xFFFF)
    file = open_crfsuite(damaged, "model")
    healthy_file = open_crfsuite(healthy)
    for number, name in enumerate(attributes):
        rows = file.transform([[[name]]])[1:]
        assert rows[1].tolist() == [number]
        if number != 1:
            assert (file.emissions(*rows) == healthy_file.emissions(*rows)).all()
    with pytest.raises(InputError, match=CONTRADICTION):
        file.emissions(*file.transform([[[attributes[1]]]])[1:])
    with pytest.raises(InputError, match=CONTRADICTION):
        file.check()
    with pytest.raises(InputError, match=CONTRADICTION):
        parse_crfsuite(damaged, "model")


def hash_tables(data, what):
    """Where the buckets of each hash table begin, and how many it has."""
    begin = word(data, {"labels": 32, "attributes": 36}[what])
    pairs = (struct.unpack_from("<2I", data, begin + 24 + 8 * table) for table in range(256))
    return [(begin + place, size) for place, size in pairs if size]


@pytest.mark.parametrize("what", ["labels", "attributes"])
def test_names_that_their_hashes_do_not_lead_to_are_damage(healthy, what):
    place, size = hash_tables(healthy, what)[0]
    for bucket in range(place, place + 8 * size, 8):
        if word(healthy, bucket + 4):
            damaged = changed(healthy, bucket, word(healthy, bucket) ^ 1)
            with pytest.raises(InputError, match=f"^model is damaged: {what[:-1]} [0-9]+ is n"):
                parse_crfsuite(damaged, "model")
            led_astray = changed(healthy, bucket + 4, 0xFFFFFF)
            with pytest.raises(InputError, match=f"^model is damaged: a record of the {what} lies"):
                parse_crfsuite(led_astray, "model")


def test_a_table_without_an_empty_bucket_is_damage():
    # Each name is found behind thousands of others: as many steps as names, squared.
    names = [f"attribute {i}" for i in range(3000)]
    empty = (np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
    data = bytearray(CRFsuiteModel(["a"], names, *empty, *empty).to_bytes())
    begin = word(data, 36)
    first, _ = hash_tables(data, "attributes")[0]
    end = begin + word(data, begin + 20)
    for bucket in range(first, end, 8):
        if not word(data, bucket + 4):
            struct.pack_into("<2I", data, bucket, 0, 2072)
    for table in range(256):  # and each table is all of them
        struct.pack_into("<2I", data, begin + 24 + 8 * table, first - begin, (end - first) // 8)
    with pytest.raises(InputError, match=r"^model is damaged: the hashes of the attributes"):
        parse_crfsuite(bytes(data), "model")
    found = open_crfsuite(bytes(data)).transform([[["attribute 7", "nothing"]]])
    assert found[2].tolist() == [7]


@pytest.mark.parametrize("huge", [0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFF0, 100_000])
def test_huge_numbers_anywhere_never_allocate_much(healthy, huge):
    places = [*range(4, 48, 4)]
    for begin in struct.unpack_from("<5I", healthy, 28):
        places += range(begin + 4, begin + 32, 4)
    tracemalloc.start()
    for place in places:
        damaged = bytearray(healthy)
        damaged[place : place + 4] = struct.pack("<I", huge)
        parsed_or_refused(bytes(damaged))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20 * len(healthy) + 1_000_000


def test_other_files_are_not_models(tmp_path):
    (tmp_path / "notes.txt").write_text("these are notes")
    assert not is_crfsuite(tmp_path / "notes.txt")
    assert not is_crfsuite(tmp_path / "nothing")
    with pytest.raises(InputError, match=r"^notes.txt is not a CRFsuite model$"):
        read_crfsuite(tmp_path / "notes.txt")
    with pytest.raises(InputError, match="no such file"):
        read_crfsuite(tmp_path / "nothing")
