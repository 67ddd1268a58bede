"""The command ``dualstruct explain``: why a model said what it said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualstruct.cli.options import (
    Presplit,
    SameColumns,
    Splitting,
    Text,
    TokenizerOption,
    splitting,
)
from dualstruct.cli.output import console, print_json, tell, write
from dualstruct.errors import InputError
from dualstruct.printable import printable

if TYPE_CHECKING:
    from dualstruct.cli.models import Commands
    from dualstruct.explaining import Explanation

FORMATS = ("text", "html", "json")


def explain(
    model: Annotated[Path, typer.Argument(help="A model file that train wrote.")],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|SENTENCE",
            help="A column file, or CoNLL-U for parsers; - is standard input. Or a sentence, in "
            "quotes, for models that look at words alone.",
        ),
    ] = "-",
    text: Text = False,
    presplit: Presplit = False,
    tokenizer: TokenizerOption = None,
    sentence: Annotated[
        str | None, typer.Option(help="Only this one: its number from 1, or its sent_id.")
    ] = None,
    token: Annotated[
        int | None, typer.Option(min=1, help="Only this token, counted from 1.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="How many sentences to explain at most.")] = 10,
    top: Annotated[
        int, typer.Option(min=1, help="How many contributions to show one by one, as text.")
    ] = 12,
    columns: SameColumns = None,
    format: Annotated[str, typer.Option(help="text, html or json.")] = "text",
) -> None:
    """Show which features and transitions made each label, or each arc, beat the runner-up.

    The runner-up is the best whole labelling, or tree, in which the token has another label, head
    or relation. The contributions add up to the difference of the two scores.
    """
    from dualstruct.cli.models import open_model

    if format not in FORMATS:
        raise InputError(f"--format is {format!r}; it is {', '.join(FORMATS)}")
    if token is not None and sentence is None:
        sentence = "1"
    opened = open_model(model)
    split = splitting(text, presplit, tokenizer)
    explanations = list(_explanations(opened, file, split, sentence, token, most, columns))
    if format == "json":
        rows = [{"sentence": number, **each.to_dict()} for number, each in explanations]
        print_json({"sentences": rows})
    elif format == "html":
        from dualstruct.explaining.html import page

        shown = page([each for _, each in explanations], f"{model.name}: explanations")
        write(shown.removesuffix("\n").split("\n"))
    else:
        _print(explanations, top)


def _print(explanations: list[tuple[int, Explanation]], top: int) -> None:
    from rich.text import Text

    from dualstruct.explaining.terminal import explanation_lines

    screen = console()
    for number, each in explanations:
        screen.print(Text(printable(f"# {number} {' '.join(each.forms)}"), style="dim"))
        screen.print(explanation_lines(each, top))


def _explanations(
    opened: Commands,
    file: str,
    text: Splitting | None,
    sentence: str | None,
    token: int | None,
    most: int,
    columns: str | None,
) -> Iterator[tuple[int, Explanation]]:
    """The sentences that are wanted, with their numbers."""
    if " " in file.strip() and not Path(file).exists():
        sentences: Iterator[tuple[str | None, Any]] = iter([(None, opened.words(file))])
    else:
        sentences = opened.sentences(file, text, columns)
    found = False
    for number, (name, one) in enumerate(sentences, 1):
        if sentence is None and number > most:
            tell(f"only {most} sentences are explained; see --most")
            return
        if sentence in (None, str(number), name):
            found = True
            yield number, opened.model.explain(one, token)
            if sentence is not None:
                return
    if not found and sentence is not None:
        raise InputError(f"there is no sentence {sentence}")
