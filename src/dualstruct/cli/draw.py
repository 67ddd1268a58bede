"""The command ``dualstruct draw``: trees in the terminal, as a picture, or many on a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dualstruct.cli.files import check_page, write_page
from dualstruct.cli.options import Json
from dualstruct.cli.output import print_json, say
from dualstruct.cli.parameters import Argument, Option
from dualstruct.errors import InputError
from dualstruct.printable import printable
from dualstruct.screen import Screen, Text

if TYPE_CHECKING:
    from dualstruct.data.conllu import Treebank


def draw(
    file: Annotated[
        str, Argument(metavar="FILE|GOLD", help="A CoNLL-U file; - is standard input.")
    ],
    predicted: Annotated[
        str | None,
        Argument(
            metavar="PREDICTED",
            help="Predicted trees of the same sentences; where they differ, both "
            "trees are drawn and wrong arcs are marked.",
        ),
    ] = None,
    sentence: Annotated[
        str | None, Option(help="Only this sentence: its sent_id, or its number from 1.")
    ] = None,
    svg: Annotated[
        Path | None, Option(help="Draw one sentence (the first one by default) to this SVG file.")
    ] = None,
    html: Annotated[
        Path | None, Option(help="Draw the sentences on an HTML page in this file.")
    ] = None,
    most: Annotated[int, Option(min=1, help="The maximum number of sentences to draw.")] = 10,
    width: Annotated[
        int | None, Option(min=20, help="The width in columns; that of the terminal by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw dependency trees in the terminal, as SVG or on an HTML page.

    With PREDICTED, both trees of each sentence in which they differ are drawn; crosses mark wrong
    arcs, check marks the correct ones.
    """
    from dualstruct.data.conllu import read_conllu
    from dualstruct.metrics.words import check_same_words

    check_page(html, [file, predicted])
    treebank = read_conllu(file)
    other = None
    if predicted is not None:
        if svg is not None:
            raise InputError("--svg draws one tree; --html draws both on a page")
        other = read_conllu(predicted)
        check_same_words(treebank, other)
    if svg is not None:
        i = _draw_svg(treebank, sentence, svg)
        if as_json:
            print_json({"sentences": [_tree(treebank, None, i)], "svg": str(svg)})
        else:
            say(f"sentence {i + 1} drawn to {svg}")
        return
    chosen = _chosen(treebank, other, sentence)
    shown = chosen[:most]
    for i in shown:
        for each in (treebank, other):
            if each is not None:
                _check_heads(each, i)
    if html is not None:
        _draw_page(treebank, other, shown, html)
    if as_json:
        print_json({"sentences": [_tree(treebank, other, i) for i in shown]})
        return
    if html is None:
        _draw_text(treebank, other, shown, width or shutil.get_terminal_size().columns)
    if not chosen:
        say("the trees are the same in both files")
    if len(shown) < len(chosen):
        say(f"… {len(chosen) - len(shown):,} more; --sentence or --most shows them")


def _tree(treebank: Treebank, other: Treebank | None, i: int) -> dict[str, Any]:
    """What is drawn, for JSON."""
    one = treebank[i]
    found: dict[str, Any] = {
        "sentence": i + 1,
        "sent_id": one.sent_id,
        "tokens": one.forms,
        "heads": one.heads,
        "relations": one.relations,
    }
    if other is not None:
        from dualstruct.drawing.comparison import wrong_words

        found |= {
            "predicted_heads": other[i].heads,
            "predicted_relations": other[i].relations,
            "wrong": wrong_words(one, other[i]),
        }
    return found


def _chosen(treebank: Treebank, other: Treebank | None, sentence: str | None) -> list[int]:
    """The sentences to draw: one, all, or those that differ."""
    if sentence is not None:
        return [treebank.find(sentence)]
    if other is None:
        return list(range(len(treebank)))
    from dualstruct.mistakes import tree_mistakes
    from dualstruct.mistakes.kinds import ARC_KINDS

    wrong = (each for each in tree_mistakes(treebank, other) if each.kind in ARC_KINDS)
    return sorted({each.sentence - 1 for each in wrong})


def _draw_svg(treebank: Treebank, sentence: str | None, svg: Path) -> int:
    """Draw a sentence to a file; its number, from 0."""
    from dualstruct.data.writing import replace_file
    from dualstruct.drawing.comparison import sentence_svg

    if svg.suffix != ".svg":
        raise InputError(f"--svg writes a picture: {svg} should end in .svg")
    i = 0 if sentence is None else treebank.find(sentence)
    _check_heads(treebank, i)
    replace_file(svg, sentence_svg(treebank[i]).encode())
    return i


def _draw_page(
    treebank: Treebank, other: Treebank | None, shown: Iterable[int], html: Path
) -> None:
    from dualstruct.drawing import tree_page

    sentences = (
        (
            f"{i + 1} {treebank.sent_id(i)}".rstrip(),
            [each[i] for each in (treebank, other) if each is not None],
        )
        for i in shown
    )
    write_page(html, tree_page(sentences, treebank.name))


def _draw_text(
    treebank: Treebank, other: Treebank | None, shown: Iterable[int], columns: int
) -> None:
    screen = Screen()
    from dualstruct.drawing import draw_comparison, draw_tree
    from dualstruct.drawing.comparison import shown_relations

    for i in shown:
        one = treebank[i]
        if other is None:
            drawing = draw_tree(one.forms, one.heads, shown_relations(one), width=columns)
        else:
            drawing = draw_comparison(one, other[i], width=columns)
        text = Text(printable(f"# {one.sent_id or i + 1}\n\n{drawing}\n", keep="\n"))
        if other is not None:
            text = text.styled("✗[^\\s─│╭╮├┤┼]*", "bold red")
            text = text.styled("✓[^\\s─│╭╮├┤┼]*", "bold green")
        screen.print(text)


def _check_heads(treebank: Treebank, i: int) -> None:
    begin, end = treebank.sentences[i : i + 2]
    if (treebank.heads[begin:end] < 0).all():
        raise InputError(f"{treebank.where(i, 0)}: the sentence has no heads to draw")
