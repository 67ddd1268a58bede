"""Scores of raw text equal slow counting and known figures; files of other texts are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_raw_text as naive
from dualstruct import InputError, evaluate_raw_text
from dualstruct.data.conllu import Treebank
from dualstruct.datasets import load_english
from dualstruct.metrics import evaluate_trees

RELATIONS = ["nsubj", "nmod:poss", "det", "case", "punct", "root"]
FEATS = ["_", "Number=Sing", "Number=Sing|Odd=Yes"]


def treebank(sentences, name="treebank"):
    """CoNLL-U of sentences as naive_raw_text has them."""
    lines = []
    for sentence in sentences:
        number = 1
        for form, words in sentence:
            if len(words) > 1:
                lines.append(f"{number}-{number + len(words) - 1}\t{form}" + 8 * "\t_")
            for word in words:
                cells = [word[key] for key in ("form", "lemma", "upos", "xpos", "feats")]
                cells += [str(word["head"]), word["relation"], "_", "_"]
                lines.append("\t".join([str(number), *cells]))
                number += 1
        lines.append("")
    return Treebank("\n".join([*lines, ""]).encode(), name)


@st.composite
def splits(draw, text):
    """Some sentences of the characters of a text, some of their tokens of several words."""
    places = range(1, len(text))
    ends = sorted({*draw(st.sets(st.sampled_from(places))), len(text)})
    full = {*draw(st.sets(st.sampled_from(ends), max_size=2)), len(text)}
    sentences, tokens, begin = [], [], 0
    for end in ends:
        form = text[begin:end]
        forms = draw(st.sampled_from([[form], [form], [form, "b"], ["A", "b"], ["b", "a"]]))
        tokens.append((form, forms))
        begin = end
        if end in full:
            sentences.append(tokens)
            tokens = []
    return [draw(words(sentence)) for sentence in sentences]


@st.composite
def words(draw, sentence):
    n = sum(len(forms) for _, forms in sentence)
    heads = [0] * n
    order = draw(st.permutations(range(1, n + 1)))
    for place, word in enumerate(order[1:], 1):
        heads[word - 1] = draw(st.sampled_from(order[:place]))
    left = iter(heads)
    return [
        (
            form,
            [
                {
                    "form": each,
                    "lemma": draw(st.sampled_from("_ab")),
                    "upos": draw(st.sampled_from("NV")),
                    "xpos": draw(st.sampled_from("xy")),
                    "feats": draw(st.sampled_from(FEATS)),
                    "head": next(left),
                    "relation": draw(st.sampled_from(RELATIONS)),
                }
                for each in forms
            ],
        )
        for form, forms in sentence
    ]


@given(st.data(), st.text("abA", min_size=2, max_size=9))
def test_all_scores_equal_slow_counting(data, text):
    true, predicted = data.draw(splits(text)), data.draw(splits(text))
    found = evaluate_raw_text(treebank(true), treebank(predicted))
    counts = {n: (s.support, s.predicted, s.correct) for n, s in found.scores.items()}
    assert counts == naive.scores(true, predicted)


def word(form, head, relation="dep", **cells):
    usual = {"lemma": form, "upos": "X", "xpos": "x", "feats": "_"}
    return {"form": form, "head": head, "relation": relation, **usual, **cells}


def sentence_of(*tokens):
    return [(form, parts) for form, *parts in tokens]


def test_known_figures_of_tokens_that_differ():
    """The words of "abc" and "d": a b c against ab c, then d alike."""
    true = [
        sentence_of(
            ("a", word("a", 0)), ("b", word("b", 1)), ("c", word("c", 1)), ("d", word("d", 3))
        )
    ]
    predicted = [
        sentence_of(("ab", word("ab", 0)), ("c", word("c", 1))),
        sentence_of(("d", word("d", 0))),
    ]
    found = evaluate_raw_text(treebank(true), treebank(predicted))
    assert found["Tokens"] == pytest.approx(2 * 2 / (4 + 3))
    assert found["Sentences"] == 0
    assert found["UPOS"] == found["Words"] == pytest.approx(2 * 2 / 7)
    assert found["UAS"] == 0  # c hangs from no true word, d from none
    assert found.aligned_accuracy("UPOS") == 1


def test_known_figures_of_multiword_tokens():
    """The shared task's rule: "abc" as the word abc, or as a, B, c, which a true file has apart."""
    true = [sentence_of(("abc", word("a", 0), word("B", 1), word("c", 1)), ("d", word("d", 1)))]
    apart = [sentence_of(("ab", word("a", 0), word("b", 1)), ("cd", word("c", 1), word("d", 1)))]
    whole = [sentence_of(("abc", word("abc", 0)), ("d", word("d", 1)))]
    found = evaluate_raw_text(treebank(true), treebank(apart))
    assert (found["Tokens"], found["Words"], found["UAS"]) == (0, 1, 1)
    found = evaluate_raw_text(treebank(true), treebank(whole))
    assert found["Tokens"] == 1
    assert found["Words"] == pytest.approx(2 * 1 / (4 + 2))


def test_the_same_words_have_the_scores_of_trees():
    truth = load_english("train")[:60]
    moved = truth.replace(heads=[[0] + [1] * (len(s) - 1) for s in truth], upos=truth.xpos)
    found, trees = evaluate_raw_text(truth, moved), evaluate_trees(truth, moved)
    assert found["Tokens"] == found["Sentences"] == found["Words"] == found["Lemmas"] == 1
    assert found["UAS"] == trees.uas
    assert found["LAS"] == found.score == trees.conll18_las
    assert [found[x] for x in ("CLAS", "MLAS", "BLEX")] == [trees.clas, trees.mlas, trees.blex]


def test_files_without_heads_have_no_scores_of_trees():
    found = evaluate_raw_text(*[Treebank.from_columns([["a", "b"]])] * 2)
    assert "LAS" not in found.scores
    assert found.score == found["UPOS"] == 1
    assert "Words" in str(found)


def test_other_texts_are_refused_with_the_place():
    truth = Treebank.from_columns([["a", "b"], ["c"]], name="gold.conllu")
    other = Treebank.from_columns([["ab"], ["d"]], name="found.conllu")
    said = r"gold.conllu, line 4: the text continues with 'c', but with 'd' in found.conllu, line 3"
    with pytest.raises(InputError, match=said):
        evaluate_raw_text(truth, other)
    with pytest.raises(InputError, match="continues with 'c', but with ''"):
        evaluate_raw_text(truth, other[:1])


def test_blanks_within_words_do_not_count():
    truth = Treebank.from_columns([["10 000", "b"]])
    found = evaluate_raw_text(truth, Treebank.from_columns([["10000", "b"]]))
    assert found["Tokens"] == 1


def test_ranges_that_overlap_are_refused_with_their_line():
    rows = ["1-2 ab", "1 a", "2-3 bc", "2 b", "3 c"]
    data = "\n".join(row.replace(" ", "\t") + 8 * "\t_" for row in rows) + "\n\n"
    with pytest.raises(InputError, match="file, line 4: the range 2-3 overlaps"):
        evaluate_raw_text(*[Treebank(data.encode(), "file")] * 2)
