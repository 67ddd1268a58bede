"""The features that templates make, against the slow re-implementation and known counts."""

from __future__ import annotations

import io
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_features as naive
from dualstruct.data.columns import read_columns
from dualstruct.errors import InputError
from dualstruct.features.clusters import read_clusters
from dualstruct.features.extractor import make_extractor
from dualstruct.features.gazetteers import make_gazetteer
from dualstruct.features.template_extractor import TemplateExtractor
from dualstruct.features.templates import PRESETS, parse_templates
from patience import HANGS
from random_cases import cases

WORDS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["the", "The", "U.S.", "McDonald", "x-ray", "1990s", "İstanbul", "ǅ", "٣4", ""]
    ),
)
SENTENCES = st.lists(st.lists(WORDS, max_size=6), min_size=1, max_size=5).filter(any)
TAGGED = st.lists(
    st.lists(st.tuples(WORDS, st.sampled_from(["NN", "DT", "VB"])), max_size=6),
    min_size=1,
    max_size=5,
).filter(any)

EVERYTHING = parse_templates(
    """
    clusters some
    gazetteer places some
    bias
    word[-3..3]
    lower(word[-1..1])
    digits(word[0])
    prefix(word[0],1..3)
    suffix(word[-1..0],1..3)
    suffix(lower(digits(word[0])),2)
    shape(word[0])
    shortshape(word[1])
    kind(word[0])
    cluster(word[0])
    cluster(lower(word[-1..0]),1..3)
    in(places,word[-1..1])
    in(places,word[0]) & shortshape(word[0])
    word[-1] & word[0]
    suffix(word[0],2) & word[2] & kind(word[-2])
    """
)
PATHS = {"the": "0110", "x-ray": "01", "a": "1"}
PHRASES = ["the", "the the x-ray", "İstanbul", "1990s the", "THE mcdonald"]


def everything(**options):
    text = "".join(f"{path}\t{word}\t1\n" for word, path in PATHS.items())
    clusters = read_clusters(io.StringIO(text))
    return TemplateExtractor(EVERYTHING, clusters, {"places": make_gazetteer(PHRASES)}, **options)


def naive_rows(templates, sentences):
    return naive.all_features(templates, sentences, PATHS, {"places": PHRASES})


def named_rows(extractor, rows):
    names = extractor.names(rows.ids)
    return [names[a:b] for a, b in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)]


@given(SENTENCES)
def test_every_token_has_the_features_of_the_naive_extractor(sentences):
    extractor = everything()
    rows = extractor.fit(sentences)
    assert named_rows(extractor, rows) == naive_rows(EVERYTHING, sentences)
    assert np.diff(rows.sentences).tolist() == [len(s) for s in sentences]
    assert rows.values is None


@given(st.text())
def test_word_functions_agree_with_python_on_any_text(word):
    functions = ["lower", "digits", "shape", "shortshape", "kind"]
    extractor = make_extractor("".join(f"{name}(word[0])\n" for name in functions))
    names = extractor.names(extractor.fit([[word]]).ids)
    assert names == [f"{name}(word[0])={getattr(naive, name)(word)}" for name in functions]


@pytest.mark.parametrize("preset", PRESETS)
@given(sentences=TAGGED)
def test_presets_have_the_features_of_the_naive_extractor(preset, sentences):
    templates = parse_templates(PRESETS[preset])
    unlearned = [t for t in templates.templates if not any(term.learned for term in t.terms)]
    templates = replace(templates, templates=tuple(unlearned))  # tests/features/test_learned.py
    extractor = make_extractor(templates)
    rows = extractor.fit(sentences)
    expected = naive.all_features(templates, sentences)
    assert named_rows(extractor, rows) == expected


@given(SENTENCES)
def test_ids_are_given_in_order_of_first_occurrence(sentences):
    ids = everything().fit(sentences).ids.tolist()
    assert list(dict.fromkeys(ids)) == list(range(max(ids) + 1))


@given(SENTENCES, SENTENCES)
def test_transform_drops_exactly_the_unknown_features(train, test):
    extractor = everything()
    extractor.fit(train)
    dimension = extractor.dimension
    known = {name for row in naive_rows(EVERYTHING, train) for name in row}
    expected = [[n for n in row if n in known] for row in naive_rows(EVERYTHING, test)]
    assert named_rows(extractor, extractor.transform(test)) == expected
    assert extractor.dimension == dimension


@given(SENTENCES, st.integers(2, 4))
def test_min_count_drops_exactly_the_rare_features(sentences, min_count):
    extractor = everything(min_count=min_count)
    rows = extractor.fit(sentences)
    expected = naive.keep_frequent(naive_rows(EVERYTHING, sentences), min_count)
    assert named_rows(extractor, rows) == expected
    assert extractor.dimension == len({name for row in expected for name in row})
    assert np.array_equal(extractor.transform(sentences).ids, rows.ids)


@given(SENTENCES, SENTENCES)
def test_fitting_again_keeps_old_ids_and_adds_new_ones(first, second):
    extractor = everything()
    extractor.fit(first)
    old = extractor.names(np.arange(extractor.dimension))
    rows = extractor.fit(second)
    assert extractor.names(np.arange(len(old))) == old
    assert named_rows(extractor, rows) == naive_rows(EVERYTHING, second)


@given(SENTENCES, SENTENCES)
def test_min_count_never_drops_features_learned_before(first, second):
    extractor = everything(min_count=2)
    extractor.fit(first)
    old = extractor.names(np.arange(extractor.dimension))
    extractor.fit(second)
    assert extractor.names(np.arange(len(old))) == old


@given(SENTENCES, st.data())
def test_select_renumbers_ids_and_names_alike(sentences, data):
    extractor = everything()
    extractor.fit(sentences)
    names = extractor.names(np.arange(extractor.dimension))
    keep = data.draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names)))
    extractor.select(np.array(keep, bool))
    kept = [name for name, flag in zip(names, keep, strict=True) if flag]
    assert extractor.names(np.arange(extractor.dimension)) == kept
    expected = [[n for n in row if n in set(kept)] for row in naive_rows(EVERYTHING, sentences)]
    assert named_rows(extractor, extractor.transform(sentences)) == expected


@given(SENTENCES, SENTENCES, st.booleans())
def test_state_brings_back_ids_names_and_growth(first, second, by_pickle):
    extractor = everything()
    extractor.fit(first)
    if by_pickle:
        restored = pickle.loads(pickle.dumps(extractor))
    else:
        settings_, arrays = extractor.state()
        for array in arrays.values():
            array.flags.writeable = False
        restored = TemplateExtractor.from_state(settings_, arrays)
    ids = np.arange(extractor.dimension)
    assert restored.names(ids) == extractor.names(ids)
    assert np.array_equal(restored.transform(second).ids, extractor.transform(second).ids)
    assert np.array_equal(restored.fit(second).ids, extractor.fit(second).ids)
    names = extractor.names(np.arange(extractor.dimension))
    assert restored.names(np.arange(restored.dimension)) == names
    restored.select(np.arange(len(names)) % 2 == 1)
    assert restored.names(np.arange(restored.dimension)) == names[1::2]


@given(SENTENCES)
def test_names_lead_back_to_ids(sentences):
    extractor = everything()
    extractor.fit(sentences)
    for id, name in enumerate(extractor.names(np.arange(extractor.dimension))):
        assert extractor.find(name) == id
    assert extractor.find("word[0]=never seen before") is None
    assert extractor.find("nonsense") is None


@given(SENTENCES)
def test_hashed_ids_depend_on_names_alone(sentences):
    rows = make_extractor("word[0]\nword[-1] & word[0]\n", hash_bits=30).fit(sentences)
    turned = make_extractor("word[-1] & word[0]\nword[0]\n", hash_bits=30).fit(sentences)
    assert rows.ids.reshape(-1, 2).tolist() == turned.ids.reshape(-1, 2)[:, ::-1].tolist()
    assert rows.dimension == 2**30


def test_hashes_stay_the_same_between_versions():
    # Models hold these numbers: a change here makes every model file unusable.
    extractor = make_extractor("bias\nword[0]\nword[-1] & suffix(word[0],2)\n", hash_bits=30)
    assert extractor.fit([["Überraschung"]]).ids.tolist() == [201273530, 765197786, 735590517]


def test_hashed_names_come_from_the_training_text_and_else_are_numbers():
    extractor = make_extractor("word[0]\nlower(word[0])\n", hash_bits=28)
    rows = extractor.fit([["Ada", "sings"]])
    names = ["word[0]=Ada", "lower(word[0])=ada", "word[0]=sings", "lower(word[0])=sings"]
    assert extractor.names(rows.ids) == names
    assert [extractor.find(name) for name in names] == rows.ids.tolist()
    restored = TemplateExtractor.from_state(*extractor.state())
    number = int(rows.ids[0])
    assert restored.name(number) == f"#{number}"
    assert restored.find(f"#{number}") == number
    assert np.array_equal(restored.transform([["Ada", "sings"]]).ids, rows.ids)


def test_hashed_features_that_share_an_id_are_all_named():
    extractor = make_extractor("word[0]\n", hash_bits=1)
    rows = extractor.fit([["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]])
    shared = extractor.names([0, 1])
    assert [name.count(" | ") for name in shared] == [
        min(4, int((rows.ids == id).sum()) - 1) for id in (0, 1)
    ]
    assert "word[0]=a" in shared[rows.ids[0]]


def test_chunking_small_has_twenty_features_a_token_and_the_known_number_in_all():
    text = "He PRP O\nruns VBZ O\nhome NN O\n\nHe PRP O\nruns VBZ O\n\nGo VB O\n"
    rows = make_extractor("chunking-small").fit(read_columns(io.StringIO(text)).tokens)
    assert np.diff(rows.offsets).tolist() == [20] * 6
    # Counted by hand for word[0] (4), word[-1] (<s1> He runs), pos[2] (NN </s1> </s2>).
    extractor = make_extractor("word[0]\nword[-1]\npos[2]\n")
    assert extractor.fit(read_columns(io.StringIO(text)).tokens).dimension == 4 + 3 + 3
    assert rows.dimension == len(
        {
            n
            for row in naive.all_features(
                parse_templates(PRESETS["chunking-small"]), naive_sentences(text)
            )
            for n in row
        }
    )


def naive_sentences(text):
    return [[token[:-1] for token in s] for s in naive.read_columns(text, " ")]


@given(TAGGED)
def test_lazy_tokens_and_lists_give_the_same_features(sentences):
    written = [[(f"w{w.encode().hex()}", t) for w, t in s] for s in sentences if s]
    text = "\n\n".join("\n".join(f"{w}\t{t}\tO" for w, t in s) for s in written)
    lazy = read_columns(io.StringIO(text)).tokens
    from_file, from_lists = make_extractor("chunking"), make_extractor("chunking")
    assert np.array_equal(from_file.fit(lazy).ids, from_lists.fit(written).ids)
    half = slice(None, None, 2)
    assert np.array_equal(
        from_file.transform(lazy[half]).ids, from_lists.transform(written[half]).ids
    )


def test_long_sentences_have_the_same_features_as_short_ones():
    words = [f"w{i * i % 17}" for i in range(100)]
    extractor = everything()
    assert named_rows(extractor, extractor.fit([words])) == naive_rows(EVERYTHING, [words])


def test_text_without_tokens_has_no_rows():
    extractor = make_extractor("word[0]\n")
    extractor.fit([["a"]])
    rows = extractor.transform([[], []])
    assert (rows.n_tokens, rows.sentences.tolist()) == (0, [0, 0, 0])
    with pytest.raises(InputError, match="no tokens"):
        extractor.fit([])


@cases(5)
@given(SENTENCES)
def test_many_threads_transform_alike(sentences):
    extractor = everything()
    expected = extractor.fit(sentences).ids.tolist()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(extractor.transform(sentences).ids.tolist()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


WITH_PAIRS = 'U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%m[1,0,".$"]\nB0:%x[0,0]\n'


@cases(8)
@given(st.data(), st.integers(2, 5), st.sampled_from([None, 12]), st.sampled_from([1, 3]))
def test_any_number_of_threads_gives_the_same_ids_and_names(data, threads, hash_bits, min_count):
    seed = data.draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)

    def sentences(tokens):
        """Long ones, short ones and empty ones: so many tokens that every thread has some."""
        words = rng.zipf(1.3, tokens) % 700
        ends = np.sort(rng.integers(0, tokens + 1, tokens // int(rng.integers(2, 400))))
        return [[f"w{k}" for k in part.tolist()] for part in np.split(words, ends)]

    train, more, test = sentences(6000), sentences(5000), sentences(7000)
    made = {}
    for number in (1, threads):
        settings = {} if hash_bits else {"min_count": min_count}
        extractor = make_extractor(
            WITH_PAIRS, dialect="wapiti", hash_bits=hash_bits, pair_bits=hash_bits, **settings
        )
        rows = [
            extractor.fit(train, threads=number),
            extractor.fit(more, threads=number),
            extractor.transform(test, threads=number),
        ]
        made[number] = [*rows, *(each.pairs for each in rows)], extractor
    for one, several in zip(made[1][0], made[threads][0], strict=True):
        np.testing.assert_array_equal(one.offsets, several.offsets)
        np.testing.assert_array_equal(one.ids, several.ids)
        assert one.dimension == several.dimension
    chosen = np.unique(made[1][0][2].ids)[:200]
    assert made[1][1].names(chosen) == made[threads][1].names(chosen)


@pytest.mark.parametrize("hash_bits", [None, 10])
def test_fitting_gets_its_turn_while_others_read(hash_bits):
    extractor = make_extractor("word[0]\nsuffix(word[0],1..4)\n", hash_bits=hash_bits)
    words = [f"word{i * i}" for i in range(300)]
    extractor.fit([words])
    done = threading.Event()

    def read():
        while not done.is_set():
            extractor.transform([words])
            extractor.names([0, 1, 2])

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    writer = threading.Thread(
        target=lambda: [extractor.fit([[f"{n} {w}" for w in words]]) for n in range(10)],
        daemon=True,
    )
    writer.start()
    writer.join(timeout=HANGS)
    finished = not writer.is_alive()
    done.set()
    for reader in readers:
        reader.join()
    assert finished
    assert extractor.find("word[0]=9 word0") is not None


def test_rows_become_a_sparse_matrix():
    extractor = make_extractor("word[0]\n")
    matrix = extractor.fit([["a", "b"], ["a"]]).matrix()
    assert matrix.toarray().tolist() == [[1, 0], [0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (["Ada sings"], r"sentence 1: a list of tokens is expected, not a str"),
        ("Ada", "a list of sentences is expected, not a str"),
        ([["a"], ["b", 3]], r"sentence 2, token 2: a str or a tuple of str is expected, not a int"),
        ([[("a", "b")], [("a",)]], r"sentence 2, token 1: 1 column, but sentence 1, token 1 has 2"),
        ([[("a", None)]], r"sentence 1, token 1: column 2 is a NoneType, not a str"),
        ([["a", "\ud800"]], r"sentence 1, token 2: .*surrogate"),
        ([[()]], r"sentence 1, token 1: an empty tuple"),
        ([None], r"sentence 1: a list of tokens is expected, not a NoneType"),
    ],
)
def test_bad_tokens_are_named_by_sentence_and_token(sentences, message):
    with pytest.raises(InputError, match=message):
        make_extractor("word[0]\n").fit(sentences)


def test_a_missing_column_is_named():
    with pytest.raises(InputError, match=r'"pos\[-2\]" needs column 2 \("pos"\).* have 1 column$'):
        make_extractor("chunking").fit([["Ada", "sings"]])


def test_hashing_refuses_what_it_cannot_do():
    with pytest.raises(InputError, match="min_count cannot be combined"):
        make_extractor("ner", hash_bits=10, min_count=2)
    with pytest.raises(InputError, match="hash_bits"):
        make_extractor("ner", hash_bits=31)
    with pytest.raises(InputError, match="cannot be dropped"):
        make_extractor("ner", hash_bits=4).select(np.ones(16, bool))


@pytest.mark.parametrize("bad", [[-1], [10**6], [0.5]])
def test_ids_that_are_none_are_refused(bad):
    extractor = make_extractor("word[0]\n")
    extractor.fit([["a"]])
    with pytest.raises(InputError):
        extractor.names(bad)


def test_select_refuses_flags_that_do_not_fit():
    extractor = make_extractor("word[0]\n")
    extractor.fit([["a"]])
    for flags in ([1], [True, False], [[True]]):
        with pytest.raises(InputError, match="1 booleans"):
            extractor.select(flags)


def spoil(arrays, name, value):
    return {**arrays, name: value}


def test_nonsense_in_a_state_is_refused():
    extractor = everything()
    extractor.fit([["the", "x-ray", "Ada"]])
    settings_, arrays = extractor.state()
    hashes, offsets = arrays["hashes"], arrays["name_offsets"]
    twice = hashes.copy()
    twice[1] = twice[0]
    wrong_end = offsets.copy()
    wrong_end[-1] += 1
    falling = offsets.copy()
    falling[1] = offsets[-1] + 5
    bad_states = [
        ({**settings_, "templates": "word["}, arrays),
        ({**settings_, "templates": None}, arrays),
        ({**settings_, "hash_bits": "many"}, arrays),
        ({**settings_, "min_count": 0}, arrays),
        *(
            (settings_, {key: value for key, value in arrays.items() if key != name})
            for name in arrays
        ),
        *((settings_, spoil(arrays, name, arrays[name][None])) for name in arrays),
        *((settings_, spoil(arrays, name, arrays[name].astype(np.float32))) for name in arrays),
        (settings_, spoil(arrays, "hashes", hashes[:-1])),
        (settings_, spoil(arrays, "hashes", twice)),
        (settings_, spoil(arrays, "name_offsets", wrong_end)),
        (settings_, spoil(arrays, "name_offsets", falling)),
        (settings_, spoil(arrays, "name_offsets", offsets[:0])),
        (settings_, spoil(arrays, "name_bytes", arrays["name_bytes"] | 0x80)),
        (settings_, spoil(arrays, "cluster_path_of", arrays["cluster_path_of"] + 100)),
        (settings_, spoil(arrays, "cluster_words", arrays["cluster_words"] * 0)),
        (settings_, spoil(arrays, "gazetteer_0_prefixes", arrays["gazetteer_0_prefixes"] * 0)),
    ]
    for bad_settings, bad_arrays in bad_states:
        with pytest.raises(InputError):  # at the latest when the features are used
            TemplateExtractor.from_state(bad_settings, bad_arrays).names([0])
