"""Formats of other libraries, by the libraries themselves."""

from __future__ import annotations

import json
import sys

import pytest

from dualstruct import InputError
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.texts import Document, TextSpan, iter_documents, write_documents
from dualstruct.texts.documents import split_documents
from dualstruct.texts.formats import FORMATS, find_format

TEXT = " Ada Wu left.\n\nRome  👍🏽 我。e\u0301 "


@pytest.fixture
def document():
    made = Document(TEXT, [TextSpan(1, 7, "PER"), TextSpan(15, 19, "LOC")])
    split_documents([made], Tokenizer())
    return made


def test_docbin_comes_back(document, tmp_path):
    pytest.importorskip("spacy", reason="spaCy is not installed: pip install dualstruct[spacy]")
    write_documents(tmp_path / "a.spacy", [document, Document("", [], [], [0])])
    first, second = iter_documents(tmp_path / "a.spacy")
    assert (first.text, first.spans) == (TEXT, document.spans)
    assert second.text == ""
    (tmp_path / "b.spacy").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"b.spacy: spaCy cannot read it"):
        list(iter_documents(tmp_path / "b.spacy"))


def test_docbin_has_tags():
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    import io

    doc = spacy.tokens.Doc(spacy.blank("en").vocab, ["a", "dog"], tags=["DT", "NN"])
    data = spacy.tokens.DocBin(docs=[doc]).to_bytes()
    [found] = iter_documents(io.BytesIO(data), "spacy", "tag")
    assert (found.words(), found.labels) == ([["a", "dog"]], ["DT", "NN"])


def test_parquet_comes_back(document, tmp_path):
    pytest.importorskip(
        "pyarrow", reason="pyarrow is not installed: pip install dualstruct[parquet]"
    )
    write_documents(tmp_path / "a.parquet", [document])
    assert find_format(tmp_path / "a.parquet").name == "parquet"
    [found] = iter_documents(tmp_path / "a.parquet")
    assert (found.text, found.spans) == (TEXT, document.spans)
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and nothing")
    with pytest.raises(InputError, match=r"b.parquet: "):
        list(iter_documents(tmp_path / "b.parquet"))


@pytest.mark.parametrize("kind", ["parquet", "stream", "file"])
def test_files_of_datasets_are_read_with_names_of_labels(kind, tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet

    names = ["O", "B-PER", "I-PER"]
    label = {"feature": {"names": names, "_type": "ClassLabel"}, "_type": "Sequence"}
    noted = json.dumps({"info": {"features": {"ner_tags": label}}})
    table = arrow.table({"tokens": [["Ada", "Wu", "left"], ["Hi"]], "ner_tags": [[1, 2, 0], [0]]})
    table = table.replace_schema_metadata({b"huggingface": noted.encode()})
    path = tmp_path / ("a.parquet" if kind == "parquet" else "a.arrow")
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        new = arrow.ipc.new_stream if kind == "stream" else arrow.ipc.new_file
        with new(str(path), table.schema) as writer:
            writer.write_table(table)
    first, second = iter_documents(path)
    assert (first.text, first.spans) == ("Ada Wu left", [TextSpan(0, 6, "PER")])
    assert (second.text, second.spans) == ("Hi", [])


@pytest.mark.parametrize("name", [n for n, each in FORMATS.items() if each.needs_library])
def test_a_missing_library_is_named(name, monkeypatch, tmp_path):
    needed = FORMATS[name].needs_library
    for module in [m for m in sys.modules if m.partition(".")[0] == needed]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, needed, None)
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(InputError, match=rf"the format {name} needs {needed}: pip install"):
        list(iter_documents(tmp_path / "a", name))
