"""CoNLL-U and CoNLL-X: what is read is written byte for byte, and what is broken is named."""

from __future__ import annotations

import gzip
import io
import lzma
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora_here import corpus_here
from dualstruct import InputError
from dualstruct.data.conllu import Treebank, iter_conllu, read_conllu, write_conllu
from dualstruct.data.writing import OutputError
from dualstruct.datasets import english_path

CELLS = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1)


def row(number, form="a", head=0, **cells):
    names = ("lemma", "upos", "xpos", "feats", "head", "relation", "deps", "misc")
    rest = [str(cells.get(name, head if name == "head" else "_")) for name in names]
    return "\t".join([str(number), form, *rest])


@st.composite
def files(draw):
    """The bytes of a file with everything that the format allows, and the words in it."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = draw(st.sampled_from(["", "\ufeff"]))
    sentences = []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(1, 4))
        text += "".join(
            f"#{comment}{end}" for comment in draw(st.lists(CELLS | st.just(""), max_size=2))
        )
        words = []
        for number in range(1, n + 1):
            if draw(st.booleans()) and number < n:
                text += row(f"{number}-{number + 1}", draw(CELLS), "_") + end
            head = draw(st.sampled_from(["_", *(h for h in range(n + 1) if h != number)]))
            names = ("lemma", "upos", "xpos", "feats", "relation", "deps", "misc")
            word = {name: draw(CELLS) for name in names}
            form = draw(CELLS)
            words.append((form, -1 if head == "_" else head, word))
            text += row(number, form, head, **word) + end
            if draw(st.booleans()):
                text += row(f"{number}.1", draw(CELLS), "_") + end
        text += end * draw(st.integers(1, 3))
        sentences.append(words)
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    return text.encode(), sentences


@given(files(), st.integers(1, 200))
def test_reading_and_writing_gives_the_same_bytes(file, piece):
    data, sentences = file
    treebank = read_conllu(io.BytesIO(data))
    written = io.BytesIO()
    write_conllu(written, treebank)
    assert written.getvalue() == data
    # Written cell by cell, it is still the same.
    names = ("forms", "lemmas", "upos", "xpos", "feats", "relations", "deps", "misc")
    columns = {name: list(getattr(treebank, name)) for name in names}
    assert bytes(treebank.replace(heads=treebank.heads, **columns)) == data
    assert b"".join(bytes(part) for part in iter_conllu(io.BytesIO(data), piece=piece)) == data
    assert bytes(treebank.select(range(len(treebank)))) == data
    assert bytes(pickle.loads(pickle.dumps(treebank))) == data
    assert len(treebank) == len(sentences)
    for found, words in zip(treebank, sentences, strict=True):
        assert found.forms == [form for form, _, _ in words]
        assert found.heads == [head for _, head, _ in words]
        assert found.misc == [cells["misc"] for _, _, cells in words]
        assert found.relations == [cells["relation"] for _, _, cells in words]


@given(files())
def test_sentences_taken_out_one_by_one_are_whole(file):
    data, _ = file
    treebank = Treebank(data)
    plain = data.decode("utf-8-sig").replace("\r\n", "\n")
    while "\n\n\n" in plain:
        plain = plain.replace("\n\n\n", "\n\n")
    plain = plain.rstrip("\n") + "\n\n"
    assert "".join(map(str, treebank)) == plain
    again = Treebank.from_sentences(list(treebank))
    assert list(again) == list(treebank)


@given(files())
def test_new_heads_change_nothing_but_the_heads(file):
    data, _ = file
    treebank = Treebank(data)
    with pytest.raises(ValueError, match="read-only"):
        treebank.heads[0] = 0
    changed = treebank.replace(heads=np.zeros_like(treebank.heads))
    assert not changed.heads.any()
    assert bytes(changed.replace(heads=treebank.heads)) == data


@pytest.mark.parametrize(
    "name",
    [
        "ud_english_ewt/train.conllu.xz",
        "ud_english_ewt/dev.conllu.xz",
        "ddt_conllx/train.conllx.xz",
        "ddt_conllx/test.conllx.xz",
    ],
)
def test_real_treebanks_come_back_byte_for_byte(name):
    path = corpus_here(name)
    data = lzma.decompress(path.read_bytes())
    treebank = read_conllu(path, trees="many-roots")
    assert bytes(treebank) == data
    assert bytes(treebank.replace(heads=treebank.heads, relations=treebank.relations)) == data
    parts = list(iter_conllu(path, piece=100_000))
    assert len(parts) > 1
    assert b"".join(map(bytes, parts)) == data


def test_the_embedded_corpus_comes_back_from_packed_files(tmp_path):
    data = english_path().read_bytes()
    for name, pack in (("e.conllu.gz", gzip.compress), ("e.conllu.xz", lzma.compress)):
        (tmp_path / name).write_bytes(pack(data))
        assert bytes(read_conllu(tmp_path / name)) == data
        assert b"".join(map(bytes, iter_conllu(tmp_path / name, piece=999))) == data
    (tmp_path / "cut.conllu.gz").write_bytes(gzip.compress(data)[:-100])
    with pytest.raises(InputError, match=r"cut.conllu.gz: it cannot be unpacked"):
        read_conllu(tmp_path / "cut.conllu.gz")
    write_conllu(tmp_path / "new.conllu", read_conllu(english_path()))
    assert (tmp_path / "new.conllu").read_bytes() == data
    with pytest.raises(OutputError, match="could not be written"):
        write_conllu(tmp_path / "no" / "folder.conllu", read_conllu(english_path()))


BROKEN = {
    "too few columns": (["1\ta"], "line 2 (sent_id s7): 2 columns where CoNLL-U has 10"),
    "blanks for tabs": (["1 a _ _"], "line 2 (sent_id s7): 1 column where CoNLL-U has 10 (sep"),
    "a wrong first id": ([row(2)], "line 2 (sent_id s7): word '2' where 1 was expected"),
    "ids out of order": ([row(1), row(3, head=1)], "line 3 (sent_id s7): word '3' where 2 was"),
    "an id that is no number": ([row("x")], "line 2 (sent_id s7): word 'x' where 1 was"),
    "a head that is no number": ([row(1, head="x")], "line 2 (sent_id s7): the head is 'x', not"),
    "a negative head": ([row(1, head=-2)], "line 2 (sent_id s7): the head is '-2', not a number"),
    "a huge head": ([row(1, head=10**20)], "line 2 (sent_id s7): the head is '1000000000000"),
    "a head out of range": (
        [row(1), row(2, head=5)],
        "line 3 (sent_id s7): the head of word 2 is 5, but the sentence has 2 words",
    ),
    "its own head": ([row(1), row(2, head=2)], "line 3 (sent_id s7): word 2 is its own head"),
    "an empty cell": (
        [row(1, lemma="")],
        "line 2 (sent_id s7): column 3 is empty; no value is written _",
    ),
    "a range in the wrong place": (
        [row("2-3", "a", "_"), row(1)],
        "line 2 (sent_id s7): the range '2-3' does not begin with the next word, 1",
    ),
    "a range too long": (
        [row("1-3", "a", "_"), row(1), row(2, head=1)],
        "line 2 (sent_id s7): a range that ends with word 3, but the sentence has 2",
    ),
    "an empty node in the wrong place": (
        [row(1), row("4.1", "a", "_")],
        "line 3 (sent_id s7): the empty node '4.1' does not follow word 4",
    ),
    "a comment inside": (
        [row(1), "# sent_id = s8", row(1)],
        "line 3 (sent_id s7): a comment between the words of a sentence",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_with_line_and_sentence(name, tmp_path):
    lines, message = BROKEN[name]
    path = tmp_path / "bad.conllu"
    path.write_text("\n".join(["# sent_id = s7", *lines, "", ""]), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_conllu(path)
    assert f"bad.conllu, {message}" in str(caught.value)
    with pytest.raises(InputError) as caught:
        list(iter_conllu(path, piece=7))
    assert f"bad.conllu, {message}" in str(caught.value)


def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path):
    path = tmp_path / "bad.conllu"
    for spoiled in (row(1, "a\udcff"), row("1-1", "\udcff", "_"), "# \udcff"):
        text = "\n".join(["# sent_id = s7", spoiled, row(1), "", ""])
        path.write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(InputError, match=r"bad.conllu, line 2 \(sent_id s7\): this is not UTF"):
            read_conllu(path)


def test_files_without_words_are_refused():
    for empty in (b"", b"\n\n", b"# only a comment\n\n"):
        with pytest.raises(InputError, match="it has no words"):
            read_conllu(io.BytesIO(empty))
        with pytest.raises(InputError, match="it has no words"):
            list(iter_conllu(io.BytesIO(empty or b"\n")))


@pytest.mark.parametrize(
    ("heads", "single_root", "message"),
    [
        ([2, 3, 1], False, r"line 5 \(sent_id b\): the heads go round in a cycle: 1 → 2 → 3 → 1"),
        ([0, 3, 2], False, r"line 6 \(sent_id b\): the heads go round in a cycle: 2 → 3 → 2"),
        ([0, -1, 1], False, r"line 6 \(sent_id b\): word 2 has no head"),
        ([0, 1, 0], True, r"line 7 \(sent_id b\): words 1 and 3 are both roots: two trees in one"),
        ([0, 1, 0], False, None),
        ([2, 0, 2], True, None),
    ],
)
def test_sentences_that_are_no_trees_are_named(heads, single_root, message):
    lines = ["# sent_id = a", row(1), "", "# sent_id = b"]
    lines += [row(t, head="_" if head < 0 else head) for t, head in enumerate(heads, 1)]
    file = io.StringIO("\n".join(lines) + "\n")
    trees = "one-root" if single_root else "many-roots"
    if message is None:
        assert len(read_conllu(file, trees=trees)) == 2
    else:
        with pytest.raises(InputError, match=message):
            read_conllu(file, trees=trees)
        file.seek(0)
        assert list(read_conllu(file).faults(single_root)) == [1]


@given(st.data())
def test_crossing_arcs_equal_slow_counting(data):
    n = data.draw(st.integers(1, 7))
    heads = [data.draw(st.sampled_from([h for h in range(n + 1) if h != t + 1])) for t in range(n)]
    arcs = [tuple(sorted((head, t))) for t, head in enumerate(heads, 1)]

    def cross(a, b):
        return a[0] < b[0] < a[1] < b[1] or b[0] < a[0] < b[1] < a[1]

    expected = sum(any(cross(a, b) for b in arcs) for a in arcs)
    treebank = Treebank.from_columns([["w"] * n], heads=[heads])
    assert treebank.crossing_arcs().tolist() == [expected]


def test_parts_keep_the_lines_of_the_whole_file():
    lines = ["# sent_id = a", row(1), "", "# sent_id = b", row(1), row(2, head=1), ""]
    treebank = read_conllu(io.StringIO("\n".join(lines)))
    assert treebank[1:].where(0, 1) == "file, line 6 (sent_id b)"
    assert treebank.replace(upos=[["X"], ["Y", "Z"]])[1:].where(0, 0) == "file, line 5 (sent_id b)"
    assert treebank.find("b") == 1
    assert treebank.find("2") == 1
    with pytest.raises(InputError, match="there is no sentence '3'"):
        treebank.find("3")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"upos": [["X"]]}, "2 sentences, but upos for 1"),
        ({"upos": [["X"], ["Y"]]}, "sentence 2: 2 words, but 1 entry in upos"),
        ({"upos": [["X"], ["Y", ""]]}, "sentence 2, word 2: '' cannot be written"),
        ({"upos": [["X"], ["Y", "a\tb"]]}, r"sentence 2, word 2: 'a\\tb' cannot be written"),
        ({"upos": [["X"], ["Y", 3]]}, "sentence 2, word 2: a str is expected in upos, not a int"),
        ({"upos": ["X", "YZ"]}, "sentence 1: a list of upos is expected, not a str"),
        ({"heads": np.zeros(2, int)}, "3 words, but 2 heads"),
        ({"heads": [[0], [0, 7]]}, "the head of word 2 is 7"),
        ({"tags": [["X"], ["Y", "Z"]]}, "there is no column 'tags'"),
    ],
)
def test_columns_that_do_not_fit_are_explained(columns, message):
    with pytest.raises(InputError, match=message):
        Treebank.from_columns([["a"], ["b", "c"]], **columns)


def test_a_long_file_is_read_in_little_memory(tmp_path):
    path = tmp_path / "long.conllu"
    path.write_bytes(english_path().read_bytes() * 100)  # 40 MB
    code = f"""
import resource
from dualstruct.data.conllu import iter_conllu
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
words = sum(len(part.heads) for part in iter_conllu({str(path)!r}, piece=100_000))
print(words, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    words, grown = map(int, done.stdout.split())
    assert words == 100 * len(read_conllu(english_path()).heads)
    assert grown < 15_000  # kilobytes
