"""Every format of texts: what is written is read again, and is known by its content."""

from __future__ import annotations

import io
import json
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct import InputError
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.texts import Document, TextSpan, iter_documents, write_documents
from dualstruct.texts.documents import split_documents
from dualstruct.texts.formats import FORMATS, find_format
from random_cases import cases


def where_installed(name: str):
    """A format as a case; it is left out where its library is missing."""
    needed = FORMATS[name].needs_library
    missing = needed is not None and find_spec(needed) is None
    return pytest.param(
        name, marks=pytest.mark.skipif(missing, reason=f"missing: pip install dualstruct[{name}]")
    )


WRITTEN = [
    where_installed(name) for name, each in FORMATS.items() if each.write or each.write_folder
]
#: Formats that keep the text as it is; the others keep words.
OF_TEXT = ["jsonl", "labelstudio", "brat", "conllu", "parquet", "arrow", "spacy"]
READ = {"labelstudio": "a.labelstudio.json", "brat": "a.brat"}


def documents_of(text: str, chosen: list[tuple[int, int, str]]) -> list[Document]:
    """A document with some of its tokens marked, from left to right."""
    document = Document(text, [])
    split_documents([document], Tokenizer())
    tokens, behind = document.tokens, 0
    for first, size, label in sorted(chosen):
        if behind <= first and first + size <= len(tokens):
            span = TextSpan(tokens[first][0], tokens[first + size - 1][1], label)
            within = document.text[span.start : span.end]
            if not any(c in within for c in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"):
                document.spans.append(span)
                behind = first + size
    return [document]


PIECES = [
    "Ada", "Bo's", "Turin", "x-y", " ", " ", "  ", ".", ",", "\n", "\r\n", "\n\n", "\t", "👍🏽",
    "é", "e\u0301", "我", "。", "ש", "\u200f", "1,234.5", '"', "\\", "|", "=", "\u2028", "\u00a0",
    "_", "#",
]  # fmt: skip
CHARACTERS = st.characters(exclude_categories=("Cs", "Cn"), exclude_characters="\0")
TEXTS = st.lists(st.sampled_from(PIECES) | CHARACTERS, max_size=15).map("".join)
SPANS = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 3), st.sampled_from(["PER", "LOC"])))
CASES = st.builds(documents_of, TEXTS, SPANS)


def written(format: str, documents, folder):
    path = folder / READ.get(format, f"a.{format}")
    write_documents(path, documents)
    return path


def words_and_spans(document: Document):
    """Words with spans as numbers of words."""
    tokens = document.places
    number = {start: k for k, (start, _) in enumerate(tokens)}
    ends = {end: k + 1 for k, (_, end) in enumerate(tokens)}
    words = [document.text[a:b] for a, b in tokens]
    return words, [(number[s.start], ends[s.end], s.label) for s in document.spans or ()]


@pytest.mark.parametrize("format", WRITTEN)
@cases(80)
@given(documents=CASES)
def test_what_is_written_is_read_again(format, documents, tmp_path_factory):
    [document] = documents
    if not document.tokens:
        return
    path = written(format, documents, tmp_path_factory.mktemp("f"))
    assert find_format(path).name == format
    found = list(iter_documents(path))
    if format in OF_TEXT:
        assert [each.text for each in found] == [document.text]
        assert found[0].spans == document.spans
        return
    expected = words_and_spans(document)
    words, spans = [], []
    for each in found:
        these, marked = words_and_spans(each)
        spans += [(a + len(words), b + len(words), label) for a, b, label in marked]
        words += these
    assert (words, spans) == expected


@pytest.mark.parametrize("source", WRITTEN)
@pytest.mark.parametrize("target", WRITTEN)
def test_every_format_becomes_every_other(source, target, tmp_path):
    """Of words with blanks between them, which no format loses."""
    document = documents_of("Ada Wu met Bo . \nShe left Rome !", [(0, 2, "PER"), (7, 1, "LOC")])
    first = written(source, document, tmp_path)
    middle = list(iter_documents(first))
    split_documents(middle, Tokenizer())
    (tmp_path / "b").mkdir()
    last = list(iter_documents(written(target, middle, tmp_path / "b")))
    split_documents(last, Tokenizer())
    marked = [each.text[s.start : s.end] + s.label for each in last for s in each.spans]
    assert marked == ["Ada WuPER", "RomeLOC"]
    assert " ".join(" ".join(w) for each in last for w in each.words()) == (
        "Ada Wu met Bo . She left Rome !"
    )


#: One object or file in the spelling of a tool, for the text and spans below.
TEXT, MARKED = "Ada met Bo 👍 in Rome", [(0, 3, "PER"), (8, 10, "PER"), (16, 20, "LOC")]
SPELLINGS = {
    "ours": {"text": TEXT, "spans": [{"start": a, "end": b, "label": c} for a, b, c in MARKED]},
    "doccano": {"id": 7, "text": TEXT, "label": [list(m) for m in MARKED]},
    "doccano labels": {"data": TEXT, "labels": [list(m) for m in MARKED]},
    "doccano entities": {
        "text": TEXT,
        "entities": [{"start_offset": a, "end_offset": b, "label": c} for a, b, c in MARKED],
        "relations": [],
    },
    "prodigy": {
        "text": TEXT,
        "tokens": [{"text": "Ada", "start": 0, "end": 3, "id": 0}],
        "spans": [
            {"start": a, "end": b, "label": c, "token_start": 0} for a, b, c in MARKED
        ],
        "answer": "accept",
    },
    "lighttag": {
        "content": TEXT,
        "annotations": [{"start": a, "end": b, "tag": c, "value": TEXT[a:b]} for a, b, c in MARKED],
    },
    "lighttag examples": {
        "examples": [
            {
                "content": TEXT,
                "annotations": [{"start": a, "end": b, "tag": c} for a, b, c in MARKED],
            }
        ]
    },
    "spacy": [TEXT, {"entities": [list(m) for m in MARKED]}],
    "label studio, short": {
        "text": TEXT,
        "label": [{"start": a, "end": b, "text": TEXT[a:b], "labels": [c]} for a, b, c in MARKED],
    },
    "utf-16": {
        "text": TEXT,
        "spans": [
            {"start": a + (a > 12), "end": b + (b > 12), "label": c, "text": TEXT[a:b]}
            for a, b, c in MARKED
        ],
    },
    "gliner": {
        "tokenized_text": TEXT.split(),
        "ner": [[0, 0, "PER"], [2, 2, "PER"], [5, 5, "LOC"]],
    },
    "tagged words": {
        "tokens": TEXT.split(),
        "ner_tags": ["B-PER", "O", "B-PER", "O", "O", "B-LOC"],
    },
}  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("form", ["line", "list", "pretty"])
def test_json_of_many_tools_is_read(spelling, form, tmp_path):
    from dualstruct.texts import read_texts

    value = SPELLINGS[spelling]
    made = {
        "line": lambda: json.dumps(value) + "\n",
        "list": lambda: json.dumps([value, value]),
        "pretty": lambda: "\n" + json.dumps([value], indent=2, ensure_ascii=False),
    }[form]()
    (tmp_path / "a.json").write_text(made, encoding="utf-8")
    corpus = read_texts(tmp_path / "a.json")
    for words, labels in zip(corpus.tokens, corpus.labels, strict=True):
        assert words == TEXT.split()
        assert labels == ["B-PER", "O", "B-PER", "O", "O", "B-LOC"]


def test_what_prodigy_rejected_is_no_annotation():
    rows = '{"text": "a", "answer": "reject"}\n{"text": "b", "answer": "ignore"}\n{"text": "c"}\n'
    assert [each.text for each in iter_documents(io.StringIO(rows), "jsonl")] == ["c"]


def test_tasks_of_label_studio_are_read(tmp_path):
    def task(result, **more):
        return {
            "id": 3,
            "data": {"url": "x", "body": TEXT},
            "annotations": [{"result": result, **more}],
        }

    def region(a, b, label):
        value = {"start": a, "end": b, "labels": [label]}
        return {"from_name": "ner", "to_name": "body", "type": "labels", "value": value}

    choice = {"type": "choices", "value": {"choices": ["good"]}, "to_name": "body"}
    tasks = [task([choice, *(region(*m) for m in MARKED)]), task([], was_cancelled=True)]
    (tmp_path / "a.json").write_text(json.dumps(tasks))
    first, second = iter_documents(tmp_path / "a.json")
    assert first.text == second.text == TEXT
    assert [tuple(span[:3]) for span in first.spans] == MARKED
    assert second.spans is None


def test_tasks_of_other_shapes_are_refused_or_have_no_spans():
    tasks = '[{"data": {"text": "a"}, "annotations": 5}]'
    assert [d.spans for d in iter_documents(io.StringIO(tasks), "labelstudio")] == [None]
    tasks = '[{"data": {"text": "a"}, "annotations": [{"result": [{"to_name": [1]}]}]}]'
    assert [d.spans for d in iter_documents(io.StringIO(tasks), "labelstudio")] == [[]]
    with pytest.raises(InputError, match="line 1: there is no text among the data"):
        list(iter_documents(io.StringIO('[{"data": {"n": 1}}]'), "labelstudio"))
    with pytest.raises(InputError, match="line 1: a task of Label Studio has data, an object"):
        list(iter_documents(io.StringIO('[{"text": "a"}]'), "labelstudio"))


def test_brat_folders_are_read(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.txt").write_bytes(b"Ada\r\nWu left Rome")
    (tmp_path / "b" / "x.ann").write_text(
        "T1\tPER 0 3;5 7\tAda Wu\nT2\tLOC 13 17\tRome\nR1\tin Arg1:T1 Arg2:T2\nA1\tNeg T1\n"
    )
    (tmp_path / "b" / "y.txt").write_text("nothing")
    first, second = iter_documents(tmp_path / "b")
    assert [tuple(span[:3]) for span in first.spans] == [(0, 7, "PER"), (13, 17, "LOC")]
    assert first.metadata == {"id": "x"}
    assert second.spans is None
    (tmp_path / "b" / "x.ann").write_text("T1\tPER 0 3;8 12\tAda left\n")
    with pytest.raises(InputError, match=r"x.ann, line 1: the span is in pieces, 0 3;8 12"):
        list(iter_documents(tmp_path / "b"))


CONLLU = """\
# newdoc id = d1
1\tAda\t_\tPROPN\tNNP\tCase=Nom\t_\t_\t_\tEntity=B-PER|Kind=x
2-3\tisn't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tis\t_\tAUX\tVBZ\t_\t_\t_\t_\tSpaceAfter=No
3\tn't\t_\tPART\tRB\t_\t_\t_\t_\tSpaceAfter=No
4\t.\t_\tPUNCT\t.\t_\t_\t_\t_\tSpacesAfter=\\s\\n

1\tHi\t_\tINTJ\tUH\t_\t_\t_\t_\t_

"""


@pytest.mark.parametrize(
    ("label", "labels"),
    [
        ("upos", ["PROPN", "AUX", "PART", "PUNCT", "INTJ"]),
        ("xpos", ["NNP", "VBZ", "RB", ".", "UH"]),
        ("feats", ["Case=Nom", "_", "_", "_", "_"]),
        ("misc:Kind", ["x", "O", "O", "O", "O"]),
    ],
)
def test_conllu_is_a_source_of_tags(label, labels):
    [document] = iter_documents(io.StringIO(CONLLU), "conllu", label)
    assert document.text == "Ada isn't. \nHi"
    assert document.labels == labels
    assert document.metadata == {"id": "d1"}


def test_conllu_gives_entities_unless_told_otherwise():
    [document] = iter_documents(io.StringIO(CONLLU), "conllu")
    assert document.spans == [TextSpan(0, 3, "PER")]


def test_csv_names_its_columns(tmp_path):
    path = tmp_path / "kaggle.csv"
    path.write_text(
        'Sentence #,Word,POS,Tag\nSentence: 1,Ada,NNP,B-per\n,",",",",O\nSentence: 2,Bo,NNP,O\n'
    )
    assert [(d.text, d.spans) for d in iter_documents(path)] == [
        ("Ada ,", [TextSpan(0, 3, "per")]),
        ("Bo", []),
    ]
    assert [d.labels for d in iter_documents(path, label="pos")] == [["NNP", ","], ["NNP"]]
    with pytest.raises(InputError, match=r"kaggle.csv, line 1: no column of labels \(kind\)"):
        list(iter_documents(path, label="kind"))
    path.write_bytes(b"word,\rlabel\nAda,O\n")
    with pytest.raises(InputError, match=r"kaggle.csv, line 1: .*new-line"):
        list(iter_documents(path))


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ('{"text": "a"}\n{"text": }\n', r"line 2, character 10: this is not JSON"),
        ('{"text": "a",\n"spans": [}', r"line 2, character 11: this is not JSON"),
        ('{"text": "a"', r"line 1, character 13: this is not JSON"),
        ('[{"text": "a"}\n', r"line 2: the list is not closed"),
        (
            '{"tokens": ["a", "b"], "ner_tags": [1, 0]}',
            r"line 1: ner_tags are numbers; write their",
        ),
        ('{"text": "a"} x', r"line 1: an object of JSON is expected here, not 'x'"),
        ('{"words": 3}', r"line 1: there is no text"),
        ('{"text": "abc", "spans": [[0, 9, "X"]]}', r"line 1: the span 0-9 X is not in the text"),
        ('{"text": "abc", "spans": [[2, 2, "X"]]}', r"line 1: the span 2-2 X is not in the text"),
        ('{"text": "abc", "spans": [[-1, 2, "X"]]}', r"the span -1-2 X is not in the text"),
        ('{"text": "abc", "spans": [{"start": 0}]}', r"line 1: spans\[0\] has no end"),
        ('{"text": "abc", "spans": [[0, 1, 5]]}', r"spans\[0\]: its label is '5', not a text"),
        ('{"text": "abc", "spans": [[0, 1.5, "X"]]}', r"spans\[0\]: its end is '1.5', not a whole"),
        ('{"text": "abc", "spans": {"a": 1}}', r"line 1: spans is an object"),
        (
            '{"text": "abc", "spans": [{"start": 0, "end": 1, "label": "X", "text": "b"}]}',
            r"spans\[0\]: its text is 'b', and characters 0-1 X are 'a'; are the places counted",
        ),
        ('{"text": "a\\u0000"}', r"line 1: character 2 is NUL"),
        ('{"text": "a\\ud800"}', r"line 1: character 2 is half of a surrogate pair"),
        (
            '{"tokens": ["a", "b"], "labels": ["O"]}',
            r"line 1: tokens has 2 entries, but labels has 1",
        ),
        ('{"tokenized_text": ["a"], "ner": [[0, 1, "X"]]}', r"ner\[0\]: there are no words 0 to 1"),
        ("[[1, 2]]", r"line 1: an object with a text is expected, not a list"),
    ],
)
def test_mistakes_are_told_with_their_place(rows, problem):
    with pytest.raises(InputError, match=problem):
        list(iter_documents(io.StringIO(rows), "jsonl"))


def test_json_is_read_a_piece_at_a_time():
    """The first documents come before the file ends, wherever pieces are cut."""
    rows = "".join(json.dumps({"text": f'"[{k}\\'}) + "\n" for k in range(300))

    class Slow(io.BytesIO):
        given = 0

        def read1(self, size=-1):
            self.given += 7
            return super().read(7)

    slow = Slow(f"[{rows.replace(chr(10), ',')[:-1]}]".encode())
    found = iter_documents(slow, "jsonl")
    assert next(found).text == '"[0\\'
    assert slow.given < 60
    assert [each.text for each in found] == [f'"[{k}\\' for k in range(1, 300)]


def test_formats_that_are_none_are_named(tmp_path):
    with pytest.raises(
        InputError, match="there is no format 'xml'; choose one of labelstudio, jsonl"
    ):
        list(iter_documents(tmp_path, "xml"))
    with pytest.raises(InputError, match=r"a.xyz: the format is not clear from the name"):
        write_documents(tmp_path / "a.xyz", [])
    with pytest.raises(InputError, match="text is read, but not written"):
        write_documents(tmp_path / "a", [], "text")


TAGGED = Document("She left.  He\nsang ", None, [(0, 3), (4, 8), (8, 9), (11, 13), (14, 18)])
TAGGED.sentences, TAGGED.labels = [0, 3, 5], ["PRON", "VERB", "PUNCT", "PRON", "VERB"]


@pytest.mark.parametrize("format", WRITTEN)
def test_labels_of_tokens_come_back_or_are_refused(format, tmp_path):
    if format in ("brat", "labelstudio"):
        with pytest.raises(
            InputError, match=f"such as 'PRON', and {format} has spans alone; jsonl"
        ):
            written(format, [TAGGED], tmp_path)
        return
    found = list(iter_documents(written(format, [TAGGED], tmp_path)))
    words = [sentence for each in found for sentence in each.words()]
    assert words == [["She", "left", "."], ["He", "sang"]]
    assert [label for each in found for label in each.labels] == TAGGED.labels
    if format in OF_TEXT:
        assert [(each.text, each.tokens) for each in found] == [(TAGGED.text, TAGGED.tokens)]


@pytest.mark.parametrize(
    ("tokens", "problem"),
    [
        ([(0, 3), (2, 4)], r"line 1: the tokens 0-3 X 'Ada' and 2-4 X 'a ' are not one after"),
        ([(0, 30)], r"line 1: the span 0-30 X is not in the text"),
        ([("a", 3)], r"line 1: tokens\[0\]: its start is 'a', not a whole number"),
    ],
)
def test_wrong_labelled_tokens_are_named(tokens, problem):
    row = {"text": "Ada left", "tokens": [{"start": a, "end": b, "label": "X"} for a, b in tokens]}
    with pytest.raises(InputError, match=problem):
        list(iter_documents(io.StringIO(json.dumps(row)), "jsonl"))


def test_tasks_that_nobody_has_looked_at_are_label_studios(tmp_path):
    path = tmp_path / "tasks.json"
    for begin in ('[{"data": {"text": "Ada"}}]', '[ {"id": 7, "data": {"text": "Ada"}}]'):
        path.write_text(begin)
        assert find_format(path).name == "labelstudio"
        assert [(each.text, each.spans) for each in iter_documents(path)] == [("Ada", None)]


MULTIWORD = """\
# newdoc id = d
1 I _ PRON _ _ _ _ _ _
2-3 don't _ _ _ _ _ _ _ SpaceAfter=No
2 do _ AUX _ _ _ _ _ _
3 n't _ PART _ _ _ _ _ _
4 ! _ PUNCT _ _ _ _ _ _

1-2 zum _ _ _ _ _ _ _ SpacesAfter=\\s\\s
1 zu _ ADP _ _ _ _ _ _
2 dem _ DET _ _ _ _ _ _
3 See _ NOUN _ _ _ _ _ _

"""


def test_multiword_tokens_stand_in_the_text_as_they_are_written(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(MULTIWORD.replace(" ", "\t").replace("#\tnewdoc\tid\t=\t", "# newdoc id = "))
    [found] = iter_documents(path)
    # There is no place for the words of "zum" in its text.
    assert found.text == "I don't!\nzu dem  See"
    words = [["I", "do", "n't", "!"], ["zu", "dem", "See"]]
    assert (found.words(), found.labels[:3]) == (words, ["PRON", "AUX", "PART"])
    write_documents(tmp_path / "b.conllu", [found])
    [again] = iter_documents(tmp_path / "b.conllu")
    assert (again.text, again.words(), again.labels) == (found.text, words, found.labels)
