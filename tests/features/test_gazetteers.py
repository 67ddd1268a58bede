"""Lists of phrases: where they come from, and how they are matched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_features as naive
from dualstruct import SequenceTagger
from dualstruct.errors import InputError
from dualstruct.features import from_state, make_extractor
from dualstruct.features.gazetteers import make_gazetteer, read_phrases
from dualstruct.features.template_extractor import TemplateExtractor
from dualstruct.features.templates import parse_templates
from dualstruct.tasks.tagging.learning import LowCoverageWarning

WORDS = st.sampled_from(["new", "New", "york", "York", "city", "x"])


@given(
    st.lists(st.lists(WORDS, max_size=6), min_size=1, max_size=3).filter(any),
    st.lists(st.lists(WORDS, min_size=1, max_size=3).map(" ".join), max_size=4),
)
def test_lists_mark_phrases_and_parts_of_them_with_and_without_case(sentences, phrases):
    text = "gazetteer any some\ngazetteer same some case=exact\n" + "".join(
        f"{function}({name},word[0])\n" for function in ("in", "part") for name in ("any", "same")
    )
    templates = parse_templates(text)
    extractor = TemplateExtractor(
        templates,
        gazetteers={
            "any": make_gazetteer(phrases),
            "same": make_gazetteer(phrases, exact=True),
            "part any": make_gazetteer(phrases, part=True),
            "part same": make_gazetteer(phrases, exact=True, part=True),
        },
    )
    rows = extractor.fit(sentences)
    names = extractor.names(rows.ids)
    expected = []
    for sentence in sentences:
        words = [word for phrase in phrases for word in phrase.split()]
        marks = [
            naive.marks(sentence, phrases),
            naive.exact_marks(sentence, phrases),
            naive.marks(sentence, words),
            naive.exact_marks(sentence, words),
        ]
        for token in zip(*marks, strict=True):
            pairs = zip(templates.templates, token, strict=True)
            expected += [f"{template}={mark}" for template, mark in pairs if mark]
    assert names == expected
    again = from_state(*extractor.state())
    assert again.names(again.transform(sentences).ids) == expected


def test_lists_from_files_and_columns_of_csv_files(tmp_path):
    (tmp_path / "cities.csv").write_text('id,City name\n1,"York, New"\n\n2,turin\n')
    (tmp_path / "people.txt").write_text("Ada Lovelace\nBo\n")
    (tmp_path / "t.txt").write_text(
        'gazetteer cities cities.csv column="City name"\n'
        "gazetteer numbered cities.csv column=2 case=exact\n"
        "gazetteer people people.txt\n"
        "in(cities,word[0])\nin(numbered,word[0])\nin(people,word[0])\npart(people,word[0])\n"
    )
    extractor = make_extractor(tmp_path / "t.txt")
    names = extractor.names(extractor.fit([["Turin", "ada", "lovelace", "Lovelace"]]).ids)
    assert names == [
        "in(cities,word[0])=B",
        "in(people,word[0])=B",
        "part(people,word[0])=B",
        "in(people,word[0])=I",
        "part(people,word[0])=B",
        "part(people,word[0])=B",
    ]
    path = tmp_path / "m.dstruct"
    tagger = SequenceTagger(str(tmp_path / "t.txt"))
    with pytest.warns(LowCoverageWarning, match="gazetteer numbered"):  # it has turin alone
        tagger.fit([["Bo", "saw", "Turin"]], [["P", "O", "L"]])
    tagger.save(path)
    (tmp_path / "people.txt").unlink()  # a model has its lists
    assert SequenceTagger.load(path).predict([["bo"]]) == [["P"]]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", "city", "some.csv is empty"),
        ("id,town\n", "city", "some.csv, line 1: there is no column 'city'; there are id, town"),
        (
            "id,town\n1,x\n2\n",
            "town",
            "some.csv, line 3 has 1 column, and 'town' is number 2",
        ),
        ("a\tb\n1\t2\n", "3", "some.csv, line 1: there is no column '3'"),
    ],
)
def test_bad_csv_files_are_refused_with_file_and_line(tmp_path, text, column, message):
    path = tmp_path / "some.csv"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        read_phrases(path, column)
    assert message in str(raised.value)
