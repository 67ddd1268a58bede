"""The site is made from the source: every command, option and formula has its place."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dualstruct
from dualstruct.cli.command import Command
from dualstruct.cli.commands import COMMANDS
from dualstruct.distributed.strategies import STRATEGIES
from dualstruct.solvers import SOLVERS
from patience import HANGS

ROOT = Path(__file__).parents[2]
MAKING = ROOT / "docs" / "making"


@pytest.fixture(scope="module")
def command_page() -> str:
    """Made in a process of its own, in which the core is a stub."""
    code = (
        "from command_reference import command_page; import sys; sys.stdout.write(command_page())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=MAKING, capture_output=True, timeout=HANGS, check=True
    )
    return done.stdout.decode()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_reference_has_every_option_and_an_example(command_page, name):
    section = re.split(
        r"^###? ", command_page.partition(f"\n### {name} {{")[2], flags=re.MULTILINE
    )[0]
    assert f"$ dualstruct {name}" in section
    for flag in Command.named(name).options:
        assert re.search(rf"{re.escape(flag)}\b", section), flag
    assert "bool" not in section


def test_the_stub_has_all_that_the_package_asks_of_the_core():
    code = (
        "from core_stub import import_source; package = import_source(); "
        "assert package._core.__name__ == 'dualstruct._core' and "
        "not hasattr(package._core, '__file__'); "
        "[getattr(package, name) for name in package.__all__]"
    )
    subprocess.run([sys.executable, "-c", code], cwd=MAKING, timeout=HANGS, check=True)


MATHEMATICS = (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8")


def test_formulas_are_numbered_in_order():
    formulas = re.findall(r"\$\$(.*?)\$\$", MATHEMATICS, flags=re.DOTALL)
    numbers = [re.findall(r"\\tag\{(\d+)\}", formula) for formula in formulas]
    assert numbers == [[str(place)] for place in range(1, len(formulas) + 1)]


@pytest.mark.parametrize("solver", [*SOLVERS.values(), *STRATEGIES.values()])
def test_the_documentation_of_a_solver_names_its_formula(solver):
    named = re.search(r"\((\d[\d, ]*)\) of docs/mathematics\.md", inspect.getdoc(solver) or "")
    assert named is not None
    for number in named[1].split(", "):
        assert f"\\tag{{{number}}}" in MATHEMATICS


def test_every_work_that_the_mathematics_cites_is_in_its_bibliography():
    cited = set(re.findall(r"\]\(#([\w-]+-\d{4})\)", MATHEMATICS))
    assert cited == set(re.findall(r'<a id="([\w-]+-\d{4})">', MATHEMATICS))


def test_the_citation_has_the_version_of_the_package_and_the_date_of_its_release():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^([\w-]+): *(.+)$", citation, flags=re.MULTILINE))
    assert fields["version"].strip('"') == dualstruct.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.search(
        rf"^## \[{re.escape(dualstruct.__version__)}\] - ([\d-]+)$", changes, flags=re.MULTILINE
    )
    date = fields.get("date-released")
    assert date == (released and released[1]), "the date is that of the section in CHANGELOG.md"
