"""What the command ``dualstruct`` does with trees: score them and draw them."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dualstruct.drawing import draw_tree, tree_svg
from dualstruct.errors import InputError
from dualstruct.files.conllu import ConlluSentence, Treebank, looks_like_conllu, read_conllu
from dualstruct.files.opening import read_bytes
from dualstruct.files.writing import replace_file
from dualstruct.metrics import TreeScores, evaluate_trees


def is_treebank(path: str | Path) -> bool:
    """Whether a file is CoNLL-U or CoNLL-X, by its name or its first row."""
    names = Path(path).suffixes
    if any(suffix in names for suffix in (".conllu", ".conllx")):
        return True
    return Path(path).is_file() and looks_like_conllu(read_bytes(path))


def compare_files(gold: str | Path, predicted: str | Path) -> TreeScores:
    """The scores of the trees in one file against those in another one."""
    return evaluate_trees(read_conllu(gold), read_conllu(predicted))


def scores_as_json(scores: TreeScores) -> dict[str, Any]:
    return {**asdict(scores), "without_punctuation": scores.without_punctuation._asdict()}


def draw_file(
    file: str, sentence: str | None, svg: Path | None, width: int | None, most: int
) -> list[str]:
    """The drawings of a file's sentences, or of one of them; with ``svg`` it becomes a file."""
    treebank = read_conllu(file)
    if svg is not None:
        if svg.suffix != ".svg":
            raise InputError(f"--svg writes a picture: {svg} should end in .svg")
        i = 0 if sentence is None else treebank.find(sentence)
        one = treebank[i]
        _check_heads(treebank, i)
        tags = one.upos if any(tag != "_" for tag in one.upos) else None
        picture = tree_svg(one.forms, one.heads, _labels(one), tags=tags)
        replace_file(svg, picture.encode())
        return [f"sentence {i + 1} drawn to {svg}"]
    chosen = range(min(most, len(treebank))) if sentence is None else [treebank.find(sentence)]
    lines: list[str] = []
    columns = width or shutil.get_terminal_size().columns
    for i in chosen:
        _check_heads(treebank, i)
        one = treebank[i]
        lines += [f"# {one.sent_id or i + 1}", "", drawing(one, columns), ""]
    if len(chosen) < len(treebank) and sentence is None:
        lines.append(f"… {len(treebank) - len(chosen):,} more; --sentence or --most shows them")
    return lines


def drawing(sentence: ConlluSentence, width: int) -> str:
    return draw_tree(sentence.forms, sentence.heads, _labels(sentence), width=width)


def _labels(sentence: ConlluSentence) -> list[str]:
    return ["" if relation == "_" else relation for relation in sentence.relations]


def _check_heads(treebank: Treebank, i: int) -> None:
    begin, end = treebank.sentences[i : i + 2]
    if (treebank.heads[begin:end] < 0).all():
        raise InputError(f"{treebank.where(i, 0)}: the sentence has no heads to draw")
