"""The page of the site on which taggers run, in a real browser: Chromium, driven by Playwright."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import shutil
import threading
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

import export_cases as cases
from patience import HANGS

DOCS = Path(__file__).parents[2] / "docs"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]

expect.set_options(timeout=1000 * HANGS)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="missing: the system's package chromium")


class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012
        ".mjs": "text/javascript",
        ".html": "text/html; charset=utf-8",
        ".wasm": "application/wasm",
    }

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The page's own HTML, its script and the models that the site is built with."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS / "demo", site / "demo")
    page = (DOCS / "demo.md").read_text(encoding="utf-8")
    html = page[page.index('<div id="demo">') : page.rindex("</script>")] + "</script>"
    (site / "demo.html").write_text(f"<!doctype html><title>demo</title>{html}", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("demo_models", DOCS / "demo_models.py")
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    hook.write_models(site / "demo")
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/demo.html"
        server.shutdown()
        thread.join()


@pytest.fixture
def page(address, tmp_path):
    """The page in a browser; what goes wrong in it fails the test."""
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path / "browser", executable_path=CHROMIUM, headless=True, args=FLAGS
        )
        page = context.new_page()
        page.set_default_timeout(1000 * HANGS)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        yield page
        context.close()
    assert complaints == []


def test_the_page_labels_what_is_typed(page):
    expect(page.locator("#demo-state")).not_to_contain_text("loaded …")
    spans = page.locator("#demo-spans [data-label]")
    assert "LOC" in [each.get_attribute("data-label") for each in spans.all()]
    assert page.locator("#demo-tags [data-label]").count() > 15
    page.get_by_label("A text").fill("She can't sing in Lisbon.")
    expect(page.locator("#demo-tags [data-label]")).to_have_count(7)
    expect(page.locator("#demo-spans [data-label=LOC]")).to_contain_text("Lisbon")


@cases.needs_wasm
def test_the_page_parses_what_is_typed(page):
    expect(page.locator("#demo-state")).to_be_empty()
    trees = page.locator("#demo-trees svg")
    assert trees.count() == 2
    page.get_by_label("A text").fill("She sold two boats.")
    expect(trees).to_have_count(1)
    found = [
        (each.get_attribute("data-relation"), each.get_attribute("data-head"))
        for each in trees.locator("[data-relation]").all()
    ]
    assert found == [("nsubj", "2"), ("root", "0"), ("nummod", "4"), ("obj", "2"), ("punct", "2")]
