"""The template language: what it accepts, what it refuses and how it says so."""

from __future__ import annotations

import gzip
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct.errors import InputError
from dualstruct.features import from_state, make_extractor
from dualstruct.features.learned import LEARNED
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
        name = draw(st.sampled_from(["cities", "a-b_2"]))
        return Term(column, NAMES[column], offset, (), name, part=draw(st.booleans()))
    functions = []
    plain = [name for name in FUNCTIONS if name not in LEARNED]
    names = draw(st.lists(st.sampled_from(plain), max_size=3))
    for name in [*names, *draw(st.lists(st.sampled_from(list(LEARNED)), max_size=1))]:
        least = {"none": None, "length": 1, "optional length": 0}[FUNCTIONS[name]]
        functions.append((name, 0 if least is None else draw(st.integers(least, 9))))
    return Term(column, NAMES[column], offset, tuple(functions))


@given(
    st.lists(st.builds(Template, st.lists(terms(), max_size=3).map(tuple)), min_size=1, unique=True)
)
def test_canonical_text_round_trips(made):
    templates = Templates(
        tuple(made),
        clusters="paths of all.txt",
        gazetteers={"cities": "c.txt", "a-b_2": "x y case=exact"},
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
        ("word[0", 'line 1, column 7: "]" is expected, not the end of the line'),
        ("bias\n  word[x]", 'line 2, column 8: an offset is expected, not "x"'),
        ("word[0] word[1]", 'line 1, column 9: "&" or the end of the line is expected, not "word"'),
        ("word[0] & ", "line 1, column 10: a term such as"),
        ("upper(word[0])", 'line 1, column 1: there is no function "upper"; there are lower'),
        ("tag[0]", 'line 1, column 1: there is no column "tag"; there are word, pos, col2 ...'),
        ("suffix(word[0])", 'line 1, column 15: "," is expected, not ")"'),
        ("lower(word[0],3)", 'line 1, column 14: ")" is expected, not ","'),
        ("suffix(word[0],0)", "line 1, column 16: a length has to lie between 1 and 100"),
        ("word[3..1]", "line 1, column 6: an offset has to lie between -100 and 100"),
        ("word[0] & bias", 'line 1, column 11: "bias" must be the only'),
        ("word[0] ? pos[0]", 'line 1, column 9: "?" has no meaning here'),
        ("lower(in(g,word[0]))", 'line 1, column 7: "in" cannot stand inside a function'),
        ("lower(part(g,word[0]))", 'line 1, column 7: "part" cannot stand inside a function'),
        ("lower(labels(word[0]))", 'line 1, column 7: "labels" and "known" cannot stand'),
        ("known(word[0])", 'line 1, column 14: "," is expected, not ")"'),
        ("gazetteer g a case=no\nbias", "line 1: case=no is neither case=folded nor case=exact"),
        ("gazetteer g a case=exact case=exact\nbias", "line 1: case= is there twice"),
        ("in(g,lower(word[0]))", 'line 1, column 6: "in" needs a plain column'),
        ("cluster(word[0],4)", 'line 1, column 1: "cluster" needs a line "clusters FILE"'),
        ("bias\nin(g,word[0])", 'line 2, column 4: "in" needs a line "gazetteer g FILE"'),
        ("word[0]\ncolumns a b", "line 2: the columns have to be named before"),
        ("columns a a\na[0]", 'line 1: "columns" needs different names'),
        ("columns 1st\nbias", 'line 1: "1st" cannot be the name of a column'),
        ("clusters\nbias", 'line 1: "clusters" needs one file'),
        ("gazetteer g\nbias", 'line 1: "gazetteer" needs a name and a file'),
        ("gazetteer g a\ngazetteer g b\nbias", 'line 2: there are two gazetteers named "g"'),
        ("# nothing\n", "it has no templates"),
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
        (b"01\tok\t1\n\nalone\n", ", line 3: a path, a word and a count are expected"),
        (b"01\t\xff\t1\n", ", line 1: this is not UTF-8"),
        (b"", ": it has no clusters"),
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


def test_include_adds_a_preset_or_a_file_and_keeps_each_template_once(tmp_path):
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "cities.txt").write_text("Turin\n")
    (tmp_path / "lists" / "places.txt").write_text(
        "gazetteer cities cities.txt\ninclude pos\nin(cities,word[0])\n"
    )
    main = tmp_path / "main.txt"
    main.write_text(
        "word[0]\ninclude lists/places.txt  # both\ninclude lists/places.txt\nword[9]\n"
    )
    extractor = make_extractor(main)
    preset = [str(t) for t in parse_templates(PRESETS["pos"]).templates]
    expected = ["word[0]", *(t for t in preset if t != "word[0]"), "in(cities,word[0])", "word[9]"]
    assert [str(t) for t in extractor.templates.templates] == expected
    assert extractor.templates.gazetteers == {"cities": "lists/cities.txt"}
    rows = extractor.fit([["Turin"]])
    assert "in(cities,word[0])=B" in extractor.names(rows.ids)
    assert (
        "include" not in extractor.state()[0]["templates"]
    )  # the model has the templates themselves


def test_included_templates_see_the_columns_of_the_file_that_includes_them(tmp_path):
    (tmp_path / "own.txt").write_text("columns a b\nb[0]\n")
    (tmp_path / "none.txt").write_text("pos[1]\n")
    text = "columns word lemma pos\ninclude none.txt\ninclude own.txt\npos[0]\n"
    parsed = parse_templates(text, folder=tmp_path)
    assert [(str(t), t.terms[0].column) for t in parsed.templates] == [
        ("pos[1]", 2),
        ("lemma[0]", 1),
        ("pos[0]", 2),
    ]
    assert parse_templates(str(parsed)) == parsed


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a": "include"}, 'a, line 1: "include" needs a preset or a file'),
        ({"a": "word[0]\ninclude b"}, 'a, line 2: "b" is neither a file nor one of chunking,'),
        ({"a": "include b", "b": "word[0"}, 'b, line 1 (included by a, line 1), column 7: "]"'),
        (
            {"a": "include b", "b": "\ninclude c", "c": "include b"},
            'c, line 1 (included by b, line 2 (included by a, line 1)): "b" is being included',
        ),
        ({"a": "include a"}, '"a" is being included already: a circle'),
        (
            {"a": "columns form\ninclude pos"},
            "pos, line 2 (included by a, line 2), column 1: there",
        ),
        ({"a": "include b", "b": "U00:%x[0,0]"}, 'a, line 1: "b" is a template file of CRF++'),
        ({"a": "include pos\ncolumns x"}, "a, line 2: the columns have to be named before"),
        ({"a": "include b\ngazetteer x two", "b": "gazetteer x one"}, 'two gazetteers named "x"'),
        ({str(n): f"include {n + 1}" for n in range(40)}, "more than 20 files include each other"),
    ],
)
def test_bad_includes_are_refused_with_file_and_line(tmp_path, files, message):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as raised:
        make_extractor(tmp_path / next(iter(files)))
    assert message in str(raised.value)


def test_templates_of_a_model_include_nothing():
    settings, arrays = make_extractor("word[0]\n").state()
    with pytest.raises(InputError, match='"include" has no meaning here'):
        from_state(settings | {"templates": "include ner\n"}, arrays)
