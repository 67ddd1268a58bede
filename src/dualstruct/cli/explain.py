"""The command ``dualstruct explain``: why a model said what it said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dualstruct.cli.options import (
    Json,
    Presplit,
    SameColumns,
    Splitting,
    Text,
    TokenizerOption,
    splitting,
)
from dualstruct.cli.output import print_json, tell, write
from dualstruct.cli.parameters import Argument, Option
from dualstruct.errors import InputError
from dualstruct.printable import printable
from dualstruct.screen import Screen

if TYPE_CHECKING:
    from dualstruct.cli.models import Commands
    from dualstruct.explaining import Explanation

FORMATS = ("text", "html", "json")


def explain(
    model: Annotated[Path, Argument(help="A model file written by train.")],
    file: Annotated[
        str,
        Argument(
            metavar="FILE|SENTENCE",
            help="A column file, or CoNLL-U for parsers; - is standard input. For "
            "models that use only words, also a sentence in quotes.",
        ),
    ] = "-",
    text: Text = False,
    presplit: Presplit = False,
    tokenizer: TokenizerOption = None,
    sentence: Annotated[
        str | None, Option(help="Only this sentence: its number from 1, or its sent_id.")
    ] = None,
    token: Annotated[int | None, Option(min=1, help="Only this token, counted from 1.")] = None,
    most: Annotated[int, Option(min=1, help="The maximum number of sentences to explain.")] = 10,
    top: Annotated[int, Option(min=1, help="How many contributions to list one by one.")] = 12,
    gold: Annotated[
        bool,
        Option(
            "--gold",
            help="FILE has the true labels or trees: explain only what is wrong, and "
            "why it beat the correct answer.",
        ),
    ] = False,
    labels: Annotated[
        str | None,
        Option(help="The true labels of SENTENCE, in quotes; like --gold for a file."),
    ] = None,
    columns: SameColumns = None,
    format: Annotated[str, Option(metavar="text|html|json", help="The output format.")] = "text",
    as_json: Json = False,
) -> None:
    """Show which features made a label or arc beat the runner-up.

    The runner-up is the best complete label sequence or tree in which the token has another label,
    head or relation. The contributions add up to the difference of the two scores. With --gold or
    --labels, only wrong labels and arcs are explained: why each beat the best correct alternative.
    """
    from dualstruct.cli.models import open_model

    format = "json" if as_json else format
    if format not in FORMATS:
        raise InputError(f"--format is {format!r}; it must be one of {', '.join(FORMATS)}")
    if token is not None and sentence is None:
        sentence = "1"
    opened = open_model(model)
    split = splitting(text, presplit, tokenizer)
    chosen = _sentences(opened, file, split, columns, gold, labels)
    explanations = list(_explanations(opened, chosen, sentence, token, most))
    if (gold or labels is not None) and not any(len(each) for _, each in explanations):
        tell("nothing is wrong here")
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
    screen = Screen()
    from dualstruct.explaining.terminal import explanation_lines

    for number, each in explanations:
        screen.print(printable(f"# {number} {' '.join(each.forms)}"), "dim")
        screen.print(explanation_lines(each, top))


def _sentences(
    opened: Commands,
    file: str,
    text: Splitting | None,
    columns: str | None,
    gold: bool,
    labels: str | None,
) -> Iterator[tuple[str | None, Any, Any]]:
    """Sentences with their names, and with what is true if that is known."""
    if " " in file.strip() and not Path(file).exists():
        if gold:
            raise InputError("--gold is for files; --labels gives the true labels of a sentence")
        yield None, opened.words(file), opened.truth(labels)
    elif labels is not None:
        raise InputError("--labels is for a sentence in quotes; a file has its own: see --gold")
    elif gold:
        if text is not None:
            raise InputError("--gold needs labels or trees, and plain text has none")
        yield from opened.true_sentences(file, columns)
    else:
        yield from (
            (name, one, opened.truth(None)) for name, one in opened.sentences(file, text, columns)
        )


def _explanations(
    opened: Commands,
    sentences: Iterator[tuple[str | None, Any, Any]],
    sentence: str | None,
    token: int | None,
    most: int,
) -> Iterator[tuple[int, Explanation]]:
    """The sentences to explain, with their numbers; those with nothing to say are left out."""
    found, printed = False, 0
    for number, (name, one, truth) in enumerate(sentences, 1):
        if sentence is None and printed == most:
            shown = "one sentence is" if most == 1 else f"{most} sentences are"
            tell(f"only {shown} explained; see --most")
            return
        if sentence in (None, str(number), name):
            found = True
            explained = opened.model.explain(one, token, truth)
            if len(explained) or sentence is not None or not truth:
                printed += 1
                yield number, explained
            if sentence is not None:
                return
    if not found and sentence is not None:
        raise InputError(f"there is no sentence {sentence}; --sentence counts from 1")
