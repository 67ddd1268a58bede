"""Spans of characters become labels of tokens: exactly, moved, left out, or refused by name."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct import InputError
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.labels.schemes import spans
from dualstruct.texts import Document, TextSpan, read_texts
from dualstruct.texts.alignment import Alignment, label_spans
from dualstruct.texts.documents import split_documents
from random_cases import cases


def corpus(text, marked, **options):
    rows = io.StringIO(json.dumps({"text": text, "spans": marked}))
    return read_texts(rows, "jsonl", **options)


def test_a_span_is_moved_to_the_tokens_that_it_touches():
    found = corpus("In Paris, today ", [[3, 6, "LOC"], [8, 16, "TIME"]])
    assert found.labels == [["O", "B-LOC", "B-TIME", "I-TIME"]]
    assert found.notes == [
        "2 of 2 spans do not begin and end with a token, and were moved: "
        "file, line 1, 3-6 LOC 'Par' to 3-8 'Paris'; "
        "file, line 1, 8-16 TIME ', today ' to 8-15 ', today'"
    ]


def test_it_may_be_left_out_or_refused_instead():
    found = corpus("In Paris", [[3, 6, "LOC"], [0, 2, "X"]], misaligned="drop")
    assert found.labels == [["B-X", "O"]]
    assert found.notes == [
        "1 of 2 spans does not begin and end with a token, and was left out: "
        "file, line 1, 3-6 LOC 'Par'"
    ]
    with pytest.raises(InputError, match=r"file, line 1: the span 3-6 LOC 'Par' does not begin"):
        corpus("In Paris", [[3, 6, "LOC"]], misaligned="refuse")
    with pytest.raises(InputError, match="misaligned is 'keep'; it must be move, drop, refuse"):
        corpus("In Paris", [], misaligned="keep")


def test_a_span_of_blanks_is_left_out():
    found = corpus("a  b", [[1, 3, "X"]])
    assert found.labels == [["O", "O"]]
    assert "left out: file, line 1, 1-3 X '  '" in found.notes[0]


def test_spans_that_overlap_are_refused_with_both_named_or_the_longer_is_kept():
    marked = [[0, 3, "PER"], [0, 6, "ORG"], [4, 6, "PER"], [7, 11, "X"]]
    with pytest.raises(InputError, match=r"the spans 0-6 ORG 'Ada Wu' and 0-3 PER 'Ada' overlap"):
        corpus("Ada Wu sang", marked)
    found = corpus("Ada Wu sang", marked, overlapping="longest")
    assert found.labels == [["B-ORG", "I-ORG", "B-X"]]
    assert found.notes[0].startswith("2 of 4 spans overlap a longer one, and were left out: ")


def test_no_sentence_ends_within_a_span():
    found = corpus("I saw St. Gallen vs. The Who. Then I left.", [[18, 28, "X"]])
    assert found.labels[0][4:] == ["B-X", "I-X", "I-X", "O"]
    assert len(found.labels) == 2


def test_tokens_are_told_with_their_places():
    assert corpus("Ada. Bo sang", [[0, 3, "X"]]).where(1, 1) == "file, line 1, characters 8-12"


TEXTS = st.lists(
    st.sampled_from(["Ada", "Bo", " ", "  ", ".", "\n", "'s", "-", "é", "👍🏽", "我", "x@y.zz"]),
    min_size=1,
    max_size=12,
).map("".join)


@cases(200)
@given(TEXTS, st.data())
def test_labels_are_those_of_the_characters(text, data):
    """Each token of a moved span holds one of its characters; exact spans come back as they are."""
    places = st.integers(0, len(text))
    drawn = data.draw(st.lists(st.tuples(places, places, st.sampled_from("XY")), max_size=4))
    marked = [TextSpan(a, b, label) for a, b, label in drawn if a < b]
    document = Document(text, marked)
    split_documents([document], Tokenizer())
    alignment = Alignment("move", "longest")
    labels = alignment.labels(document)
    assert len(labels) == len(document.tokens)
    assert document.sentences[0] == 0
    assert document.sentences[-1] == len(document.tokens)
    for span in spans(labels):
        assert any(
            each.label == span.type
            and all(
                each.start < end and start < each.end
                for start, end in document.tokens[span.start : span.end]
            )
            for each in marked
        )
    if not alignment.moved + alignment.dropped + alignment.shorter:
        found = label_spans(document, document.by_sentence(labels))
        assert found == sorted(marked)
