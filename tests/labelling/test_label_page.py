"""The page of ``dualstruct label`` in a real browser: by keyboard alone, and by mouse alone."""

from __future__ import annotations

import contextlib
import re
import shutil

import pytest
from playwright.sync_api import expect, sync_playwright

import serving_cases as cases
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.labelling import Project
from dualstruct.labelling.app import create_label_app
from dualstruct.labelling.session import Session
from dualstruct.texts import Document
from patience import HANGS

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
SPLIT = Tokenizer("blanks", "lines")

expect.set_options(timeout=1000 * HANGS)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="missing: the system's package chromium")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def page(browser):
    """A page that must not complain, and must talk to nobody but its server."""
    one = browser.new_page(viewport={"width": 1100, "height": 800})
    one.set_default_timeout(1000 * HANGS)
    complaints: list[str] = []
    requests: list[str] = []
    one.on("pageerror", lambda error: complaints.append(str(error)))
    one.on("request", lambda request: requests.append(request.url))
    yield one
    one.close()
    assert complaints == []
    assert all(re.match(r"http://127\.0\.0\.1:\d+/", url) for url in requests), requests


@contextlib.contextmanager
def labelling(folder, texts, types=("PER", "LOC"), kind="spans", **more):
    with Project(folder / "p.db", kind, SPLIT) as project:
        project.add(Document(text) for text in texts)
        project.add_types(types)
        with Session(project, active=False, **more) as session:
            app = create_label_app(session, hosts=["127.0.0.1"], limits=cases.PATIENT)
            with cases.running(app) as address:
                yield project, address


def opened(page, address):
    page.goto(address)
    expect(page.locator("#sentence .token").first).to_be_visible()
    return page.locator("#sentence .token").all_inner_texts()


def saved(page, project, count):
    """Wait until so many answers are in the project, and the page knows it."""
    expect(page.locator("#recent li")).to_have_count(min(count, 5))
    return {tuple(each.words): each.labels for each in project.settled()}


def test_a_sentence_is_labelled_by_keyboard_alone(page, tmp_path):
    with labelling(tmp_path, ["Ada Wu met Bo"]) as (project, address):
        assert opened(page, address) == ["Ada", "Wu", "met", "Bo"]
        for key in ("Home", "Shift+ArrowRight", "1", "End", "2"):
            page.keyboard.press(key)
        expect(page.locator(".span")).to_have_count(2)
        for key in ("1", "ArrowLeft", "2", "Backspace", "Enter"):  # another label; one that goes
            page.keyboard.press(key)
        found = saved(page, project, 1)
        assert found == {("Ada", "Wu", "met", "Bo"): ("B-PER", "I-PER", "O", "B-PER")}
        expect(page.locator("#sentence")).to_contain_text("All sentences are labelled")
        page.keyboard.press("u")
        expect(page.locator("#sentence .token")).to_have_count(4)
        expect(page.locator("#reason")).to_have_text("Taken back.")
        assert not project.answered
        page.keyboard.press("Enter")
        assert saved(page, project, 1) == found
        assert len(project.history(1)) == 3


def test_a_sentence_is_labelled_by_mouse_alone(page, tmp_path):
    with labelling(tmp_path, ["Ada Wu met Bo in Rome"]) as (project, address):
        opened(page, address)
        token = lambda t: page.locator(f"[data-t='{t}']")  # noqa: E731
        token(0).hover()
        page.mouse.down()
        token(1).hover()
        page.mouse.up()
        expect(page.locator(".span")).to_have_text(re.compile("Ada Wu\\s*PER"))
        token(3).click()
        page.get_by_role("button", name="LOC").first.click()  # Bo is selected: another label
        expect(page.locator(".span").nth(1)).to_have_text(re.compile("Bo\\s*LOC"))
        token(2).click()  # LOC is what a click gives now
        expect(page.locator(".span")).to_have_count(3)
        page.locator(".span").nth(1).get_by_role("button", name="Remove LOC").click()
        expect(page.locator(".span")).to_have_count(2)
        page.get_by_role("button", name="Accept").click()
        [labels] = saved(page, project, 1).values()
        assert labels == ("B-PER", "I-PER", "O", "B-LOC", "O", "O")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#reason")).to_have_text("Taken back.")
        page.get_by_role("button", name="Skip").click()
        assert not project.answered


def test_tokens_get_labels_of_their_own(page, tmp_path):
    texts = ["the dog sleeps"]
    with labelling(tmp_path, texts, ("DET", "NOUN", "VERB"), "labels") as (project, address):
        opened(page, address)
        for key in ("Home", "1", "2", "3", "Enter"):  # each goes on to the next token
            page.keyboard.press(key)
        assert saved(page, project, 1) == {("the", "dog", "sleeps"): ("DET", "NOUN", "VERB")}


RELATIONS = ("root", "nsubj", "det", "obj")
TREE = {("the", "dog", "sees", "Bo"): ("2:det", "3:nsubj", "0:root", "3:obj")}


def test_a_tree_is_made_by_keyboard_alone(page, tmp_path):
    with labelling(tmp_path, ["the dog sees Bo"], RELATIONS, "trees") as (project, address):
        assert opened(page, address) == ["the", "dog", "sees", "Bo"]
        expect(page.locator("svg [data-arc]")).to_have_count(4)
        keys = [
            "Home", "ArrowRight", "ArrowRight", "Backspace",  # "sees" becomes the root
            "Home", "Space", "ArrowRight", "Space", "3",  # the → dog, det
            "ArrowRight", "Space", "ArrowRight", "Space", "2",  # dog → sees, nsubj
            "End", "Space", "Escape", "Space", "ArrowLeft", "Space", "4",  # Bo → sees, obj
            "Enter",
        ]  # fmt: skip
        for key in keys:
            page.keyboard.press(key)
        assert saved(page, project, 1) == TREE


def test_a_tree_is_made_by_mouse_alone(page, tmp_path):
    with labelling(tmp_path, ["the dog sees Bo"], RELATIONS, "trees") as (project, address):
        opened(page, address)
        token = lambda t: page.locator(f"[data-t='{t}']")  # noqa: E731
        relation = lambda name: page.locator(".type", has_text=name)  # noqa: E731

        def drag(head, dependent):
            token(head).hover()
            page.mouse.down()
            token(dependent).hover()
            page.mouse.up()

        token(2).click()
        page.get_by_role("button", name="Make root").click()
        drag(1, 0)
        relation("det").click()
        drag(2, 1)
        relation("nsubj").click()
        token(3).click()
        page.get_by_role("button", name="Choose head").click()
        token(2).click()
        relation("obj").click()
        page.get_by_role("button", name="Accept").click()
        assert saved(page, project, 1) == TREE


def test_long_trees_scroll_and_suggestions_are_trees(page, tmp_path):
    page.set_viewport_size({"width": 390, "height": 800})
    texts = [" ".join(["the dog sees Bo"] * k) for k in range(1, 6)]
    with labelling(tmp_path, texts, RELATIONS, "trees") as (project, address):
        opened(page, address)
        for count in range(1, 4):
            page.keyboard.press("Enter")
            saved(page, project, count)
        wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        assert not page.evaluate(wide)


def test_suggestions_come_by_themselves_and_one_key_accepts(page, tmp_path):
    texts = [f"Ada{k} sings here" for k in range(12)]
    with labelling(tmp_path, texts) as (project, address):
        opened(page, address)
        for count in range(1, 7):
            if page.locator(".span").count() == 0:
                page.keyboard.press("Home")
                page.keyboard.press("1")
            page.keyboard.press("Enter")
            saved(page, project, count)
        expect(page.locator(".span .tag")).to_have_text("PER")  # nobody marked it
        expect(page.locator("#counts")).to_contain_text("6 of 12 sentences labelled")


def test_a_suggestion_never_changes_what_somebody_has_begun(page, tmp_path):
    with labelling(tmp_path, [f"Ada{k} sings" for k in range(8)]) as (project, address):
        opened(page, address)
        page.keyboard.press("End")
        page.keyboard.press("2")
        here = page.locator("#sentence").inner_text()
        other = next(n for n in project.sentences if project.sentences[n].text not in here)
        page.evaluate(
            """async (number) => fetch("api/answer", {method: "POST",
               headers: {"Content-Type": "application/json"},
               body: JSON.stringify({sentence: number, labels: ["B-PER", "O"], version: 0,
                                     annotator: "b"})})""",
            other,
        )
        expect(page.locator("#counts")).to_contain_text("1 of 8")
        expect(page.locator(".span .tag")).to_have_text("LOC")


def test_answers_that_differ_are_shown_side_by_side(page, tmp_path):
    with labelling(tmp_path, ["Bo left"]) as (project, address):
        opened(page, address)
        project.answer(1, ["B-PER", "O"], annotator="other", seen=0)
        page.keyboard.press("Enter")  # who has not seen it says O
        expect(page.locator(".rival")).to_have_count(2)
        assert project.sentences[1].in_conflict
        page.get_by_role("button", name="Take other's").click()
        expect(page.get_by_role("button", name="Accept")).to_be_focused()
        page.keyboard.press("Enter")
        saved(page, project, 2)
        assert project.sentences[1].labels == ("B-PER", "O")


def test_a_new_label_is_made_and_search_opens_what_it_finds(page, tmp_path):
    with labelling(tmp_path, ["Ada left", "Bo came"], types=["PER"]) as (project, address):
        opened(page, address)
        page.keyboard.press("n")
        page.keyboard.type("ORG")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="ORG")).to_be_visible()
        assert project.types == ["PER", "ORG"]
        page.keyboard.press("/")
        page.keyboard.type("BO C")
        page.keyboard.press("Enter")
        page.locator("#found button", has_text="Bo came").click()
        expect(page.locator("#sentence .token").first).to_have_text("Bo")
        page.keyboard.press("?")
        expect(page.get_by_role("heading", name="Keys")).to_be_visible()


def test_markup_and_right_to_left_text_are_text(page, tmp_path):
    evil = "<img/src=x/onerror=alert(1)>"
    with labelling(tmp_path, [f"{evil} שלום עולם"], types=["<b>"[1:2], "PER"]) as (
        project,
        address,
    ):
        assert opened(page, address)[0] == evil
        assert page.locator("#sentence img").count() == 0
        page.keyboard.press("Home")
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        [labels] = saved(page, project, 1).values()
        assert labels == ("B-PER", "O", "O")
        assert page.locator("#recent img").count() == 0
    (tmp_path / "rtl").mkdir()
    with labelling(tmp_path / "rtl", ["שלום עולם טוב"]) as (_, address):
        opened(page, address)
        page.keyboard.press("Home")
        page.keyboard.press("ArrowLeft")  # onwards
        expect(page.locator("[data-t='1']")).to_be_focused()


@pytest.mark.parametrize("kind", ["spans", "trees"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_seriously_inaccessible(browser, tmp_path, scheme, kind):
    from axe_playwright_python.sync_playwright import Axe

    texts = [f"Ada{k} met Bo" for k in range(9)]
    with labelling(tmp_path, texts, kind=kind) as (project, address):
        page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme=scheme)
        opened(page, address)
        page.keyboard.press("Home")
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        saved(page, project, 1)
        found = Axe().run(page).response["violations"]
        serious = [
            (each["id"], each["nodes"][0]["html"])
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
        assert serious == []
        wide = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        assert not wide
        page.close()


def test_words_that_are_not_asked_about_are_muted_and_may_be_changed(page, tmp_path):
    with labelling(tmp_path, ["Ada met Bo in Rome"] * 160, ask="unsure") as (project, address):
        for sentence in list(project.sentences.values())[:-3]:
            labels = ["B-PER", "O", "B-PER", "O", "B-LOC"]
            project.answer(sentence.id, labels, annotator="import", seen=0)
        opened(page, address)
        page.keyboard.press("Enter")  # the model begins to learn
        expect(page.locator("#sentence .token.given").first).to_be_visible()
        expect(page.locator("#reason")).to_contain_text("words in full ink")
        given = page.locator("#sentence .token.given").first
        expect(given).to_have_attribute("aria-label", re.compile("not asked about"))
        t = int(given.get_attribute("data-t"))
        given.click()
        page.keyboard.press("2")
        muted = page.locator("#sentence .token.given")
        left = {int(each.get_attribute("data-t")) for each in muted.all()} - {t}
        page.keyboard.press("Enter")
        saved(page, project, 2)
        last = max(project.answered_sentences(), key=lambda each: each.version)
        assert {k for k, known in enumerate(last.checked) if not known} == left
        assert last.labels[t] == "B-LOC"
