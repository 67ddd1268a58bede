"""Every text file that is read, is read in the same way: marks, line ends, compression, errors."""

from __future__ import annotations

import gzip
import lzma

import pytest

from dualstruct import InputError, read_columns, read_conllu
from dualstruct.data.blocks import read_blocks
from dualstruct.data.conllu import iter_conllu
from dualstruct.data.lines import sentence_blocks
from dualstruct.data.sources import ColumnFiles, TreeFiles
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.features import make_extractor
from dualstruct.features.clusters import read_clusters
from dualstruct.features.gazetteers import read_gazetteer
from dualstruct.labels.given_costs import read_costs
from dualstruct.workers.communicator import SingleWorker

CELLS = "1\tAda\t_\tPROPN\t_\t_\t0\troot\t_\t_\n"


def columns_of(file):
    return [list(sentence) for sentence in file.tokens], [list(row) for row in file.labels]


def templates_of(path):
    return make_extractor(path).state()[0]


#: Text, and what reading it from a file comes to, for each kind of text file.
READERS = {
    "columns": ("Ada B\nsings O\n\nBo B\n", lambda path: columns_of(read_columns(path))),
    "columns by blocks": (
        "Ada B\nsings O\n\nBo B\n",
        lambda path: [columns_of(block) for block in read_blocks(path, block_bytes=8)],
    ),
    "columns of workers": (
        "Ada B\nsings O\n\nBo B\n",
        lambda path: [list(x) for x in ColumnFiles((path,)).share(SingleWorker(), 0).X],
    ),
    "trees": (CELLS, lambda path: [s.forms for s in read_conllu(path)]),
    "trees by blocks": (CELLS, lambda path: [s.forms for t in iter_conllu(path) for s in t]),
    "trees of workers": (
        CELLS,
        lambda path: [s.forms for s in TreeFiles((path,)).share(SingleWorker(), 0).X],
    ),
    "templates": ("word[0]\nword[-1] & word[0]\n", templates_of),
    "templates of CRF++": ("U00:%x[0,0]\nB\n", templates_of),
    "templates of Wapiti": ("u:wrd=%x[0,0]\nb\n", templates_of),
    "gazetteer": (
        "New York\nRome\n",
        lambda path: [array.tolist() for array in read_gazetteer(path).arrays()],
    ),
    "clusters": ("0010\tTurin\t12\n01\tAda\t3\n", lambda path: read_clusters(path).path("Turin")),
    "costs": ("B O 2.0\nO 0.5\n", read_costs),
    "lines": (
        "Ada sings\nHello\n",
        lambda path: [list(s) for b in sentence_blocks(str(path), Tokenizer()) for s in b],
    ),
}
#: Before what a byte is put that is not UTF-8.
SPOILED = {
    **dict.fromkeys([name for name in READERS if name.startswith("columns")], "Bo"),
    **dict.fromkeys([name for name in READERS if name.startswith("trees")], "Ada"),
    **dict.fromkeys([name for name in READERS if name.startswith("templates")], "[0"),
    "gazetteer": "Rome",
    "clusters": "Ada",
    "costs": "O 0.5",
    "lines": "Hello",
}
DISGUISES = {
    "with a mark": lambda data: b"\xef\xbb\xbf" + data,
    "with the line ends of Windows": lambda data: data.replace(b"\n", b"\r\n"),
    "with both": lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"),
    "without a last line end": lambda data: data.rstrip(b"\n"),
}


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("reader", READERS)
def test_marks_and_line_ends_make_no_difference(reader, disguise, tmp_path):
    text, read = READERS[reader]
    plain, other = tmp_path / "plain" / "file.txt", tmp_path / "other" / "file.txt"
    for path in (plain, other):
        path.parent.mkdir()
    plain.write_bytes(text.encode())
    other.write_bytes(DISGUISES[disguise](text.encode()))
    assert read(other) == read(plain)


@pytest.mark.parametrize("ending", [".gz", ".xz"])
@pytest.mark.parametrize("reader", READERS)
def test_compressed_files_are_unpacked(reader, ending, tmp_path):
    text, read = READERS[reader]
    plain, packed = tmp_path / "file.txt", tmp_path / f"file.txt{ending}"
    plain.write_bytes(text.encode())
    packed.write_bytes({".gz": gzip, ".xz": lzma}[ending].compress(text.encode()))
    assert read(packed) == read(plain)


@pytest.mark.parametrize("reader", READERS)
def test_what_is_not_utf_8_is_refused_by_file_and_line(reader, tmp_path):
    text, read = READERS[reader]
    before, spoiled, after = text.partition(SPOILED[reader])
    path = tmp_path / "file.txt"
    path.write_bytes(before.encode() + b"\xff" + spoiled.encode() + after.encode())
    line = before.count("\n") + 1
    with pytest.raises(InputError, match=rf"^file\.txt, line {line}: this is not UTF-8 text$"):
        read(path)


@pytest.mark.parametrize("text", ["\ufeffword[0]\n", "\ufeffU00:%x[0,0]\n"])
def test_a_mark_before_template_text_makes_no_difference(text):
    plain = make_extractor(text.removeprefix("\ufeff"))
    assert make_extractor(text).state()[0] == plain.state()[0]
