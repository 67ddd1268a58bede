"""The page "Where dualstruct differs from the papers" against the solvers' registry."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from dualstruct.distributed.strategies import STRATEGIES
from dualstruct.solvers import SOLVERS

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"
KINDS = {**SOLVERS, **STRATEGIES}
ROWS = {
    (kind.__name__, source): given
    for kind in KINDS.values()
    for source, given in kind.published.items()
}


def call(name: str, given: dict) -> str:
    """How the page writes a solver with settings."""
    inside = ", ".join(
        f"{key}={'AS_PUBLISHED' if key == 'sdm' else repr(value)}" for key, value in given.items()
    )
    return f"{name}({inside})"


def page_rows() -> dict[tuple[str, str], str]:
    """(solver, source) → the switch, of the page's tables."""
    found = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip().replace('"', "'") for cell in line.strip("|").split("|")]
        if len(cells) == 6 and re.fullmatch(r"`\w+`", cells[0]):
            assert all(cells), f"an empty cell: {line}"
            found[cells[0].strip("`"), cells[1]] = cells[2].strip("`")
    return found


def test_the_page_lists_what_the_registry_has_and_nothing_else():
    assert page_rows() == {key: call(key[0], given) for key, given in ROWS.items()}


@pytest.mark.parametrize(("name", "source"), ROWS, ids=str)
def test_every_published_setting_makes_a_solver(name, source):
    kind = next(kind for kind in KINDS.values() if kind.__name__ == name)
    given = ROWS[name, source]
    solver = kind(**given)
    names = inspect.signature(kind.__init__).parameters
    assert set(given) <= set(names)
    assert all(getattr(solver, key) == value for key, value in given.items())


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.published], ids=str)
def test_every_docstring_says_which_of_the_two_the_default_is(kind):
    """Either the default is as published, or the docstring has the switch."""
    text = " ".join((kind.__doc__ or "").split())
    assert "publish" in text or "the paper" in text
    for given in kind.published.values():
        for key in given:
            assert key in text


def test_only_solvers_without_a_paper_have_no_row():
    assert {name for name, kind in KINDS.items() if not kind.published} == {
        "simple-average",
        "ramp-bqo",
    }
