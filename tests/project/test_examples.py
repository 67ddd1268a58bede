"""The pages with examples are run: what they print is what they say they print."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import dualstruct
from dualstruct.cli.commands import COMMANDS, FIRST
from pages import ROOT, Block, Runner, blocks_of, hidden_commands

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
#: Why blocks are not run, and how many there are of each.
NOT_RUN = {
    "needs a cluster": 5,
    "needs the corpora": 7,
    "needs the rights of root": 1,
    "takes a night": 1,
    "takes minutes": 1,
}
#: Examples in the help of commands that are not run here.
EXAMPLES_NOT_RUN = {
    "demo": "tests/cli/test_cli.py runs it",
    "experiment chang-yih-2013 --quick": "takes minutes",
    "datasets conll2000 --data corpora --download": "needs the network",
}


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(block.runs for block in blocks_of(text_of(page)))],
    ids=lambda page: page.stem,
)
def test_a_page_prints_what_it_says(page, tmp_path, monkeypatch):
    for file in page.with_suffix("").glob("*.*"):
        if file.suffix not in (".md", ".mjs"):
            shutil.copy(file, tmp_path)
    if page.stem == "coming_from_spacy":
        pytest.importorskip("spacy")  # it has no wheels for the newest Python
    if page.stem == "errors":
        for file in (DOCS / "tutorial").glob("*.txt"):
            shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "page", ModuleType("page"))  # dataclasses ask for theirs
    for name in list(sys.modules):  # a page gives these names to ours
        if name.split(".")[0] in ("pycrfsuite", "sklearn_crfsuite"):
            monkeypatch.delitem(sys.modules, name)
    Runner().run(page.name, blocks_of(text_of(page)))


def test_every_block_that_is_not_run_says_why():
    found = [block for page in PAGES for block in blocks_of(text_of(page))]
    assert Counter(block.reason for block in found if block.reason) == NOT_RUN


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_programs_are_in_blocks_with_a_language(page):
    assert hidden_commands(text_of(page)) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_in_the_help_of_a_command_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = [each for each in COMMANDS[name].examples if each not in EXAMPLES_NOT_RUN]
    lines = "".join(f"dualstruct {each}\n" for each in examples)
    Runner().run(f"the help of {name}", [Block("sh", lines, 1, None)])


def test_examples_in_the_overview_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"dualstruct {each}\n" for each in FIRST)
    Runner().run("the overview", [Block("sh", lines, 1, None)])


def test_a_block_that_prints_something_else_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for page in (
        "```python\nprint(1)\n```\n```text\n2\n```\n",
        "```python\nprint(1)\n```\n",
        "```console\n$ echo 1\n2\n```\n",
        "```sh\ndualstruct predict missing.dstruct\n```\n",
        "```console\n$ echo 1\ndualstruct: an error\n```\n",
        "```sh\npip install 'dualstruct[nothing]'\n```\n",
    ):
        with pytest.raises(AssertionError):
            Runner().run("page", blocks_of(page))
    assert hidden_commands("Type\n\n    dualstruct train x.txt\n")


def test_every_page_is_listed_in_the_index():
    structures = sorted((DOCS / "structures").glob("*.md"))
    index = text_of(DOCS / "structures" / "index.md")
    for page in structures:
        assert page.stem == "index" or f"]({page.name})" in index


def test_every_public_name_is_in_the_reference():
    pages = (page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    shown = {name for page in pages for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE)}
    for name in dualstruct.__all__:
        module = getattr(dualstruct, name).__module__
        assert f"dualstruct.{name}" in shown or module in shown, name
