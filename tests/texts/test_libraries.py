"""Formats of other libraries, by the libraries themselves."""

from __future__ import annotations

import json
import sys

import pytest

from dualstruct import InputError, read_texts
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


class ListOf:
    """A feature of datasets: lists of labels that have names."""

    def __init__(self, names):
        self.feature = type("ClassLabel", (), {"names": names})()


class Rows:
    """As the library datasets has them, as far as reading looks."""

    def __init__(self, rows, **features):
        self.rows, self.features, self.column_names = rows, features, list(rows[0])

    def __iter__(self):
        return iter(self.rows)


def test_a_dataset_is_read_with_names_of_labels():
    rows = [{"tokens": ["Ada", "left"], "ner_tags": [1, 0]}, {"tokens": ["Hi"], "ner_tags": [0]}]
    dataset = Rows(rows, tokens=None, ner_tags=ListOf(["O", "B-PER"]))
    corpus = read_texts(dataset)
    assert (list(corpus.tokens), corpus.labels) == (
        [["Ada", "left"], ["Hi"]],
        [["B-PER", "O"], ["O"]],
    )
    rows[1]["ner_tags"] = [7]
    with pytest.raises(InputError, match=r"dataset, row 2: there is no label 7; there are 2"):
        read_texts(dataset)
    with pytest.raises(InputError, match=r"several datasets, train, test: give one of them"):
        read_texts({"train": dataset, "test": dataset})


def test_the_real_datasets_are_read(tmp_path):
    # A module of it: a folder of tests has its name.
    pytest.importorskip("datasets.arrow_dataset", reason="the library datasets is not installed")
    import datasets

    names = datasets.Sequence(datasets.ClassLabel(names=["O", "B-PER", "I-PER"]))
    words = datasets.Sequence(datasets.Value("string"))
    made = datasets.Dataset.from_dict(
        {"tokens": [["Ada", "Wu", "left"], ["Hi"]], "ner_tags": [[1, 2, 0], [0]]},
        features=datasets.Features({"tokens": words, "ner_tags": names}),
    )
    made.save_to_disk(tmp_path / "disk")
    made.to_parquet(tmp_path / "a.parquet")
    datasets.DatasetDict({"train": made}).save_to_disk(tmp_path / "several")
    places = [tmp_path / "disk", tmp_path / "a.parquet", tmp_path / "several" / "train"]
    for source in [made, made.with_format("numpy"), made.to_iterable_dataset(), *places]:
        assert read_texts(source).labels == [["B-PER", "I-PER", "O"], ["O"]]
    with pytest.raises(InputError, match=r"several: it holds several datasets, train; name the"):
        read_texts(tmp_path / "several")


def test_a_folder_of_arrow_files_is_read_as_its_state_says(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")

    def put(name, text):
        path = tmp_path / f"{name}.arrow"
        write_documents(path, [Document(text, [], [(0, 2)], [0, 1])])
        path.rename(tmp_path / name)

    put("data-1.arrow", "Bo")
    put("data-0.arrow", "Al")
    assert [each.text for each in iter_documents(tmp_path)] == ["Al", "Bo"]
    put("cache-2.arrow", "No")
    listed = [{"filename": "data-1.arrow"}, {"filename": "data-0.arrow"}]
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": listed}))
    assert [each.text for each in iter_documents(tmp_path)] == ["Bo", "Al"]
    (tmp_path / "state.json").write_text("[]")
    with pytest.raises(InputError, match=r"state.json: it cannot be read"):
        list(iter_documents(tmp_path))


def test_arrow_is_known_by_its_content(document, tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    write_documents(tmp_path / "a.arrow", [document])
    stream = (tmp_path / "a.arrow").rename(tmp_path / "stream")
    table = arrow.ipc.open_stream(str(stream)).read_all()
    with arrow.ipc.new_file(str(tmp_path / "file"), table.schema) as writer:
        writer.write_table(table)
    for path in (stream, tmp_path / "file"):
        assert find_format(path).name == "arrow"
        assert [(d.text, d.spans) for d in iter_documents(path)] == [(TEXT, document.spans)]


@pytest.mark.parametrize("name", [n for n, each in FORMATS.items() if each.needs_library])
def test_a_missing_library_is_named(name, monkeypatch, tmp_path):
    needed = FORMATS[name].needs_library
    for module in [m for m in sys.modules if m.partition(".")[0] == needed]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, needed, None)
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(InputError, match=rf" needs {needed}: pip install 'dualstruct\["):
        list(iter_documents(tmp_path / "a", name))
