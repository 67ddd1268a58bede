"""From texts to spans in Python."""

from __future__ import annotations

import pytest

from dualstruct import Document, InputError, SequenceTagger, TextSpan, label_documents


@pytest.fixture(scope="module")
def tagger():
    X = [["Ada", "sings", "."], ["Bo", "left", "."]]
    return SequenceTagger(features="ner").fit(X, [["B-PER", "O", "O"], ["B-PER", "O", "O"]])


def test_texts_are_labelled_as_documents_of_them_are(tagger):
    texts = ["Bo sings.", "", "  Ada left. Bo sings.\n"]
    found = list(label_documents(tagger, texts))
    assert found == list(label_documents(tagger, [Document(text) for text in texts]))
    assert [each.text for each in found] == texts
    places = [[(a, b) for a, b, _, _ in each.spans] for each in found]
    assert places == [[(0, 2)], [], [(2, 5), (12, 14)]]
    assert found[0].spans == [TextSpan(0, 2, "PER")]


def test_one_text_is_not_taken_for_its_characters(tagger):
    with pytest.raises(InputError, match=r"one text; a list of texts is expected, \[text\]"):
        list(label_documents(tagger, "Bo sings."))
