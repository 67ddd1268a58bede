"""Reading and writing column files."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_features as naive
from dualstruct.data.columns import read_columns, write_columns
from dualstruct.errors import InputError

CELL = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r \ufeff"),
    min_size=1,
    max_size=5,
)


@st.composite
def column_texts(draw):
    """Any mixture of line ends, blank lines and cells that a reader has to bear."""
    separator = draw(st.sampled_from(["\t", " "]))
    width = draw(st.integers(2, 3))
    pieces = [draw(st.sampled_from(["", "\ufeff"]))]
    for _ in range(draw(st.integers(1, 8))):
        cells = [draw(CELL) for _ in range(width)]
        if separator == " ":
            blanks = [draw(st.sampled_from([" ", "  ", "\t "])) for _ in range(width)]
            blanks[0] = " " if len(pieces) == 1 else blanks[0]
            line = cells[0] + "".join(b + c for b, c in zip(blanks, cells[1:], strict=False))
        else:
            line = separator.join(cells)
        pieces += [line, draw(st.sampled_from(["\n", "\r\n", "\n\n", "\n \t\n\r\n"]))]
    if draw(st.booleans()):
        pieces[-1] = ""
    return "".join(pieces), separator


@given(column_texts())
def test_reader_agrees_with_the_naive_one(case):
    text, separator = case
    expected = naive.read_columns(text, separator)
    if not expected:
        with pytest.raises(InputError, match="it has no tokens"):
            read_columns(io.BytesIO(text.encode()), separator=separator)
        return
    file = read_columns(io.BytesIO(text.encode()), separator=separator)
    assert [
        [(*t, y) if isinstance(t, tuple) else (t, y) for t, y in zip(a, b, strict=True)]
        for a, b in zip(file.tokens, file.labels, strict=True)
    ] == expected


@given(column_texts())
def test_separator_is_found_in_the_first_line(case):
    text, separator = case
    if not naive.read_columns(text, separator):
        return
    lines = [line for line in text.split("\n") if line.strip("\ufeff \t\r")]
    first = next(line for line in lines if not line.startswith("# "))
    if separator == "\t" or "\t" not in first:
        by_itself = read_columns(io.StringIO(text))
        assert by_itself.tokens == read_columns(io.StringIO(text), separator=separator).tokens


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_as_input(data):
    try:
        file = read_columns(io.BytesIO(data), label_column=None)
    except InputError:
        return
    assert sum(map(len, file.tokens)) > 0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a b c\n\n\nd e\n", "bad.txt, line 4: 2 columns, but line 1 has 3"),
        (b"\na\tb\r\nc\r\n", "bad.txt, line 3: 1 column, but line 2 has 2"),
        (b"a b\nc d e\n", "bad.txt, line 2: 3 columns, but line 1 has 2"),
        (b"a b\n\xff b\n", "bad.txt, line 2: this is not UTF-8 text"),
        (b"a b\n\xed\xa0\x80 b\n", "bad.txt, line 2: this is not UTF-8 text"),
        (b"a b\n\xc0\x80 b\n", "bad.txt, line 2: this is not UTF-8 text"),
        (b"a b\n\xe2\x82", "bad.txt, line 2: this is not UTF-8 text"),
        (b"", "bad.txt: it has no tokens"),
        (b"\n \n", "bad.txt: it has no tokens"),
        (b"a\nb\n", "bad.txt: its only column was taken for the labels"),
    ],
)
def test_bad_files_are_refused_with_name_line_and_reason(tmp_path, data, message):
    path = tmp_path / "bad.txt"
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        read_columns(path)
    assert str(error.value).startswith(message)


@given(st.binary(max_size=6))
def test_utf8_is_what_python_takes_for_it(data):
    data = data.translate(None, b"\t\n\r ") or b"x"
    try:
        expected = data.decode()
    except UnicodeDecodeError:
        expected = None
    try:
        found = read_columns(io.BytesIO(b"first\n" + data), label_column=None).tokens[0][1]
    except InputError:
        found = None
    assert found == expected


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [("txt", bytes), ("gz", gzip.compress), ("xz", lzma.compress), ("bz2", bz2.compress)],
)
def test_packed_files_are_unpacked_by_their_ending(tmp_path, suffix, pack):
    path = tmp_path / f"some.{suffix}"
    path.write_bytes(pack("Ünal B\n".encode()))
    assert read_columns(path).tokens == [["Ünal"]]


@pytest.mark.parametrize("suffix", ["gz", "xz", "bz2"])
def test_damaged_and_missing_files_are_refused(tmp_path, suffix):
    path = tmp_path / f"some.{suffix}"
    with pytest.raises(InputError, match="there is no such file"):
        read_columns(path)
    path.write_bytes(b"not packed at all")
    with pytest.raises(InputError, match=f"some.{suffix}: "):
        read_columns(path)


def test_standard_input_is_read(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a B\n")))
    assert read_columns("-").labels == [["B"]]


def test_columns_are_chosen_by_number():
    text = "1 Ada NNP B\n2 sings VBZ O\n"
    assert read_columns(io.StringIO(text), columns=[1]).tokens == [["Ada", "sings"]]
    chosen = read_columns(io.StringIO(text), columns=[-2, 1], label_column=0)
    assert chosen.tokens == [[("NNP", "Ada"), ("VBZ", "sings")]]
    assert chosen.labels == [["1", "2"]]
    with pytest.raises(InputError, match="no column 4 for the tokens; the file has 4 columns"):
        read_columns(io.StringIO(text), columns=[4])
    with pytest.raises(InputError, match="no column -5 for the labels"):
        read_columns(io.StringIO(text), label_column=-5)


def test_files_without_labels_say_so():
    file = read_columns(io.StringIO("Ada\nsings\n"), label_column=None)
    assert not file.has_labels
    assert file.tokens == [["Ada", "sings"]]
    with pytest.raises(InputError, match="read without labels"):
        _ = file.labels


@pytest.mark.parametrize("line", ["a\t\tO", "\ta\tO", "a\tb\t"])
def test_empty_cells_are_refused_with_their_place(line):
    column = line.split("\t").index("") + 1
    with pytest.raises(InputError, match=f"line 2: column {column} is empty"):
        read_columns(io.StringIO(f"x\ty\tO\n{line}\n"))


def test_sentences_behave_like_a_list():
    words = [[f"w{i}{j}" for j in range(i % 3 + 1)] for i in range(10)]
    text = "\n\n".join("\n".join(f"{w} O" for w in s) for s in words)
    tokens = read_columns(io.StringIO(text)).tokens
    assert tokens == words
    assert words == tokens
    assert tokens != words[:-1]
    assert tokens != [*words[:-1], ["other"]]
    assert tokens != "words"
    assert len(tokens) == 10
    assert list(tokens) == words
    assert tokens[-1] == words[-1]
    assert ["w00"] in tokens
    with pytest.raises(IndexError):
        tokens[10]
    for part in (slice(2, 5), slice(None, None, -2), slice(8, 100), slice(3, 3)):
        assert tokens[part] == words[part]
        assert tokens[part].lengths.tolist() == [len(s) for s in words[part]]
        ids, strings = tokens[part].encoded()
        assert [strings[i] for i in ids] == [w for s in words[part] for w in s]
        assert set(strings) == {w for s in words[part] for w in s}
    assert tokens[1:][::3][1] == words[4]


def test_sentences_survive_pickling():
    for text in ("a B\nb O\n\nc O\n", "a x B\nb y O\n"):
        file = pickle.loads(pickle.dumps(read_columns(io.StringIO(text))))
        assert file.tokens == read_columns(io.StringIO(text)).tokens
        assert file.labels == read_columns(io.StringIO(text)).labels
    assert pickle.loads(pickle.dumps(file.tokens[:0])) == []


def test_encoded_arrays_outlive_the_file():
    ids, _ = read_columns(io.StringIO("a B\nb O\n")).labels.encoded()
    assert np.array_equal(ids, [0, 1])


SENTENCES = st.lists(
    st.lists(st.tuples(CELL, CELL), min_size=1, max_size=4), min_size=1, max_size=4
)


@given(SENTENCES, st.sampled_from(["\t", " "]))
def test_what_is_written_is_read_back(sentences, separator):
    labels = [["O"] * len(s) for s in sentences]
    out = io.StringIO()
    write_columns(out, sentences, labels, separator=separator)
    file = read_columns(io.BytesIO(out.getvalue().encode()), separator=separator)
    assert file.tokens == sentences
    assert file.labels == labels


def test_writing_replaces_the_file_at_once(tmp_path):
    path = tmp_path / "out.txt"
    write_columns(path, [["a"]], [["O"]])
    with pytest.raises(InputError, match="sentence 2: 1 token, but 2 labels"):
        write_columns(path, [["a"], ["b"]], [["O"], ["O", "O"]])
    assert path.read_text() == "a\tO\n\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("cell", ["a\tb", "a\nb", "a\rb"])
def test_cells_that_would_break_the_file_are_refused(cell):
    with pytest.raises(InputError, match="sentence 1, token 2"):
        write_columns(io.StringIO(), [["fine", cell]], [["O", "O"]])
