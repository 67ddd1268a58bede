"""JSON nested thousands deep, wherever JSON is read, is refused or taken for something else."""

from __future__ import annotations

import json

import pytest

from dualstruct import InputError, SequenceTagger, load_model, read_columns
from dualstruct.data.arrays import format_of, read_arrays
from dualstruct.data.blocks import read_blocks
from dualstruct.data.schema import parse_json
from dualstruct.features import make_extractor
from dualstruct.serving.requests import RequestError, read_object
from dualstruct.training.checkpoints import _verified

DEEP = ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000, "[" * 990 + "]" * 990]


def header(text: str) -> bytes:
    return len(text.encode()).to_bytes(8, "little") + text.encode()


#: What a reader gets of the JSON, and the reader.
READERS = {
    "a header": (str.encode, lambda path: parse_json(path.read_bytes(), "the header")),
    "a model": (header, load_model),
    "a model's metadata": (
        lambda text: header(json.dumps({"__metadata__": {"dualstruct": text}})),
        load_model,
    ),
    "arrays": (header, lambda path: read_arrays(path, "dualstruct model")),
    "what a file is": (header, format_of),
    "columns": (str.encode, read_columns),
    "columns by blocks": (str.encode, lambda path: list(read_blocks(path))),
    "training": (str.encode, lambda path: SequenceTagger(passes=1).fit(path)),
    "templates": (str.encode, make_extractor),
    "a manifest": (str.encode, lambda path: _verified(path.read_bytes())),
    "a request": (str.encode, lambda path: read_object(path.read_bytes(), ("text",))),
}


@pytest.mark.parametrize("text", DEEP, ids=["lists", "objects", "closed", "a little"])
@pytest.mark.parametrize("reader", READERS)
def test_json_nested_deeply_is_a_sentence(reader, text, tmp_path):
    wrapped, read = READERS[reader]
    path = tmp_path / "deep.txt"
    path.write_bytes(wrapped(text))
    said = ""
    try:
        read(path)
    except (InputError, RequestError) as refused:
        said = str(refused)
    assert len(said) < 1000


@pytest.mark.parametrize("header", ["gazetteer cities na\0me.txt", "clusters na\0me.txt"])
def test_a_name_that_no_file_can_have_is_refused(header, tmp_path):
    use = "in(cities,word[0])" if "gazetteer" in header else "cluster(word[0],4)"
    path = tmp_path / "templates"
    path.write_text(f"columns word\n{header}\n{use}\n")
    with pytest.raises(InputError, match=r"na.*me\.txt"):
        SequenceTagger(features=str(path), passes=1).fit([["Ada"]], [["B"]])
