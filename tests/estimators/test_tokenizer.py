"""LearnedTokenizer: it splits as it was shown, loses nothing of a text, and models keep it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_characters
from dualstruct import (
    Document,
    InputError,
    LearnedTokenizer,
    NotFittedError,
    SequenceTagger,
    Tokenizer,
    Treebank,
    _core,
    load_model,
)
from dualstruct.data.surface import running_texts
from dualstruct.datasets import load_english
from dualstruct.estimators.multiword import Expansions

CHARACTERS = st.text("aB1.,'é @/\n\r\u2029İ漢\u0301-", max_size=20)
WORDS = st.sampled_from(["it's", " ", "Mr. ", "www.a.org", "x" * 30, "A.B.", "\n\n", "don't", "!"])
TEXTS = st.lists(CHARACTERS | WORDS, max_size=8).map("".join)
ROWS = """\
# newpar
# text = I don't go. Why?
1\tI\t_\t_\t_\t_\t2\t_\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\t_\t_\t_\t_\t0\t_\t_\t_
3\tn't\t_\t_\t_\t_\t2\t_\t_\t_
4\tgo\t_\t_\t_\t_\t2\t_\t_\t_
5\t.\t_\t_\t_\t_\t2\t_\t_\t_

# text = Why?
1\tWhy\t_\t_\t_\t_\t0\t_\t_\t_
2\t?\t_\t_\t_\t_\t1\t_\t_\t_

"""
CLITICS = Treebank(ROWS.replace("go. Why?", "go.").encode() * 8)


@pytest.fixture(scope="module")
def tokenizer():
    return LearnedTokenizer(SequenceTagger(passes=6)).fit(load_english("train"))


@pytest.fixture(scope="module")
def clitics():
    return LearnedTokenizer(SequenceTagger(passes=6), window=5).fit(CLITICS)


@given(TEXTS)
def test_columns_of_characters_equal_slow_ones(text):
    table, places, firsts = _core.character_table([text, ""], 0)
    cells = [table.cells(k, 0, table.n_tokens) for k in range(table.n_columns)]
    assert list(zip(*cells, strict=True)) == naive_characters.columns(text)
    assert firsts.tolist() == [0, len(places), len(places)]
    assert all(text[i] == c for i, c in zip(places.tolist(), cells[0], strict=True))


@given(TEXTS, st.integers(1, 10))
def test_windows_are_pieces_that_end_at_gaps(text, window):
    whole, places, _ = _core.character_table([text], 0)
    cut, same, _ = _core.character_table([text], window)
    assert places.tolist() == same.tolist()
    ends = cut.sentences[1:-1]
    assert (np.diff(cut.sentences)[:-1] >= window).all()
    gaps = cut.cells(2, 0, cut.n_tokens)
    assert all(gaps[int(end) - 1] != "n" for end in ends)
    assert all(whole.cells(k, 0, len(places)) == cut.cells(k, 0, len(places)) for k in range(9))


@given(TEXTS)
def test_a_text_is_its_tokens_and_gaps(tokenizer, text):
    found = tokenizer.split([text, text])
    half = len(found.starts) // 2
    starts, ends = found.starts.tolist(), found.ends.tolist()
    assert starts[:half] == starts[half:]
    words = found.table.cells(0, 0, half)
    assert [text[a:b] for a, b in zip(starts[:half], ends[:half], strict=True)] == words
    left = "".join(
        text[a:b] for a, b in zip([0, *ends[:half]], [*starts[:half], None], strict=True)
    )
    assert naive_characters.columns(left) == []
    [again] = tokenizer.analyse([text])
    assert again.sentences[-1] == len(again.tokens)


def test_it_splits_unseen_text_better_than_the_rules(tokenizer):
    test = load_english("test")
    found = tokenizer.evaluate(test)
    assert found["Tokens"] > 0.97
    assert found["Sentences"] > 0.8
    assert tokenizer.score(test) == found["Words"]


def test_sentences_are_found_without_line_ends(tokenizer):
    assert len(tokenizer.words_of("He left. She sold the boat. They came back.")) == 3


def test_multiword_tokens_are_found_and_expanded(clitics):
    assert clitics.evaluate(CLITICS).score == 1
    [found] = clitics.analyse(["I don't go."])
    assert (found.tokens[1], found.words) == ((2, 7), {1: ["do", "n't"]})
    assert clitics.words_of("I don't go. Why?") == [["I", "do", "n't", "go", "."], ["Why", "?"]]
    made = clitics.predict(["I don't go. Why?"])
    assert made[0].others == [(1, "2-3\tdon't" + 8 * "\t_")]
    assert made[0].comments == ["# newpar", "# text = I don't go."]
    [text] = running_texts(made)
    assert text.text == "I don't go. Why?"


def test_blanks_of_a_text_are_kept_in_conllu(tokenizer):
    text = "  He  left.\tShe\u00a0stayed ."
    made = tokenizer.predict([text])
    cells = [cell for sentence in made for cell in sentence.misc]
    assert cells[0] == "SpacesBefore=\\s\\s|SpacesAfter=\\s\\s"
    [again] = running_texts(made.replace(misc=made.misc))
    assert again.text == text.strip()


def test_unseen_multiword_tokens_are_expanded_by_their_endings():
    known = Expansions.learned([("don't", ["do", "n't"])] * 2 + [("au", ["à", "le"])])
    assert known.words_of("DON'T") == ["DO", "N'T"]
    assert known.words_of("won't") == ["wo", "n't"]
    assert known.words_of("Au") == ["À", "le"]
    assert known.words_of("AU") == ["À", "LE"]
    assert known.words_of("xyz") == ["xyz"]


def test_it_learns_from_documents_with_tokens():
    text = "New York's big. It is."
    places = [(0, 8), (8, 10), (11, 14), (14, 15), (16, 18), (19, 21), (21, 22)]
    one = Document(text, tokens=places, sentences=[0, 4, 7])
    learned = LearnedTokenizer().fit([one] * 4)
    assert learned.words_of(text)[0] == ["New York", "'s", "big", "."]  # blanks within, as shown
    with pytest.raises(InputError, match="the document: it was not split into tokens"):
        LearnedTokenizer().fit([Document(text)])


def test_files_hold_all_of_it(clitics, tmp_path):
    clitics.save(tmp_path / "t.dstruct")
    again = load_model(tmp_path / "t.dstruct")
    assert isinstance(again, LearnedTokenizer)
    assert again.analyse(["I don't go. Why?"]) == clitics.analyse(["I don't go. Why?"])
    assert again.expansions_.known == {"don't": ["do", "n't"]}


def test_a_tagger_keeps_it(clitics, tmp_path):
    tagger = SequenceTagger(passes=1).fit([["I", "do", "n't"]], [["a", "b", "c"]])
    assert tagger.tokenizer_ == Tokenizer()
    for kept in (clitics, Tokenizer(hyphens="keep")):
        tagger.tokenizer_ = kept
        tagger.save(tmp_path / "m.dstruct")
        again = SequenceTagger.load(tmp_path / "m.dstruct")
        assert again.tokenizer_.words_of("I don't go. Why?") == kept.words_of("I don't go. Why?")
        assert again.predict([["I"]]) == tagger.predict([["I"]])
    assert again.tokenizer_ == Tokenizer(hyphens="keep")


def test_mistakes_are_explained(tokenizer):
    with pytest.raises(NotFittedError, match="this LearnedTokenizer is not trained yet"):
        LearnedTokenizer().split(["a"])
    with pytest.raises(InputError, match="window is 0; it must be at least 1"):
        LearnedTokenizer(window=0).fit(CLITICS)
    with pytest.raises(InputError, match="text 2: "):
        tokenizer.split(["a", "b\0"])
