"""The pages with examples are run: what they print is what they say they print."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted((DOCS / "structures").glob("*.md"))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page",
    [*PAGES, DOCS / "coming_from_crfsuite.md", DOCS / "explaining.md"],
    ids=lambda page: page.stem,
)
def test_the_code_of_a_page_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n".join(blocks(text, "python")), page.name, "exec"), {"__name__": "page"})
    assert printed.getvalue().splitlines() == "".join(blocks(text, "text")).splitlines()


def test_every_page_is_listed_in_the_index():
    index = next(page for page in PAGES if page.stem == "index").read_text(encoding="utf-8")
    for page in PAGES:
        assert page.stem == "index" or f"]({page.name})" in index
