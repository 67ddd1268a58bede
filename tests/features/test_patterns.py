"""Template files of CRF++ and Wapiti: the features they make, and what is wrong with a bad one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct.errors import InputError
from dualstruct.features import from_state, make_extractor, parse_patterns
from naive_patterns import command, search
from random_cases import cases

WORDS = ["The", "cat", "Éa-9", "x", "USA", "1990", "a.b", "", "ﬁ“", "_x-1"]
ITEMS = [".", "a", "e", "x", "-", "\\d", "\\D", "\\a", "\\A", "\\w", "\\W", "\\l", "\\L", "\\u",
         "\\U", "\\p", "\\P", "\\s", "\\S", "\\.", "\\\\", "\\-", "é", "$", "^"]  # fmt: skip

regexes = st.tuples(
    st.sampled_from(["", "^"]),
    st.lists(st.tuples(st.sampled_from(ITEMS), st.sampled_from(["", "", "*", "?"])), max_size=5),
    st.sampled_from(["", "$"]),
).map(lambda parts: parts[0] + "".join(a + b for a, b in parts[1]) + parts[2])
regexes = regexes.filter(lambda regex: regex[:2] not in ("^*", "^?"))
sentences = st.lists(
    st.lists(
        st.tuples(st.sampled_from(WORDS), st.sampled_from(["N", "v"])), min_size=1, max_size=5
    ),
    min_size=1,
    max_size=3,
)


@st.composite
def commands(draw, dialect):
    letter = draw(st.sampled_from("xXmMtT" if dialect == "wapiti" else "x"))
    absolute = dialect == "wapiti" and draw(st.booleans())
    row, column = draw(st.integers(-6, 6)), draw(st.integers(0, 1))
    regex = draw(regexes) if letter in "mMtT" else ""
    return letter, row, column, regex, absolute


def written(letter, row, column, regex, absolute):
    more = f',"{regex}"' if letter in "mMtT" else ""
    return f"%{letter}[{'@' if absolute else ''}{row},{column}{more}]"


@st.composite
def files(draw):
    """A dialect and its lines: what kind each is, the text around the commands, the commands."""
    dialect = draw(st.sampled_from(["crf++", "wapiti"]))
    lines = []
    for number in range(draw(st.integers(1, 4))):
        kind = "U" if number == 0 else draw(st.sampled_from("UB*" if dialect == "wapiti" else "UB"))
        found = draw(st.lists(commands(dialect), max_size=3))
        between = draw(
            st.lists(
                st.sampled_from(["", "/", "|é", " "]), min_size=len(found), max_size=len(found)
            )
        )
        lines.append((kind, [f"{number}:", *between], found))
    return dialect, lines


def line_text(kind, literals, found):
    text = kind + literals[0]
    for c, literal in zip(found, literals[1:], strict=True):
        text += written(*c) + literal
    return text


def expected_names(dialect, lines, letter, sentence, at):
    names = []
    for kind, literals, found in lines:
        if kind not in (letter, "*") or (letter == "B" and not found):
            continue
        literals = [*literals[:-1], literals[-1].rstrip()] if literals[-1:] == [" "] else literals
        name = (letter.lower() if dialect == "wapiti" else letter) + literals[0]
        for c, literal in zip(found, literals[1:], strict=True):
            name += command(dialect, *c, sentence, at) + literal
        names.append(name)
    return names


@cases(200)
@given(regexes, st.text("aexé-.9AZ ", max_size=8) | st.sampled_from(WORDS))
def test_regular_expressions_find_what_the_slow_matcher_finds(regex, word):
    extractor = make_extractor(f'U:%m[0,0,"{regex}"]\nU:t%t[0,0,"{regex}"]', dialect="wapiti")
    rows = extractor.fit([[word or "-"]])
    found = search(regex, word or "-")
    matched = "u:" + (found or "")
    tested = "u:tfalse" if found is None else "u:ttrue"
    assert extractor.names(rows.ids) == list(dict.fromkeys([matched, tested]))


@cases(150)
@given(files(), sentences)
def test_patterns_make_the_features_that_the_slow_version_makes(file, X):
    dialect, lines = file
    X = [[(word or "-", tag) for word, tag in sentence] for sentence in X]
    text = "\n".join(["# a comment", *(line_text(*line) for line in lines), "", "B"])
    extractor = make_extractor(text, dialect=dialect)
    rows = extractor.fit(X)
    copied = from_state(*extractor.state())
    again = copied.transform(X)
    np.testing.assert_array_equal(again.ids, rows.ids)
    token = 0
    for sentence in X:
        for at in range(len(sentence)):
            ids = rows.ids[rows.offsets[token] : rows.offsets[token + 1]]
            names = expected_names(dialect, lines, "U", sentence, at)
            assert extractor.names(ids) == copied.names(ids) == names
            assert all(extractor.find(name) is not None for name in names)
            if rows.pairs is not None:
                ids = rows.pairs.ids[rows.pairs.offsets[token] : rows.pairs.offsets[token + 1]]
                names = expected_names(dialect, lines, "B", sentence, at) if at else []
                assert extractor.pairs.names(ids) == copied.pairs.names(ids) == names
            token += 1


def test_patterns_that_differ_in_rows_alone_share_their_features():
    extractor = make_extractor("U:%x[-1,0]\nU:%x[1,0]\nU01:%x[1,0]")
    rows = extractor.fit([["a", "b", "a"]])
    assert extractor.names(rows.ids[3:6]) == ["U:a", "U:a", "U01:a"]
    assert rows.ids[3] == rows.ids[4] != rows.ids[5]


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("U00:%x[0,0]\nB", "crf++"),
        ("# %m[ is Wapiti's\nU00:%x[0,0]\nB", "crf++"),
        ("u00:%x[0,0]", "wapiti"),
        ("U00:%X[0,0]", "wapiti"),
        ('U00:%x[0,0]\nU01:%t[0,0,"a"]', "wapiti"),
        ("U00:%x[0,0]\n*01:%x[1,0]", "wapiti"),
        ("U00:%x[@1,0]", "wapiti"),
    ],
)
def test_the_dialect_is_told_from_the_text(text, dialect):
    assert parse_patterns(text).dialect == dialect


def test_the_dialect_can_be_given():
    def first_name(dialect):
        extractor = make_extractor("U00:%x[-1,0] # before", dialect=dialect)
        return extractor.names(extractor.fit([["a"]]).ids)

    assert first_name("auto") == first_name("crf++") == ["U00:_B-1 # before"]
    assert first_name("wapiti") == ["u00:_x-1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("U:%x[0,0]\nX:%x[0,0]", """line 2, column 1: a line begins with "U" or "B", not 'X'"""),
        ("U:%x[0,0]\n\nU:a%y[0,0]", 'line 3, column 4: "%y" has no meaning here; there is %x'),
        ("U:%x[0,0]\nU:100%", 'line 2, column 6: a single "%" has no meaning here'),
        ("U:%x(0,0)\n", 'line 1, column 5: "[" is expected, not "("'),
        ("U:%x[0;0]", 'line 1, column 7: "," is expected, not ";"'),
        ("U:%x[,0]", 'line 1, column 6: a row is expected, not ","'),
        ("U:%x[0,-1]", "line 1, column 8: a column has to lie between 0 and 9999"),
        ("U:%x[999,0]", "line 1, column 6: a row has to lie between -100 and 100"),
        ("U:%x[0,0", 'line 1, column 9: "]" is expected, not the end of the line'),
        ('U:%m[0,0,"a**"]', 'line 1, column 13: "*" has nothing to repeat'),
        ('U:%m[0,0,"^?"]', 'line 1, column 12: "?" has nothing to repeat'),
        ('U:%t[0,0,"ab', "line 1, column 11: the regular expression does not end"),
        ("U:%t[0,0]", 'line 1, column 9: "," is expected, not "]"'),
        ("B:%x[0,0]", 'at least one "U" line is expected'),
    ],
)
def test_errors_name_line_and_column(text, message):
    with pytest.raises(InputError) as error:
        make_extractor(text)
    assert message in str(error.value)


def test_a_file_of_comments_is_refused():
    with pytest.raises(InputError, match="it has no templates"):
        parse_patterns("# nothing\n\n")


def test_a_column_that_the_tokens_lack_is_named():
    with pytest.raises(InputError, match=r'"B:%x\[0,3\]" needs column 4 .* have 1 column$'):
        make_extractor("U:%x[0,0]\nB:%x[0,3]").fit([["a", "b"]])


def test_a_nasty_regular_expression_comes_to_an_end():
    nasty = "a*" * 12 + "b"
    extractor = make_extractor(f'U:%t[0,0,"{nasty}"]')
    extractor.fit([["a" * 2000]])  # by backtracking: not in the age of the universe
