"""Where the corpora are, and how each is read. Nothing here is timed."""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

from benchmark_utils.problems import Labels, Parsing, Tagging
from dualstruct.features.presets import PRESETS

sys.path.append(str(Path(__file__).parents[2]))  # of all benchmarks

from measuring import DATA, plain_tag

Sentences = tuple[list[list[tuple[str, ...]]], Labels]

#: folder, templates, judged by spans; each has train, test and perhaps dev files.
TAGGING = {
    "conll2000": ("conll2000", "chunking-small", True),
    "ewt-xpos": ("ud_english_ewt", "pos", False),
    "brown": ("brown", "pos", False),
    "jnlpba": ("jnlpba", "ner", True),
    "wnut17": ("wnut17", "ner", True),
    "kb_dutch_ner": ("kb_dutch_ner", "ner", True),
    "usaddress": ("usaddress", "pos", False),
    "twpos": ("twpos", "pos", False),
}
#: folder, suffix, projective.
PARSING = {
    "ewt-trees": ("ud_english_ewt", "conllu", True),
    "ddt-trees": ("ddt_conllx", "conllx", False),
}


def tagging(corpus: str) -> Tagging:
    name, preset, spans = TAGGING[corpus]
    parts = {}
    for part in ("train", "dev", "test"):
        path = DATA / name / f"{part}.{'conllu' if corpus == 'ewt-xpos' else 'txt'}.xz"
        if path.exists():
            parts[part] = words_and_tags(path) if corpus == "ewt-xpos" else columns(path)
    if corpus == "brown":
        parts = {
            part: (x, [[plain_tag(t) for t in s] for s in y]) for part, (x, y) in parts.items()
        }
    return Tagging(PRESETS[preset], parts["train"], parts.get("dev"), parts["test"], spans)


def parsing(corpus: str, scratch: Path) -> Parsing:
    """The files, unpacked into ``scratch`` because not every tool reads xz."""
    name, suffix, projective = PARSING[corpus]
    paths: dict[str, Path] = {}
    for part in ("train", "dev", "test"):
        packed = DATA / name / f"{part}.{suffix}.xz"
        if packed.exists():
            paths[part] = scratch / f"{corpus}-{part}.conllu"
            paths[part].write_bytes(lzma.decompress(packed.read_bytes()))
    return Parsing(paths["train"], paths.get("dev"), paths["test"], projective)


def columns(path: Path) -> Sentences:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        blocks = [block.split("\n") for block in file.read().strip("\n").split("\n\n")]
    rows = [[tuple(line.split("\t")) for line in block] for block in blocks]
    return [[row[:-1] for row in s] for s in rows], [[row[-1] for row in s] for s in rows]


def words_and_tags(path: Path) -> Sentences:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        blocks = file.read().strip("\n").split("\n\n")
    sentences = [
        [row for line in block.split("\n") if (row := line.split("\t"))[0].isdigit()]
        for block in blocks
    ]
    return [[(row[1],) for row in s] for s in sentences], [[row[4] for row in s] for s in sentences]
