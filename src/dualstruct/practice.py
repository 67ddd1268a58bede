"""Files to practise on: the embedded corpus in three formats, which ``dualstruct demo`` writes."""

from __future__ import annotations

import io
import json
from pathlib import Path

from dualstruct.data.columns import write_columns
from dualstruct.data.conllu import Treebank, write_conllu
from dualstruct.data.writing import replace_file
from dualstruct.datasets import load_english
from dualstruct.errors import InputError
from dualstruct.texts import iter_documents

LETTER = (
    "Dr Ines Calder moved from Lisbon to Oslo in March. "
    "Please send 20 kilograms of rice to Harbour Foods by Friday.\n"
)
#: One sentence in this many of the training part goes to the development files.
DEV_EVERY = 6


def write_files(folder: Path) -> list[Path]:
    """Write the embedded corpus in three formats, and a text to try a model on."""
    train = load_english("train")
    parts = {
        "train": train.select([i for i in range(len(train)) if i % DEV_EVERY]),
        "dev": train[::DEV_EVERY],
        "test": load_english("test"),
    }
    endings = (".conllu", ".txt", ".jsonl")
    paths = [folder / f"{part}{ending}" for part in parts for ending in endings]
    paths.append(folder / "letter.txt")
    for path in paths:
        if path.exists():
            raise InputError(f"{path} already exists, and is not overwritten")
    folder.mkdir(parents=True, exist_ok=True)
    for part, trees in parts.items():
        write_conllu(folder / f"{part}.conllu", trees)
        entities = [sentence.entities for sentence in trees]
        write_columns(folder / f"{part}.txt", trees.forms, entities)
        replace_file(folder / f"{part}.jsonl", _texts(trees).encode())
    replace_file(folder / "letter.txt", LETTER.encode())
    return paths


def _texts(trees: Treebank) -> str:
    """Each sentence as a line of JSON: its text, and the spans of its entities."""
    written = io.StringIO()
    write_conllu(written, trees)
    lines = []
    for document in iter_documents(io.StringIO(written.getvalue()), "conllu"):
        marked = [{"start": s.start, "end": s.end, "label": s.label} for s in document.spans or ()]
        lines.append(json.dumps({"text": document.text, "spans": marked}, ensure_ascii=False))
    return "\n".join(lines) + "\n"
