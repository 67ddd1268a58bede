"""The command ``dualstruct evaluate``: scores, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dualstruct.cli.files import check_outputs, check_page, write_page
from dualstruct.cli.options import (
    FileFormat,
    Json,
    Misaligned,
    Overlapping,
    Reading,
    SameColumns,
    SameLabelColumn,
    TextOptions,
    Threads,
)
from dualstruct.cli.output import print_json, say
from dualstruct.cli.parameters import Argument, Option
from dualstruct.errors import InputError
from dualstruct.screen import Screen

if TYPE_CHECKING:
    from dualstruct.cli.judging import Judged
    from dualstruct.mistakes import Mistakes, Slice
    from dualstruct.screen import Shown

#: How many examples of each kind a page has.
ON_A_PAGE = 50
BY = ("length", "document", "seen")


def evaluate(
    model: Annotated[
        Path,
        Argument(
            metavar="MODEL|GOLD",
            help="A model file written by train, or a file with the true labels or trees.",
        ),
    ],
    test: Annotated[
        str,
        Argument(
            metavar="TEST|PREDICTED",
            help="The test data (- is standard input), or a file with predicted labels or trees.",
        ),
    ],
    errors: Annotated[
        int | None,
        Option(
            metavar="[N]",
            alone="5",
            min=0,
            help="Show the mistakes by kind, the most frequent kind first, with N "
            "examples each (default: 5).",
        ),
    ] = None,
    confusion: Annotated[
        bool,
        Option("--confusion", help="Show which types, labels or relations are confused."),
    ] = False,
    by: Annotated[
        list[str] | None,
        Option(
            help="Show scores by sentence length, by document, or for seen and "
            "unseen words (with --train). May be repeated.",
            metavar="length|document|seen",
        ),
    ] = None,
    train: Annotated[
        str | None, Option(help="The training file, for --by seen: its words are the seen ones.")
    ] = None,
    html: Annotated[
        Path | None,
        Option(
            help="Write an HTML page with mistakes, confusions and scores by part to this file."
        ),
    ] = None,
    unseen_labels: Annotated[
        str,
        Option(
            metavar="warn|count|error",
            help="What to do with labels that training has not seen: warn, count "
            "them as mistakes silently, or stop with an error.",
        ),
    ] = "warn",
    confidence: Annotated[
        bool,
        Option(
            "--confidence",
            help="Compare confidence with accuracy: a table of bins, and the "
            "expected calibration error.",
        ),
    ] = False,
    reliability: Annotated[
        Path | None,
        Option(help="Draw reliability diagrams to this file (.svg or .png)."),
    ] = None,
    raw_text: Annotated[
        bool,
        Option(
            "--raw-text",
            help="Score from raw text as in CoNLL-2018: what a pipeline makes of the "
            "file's running text, or two CoNLL-U files. Two files whose words "
            "differ are always scored in this way.",
        ),
    ] = False,
    label_column: SameLabelColumn = None,
    columns: SameColumns = None,
    format: FileFormat = None,
    misaligned: Misaligned = None,
    overlapping: Overlapping = None,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Score a model or a file of predictions on a test file.

    Labels: token accuracy, and precision, recall and F1 of spans as in conlleval. Trees: UAS and
    LAS as in CoNLL-X and CoNLL-2018, with and without punctuation, by relation and by distance;
    from raw text also tokens, sentences and words. --errors, --confusion and --by show what is
    wrong; --html writes it to a page.
    """
    from dualstruct.cli import trees as cli_trees
    from dualstruct.cli.judging import judge_file, judge_model
    from dualstruct.data.opening import is_text

    wanted = [*dict.fromkeys(by or ())]
    _check_parts(wanted, train)
    if reliability is not None:
        from dualstruct.drawing.reliability import check_picture

        check_picture(reliability)
        check_outputs([reliability], [model, test])
    check_page(html, [model, test, train])
    asked = confidence or reliability is not None
    reading = Reading(label_column, columns, threads, TextOptions(format, misaligned, overlapping))
    if is_text(model) or cli_trees.is_treebank(model):
        if asked:
            raise InputError(
                "confidence is that of a model, and a file of labels or trees has none"
            )
        judged = judge_file(str(model), test, reading, raw_text)
    else:
        judged = judge_model(model, test, reading, unseen_labels, asked, reliability, raw_text)
    if html is not None:
        most = ON_A_PAGE if errors is None else errors
        title = f"{model.name}: mistakes"
        write_page(html, judged.mistakes().html(title, most, _seen(judged, train)))
    found = judged.mistakes() if errors is not None or confusion or wanted else None
    seen = _seen(judged, train) if "seen" in wanted else None
    parts = {} if found is None else {part: found.by(part, seen) for part in wanted}
    if as_json:
        print_json(judged.report | _as_dict(found, errors, confusion, parts))
        return
    say(judged.text)
    if found is not None:
        screen = Screen()
        for lines in _lines(found, errors, confusion, parts, screen.width):
            screen.print()
            screen.print(lines)


def _check_parts(wanted: list[str], train: str | None) -> None:
    for part in wanted:
        if part not in BY:
            raise InputError(f"--by is {part!r}; it must be one of {', '.join(BY)}")
    if "seen" in wanted and train is None:
        raise InputError("--by seen needs --train FILE: the words of that file are seen")


def _seen(judged: Judged, train: str | None) -> set[str] | None:
    return None if train is None else judged.words(train)


def _as_dict(
    found: Mistakes | None, errors: int | None, confusion: bool, parts: dict[str, list[Slice]]
) -> dict[str, Any]:
    if found is None:
        return {}
    report: dict[str, Any] = {}
    if errors is not None:
        report["mistakes"] = found.to_dict(errors)
    if confusion:
        report["confusion"] = found.confusion().to_dict()
    if parts:
        report["by"] = {name: [each.to_dict() for each in part] for name, part in parts.items()}
    return report


def _lines(
    found: Mistakes,
    errors: int | None,
    confusion: bool,
    parts: dict[str, list[Slice]],
    width: int,
) -> Iterator[Shown]:
    from dualstruct.mistakes.terminal import confusion_lines, mistake_lines, slice_lines

    if errors is not None:
        yield mistake_lines(found, errors, width)
    if confusion:
        yield confusion_lines(found.confusion(), found.pairs.what, width)
    for name, part in parts.items():
        yield slice_lines(part, name, found.pairs.unit)
