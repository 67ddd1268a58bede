"""The tokenizer: the same tokens and sentences as the slow rules, and every text comes back."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import naive_text
from dualstruct import InputError, SequenceTagger
from dualstruct.data.columns import ColumnSentences
from dualstruct.data.layout import ColumnLayout
from dualstruct.data.tokenizing import Tokenizer
from random_cases import cases

#: What rules look at, and what breaks them.
PIECES = st.sampled_from(
    [
        *"abcABC012 .,'’-\n\r@#/:&!?()[]\"…_&", "www.", "http://", "HTTPS://x", "it's", "DON'T",
        "Mr.", "No. 5", "U.S.", "The ", "a@b.c", "x-y@a-b.co.uk", "etc. ", "etc. The", "J. R",
        "p. 3",
        "\r\n", "\n\n", "\u200d", "👍", "🏽", "🇩", "é", "e\u0301", "\u00ad", "我", "。", "」", "ש",
        "ا", "\u200f", "\u202e", "\t", "\u2028", "\u2029", "\f", "ﬀ", "İ", "ǅ", "Ⅷ", "²",
        "٣", "\ufeff",
        "\U000e0041", "\u0e01\u0e34", "1️⃣", "foo", "Foo.", "2024-05-01", "1'000.50",
    ]
)  # fmt: skip
#: Characters that every version of Unicode knows, but NUL and surrogates.
CHARACTERS = st.characters(exclude_categories=("Cs", "Cn"), exclude_characters="\0").filter(
    lambda c: unicodedata.ucd_3_2_0.category(c) != "Cn"
)
TEXTS = st.lists(PIECES | CHARACTERS, max_size=30).map("".join)
SETTINGS = st.builds(
    naive_text.Settings,
    words=st.sampled_from(["rules", "rules", "rules", "blanks"]),
    sentences=st.sampled_from(["rules", "rules", "rules", "lines", "whole"]),
    split_contractions=st.booleans(),
    split_hyphens=st.booleans(),
    abbreviations=st.sampled_from([(), ("foo.", "x")]),
)


def tokenizer_of(settings: naive_text.Settings) -> Tokenizer:
    choice = {True: "split", False: "keep"}
    return Tokenizer(
        settings.words,
        settings.sentences,
        choice[settings.split_contractions],
        choice[settings.split_hyphens],
        settings.abbreviations,
    )


def places(text: str, tokenizer: Tokenizer) -> list[list[tuple[int, int]]]:
    found = tokenizer.split([text])
    pairs = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
    ends = found.table.sentences.tolist()
    return [pairs[a:b] for a, b in pairwise(ends)]


@cases(400)
@given(TEXTS, SETTINGS)
@example("a@b.c" + "-" * 300, naive_text.Settings())
@example("x" * 64 + "@b.c", naive_text.Settings())
@example("x" * 65 + "@b.c", naive_text.Settings())
@example("a@" + "b.c" * 85, naive_text.Settings())
@example("a@" + "b.c" * 86, naive_text.Settings())
@example("http://a.b/(c)).", naive_text.Settings())
def test_tokens_and_sentences_are_those_of_the_slow_rules(text, settings):
    assert places(text, tokenizer_of(settings)) == naive_text.tokenize(text, settings)


@cases(200)
@given(st.lists(TEXTS, max_size=4))
def test_a_text_is_its_tokens_and_blank_gaps(texts):
    found = Tokenizer().split(texts)
    sentences = ColumnSentences(found.table, [0])
    assert len(found.texts) == len(texts) + 1
    k = 0
    for number, text in enumerate(texts):
        words = [w for s in range(*found.texts[number : number + 2]) for w in sentences[s]]
        behind = 0
        for word in words:
            start, end = int(found.starts[k]), int(found.ends[k])
            assert start >= behind
            assert naive_text.kind(text[start]) != "_"
            assert all(naive_text.kind(c) == "_" for c in text[behind:start])
            assert text[start:end] == word
            behind, k = end, k + 1
        assert all(naive_text.kind(c) == "_" for c in text[behind:])
    assert k == len(found.starts)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Paris, the city.", ["Paris , the city ."]),
        ("It's Dr. Wu's; don't go!", ["It 's Dr. Wu 's ; do n't go !"]),
        ("He’s in the U.S. Army.", ["He ’s in the U.S. Army ."]),
        ("In the U.S. The end… Mr. X left.", ["In the U.S.", "The end …", "Mr. X left ."]),
        ("$1,234.50 at 10:30 on 2024-05-01", ["$ 1,234.50 at 10:30 on 2024-05-01"]),
        (
            "(see www.a.org/b_(c)), ada.l@x-y.co.uk.",
            ["( see www.a.org/b_(c) ) , ada.l@x-y.co.uk ."],
        ),
        ("Well-known AT&T, end.Next", ["Well - known AT&T , end . Next"]),
        ("@ada loves #topic #1", ["@ada loves #topic # 1"]),
        ("👩‍👩‍👧‍👦🇩🇪🇫🇷👍🏽 1️⃣", ["👩‍👩‍👧‍👦 🇩🇪 🇫🇷 👍🏽 1️⃣"]),
        ("cafe\u0301 שָׁלוֹם. مرحبا؟ نعم", ["cafe\u0301 שָׁלוֹם .", "مرحبا ؟", "نعم"]),
        ("我爱北京。他说：“好。”走了", ["我 爱 北 京 。", "他 说 ： “ 好 。 ”", "走 了"]),
        ("One.\r\nTwo\r\n\r\nthree\nfour", ["One .", "Two", "three four"]),
        ('"Hi." Then (no. 5.) See p. 7.', ['" Hi . "', "Then ( no. 5 . )", "See p. 7 ."]),
        ("", []),
        (" \n\u200e", []),
    ],
)
def test_texts_are_split_as_the_page_says(text, sentences):
    assert [" ".join(words) for words in Tokenizer().words_of(text)] == sentences


def test_marks_are_those_of_unicode():
    """A mark stays with the letter before it."""
    marks = [c for c in map(chr, range(0x300, 0x110000)) if unicodedata.category(c)[0] == "M"]
    known = [c for c in marks if unicodedata.ucd_3_2_0.category(c)[0] == "M"]
    assert len(known) > 600
    assert [words for c in known for words in Tokenizer().words_of(f"a{c}b")] == [
        [f"a{c}b"] for c in known
    ]
    others = "\u02ff\u0370\u2028\u20ff\u303f\ufe10"
    assert all(Tokenizer().words_of(f"a{c}b") != [[f"a{c}b"]] for c in others if not c.isalpha())


def test_nul_and_half_a_surrogate_pair_are_refused():
    with pytest.raises(InputError, match=r"text 2: character 3 is NUL"):
        Tokenizer().split(["fine", "ab\0"])
    with pytest.raises(InputError, match=r"text 1: half of a surrogate pair is no character"):
        Tokenizer().split(["a\ud800"])


def test_long_runs_take_linear_time():
    """Half a million characters of what a rule looks ahead at; quadratic time would not end."""
    for piece in ("a-", "a.", "a@", "(", "www.a)", ".)", "@", "\u200d", "a'", "A. ", "。)", "\n"):
        text = piece * (500_000 // len(piece))
        found = Tokenizer().split([text])
        assert found.ends[-1] <= len(text) if len(found.ends) else not text.strip()


def test_a_model_splits_as_its_training_data_were_split(tmp_path):
    keep = Tokenizer(hyphens="keep", abbreviations=("Bhf.",))
    found = keep.split(["Bo-Ann at Bhf. Ost"])
    X = ColumnSentences(found.table, [0], layout=ColumnLayout((0,), None, 1, tokenizer=keep))
    assert list(X) == [["Bo-Ann", "at", "Bhf.", "Ost"]]
    SequenceTagger(features="pos").fit(X, [["N", "P", "N", "N"]]).save(tmp_path / "m")
    assert SequenceTagger.load(tmp_path / "m").tokenizer_ == keep
    tagger = SequenceTagger(features="pos").fit([["a"]], [["N"]])
    assert tagger.tokenizer_ == Tokenizer()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("hyphen=keep", "a tokenizer has no setting 'hyphen'; it has words, sentences"),
        ("hyphens=kept", "hyphens is 'kept'; it must be 'split' or 'keep'"),
        ("nothing", "words is 'nothing'; it must be 'rules' or 'blanks'"),
    ],
)
def test_settings_that_are_none_are_named(settings, problem):
    with pytest.raises(InputError, match=problem):
        Tokenizer.parse(settings)
