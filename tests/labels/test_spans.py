"""Label schemes: reading spans, telling schemes apart, converting, constraining."""

from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_metrics as naive
from dualstruct import evaluate
from dualstruct.errors import InputError
from dualstruct.labels.schemes import (
    Scheme,
    Span,
    allowed_transitions,
    are_span_labels,
    convert_scheme,
    detect_scheme,
    spans,
    split_label,
)

SCHEMES = get_args(Scheme)
TYPES = ["X", "Y", "X-Y", ""]
LABELS = [
    "O",
    *(f"{prefix}-{type_}".rstrip("-") for prefix in "BIESLU" for type_ in TYPES),
    "NN",
    "B-",
    "-X",
    "b-X",
]
label_lists = st.lists(st.sampled_from(LABELS), max_size=12)


#: The schemes whose labels are a prefix and a type; GROBID's have tests of their own.
PREFIXED = [scheme for scheme in SCHEMES if scheme != "grobid"]


@st.composite
def sentences_of_spans(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Spans that do not overlap but often touch, and the length of their sentence."""
    found, token = [], 0
    for gap, size, type_ in draw(
        st.lists(
            st.tuples(st.integers(0, 2), st.integers(1, 4), st.sampled_from(TYPES)), max_size=5
        )
    ):
        found.append(Span(type_, token + gap, token + gap + size))
        token += gap + size
    return found, token + draw(st.integers(0, 2))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        # I- after O starts a span although no B- does.
        (["O", "I-X", "I-X", "O"], [("X", 1, 3)]),
        # I- of another type starts a new span; B- of the same type does too.
        (["B-X", "I-Y", "B-Y"], [("X", 0, 1), ("Y", 1, 2), ("Y", 2, 3)]),
        # Back to the first type is a third span, not the first one going on.
        (["B-X", "I-Y", "I-X"], [("X", 0, 1), ("Y", 1, 2), ("X", 2, 3)]),
        # E- without B- is a span of its own, and so is what follows it.
        (["E-X", "I-X", "E-X", "E-X"], [("X", 0, 1), ("X", 1, 3), ("X", 3, 4)]),
        # B- and I- that no E- closes end where the next span begins.
        (["B-X", "I-X", "S-X", "I-X"], [("X", 0, 2), ("X", 2, 3), ("X", 3, 4)]),
        (["B-X", "L-X", "U-X", "B-Y", "I-Y", "L-Y"], [("X", 0, 2), ("X", 2, 3), ("Y", 3, 6)]),
        # A bare prefix has the empty type; the type may contain hyphens.
        (["B", "I", "O", "B-a-b", "I-a-b"], [("", 0, 2), ("a-b", 3, 5)]),
        # Plain labels are spans of one token.
        (["NN", "NN", "O", "VB"], [("NN", 0, 1), ("NN", 1, 2), ("VB", 3, 4)]),
        ([], []),
    ],
)
def test_spans_follow_conllevals_decisions(
    labels: list[str], expected: list[tuple[str, int, int]]
) -> None:
    assert spans(labels) == [Span(*span) for span in expected]


@given(label_lists)
def test_spans_equal_naive_rules_on_broken_sequences(labels: list[str]) -> None:
    assert spans(labels) == naive.spans(labels)


@pytest.mark.parametrize("label", ["NN", "NN-TL", "B-", "-X-", "b-X", "BI-X", "", "-"])
def test_other_labels_are_plain(label: str) -> None:
    assert split_label(label) == ("", label)
    assert not are_span_labels(["O", "B-X", label])


def test_outside_alone_marks_no_spans() -> None:
    assert not are_span_labels(["O"])
    assert are_span_labels(["I"])


@pytest.mark.parametrize(
    ("sequences", "expected"),
    [
        ([["B-X", "I-X", "O"], ["B-Y", "B-Y"]], "iob2"),
        ([["I-X", "I-X", "O"], ["I-Y", "B-Y", "I-Y"]], "iob1"),
        # Only I-: nothing was ever parted, which IOB1 allows.
        ([["I-X", "O", "I-Y", "I-X"]], "iob1"),
        # B- starts a span after O, so the I- after O is a mistake in IOB2.
        ([["B-X", "O", "I-X"]], "iob2"),
        # B- after another type: IOB1 would have written I-.
        ([["I-X", "B-Y"]], "iob2"),
        # B- at the start of the second sentence follows nothing.
        ([["I-X"], ["B-X"]], "iob2"),
        ([["B-X", "L-X", "O"]], "bilou"),
        ([["O", "U-X"]], "bilou"),
        ([["B-X", "I-X", "E-X"], ["S-X"]], "bioes"),
        ([["O", "S-X"]], "bioes"),
        # Letters of BILOU and of BIOES together, and IOE, are none of the four.
        ([["U-X", "B-X", "E-X"]], None),
        ([["I-X", "E-X", "O"]], None),
        # Parts of speech of tweets: single letters, some of which look like prefixes.
        ([["O", "V", "E", "S", "U", "L"]], None),
        ([["O", "O"]], None),
        ([], None),
    ],
)
def test_scheme_is_detected(sequences: list[list[str]], expected: Scheme | None) -> None:
    assert detect_scheme(sequences) == expected


def test_all_labels_decide_where_sequences_are_a_sample() -> None:
    sample = [["B-X", "I-X"]]
    assert detect_scheme(sample) == "iob2"
    assert detect_scheme(sample, labels={"B-X", "I-X", "L-X", "U-X"}) == "bilou"
    assert detect_scheme(sample, labels={"NN"}) is None


@given(st.lists(sentences_of_spans(), min_size=1), st.sampled_from(PREFIXED))
def test_detected_scheme_is_the_one_written(
    sentences: list[tuple[list[Span], int]], scheme: Scheme
) -> None:
    written = [naive.write(found, length, scheme) for found, length in sentences]
    prefixes = {split_label(label)[0] for labels in written for label in labels}
    # Any one span shows the scheme; sentences without spans show none.
    if prefixes - {"O"}:
        assert detect_scheme(written) == scheme


def test_conversion_writes_each_scheme() -> None:
    # Two neighbours of type X, one of Y right after them, then a lone X.
    iob2 = ["B-X", "I-X", "I-X", "B-X", "B-Y", "I-Y", "O", "B-X"]
    assert convert_scheme([iob2], "iob1") == [
        ["I-X", "I-X", "I-X", "B-X", "I-Y", "I-Y", "O", "I-X"]
    ]
    assert convert_scheme([iob2], "bilou") == [
        ["B-X", "I-X", "L-X", "U-X", "B-Y", "L-Y", "O", "U-X"]
    ]
    assert convert_scheme([iob2], "bioes") == [
        ["B-X", "I-X", "E-X", "S-X", "B-Y", "E-Y", "O", "S-X"]
    ]


@given(
    st.lists(sentences_of_spans(), max_size=4),
    st.sampled_from(PREFIXED),
    st.sampled_from(PREFIXED),
)
def test_conversion_is_lossless(
    sentences: list[tuple[list[Span], int]], source: Scheme, to: Scheme
) -> None:
    before = [naive.write(found, length, source) for found, length in sentences]
    after = convert_scheme(before, to, source=source)
    assert after == [naive.write(found, length, to) for found, length in sentences]
    assert convert_scheme(after, source, source=to) == before
    assert convert_scheme(before, to) == after  # the source is found without being named


@pytest.mark.parametrize(
    ("source", "sentence", "message"),
    [
        ("iob2", ["O", "I-X"], r"sentence 2, token 2 .*'I-X' may not follow 'O' in iob2"),
        ("iob2", ["I-X"], r"sentence 2, token 1 .*'I-X' may not start a sentence"),
        ("iob2", ["B-X", "I-Y"], r"sentence 2, token 2 .*'I-Y' may not follow 'B-X'"),
        ("iob2", ["B-X", "E-X"], r"sentence 2, token 2 .*'E-X' is not a label of the scheme iob2"),
        ("iob1", ["I-X", "B-Y"], r"sentence 2, token 2 .*'B-Y' may not follow 'I-X' in iob1"),
        ("bilou", ["U-X", "B-X"], r"sentence 2, token 2 .*'B-X' may not end a sentence in bilou"),
        ("bioes", ["B-X", "O"], r"sentence 2, token 2 .*'O' may not follow 'B-X' in bioes"),
        ("bioes", ["S-X", "NN"], r"sentence 2, token 2 .*'NN' is not a label of the scheme bioes"),
    ],
)
def test_misfit_label_is_named_with_its_place(
    source: Scheme, sentence: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        convert_scheme([["O"], sentence], "iob2", source=source)


def test_plain_labels_cannot_be_converted() -> None:
    with pytest.raises(InputError, match=r"\('NN', 'VB'\) are in none of the schemes"):
        convert_scheme([["NN", "VB"]], "iob2")


def test_text_instead_of_labels_is_refused() -> None:
    for call in (
        lambda: spans("BIO"),
        lambda: detect_scheme(["BIO"]),
        lambda: convert_scheme(["BIO"], "iob1", source="iob2"),
        lambda: allowed_transitions("BIO", "iob2"),
    ):
        with pytest.raises(InputError, match="'BIO'"):
            call()


def test_unknown_scheme_is_named() -> None:
    with pytest.raises(InputError, match="unknown label scheme 'bio'; choose one of iob1, iob2"):
        convert_scheme([["O"]], "bio")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown label scheme 'bio'"):
        allowed_transitions(["O"], "bio")  # type: ignore[arg-type]


@pytest.mark.parametrize("scheme", PREFIXED)
def test_allowed_paths_are_exactly_the_valid_sequences(scheme: Scheme) -> None:
    # A sequence is valid if it is how the scheme writes the spans that it holds.
    prefixes = {"iob1": "BI", "iob2": "BI", "bilou": "BILU", "bioes": "BIES"}[scheme]
    labels = ["O", *(f"{prefix}-{type_}" for type_ in "XY" for prefix in prefixes)]
    allowed = allowed_transitions(labels, scheme)
    edge = len(labels)
    assert allowed.shape == (edge + 1, edge + 1)
    for length in range(5):
        for path in product(range(edge), repeat=length):
            steps = np.array([edge, *path, edge])
            sequence = [labels[k] for k in path]
            valid = naive.write(naive.spans(sequence), length, scheme) == sequence
            assert allowed[steps[:-1], steps[1:]].all() == valid, sequence


def test_label_of_another_scheme_allows_no_transitions() -> None:
    with pytest.raises(InputError, match="'E-X' does not belong to the scheme bilou"):
        allowed_transitions(["O", "B-X", "E-X"], "bilou")


def as_grobid(iob2: list[str]) -> list[str]:
    """Label by label."""
    found: list[str] = []
    for label in iob2:
        field = "<other>" if label == "O" else f"<{label[2:]}>"
        goes_on = label.startswith("I") or (label == "O" and found[-1:] and "<other>" in found[-1])
        found.append(field if goes_on else f"I-{field}")
    return found


@given(st.lists(sentences_of_spans(), min_size=1, max_size=4), st.sampled_from(PREFIXED))
def test_fields_of_grobid_are_spans(
    sentences: list[tuple[list[Span], int]], scheme: Scheme
) -> None:
    named = [([span._replace(type=span.type or "Z") for span in s], n) for s, n in sentences]
    fields = [as_grobid(naive.write(found, length, "iob2")) for found, length in named]
    written = [naive.write(found, length, scheme) for found, length in named]
    assert convert_scheme(written, "grobid", source=scheme) == fields
    assert convert_scheme(fields, scheme, source="grobid") == written
    for labels, (found, _) in zip(fields, named, strict=True):
        assert spans(labels) == [span._replace(type=f"<{span.type}>") for span in found]
    if any(found for found, _ in named):
        assert detect_scheme(fields) == "grobid"


@given(st.lists(sentences_of_spans(), min_size=1, max_size=4), st.sampled_from(PREFIXED))
def test_types_in_brackets_are_types_like_others(
    sentences: list[tuple[list[Span], int]], scheme: Scheme
) -> None:
    plain = [naive.write(found, length, scheme) for found, length in sentences]
    named = [([span._replace(type=f"<{span.type}>") for span in s], n) for s, n in sentences]
    written = [naive.write(found, length, scheme) for found, length in named]
    if any(label == "O" for labels in written for label in labels):
        assert detect_scheme(written) == detect_scheme(plain)
    for labels, (found, _) in zip(written, named, strict=True):
        if "O" in labels:
            assert spans(labels) == found
    there = convert_scheme(written, "bioes", source=scheme)
    assert there == [naive.write(found, length, "bioes") for found, length in named]
    assert convert_scheme(there, scheme, source="bioes") == written


def test_fields_beside_other_labels_are_none() -> None:
    assert spans(["B-<X>", "I-<X>", "I-<X>"]) == [("<X>", 0, 3)]
    assert spans(["I-<X>", "I-<X>", "<X>"]) == [("<X>", 0, 1), ("<X>", 1, 3)]
    assert not are_span_labels(["<X>", "O"])
    assert evaluate([["B-<X>", "I-<X>"]], [["B-<X>", "O"]]).f1 == 0


def test_a_field_goes_on_only_where_it_is() -> None:
    labels = ["I-<X>", "<X>", "I-<other>", "<other>"]
    assert allowed_transitions(labels, "grobid").astype(int).tolist() == [
        [1, 1, 1, 0, 1],
        [1, 1, 1, 0, 1],
        [1, 0, 1, 1, 1],
        [1, 0, 1, 1, 1],
        [1, 0, 1, 0, 1],
    ]
    with pytest.raises(InputError, match="'<X>' may not follow 'I-<Y>' in grobid"):
        convert_scheme([["I-<Y>", "<X>"]], "iob2", source="grobid")
    with pytest.raises(InputError, match="'B-X' does not belong to the scheme grobid"):
        allowed_transitions(["B-X"], "grobid")
    with pytest.raises(InputError, match="'<X>' does not belong to the scheme iob2"):
        allowed_transitions(["<X>"], "iob2")
