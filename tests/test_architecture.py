"""What docs/architecture.md says of the way from a file to weights is what happens."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import dualstruct
from dualstruct import SequenceTagger, read_columns
from dualstruct.datasets import load_english

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
PACKAGE = Path(dualstruct.__file__).parent


def walk() -> list[tuple[str, str]]:
    """The functions of the table, with their files."""
    text = PAGE.read_text(encoding="utf-8").partition("## From a column file to weights")[2]
    return re.findall(r"^\| `([\w.]+)` \| `([\w/.]+)` \|", text.partition("\n## ")[0], re.MULTILINE)


def test_the_way_from_a_file_to_weights_is_the_one_that_the_page_walks(tmp_path):
    file = tmp_path / "train.txt"
    sentences = load_english("train")[:40]
    blocks = (zip(each.forms, each.entities, strict=True) for each in sentences)
    text = "\n\n".join("\n".join(f"{word} {label}" for word, label in each) for each in blocks)
    file.write_text(text, encoding="utf-8")
    wanted = dict(walk())
    first: dict[str, None] = {}

    def called(frame, event, argument):
        if event == "call":
            code = frame.f_code
            for name, place in wanted.items():
                # Python 3.10 does not say whose method it is.
                known = getattr(code, "co_qualname", None) or name.rpartition(".")[2]
                same = known in (name, code.co_name) and code.co_name == name.rpartition(".")[2]
                if same and Path(code.co_filename) == PACKAGE / place:
                    first.setdefault(name)

    sys.setprofile(called)
    try:
        read = read_columns(file)
        SequenceTagger(features="ner", gap=0.01).fit(read.tokens, read.labels)
    finally:
        sys.setprofile(None)
    assert list(first) == [name for name, _ in walk()]
    assert len(set(wanted.values())) <= 15
