"""A true and a predicted tree, with the arcs in which they differ marked; many on one page."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from dualstruct.data.treebank import ConlluSentence
from dualstruct.drawing.svg import WRONG, tree_svg
from dualstruct.drawing.terminal import draw_tree
from dualstruct.errors import InputError
from dualstruct.pages import document

#: The mark of arcs that should be there.
RIGHT = "✓"

_STYLE = """\
body { max-width: none }
figure { margin: .5rem 0 1rem; overflow-x: auto }
figcaption { color: var(--soft) }"""


def wrong_words(truth: ConlluSentence, predicted: ConlluSentence) -> list[int]:
    """The words, counted from 1, that have another head or relation.

    >>> from dualstruct.datasets import load_english
    >>> sentence = load_english()[0]
    >>> wrong_words(sentence, sentence)
    []
    """
    if truth.forms != predicted.forms:
        raise InputError("two trees can be compared over the same words, and these differ")
    arcs = (zip(each.heads, each.relations, strict=True) for each in (truth, predicted))
    return [word for word, (a, b) in enumerate(zip(*arcs, strict=True), 1) if a != b]


def draw_comparison(
    truth: ConlluSentence, predicted: ConlluSentence, *, width: int | None = None
) -> str:
    """Draw the true tree and the predicted one, arcs that are wrong marked.

    The marks are ✓ for true arcs that were not predicted, and ✗ for what was predicted instead.

    Parameters
    ----------
    truth, predicted : ConlluSentence
        Of the same words.
    width : int, optional
        The width in columns; that of the terminal by default.

    Examples
    --------
    >>> from dualstruct.data.conllu import Treebank
    >>> truth = Treebank.from_columns([["Ada", "sings"]], [[2, 0]], relations=[["nsubj", "root"]])
    >>> print(draw_comparison(truth[0], truth.replace(relations=[["obj", "root"]])[0]))
    gold
            root
     ╭─✓nsubj─╮│
     ✓        │▼
    Ada      sings
    <BLANKLINE>
    predicted
            root
     ╭─✗obj─╮│
     ✗      │▼
    Ada    sings
    """
    columns = width or shutil.get_terminal_size().columns
    wrong = wrong_words(truth, predicted)
    drawn = []
    for name, sentence, mark in (("gold", truth, RIGHT), ("predicted", predicted, WRONG)):
        marks = dict.fromkeys(wrong, mark)
        tree = draw_tree(
            sentence.forms, sentence.heads, shown_relations(sentence), width=columns, marks=marks
        )
        drawn.append(f"{name}\n{tree}")
    return "\n\n".join(drawn)


def shown_relations(sentence: ConlluSentence) -> list[str]:
    """Relations without the mark of those that are not there."""
    return ["" if relation == "_" else relation for relation in sentence.relations]


def sentence_svg(sentence: ConlluSentence, marks: Mapping[int, str] | None = None) -> str:
    """A sentence with its tags, if it has some."""
    tags = sentence.upos if any(tag != "_" for tag in sentence.upos) else None
    relations = shown_relations(sentence)
    return tree_svg(sentence.forms, sentence.heads, relations, tags=tags, marks=marks)


def tree_page(
    sentences: Iterable[tuple[str, Sequence[ConlluSentence]]], title: str = "Trees"
) -> str:
    """A page with many trees and no external files.

    Parameters
    ----------
    sentences : iterable of pairs
        A name, and a tree, or the true tree and the predicted one.
    title : str

    Examples
    --------
    >>> from dualstruct.datasets import load_english
    >>> page = tree_page((one.sent_id, [one]) for one in load_english()[:3])
    >>> page.count("<svg")
    3
    """
    parts = []
    for name, trees in sentences:
        parts.append(f"<section>\n<h2>{escape(name)}</h2>")
        if len(trees) == 1:
            parts.append(f"<figure>{sentence_svg(trees[0])}</figure>")
        else:
            truth, predicted = trees
            wrong = wrong_words(truth, predicted)
            for what, tree, mark in (("gold", truth, RIGHT), ("predicted", predicted, WRONG)):
                picture = sentence_svg(tree, dict.fromkeys(wrong, mark))
                parts.append(f"<figure><figcaption>{what}</figcaption>{picture}</figure>")
        parts.append("</section>")
    return document(title, "\n".join(parts), _STYLE)
