"""Comments, -DOCSTART- lines and CoNLL-U's ranges are no tokens, for every reader of column files;
what is printed with labels has them again."""

from __future__ import annotations

import gzip
import io
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_features as naive
from dualstruct import InputError, SequenceTagger, read_columns
from dualstruct.cli.columns import Sentences
from dualstruct.cli.trees import read_any
from dualstruct.data.blocks import read_blocks
from dualstruct.data.sources import ColumnFiles
from dualstruct.workers.communicator import SingleWorker
from dualstruct.workers.local import run_local
from random_cases import cases


def read(text, **how):
    return read_columns(io.BytesIO(text.encode()), **how)


def sentences_of(file):
    """Tokens with all their columns."""
    everything = file.choose(None, None).tokens
    return [[t if isinstance(t, tuple) else (t,) for t in sentence] for sentence in everything]


def printed(file, label=-1):
    """The file again, with its own labels in the place of predicted ones."""
    whole = Sentences(file.tokens, file, label % file.n_columns)
    labels = file.choose(None, label).labels
    lines = [line for i in range(len(file)) for line in whole.lines(i, labels[i])]
    return "\n".join([*lines, *whole.rest(), ""])


#: A file, its words, and how many of its lines are no tokens, blank ones aside.
CASES = {
    "comments": ("# id 7\nAda B\nsings O\n\n# id 8\n# more words here\nBo B\n", [2, 1], 3),
    "a number sign as a token": ("# # B-NP\n1 CD I-NP\n\nEU NNP B-NP\n", [2, 1], 0),
    "a number sign behind another token": ("5 CD B-NP\n# # I-NP\n", [2], 0),
    "a hashtag": ("#now B\n\n# B\n\nAda O\n", [1, 1, 1], 0),
    "comments with as many cells as tokens": (
        "# id 1 en\nAda _ B\n\n# id 2 en\n# _ O\nBo _ B\n\n# id 3 en\nCy _ B\n",
        [1, 1, 1],
        4,
    ),
    "comments with a tab": ("# id\ten\nAda _ _ B\nsings _ _ O\n\nBo _ _ B\n", [2, 1], 1),
    "tabs": ("# text = Ada sings\nAda\tB\nsings\tO\n\n#\tO\n", [2, 1], 1),
    "documents": ("-DOCSTART- -X- O\n\nAda NNP B\n\n-DOCSTART- -X- O\n\nBo NNP B\n", [1, 1], 2),
    "documents without a blank line": ("-DOCSTART- -DOCSTART- O\nDe Art O\n", [1], 1),
    "a document's mark within a sentence": ("Ada B\n-DOCSTART- O\n", [2], 0),
    "a document's mark alone": ("-DOCSTART-\n\nAda B\n", [1], 1),
    "one column": ("# a comment\nAda\nsings\n\n#\n#now\n", [2, 2], 1),
    "comments at the end": ("Ada B\n\n# the end\n\n# of it\n", [1], 2),
    "comments far before": ("# a b\n\n# b c d\n\n\nAda B\n", [1], 2),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_a_token_and_what_is_not(case):
    text, lengths, others = CASES[case]
    file = read(text, label_column=None)
    assert file.tokens.lengths.tolist() == lengths
    kept = [line for lines in file.other_lines.values() for line in lines if line]
    assert len(kept) == others
    assert sum(lengths) + others == sum(bool(line) for line in text.split("\n"))


CELL = st.sampled_from(["#", "# ", "a", "-DOCSTART-", "b c", "1"])
LINE = st.one_of(
    st.lists(CELL, min_size=1, max_size=4).map(" ".join),
    st.sampled_from(["a b", "a b", "# a", "# a b", "-DOCSTART- b", "", "", " \t"]),
)


@given(st.lists(LINE, min_size=1, max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_the_reader_agrees_with_the_naive_one(lines, newline):
    text = newline.join(lines)
    expected = naive.column_sentences(text, " ")
    widths = {len(token) for _, tokens in expected for token in tokens}
    if len(widths) != 1:
        with pytest.raises(InputError):
            read(text, label_column=None)
        return
    file = read(text, label_column=None, separator=" ")
    assert sentences_of(file) == [tokens for _, tokens in expected if tokens]
    above = [file.other_lines.get((i, 0), []) for i in range(len(file) + 1)]
    assert above[: len(expected)] == [before for before, _ in expected]


@pytest.mark.parametrize("size", [1, 10, 30, 1000])
@pytest.mark.parametrize("case", CASES)
def test_blocks_are_read_as_the_whole_file_is(case, size, tmp_path):
    text, _, _ = CASES[case]
    path = tmp_path / "file.txt"
    path.write_text(text)
    whole = read_columns(path, label_column=None)
    blocks = list(
        read_blocks(path, label_column=None, comments=whole._format.comments, block_bytes=size)
    )
    assert [s for block in blocks for s in sentences_of(block)] == sentences_of(whole)
    if size >= 1000:
        assert blocks[0].other_lines == whole.other_lines


WORDS = st.sampled_from(["a b", "c d", "a\tb", "c\td"])
BLANKS = st.lists(st.sampled_from([" ", "\t", "a", "\r"]), max_size=4).map("".join)


def outcome(read):
    """Words and labels of all sentences, or None where they are refused."""
    try:
        return read() or None
    except InputError:
        return None


def pairs(files):
    return [(list(x), list(y)) for f in files for x, y in zip(f.tokens, f.labels, strict=True)]


def workers_pairs(path):
    part = ColumnFiles((path,)).share(SingleWorker(), 0)
    found = zip(part.numbers.tolist(), part.X, part.y, strict=True)
    return [(list(x), list(y)) for _, x, y in sorted(found, key=lambda each: each[0])]


@cases(200)
@given(
    st.lists(st.one_of(WORDS, BLANKS), min_size=1, max_size=7),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 30),
)
def test_every_reader_splits_lines_alike(tmp_path_factory, lines, newline, size):
    path = tmp_path_factory.mktemp("split") / "file.txt"
    path.write_bytes(newline.join(lines).encode())
    whole = outcome(lambda: pairs([read_columns(path)]))
    assert outcome(lambda: pairs(read_blocks(path, block_bytes=size))) == whole
    assert outcome(lambda: workers_pairs(path)) == whole
    words = outcome(lambda: list(read_columns(path, columns=[0], label_column=None).tokens))
    parsed = outcome(
        lambda: [s.forms for bank in read_any(str(path), None, raw_words=True) for s in bank]
    )
    if words is None or "\r" not in "".join(
        chain.from_iterable(words)
    ):  # CoNLL-U has no such words
        assert parsed == words


@pytest.mark.parametrize("case", [name for name in CASES if name != "one column"])
def test_workers_read_what_one_machine_reads(case, tmp_path):
    text, lengths, _ = CASES[case]
    path = tmp_path / "file.txt"
    path.write_text(text)
    whole = read_columns(path)
    found = {}
    for part in run_local(
        min(2, len(lengths)), lambda workers: ColumnFiles((path,)).share(workers, 0)
    ):
        for i, number in enumerate(part.numbers.tolist()):
            found[number] = part.X[i], part.y[i]
            for t in range(len(part.X[i])):
                assert part.where(i, t) == whole.where(number, t)
    expected = zip(whole.tokens, whole.labels, strict=True)
    assert found == dict(enumerate(map(tuple, expected)))


@pytest.mark.parametrize("case", [name for name in CASES if name != "one column"])
def test_files_come_back_with_their_other_lines(case):
    text, _, _ = CASES[case]
    file = read(text, label_column=None)
    tabs = text if "\tB" in text else printed(file)  # cells are printed with tabs between them
    expected = [line.split() for line in text.rstrip("\n").split("\n")]
    assert [line.split() for line in printed(file).rstrip("\n").split("\n")] == expected
    again = read(tabs, label_column=None, comments=file._format.comments)
    assert sentences_of(again) == sentences_of(file)
    assert again.other_lines == file.other_lines
    assert printed(again) == printed(file)


CONLLU = (
    "# newdoc id = a\n#text=It's\n"
    "1-2\tIt's\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tIt\tit\tPRON\t_\t_\t2\tnsubj\t_\t_\n"
    "2\t's\tbe\tAUX\t_\t_\t0\troot\t_\t_\n"
    "2.1\tnot\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    "1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_\n\n"
)


def test_ranges_and_empty_nodes_of_conllu_are_no_tokens():
    file = read(CONLLU, columns=[1], label_column=3)
    assert file.is_conllu
    assert list(file.tokens) == [["It", "'s"], ["Yes"]]
    assert list(file.labels) == [["PRON", "AUX"], ["INTJ"]]
    assert printed(file, 3) == CONLLU
    assert [file._format.token_lines(CONLLU.encode()).tolist()] == [[4, 5, 8]]


READERS = {
    "read_columns": lambda path: read_columns(path),
    "read_blocks": lambda path: list(read_blocks(path)),
    "fit": lambda path: SequenceTagger().fit(path),
    "fit_large": lambda path: SequenceTagger().fit_large(path, path.parent),
    "workers": lambda path: ColumnFiles((path,)).share(SingleWorker(), 0),
}


@pytest.mark.parametrize("reader", READERS)
def test_conllu_without_named_columns_is_refused(reader, tmp_path):
    path = tmp_path / "trees.txt"
    path.write_text(CONLLU)
    with pytest.raises(InputError, match=r"^trees.txt: .*columns=\[1\], label_column=3"):
        READERS[reader](path)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"tokens": ["Ada"], "labels": ["B"]}\n'),
        ("a.txt", '\n {"tokens": ["Ada"], "labels": ["B"]}\n{"tokens": []}\n'),
        ("a.txt", '\ufeff[{"tokens": ["Ada"]}]\n'),
        ("a.txt", '[["Ada", "B"]]\n'),
        ("a.json", '{\n  "tokens": ["Ada"]\n}\n'),
        ("a.json.gz", '[\n{"tokens": ["Ada"]}]\n'),
    ],
)
def test_json_is_refused_with_what_to_write(reader, name, text, tmp_path):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    line = 2 if text.startswith("\n") else 1
    with pytest.raises(InputError, match=rf"^{name}, line {line}: this is JSON; .*read_texts"):
        READERS[reader](path)


@pytest.mark.parametrize("text", ["{ O\n} O\n", "[ O\n1 O\n] O\n", "{} O\n", '{"a":1 O\n'])
def test_brackets_may_be_tokens(text):
    assert read(text).tokens.lengths.tolist() == [text.count("\n")]


def test_a_place_is_that_in_the_file(tmp_path):
    path = tmp_path / "file.conllu"
    path.write_text(CONLLU)
    file = read_columns(path, columns=[1], label_column=3)
    assert [file.where(0, 1), file.where(1, 0)] == ["file.conllu, line 5", "file.conllu, line 8"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# a b\n\n# c\n", "it has no tokens"),
        ("Ada B\n# a comment here\n", "line 2: 4 columns, but line 1 has 2; comments stand before"),
        ("Ada B\n\n#tag\n", "line 3: 1 column, but line 1 has 2"),
    ],
)
def test_other_lines_that_begin_with_a_number_sign_are_refused_as_tokens(text, message):
    with pytest.raises(InputError, match=message):
        read(text)


def test_comments_can_be_told_from_tokens_by_hand():
    text = "# id en\nAda _ B\n"
    assert read(text).tokens.lengths.tolist() == [2]
    assert read(text, comments=True).tokens.lengths.tolist() == [1]
    many = "# # O\nAda NNP B\n\n# # O\nBo NNP B\n"
    assert read(many).tokens.lengths.tolist() == [1, 1]
    assert read(many, comments=False).tokens.lengths.tolist() == [2, 2]
