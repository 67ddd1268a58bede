"""Lemmas by edit scripts: a script makes the lemma that it was made from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dualstruct import DependencyParser, LearnedTokenizer, ParsingPipeline, SequenceTagger
from dualstruct.datasets import load_english
from dualstruct.estimators.lemmas import Lemmatizer
from dualstruct.labels.scripts import apply_script, script_of

WORDS = st.text("abcAB|+0é\u0130", min_size=1, max_size=7)
TRAIN, TEST = load_english("train"), load_english("test")


@given(WORDS, WORDS)
def test_a_script_makes_the_lemma_that_it_was_made_from(form, lemma):
    assert apply_script(form, script_of(form, lemma)) == lemma


@given(WORDS, WORDS, WORDS)
def test_a_script_of_another_word_makes_some_lemma(form, lemma, other):
    assert apply_script(other, script_of(form, lemma))


def test_scripts_carry_over_to_other_words():
    assert apply_script("Jumped", script_of("Walked", "walk")) == "jump"
    assert apply_script("parties", script_of("Cities", "city")) == "party"
    assert apply_script("gesehen", script_of("gegangen", "gangen")) == "sehen"


def share_right(lemmatizer, treebank):
    rows = lemmatizer.predict(treebank.forms, treebank.upos)
    found = [lemma for row in rows for lemma in row]
    true = [lemma for row in treebank.lemmas for lemma in row]
    return sum(a == b for a, b in zip(found, true, strict=True)) / len(true)


def test_lemmas_of_unseen_text_are_found_and_those_of_training_are_known():
    lemmatizer = Lemmatizer().fit(TRAIN)
    assert share_right(lemmatizer, TRAIN) > 0.995
    assert share_right(lemmatizer, TEST) > 0.94


def test_a_pipeline_keeps_tokenizer_and_lemmas_in_its_file(tmp_path):
    quick = DependencyParser(hash_bits=12, passes=1)
    tokenizer = LearnedTokenizer(SequenceTagger(passes=2))
    pipeline = ParsingPipeline("all", 2, parser=quick, tokenizer=tokenizer).fit(TRAIN[:150])
    pipeline.save(tmp_path / "m.dstruct")
    again = ParsingPipeline.load(tmp_path / "m.dstruct")
    texts = ["Tom sold two boats. He was there.", "Why?"]
    assert bytes(again.predict_text(texts)) == bytes(pipeline.predict_text(texts))
    assert isinstance(again.tokenizer_, LearnedTokenizer)
    assert again.evaluate(TEST).tags["lemmas"] > 0.85
    assert not again.parser_.lemma
