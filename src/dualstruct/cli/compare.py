"""The command ``dualstruct compare``: which of two models is better, and where they differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dualstruct.cli.files import check_page, write_page
from dualstruct.cli.options import Json, Reading, SameColumns, SameLabelColumn, Threads
from dualstruct.cli.output import print_json
from dualstruct.cli.parameters import Argument, Option
from dualstruct.screen import Screen

#: How many sentences a page has at least.
ON_A_PAGE = 50
HELP = "A model file written by train, or a file with predicted labels or trees."


def compare(
    one: Annotated[Path, Argument(metavar="A", help=HELP)],
    other: Annotated[Path, Argument(metavar="B", help=HELP)],
    test: Annotated[str, Argument(metavar="TEST", help="A file with the true labels or trees.")],
    most: Annotated[int, Option(min=0, help="How many of the differing sentences to show.")] = 5,
    seed: Annotated[int, Option(min=0, help="The seed of the significance test.")] = 0,
    html: Annotated[
        Path | None, Option(help="Write an HTML page with scores and sentences to this file.")
    ] = None,
    label_column: SameLabelColumn = None,
    columns: SameColumns = None,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Compare two models, and test whether they differ by chance.

    Prints both scores, their difference with its standard error (jackknife over sentences), the
    probability p of a difference of this size by chance (approximate randomisation), and the
    sentences that differ.
    """
    from dualstruct.cli.judging import judge_any
    from dualstruct.mistakes.comparing import Compared

    check_page(html, [one, other, test])
    reading = Reading(label_column, columns, threads)
    found = Compared(
        judge_any(one, test, reading).mistakes(),
        judge_any(other, test, reading).mistakes(),
        _names(one, other),
        seed=seed,
    )
    if html is not None:
        write_page(html, found.html(" and ".join(found.names), max(most, ON_A_PAGE)))
    if as_json:
        print_json(found.to_dict(most))
        return
    screen = Screen()
    from dualstruct.mistakes.terminal import comparison_lines

    screen.print(comparison_lines(found, most, screen.width))


def _names(one: Path, other: Path) -> tuple[str, str]:
    """Their names, as short as they differ."""
    if one.name != other.name:
        return one.name, other.name
    return (str(one), str(other)) if one != other else ("A", "B")
