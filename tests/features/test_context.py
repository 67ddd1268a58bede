"""Features of a word's other occurrences in its document."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualstruct.cli.columns as columns
from commands import run_command
from dualstruct import InDocuments, InputError, SequenceTagger, WithVectors, read_columns
from dualstruct.data.in_documents import documents_of, in_blocks, words_of
from dualstruct.features import from_state, make_extractor
from dualstruct.features.context import NEAREST, DocumentExtractor, document_attributes
from naive_context import naive_document_attributes

WORDS = ["Turin", "turin", "wins", "Ada", "in", "In", "5"]
texts = st.lists(
    st.tuples(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), st.integers(0, 2)),
    min_size=1,
    max_size=8,
)

MARKED = "-DOCSTART- O\n\nAda B\nsings O\n\nShe O\n\n-DOCSTART- O\n\nBo B\n"


@given(texts)
def test_attributes_are_those_found_by_looking_at_every_token(text):
    words, documents = [words for words, _ in text], [document for _, document in text]
    found = document_attributes(words, np.array(documents))
    naive = naive_document_attributes(words, documents, NEAREST)
    assert [[set(strings) for strings in sentence] for sentence in found] == naive
    assert all(len(set(strings)) == len(strings) for sentence in found for strings in sentence)


@given(texts, texts, st.sampled_from([None, 10]))
def test_rows_have_the_features_of_both_parts(first, second, hash_bits):
    """Of each token, whatever was learned before; ids stay when more is learned."""
    plain = make_extractor("word[0]\nword[-1]\n", hash_bits=hash_bits)
    joined = DocumentExtractor.beside(make_extractor("word[0]\nword[-1]\n", hash_bits=hash_bits), 1)
    for text in (first, second):
        X = InDocuments([words for words, _ in text], [document for _, document in text])
        rows, own = joined.fit(X), plain.fit(X.tokens)
        more = document_attributes(words_of(X), documents_of(X))
        expected = [
            [*plain.names(own.ids[a:b]), *strings]
            for (a, b), strings in zip(
                zip(own.offsets[:-1], own.offsets[1:], strict=True),
                [strings for sentence in more for strings in sentence],
                strict=True,
            )
        ]
        named = joined.names_in(X) if hash_bits else joined.names(rows.ids)
        assert len(named) == len(rows.ids)
        for (a, b), names in zip(
            zip(rows.offsets[:-1], rows.offsets[1:], strict=True), expected, strict=True
        ):
            assert hash_bits or named[a:b] == names
        again = from_state(*joined.state()).transform(X)
        assert np.array_equal(again.ids, rows.ids)
        assert np.array_equal(again.offsets, rows.offsets)
    if not hash_bits:
        for id in range(joined.dimension):
            assert joined.find(joined.name(id)) == id
        keep = np.arange(joined.dimension) % 3 > 0
        names = [joined.name(id) for id in np.flatnonzero(keep)]
        joined.select(keep)
        assert joined.names(np.arange(joined.dimension)) == names


def test_documents_come_from_files_arguments_and_wrappers():
    file = read_columns(io.StringIO(MARKED))
    assert file.tokens.documents.tolist() == [0, 0, 1]
    assert file.tokens[1:].documents.tolist() == [0, 1]
    assert file.tokens.select([2, 0]).documents.tolist() == [1, 0]
    assert file.tokens.columns([0]).documents.tolist() == [0, 0, 1]
    assert read_columns(io.StringIO("Ada B\n\nBo B\n")).tokens.documents is None
    assert documents_of([["a"], ["b"]]).tolist() == [0, 1]
    assert documents_of(WithVectors(file.tokens, np.zeros((4, 1)))).tolist() == [0, 0, 1]
    assert documents_of(InDocuments([["a"], ["b"], ["c"]], ["x", "y", "x"])).tolist() == [0, 1, 0]
    with pytest.raises(InputError, match="2 sentences, but documents for 1"):
        InDocuments([["a"], ["b"]], ["x"])
    with pytest.raises(InputError, match="names or numbers"):
        InDocuments([["a"]], [["x"]])


def test_blocks_do_not_divide_documents():
    X = InDocuments([[str(i)] for i in range(7)], [0, 0, 0, 1, 1, 2, 3])
    assert [list(block) for block in in_blocks(X, 2)] == [
        [["0"], ["1"], ["2"]],
        [["3"], ["4"]],
        [["5"], ["6"]],
    ]
    apart = InDocuments([["a"], ["b"], ["c"]], [0, 1, 0])
    assert [len(block) for block in in_blocks(apart, 1)] == [3]
    assert [len(block) for block in in_blocks(iter([["a"], ["b"], ["c"]]), 2)] == [2, 1]


def documents(n: int) -> tuple[list[list[str]], list[list[str]], list[int]]:
    """What a name is becomes clear in the second sentence of each document only."""
    X, y, place = [], [], []
    for i in range(n):
        name, person = f"Name{i}", i % 2 == 0
        label = "B-PER" if person else "B-LOC"
        X += [[name, "was", "good"], ["Mr" if person else "in", name]]
        y += [[label, "O", "O"], ["O", label]]
        place += [i, i]
    return X, y, place


def test_a_word_is_known_by_its_other_occurrences():
    X, y, place = documents(60)
    train, test = slice(0, 80), slice(80, None)
    scores = {}
    for used in (False, True):
        tagger = SequenceTagger(features="word[0]\nword[-1]\n", document_features=used)
        tagger.fit(X[train], y[train], documents=place[train])
        scores[used] = tagger.score(InDocuments(X[test], place[test]), y[test])
    assert scores[False] < 0.8
    assert scores[True] == 1.0
    assert tagger.predict(X[test], documents=place[test]) == y[test]
    assert tagger.score(X[test], y[test]) < 0.8  # each sentence alone
    told = tagger.explain(X[1])[1]
    assert abs(sum(each.amount for each in told.contributions) - told.difference) < 1e-6


def test_documents_change_nothing_where_features_do_not_look_at_them():
    X, y, place = documents(10)
    alone = SequenceTagger(features="ner").fit(X, y)
    grouped = SequenceTagger(features="ner").fit(X, y, documents=place)
    assert np.array_equal(alone.weights_.emission, grouped.weights_.emission)
    assert grouped.predict(X, documents=place) == alone.predict(X)


def test_more_can_be_learned_with_documents():
    X, y, place = documents(40)
    tagger = SequenceTagger(features="word[0]\nword[-1]\n", document_features=True)
    tagger.fit(X[:40], y[:40], documents=place[:40])
    known = [tagger.model_.extractor.name(id) for id in range(tagger.n_features_)]
    tagger.partial_fit(InDocuments(X[40:], place[40:]), y[40:])
    now = [tagger.model_.extractor.name(id) for id in range(tagger.n_features_)]
    assert now[: len(known)] == known
    assert len(now) > len(known)
    assert tagger.score(InDocuments(X, place), y) > 0.9


def test_the_command_keeps_documents_together(tmp_path, monkeypatch):
    X, y, _ = documents(40)
    lines = []
    for i, (words, labels) in enumerate(zip(X, y, strict=True)):
        if i % 2 == 0:
            lines += ["-DOCSTART- O", ""]
        lines += [f"{word} {label}" for word, label in zip(words, labels, strict=True)] + [""]
    half = len(lines) // 2
    train, test, model = (tmp_path / name for name in ("train.txt", "test.txt", "m.dstruct"))
    train.write_text("\n".join(lines[:half]) + "\n")
    test.write_text("\n".join(lines[half:]) + "\n")
    (tmp_path / "templates.txt").write_text("word[0]\nword[-1]\n")
    options = ["--features", tmp_path / "templates.txt", "--document-features", "--model", model]
    done = run_command("train", train, *options)
    assert done.returncode == 0, done.stderr
    found = run_command("predict", model, test).stdout
    assert found.replace("\t", " ") == test.read_text()
    monkeypatch.setattr(columns, "_BLOCK_BYTES", 10)
    tagger = SequenceTagger.load(model)
    assert len(list(columns.token_blocks(str(test), tagger, None, None))) == 1
    plain = SequenceTagger(features="word[0]\n").fit(X, y)
    assert len(list(columns.token_blocks(str(test), plain, None, None))) > 9


def test_documents_need_all_data_on_one_machine(tmp_path):
    X, y, _ = documents(4)
    with pytest.raises(InputError, match="one machine"):
        SequenceTagger(document_features=True, engine="local", workers=2).fit(X, y)
    with pytest.raises(InputError, match="in memory"):
        SequenceTagger(document_features=True).fit_large(zip(X, y, strict=True), tmp_path)
