"""The template language: what it accepts, what it refuses and how it says so."""

from __future__ import annotations

import gzip
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct.errors import InputError
from dualstruct.features.extractor import make_extractor
from dualstruct.features.templates import (
    FUNCTIONS,
    PRESETS,
    Template,
    Templates,
    Term,
    parse_templates,
)

NAMES = ("word", "pos", "col2", "col3")


@st.composite
def terms(draw):
    column = draw(st.integers(0, 3))
    offset = draw(st.integers(-9, 9))
    if draw(st.booleans()):
        return Term(column, NAMES[column], offset, (), draw(st.sampled_from(["cities", "a-b_2"])))
    functions = []
    for name in draw(st.lists(st.sampled_from(list(FUNCTIONS)), max_size=3)):
        least = {"none": None, "length": 1, "optional length": 0}[FUNCTIONS[name]]
        functions.append((name, 0 if least is None else draw(st.integers(least, 9))))
    return Term(column, NAMES[column], offset, tuple(functions))


@given(
    st.lists(st.builds(Template, st.lists(terms(), max_size=3).map(tuple)), min_size=1, unique=True)
)
def test_canonical_text_round_trips(made):
    templates = Templates(
        tuple(made), clusters="paths of all.txt", gazetteers={"cities": "c.txt", "a-b_2": "x y"}
    )
    assert parse_templates(str(templates)) == templates


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_in_canonical_form_once_expanded(preset):
    templates = parse_templates(PRESETS[preset])
    assert parse_templates(str(templates)) == templates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("word[-1..1]", ["word[-1]", "word[0]", "word[1]"]),
        ("suffix(word[0],1..2)", ["suffix(word[0],1)", "suffix(word[0],2)"]),
        ("word[0..1]&pos[0]", ["word[0] & pos[0]", "word[1] & pos[0]"]),
        (" prefix( lower( word[ +1 ] ) , 3 )  # why", ["prefix(lower(word[1]),3)"]),
        ("col0[0]\ncol1[0]\ncol2[0]", ["word[0]", "pos[0]", "col2[0]"]),
        ("word[0]\nword[-1..0]", ["word[0]", "word[-1]"]),
        ("columns form\nform[0]\ncol1[0]", ["form[0]", "col1[0]"]),
        (
            "clusters f\ncluster(word[0])\ncluster(word[0],4)",
            ["cluster(word[0])", "cluster(word[0],4)"],
        ),
        ("gazetteer g f\nin( g , word[0])\r\n", ["in(g,word[0])"]),
        ("\n# nothing\n\nbias", ["bias"]),
        ("columns lower bias\nlower[0]\nbias[0]\nbias", ["lower[0]", "bias[0]", "bias"]),
    ],
)
def test_templates_expand_to_canonical_ones(text, expected):
    assert [str(t) for t in parse_templates(text).templates] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word[0", 'line 1, column 7: "]" is wanted, not the end of the line'),
        ("bias\n  word[x]", 'line 2, column 8: an offset is wanted, not "x"'),
        ("word[0] word[1]", 'line 1, column 9: "&" or the end of the line is wanted, not "word"'),
        ("word[0] & ", "line 1, column 10: a term such as"),
        ("upper(word[0])", 'line 1, column 1: there is no function "upper"; there are lower'),
        ("tag[0]", 'line 1, column 1: there is no column "tag"; there are word, pos, col2 ...'),
        ("suffix(word[0])", 'line 1, column 15: "," is wanted, not ")"'),
        ("lower(word[0],3)", 'line 1, column 14: ")" is wanted, not ","'),
        ("suffix(word[0],0)", "line 1, column 16: a length has to lie between 1 and 100"),
        ("word[3..1]", "line 1, column 6: an offset has to lie between -100 and 100"),
        ("word[0] & bias", 'line 1, column 11: "bias" stands alone'),
        ("word[0] ? pos[0]", 'line 1, column 9: "?" has no meaning here'),
        ("lower(in(g,word[0]))", 'line 1, column 7: "in" cannot stand inside a function'),
        ("in(g,lower(word[0]))", 'line 1, column 6: "in" wants a plain column'),
        ("cluster(word[0],4)", 'line 1, column 1: "cluster" needs a line "clusters FILE"'),
        ("bias\nin(g,word[0])", 'line 2, column 4: "in" needs a line "gazetteer g FILE"'),
        ("word[0]\ncolumns a b", "line 2: the columns have to be named before"),
        ("columns a a\na[0]", 'line 1: "columns" wants different names'),
        ("columns 1st\nbias", 'line 1: "1st" cannot be the name of a column'),
        ("clusters\nbias", 'line 1: "clusters" wants one file'),
        ("gazetteer g\nbias", 'line 1: "gazetteer" wants a name and a file'),
        ("gazetteer g a\ngazetteer g b\nbias", 'line 2: there are two gazetteers named "g"'),
        ("# nothing\n", "there are no templates in it"),
    ],
)
def test_errors_name_line_and_column(text, message):
    with pytest.raises(InputError) as error:
        parse_templates(text, "my.txt")
    assert str(error.value).startswith("my.txt")
    assert message in str(error.value)


@given(st.text(alphabet="wordps[](),.&-+0123456789 bias\nlower#in", max_size=40))
def test_any_text_is_parsed_or_refused_as_input(text):
    try:
        templates = parse_templates(text)
    except InputError:
        return
    assert parse_templates(str(templates)) == templates


def test_a_template_file_finds_its_lists_beside_it(tmp_path):
    (tmp_path / "paths.gz").write_bytes(gzip.compress(b"010\tTurin\t3\n011\tRome\n"))
    (tmp_path / "cities.xz").write_bytes(lzma.compress(b"new york\nTurin\n\n"))
    file = tmp_path / "my.templates"
    file.write_text(
        "clusters paths.gz\ngazetteer city cities.xz\ncluster(word[0],2)\nin(city,word[0])\n"
    )
    extractor = make_extractor(file)
    rows = extractor.fit([["In", "New", "York", "and", "turin", "Turin", "Rome"]])
    assert extractor.names(rows.ids) == [
        "in(city,word[0])=B",
        "in(city,word[0])=I",
        "in(city,word[0])=B",
        "cluster(word[0],2)=01",
        "in(city,word[0])=B",
        "cluster(word[0],2)=01",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"01x\tword\t1\n", ", line 1: the path has to be a string of 0s and 1s"),
        (b"01\tok\t1\n\nalone\n", ", line 3: a path, a word and a count are wanted"),
        (b"01\t\xff\t1\n", ", line 1: this is not UTF-8"),
        (b"", ": there are no clusters in it"),
    ],
)
def test_bad_cluster_files_are_refused_with_their_line(tmp_path, content, message):
    (tmp_path / "paths").write_bytes(content)
    (tmp_path / "t").write_text("clusters paths\ncluster(word[0])\n")
    with pytest.raises(InputError, match=f"paths{message}"):
        make_extractor(tmp_path / "t")


def test_bad_lists_and_files_are_refused(tmp_path):
    (tmp_path / "t").write_text("gazetteer g list\nin(g,word[0])\n")
    with pytest.raises(InputError, match="list: there is no such file"):
        make_extractor(tmp_path / "t")
    (tmp_path / "list").write_bytes(b"a\n\xff\n")
    with pytest.raises(InputError, match="list, line 2: this is not UTF-8"):
        make_extractor(tmp_path / "t")
    (tmp_path / "t").write_bytes(b"\xff")
    with pytest.raises(InputError, match="t, line 1: this is not UTF-8"):
        make_extractor(tmp_path / "t")


@pytest.mark.parametrize(("features", "message"), [("nerr", "chunking, pos, ner"), (3, "int")])
def test_features_that_are_nothing_known_are_refused(features, message):
    with pytest.raises(InputError, match=message):
        make_extractor(features)
