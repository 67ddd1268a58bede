"""The command ``dualstruct suspects``: training sentences with which the model disagrees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dualstruct.cli.options import Json, Reading, SameColumns, SameLabelColumn, Threads
from dualstruct.cli.output import print_json, write
from dualstruct.cli.parameters import Argument, Option
from dualstruct.errors import InputError
from dualstruct.printable import printable
from dualstruct.screen import Screen, Text
from dualstruct.suspecting import FOLDS

if TYPE_CHECKING:
    from dualstruct.suspecting import Doubt, Suspect

FORMATS = ("text", "json", "tsv")
TSV = (
    "sentence",
    "score",
    "token",
    "form",
    "given",
    "predicted",
    "kind",
    "given_probability",
    "predicted_probability",
)


def suspects(
    model: Annotated[Path, Argument(help="A model file written by train.")],
    train: Annotated[
        str, Argument(metavar="TRAIN", help="The file that the model was trained on.")
    ],
    top: Annotated[int, Option(min=1, help="How many sentences to show.")] = 20,
    folds: Annotated[
        int,
        Option(
            min=0,
            help="Judge each sentence by a model trained on the other folds. 0: use "
            "MODEL itself, for sentences that it was not trained on.",
        ),
    ] = FOLDS,
    duals: Annotated[
        Path | None,
        Option(help="A checkpoint of the training: rank sentences by their dual variables."),
    ] = None,
    label_column: SameLabelColumn = None,
    columns: SameColumns = None,
    threads: Threads = 1,
    format: Annotated[str, Option(metavar="text|json|tsv", help="The output format.")] = "text",
    as_json: Json = False,
) -> None:
    """List the training sentences whose labels are most likely wrong.

    Each sentence is judged by a model that was trained without it, and shown with the labels that
    the model predicts. The model may be wrong, too: check the list before you change the data.
    """
    from dualstruct.cli.models import open_model

    format = "json" if as_json else format
    if format not in FORMATS:
        raise InputError(f"--format is {format!r}; it must be one of {', '.join(FORMATS)}")
    if folds == 1:
        raise InputError("--folds is 1; at least 2 are needed, or 0 for the model itself")
    found, places = open_model(model).suspects(
        train, top, folds, duals, Reading(label_column, columns, threads)
    )
    if format == "json":
        rows = [
            {"where": place, **each.to_dict()} for place, each in zip(places, found, strict=True)
        ]
        print_json({"suspects": rows})
    elif format == "tsv":
        lines = ["\t".join(TSV)]
        for each in found:
            for doubt in each.doubts:
                cells = (doubt.token, doubt.form, doubt.given, doubt.predicted, doubt.kind)
                sure = (_probability(p) for p in _probabilities(doubt))
                row = (each.sentence, f"{each.score:.4f}", *cells, *sure)
                lines.append("\t".join(map(str, row)))
        write(lines)
    else:
        _print(found, places)


def _print(found: list[Suspect], places: list[str]) -> None:
    screen = Screen()
    for rank, (each, place) in enumerate(zip(found, places, strict=True), 1):
        facts = "".join(f", {fact}" for fact in _facts(each))
        line = f"{rank}. sentence {each.sentence} ({place}): {each.score:.3f}{facts}"
        screen.print(Text(printable(line), "bold"))
        wrong = {doubt.token: doubt for doubt in each.doubts}
        words = Text()
        for t, form in enumerate(each.forms, 1):
            words.append(printable(form), style="red" if t in wrong else "")
            words.append(" ")
        screen.print(words)
        for doubt in each.doubts:
            given, predicted = map(_probability, _probabilities(doubt))
            line = (
                f"    {doubt.token} {doubt.form}: {doubt.given} ({given}), "
                f"the model says {doubt.predicted} ({predicted}): {doubt.kind}"
            )
            screen.print(printable(line))


def _probabilities(doubt: Doubt) -> tuple[float | None, float | None]:
    return doubt.given_probability, doubt.predicted_probability


def _probability(p: float | None) -> str:
    return "" if p is None else f"{p:.2g}"


def _facts(suspect: Suspect) -> list[str]:
    facts = []
    if suspect.dual_mass is not None:
        bound = ", at its bound" if suspect.at_bound else ""
        facts.append(f"dual mass {suspect.dual_mass:.4g}{bound}")
    if suspect.given_up:
        facts.append("given up")
    return facts
