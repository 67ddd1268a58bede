"""What training says of words: labels that they had, and masks for rare ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_features as naive
from dualstruct import SequenceTagger
from dualstruct.errors import InputError
from dualstruct.features import from_state, make_extractor

NAMES = ["A", "B", "C", "D", "E"]
TOKENS = st.tuples(st.sampled_from(["a", "A", "b", "c", "<rare>", "Bb"]), st.integers(-1, 4))
SENTENCES = st.lists(st.lists(TOKENS, max_size=5), min_size=1, max_size=25).filter(any)
TEMPLATES = (
    "labels(word[0])\nlabels(lower(word[0]))\nknown(word[0],2)\nknown(prefix(word[0],1),3)\n"
)


def split(sentences):
    """Words, numbers of labels as the extractor takes them, and names (None: unknown)."""
    words = [[word for word, _ in sentence] for sentence in sentences]
    numbers = np.array([n for sentence in sentences for _, n in sentence], np.int32)
    names = [[None if n < 0 else NAMES[n] for _, n in sentence] for sentence in sentences]
    return words, numbers, names


def fitted(text, words, numbers, **options):
    extractor = make_extractor(text, **options)
    extractor.learn(words, lambda sentences: numbers, NAMES)
    return extractor, extractor.fit(words)


def values(extractor, rows, X=None):
    """The values of each token's features, by template."""
    names = extractor.names(rows.ids) if X is None else extractor.names_in(X)
    cells = [dict([name.split("=", 1)]) for name in names]
    bounds = zip(rows.offsets[:-1], rows.offsets[1:], strict=True)
    return [{k: v for cell in cells[a:b] for k, v in cell.items()} for a, b in bounds]


def expected(words, names, training):
    """The same by the naive functions; a name of two dashes for what is none."""
    flat = [w for s in words for w in s]
    lower = [[naive.lower(w) for w in s] for s in words]
    labels, lowered = training(words, names), training(lower, names)
    first = [naive.prefix(w, 1) for w in flat]
    found = []
    places = [(i, j) for i, s in enumerate(words) for j in range(len(s))]
    for at, (i, j) in enumerate(places):
        prefix = first[at]
        found.append(
            {
                "labels(word[0])": labels[i][j],
                "labels(lower(word[0]))": lowered[i][j],
                "known(word[0],2)": naive.known(flat[at], flat, 2),
                "known(prefix(word[0],1),3)": "<rare>"
                if prefix is None
                else naive.known(prefix, first, 3),
            }
        )
    return found


@given(SENTENCES)
def test_training_tokens_see_the_labels_of_other_blocks_alone(sentences):
    words, numbers, names = split(sentences)
    extractor, rows = fitted(TEMPLATES, words, numbers)
    wanted = expected(words, names, naive.labels_in_training)
    assert values(extractor, rows) == wanted
    again = extractor.transform_training(words, lambda sentences: numbers)
    assert again.ids.tolist() == rows.ids.tolist()


@given(SENTENCES)
def test_new_tokens_see_the_labels_of_all_training_sentences(sentences):
    words, numbers, names = split(sentences)
    hashed, _ = fitted(TEMPLATES, words, numbers, hash_bits=20)

    def everything(keys, names):
        own = [p for w, n in zip(keys, names, strict=True) for p in zip(w, n, strict=True)]
        return [[naive.labels_of(key, own) for key in sentence] for sentence in keys]

    for extractor in (hashed, from_state(*hashed.state()), hashed.copy()):
        rows = extractor.transform(words)
        assert values(extractor, rows, words) == expected(words, names, everything)
    new = values(hashed, hashed.transform([["zz"]]), [["zz"]])
    assert new[0]["labels(word[0])"] == "<none>"
    assert new[0]["known(word[0],2)"] == "<rare>"


@given(SENTENCES, SENTENCES)
def test_going_on_counts_both(first, later):
    words, numbers, _ = split(first)
    more, more_numbers, _ = split(later)
    extractor, _ = fitted("labels(word[0])\n", words, numbers, hash_bits=20)
    extractor = extractor.copy()
    extractor.learn(more, lambda sentences: more_numbers, NAMES)
    extractor.fit(more)
    both = np.concatenate([numbers, more_numbers])
    together, _ = fitted("labels(word[0])\n", words + more, both, hash_bits=20)
    sentence = [["a", "A", "b", "c", "zz"]]
    assert extractor.names_in(sentence) == together.names_in(sentence)


def test_no_training_token_sees_its_own_label():
    """Were its label seen, changing it would change what it sees."""
    random = np.random.default_rng(0)
    words = [[f"w{n}" for n in random.integers(0, 30, 6)] for _ in range(40)]
    numbers = random.integers(0, 5, 240).astype(np.int32)
    extractor, rows = fitted("labels(word[-1..1])\n", words, numbers)
    before = values(extractor, rows)
    for token in range(0, 240, 7):
        changed = numbers.copy()
        changed[token] = (changed[token] + 1) % 5
        other, other_rows = fitted("labels(word[-1..1])\n", words, changed)
        sentence = token // 6
        after = values(other, other_rows)
        assert after[6 * sentence : 6 * sentence + 6] == before[6 * sentence : 6 * sentence + 6]


def test_labels_that_mean_nothing_are_not_learned_from():
    """Words that occur once have no label to see, so that nothing can be learned by heart."""
    random = np.random.default_rng(1)
    words = [[f"w{s}-{t}" for t in range(5)] for s in range(60)]
    labels = [[NAMES[n] for n in random.integers(0, 5, 5)] for _ in words]
    tagger = SequenceTagger("labels(word[0])\n", passes=20).fit(words, labels)
    assert tagger.n_features_ == 1
    assert tagger.evaluate(words, labels).accuracy < 0.5


def test_unknown_labels_and_schemes(tmp_path):
    X = [["Ada", "Lovelace", "sings"], ["Bo", "sings"]] * 6
    y = [["B-PER", "I-PER", "O"], ["B-PER", "O"]] * 6
    tagger = SequenceTagger("word[0]\nlabels(word[0])\n", scheme="bilou").fit(X, y)
    assert "labels(word[0])=U-PER" in tagger.model_.extractor.names(range(tagger.n_features_))
    tagger.save(tmp_path / "m.dstruct")
    loaded = SequenceTagger.load(tmp_path / "m.dstruct")
    assert loaded.predict(X) == tagger.predict(X) == y
    loaded.partial_fit([["Cy", "hums"]], [["B-PER", "O"]])
    y[0][0] = "?"
    partly = SequenceTagger("word[0]\nlabels(word[0])\n", unknown_label="?").fit(X, y)
    assert all("?" not in name for name in partly.model_.extractor.names(range(3)))


def test_what_needs_all_labels_at_once_is_refused(tmp_path):
    X, y = [["a", "b"]] * 4, [["A", "B"]] * 4
    tagger = SequenceTagger("word[0]\nknown(word[0],2)\n", workers=2, engine="local")
    with pytest.raises(InputError, match="for one machine"):
        tagger.fit(X, y)
    with pytest.raises(InputError, match="need all data in memory"):
        SequenceTagger("labels(word[0])\n").fit_large(zip(X, y, strict=True), tmp_path)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("keys", np.array([9], np.int32)),
        ("labels", np.array([-1], np.int32)),
        ("labels", np.array([5], np.int32)),
        ("counts", np.array([0], np.int64)),
        ("counts", np.array([1, 2], np.int64)),
    ],
)
def test_crafted_counts_are_refused(name, bad):
    extractor, _ = fitted("labels(word[0])\n", [["a"]], np.array([1], np.int32))
    settings, arrays = extractor.state()
    with pytest.raises(InputError, match="do not fit the words"):
        from_state(settings, arrays | {f"learned_0.{name}": bad})
    with pytest.raises(InputError, match="ask for others"):
        from_state(settings | {"learned": []}, arrays)
