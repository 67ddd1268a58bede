"""The page of ``dualstruct serve`` in a real browser: Chromium, driven by Playwright."""

from __future__ import annotations

import contextlib
import re
import shutil
import threading

import pytest
from playwright.sync_api import Page, expect, sync_playwright

import serving_cases as cases
from dualstruct import InputError, SequenceTagger
from dualstruct.datasets import load_english
from dualstruct.serving.suspicion import Suspicion
from patience import HANGS

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WORDS = cases.SENTENCE.split()

expect.set_options(timeout=1000 * HANGS)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="missing: the system's package chromium")


@pytest.fixture(scope="module")
def addresses():
    """A server for each kind of model."""
    models = {
        "labels": cases.tagger(),
        "columns": cases.tagger_of_two_columns(),
        "tree": cases.pipeline(),
        "second order": cases.second_order_parser(),
    }
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(cases.running(cases.app(cases.served(model))))
            for name, model in models.items()
        }


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("browser"),
            executable_path=CHROMIUM,
            headless=True,
            args=FLAGS,
            viewport={"width": 1000, "height": 800},
        )
        yield context
        context.close()


@pytest.fixture
def page(browser):
    """A page that must not complain, and must talk to nobody but its server."""
    one = browser.new_page()
    one.set_default_timeout(1000 * HANGS)
    complaints: list[str] = []
    requests: list[str] = []
    one.on("pageerror", lambda error: complaints.append(str(error)))
    one.on("request", lambda request: requests.append(request.url))
    one.on(
        "console",
        # Chromium itself reports every answer that is not 200.
        lambda m: m.type == "error" and "status of 4" not in m.text and complaints.append(m.text),
    )
    yield one
    one.close()
    assert complaints == []
    assert all(re.match(r"http://127\.0\.0\.1:\d+/", url) for url in requests), requests


def open_page(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#hint")).not_to_be_empty()


def ask(page: Page, address: str, text: str) -> None:
    open_page(page, address)
    page.get_by_label("A sentence").fill(text)
    page.get_by_role("button", name=re.compile("^(Label|Parse)$")).click()
    expect(page.locator("[data-token]").first).to_be_visible()


def test_labels_are_shown_with_their_words_and_confidence(page, addresses):
    ask(page, addresses["labels"], cases.SENTENCE)
    tokens = page.locator(".tokens button")
    assert tokens.locator(".word").all_inner_texts() == WORDS
    assert [tokens.locator(".label").all_inner_texts()] == cases.tagger().predict([WORDS])
    shades = tokens.locator(".label").evaluate_all(
        "all => all.map(each => [each.style.getPropertyValue('--sure'),"
        " getComputedStyle(each).backgroundColor])"
    )
    sure = [float(share) for share, _ in shades]
    said = [int(text.split()[0]) for text in tokens.locator(".sure").all_inner_texts()]
    assert said == [round(100 * share) for share in sure]
    assert len({colour for _, colour in shades}) > 1
    expect(page.get_by_role("status")).to_contain_text("Lisbon: B-LOC")
    expect(page.get_by_role("heading", name="The 5 best")).to_be_visible()


def test_a_token_is_explained_by_keyboard_alone(page, addresses):
    open_page(page, addresses["labels"])
    expect(page.get_by_label("A sentence")).to_be_focused()
    page.keyboard.type(cases.SENTENCE)
    page.keyboard.press("Enter")
    expect(page.locator("[data-token]").first).to_be_visible()
    for _ in range(2):  # the button, the first token
        page.keyboard.press("Tab")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    expect(page.locator("[data-token='6']")).to_be_focused()
    page.keyboard.press("Enter")
    title = page.get_by_role("heading", name="Why Lisbon is B-LOC")
    expect(title).to_be_focused()
    table = page.get_by_role("table").first
    amounts = [
        float(text.replace("−", "-")) for text in table.locator("tbody td.number").all_inner_texts()
    ]
    heading = page.locator("#reasons h3").first.inner_text()
    assert heading.startswith("B-LOC beats ")
    assert sum(amounts) == pytest.approx(float(heading.rpartition(" ")[2]), abs=0.002)
    page.keyboard.press("Escape")
    expect(title).to_be_hidden()
    expect(page.locator("[data-token='6']")).to_be_focused()


def test_trees_are_drawn_and_arcs_explained(page, addresses):
    ask(page, addresses["tree"], cases.SENTENCE)
    [sentence] = cases.pipeline().predict([WORDS])
    assert page.locator(".tree .word").all_text_contents() == WORDS
    assert page.locator(".tree .label").all_text_contents() == sentence.relations
    heads = [WORDS[head - 1] if head else "root" for head in sentence.heads]
    for t in (0, 3, 5):
        name = f"{WORDS[t]}: {sentence.relations[t]} of {heads[t]}, "
        expect(page.get_by_role("button", name=name)).to_have_count(1)
    label = page.locator("[data-token='6'] .label")
    box = label.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator("#explanation-title")).to_contain_text("Why Lisbon is ")
    page.get_by_role("button", name="UPOS tag").click()
    expect(page.locator("#explanation-title")).to_have_text("Why Lisbon is PROPN")
    expect(page.locator("[data-token='6']")).to_have_attribute("aria-pressed", "true")


def test_an_alternative_is_shown_when_it_is_chosen(page, addresses):
    ask(page, addresses["tree"], cases.SENTENCE)
    second = cases.pipeline().parser_.predict_k_best(cases.pipeline().tag([WORDS]), 2)[0][1][1]
    page.locator("#alternatives button").nth(1).click()
    expect(page.locator(".tree .label")).to_have_text(second.relations)
    assert page.locator(".tree g.other").count() >= 1
    expect(page.get_by_role("heading", name="Tree, number 2")).to_be_visible()
    page.locator("#alternatives button").first.click()
    expect(page.locator(".tree g.other")).to_have_count(0)


def test_text_never_becomes_markup(page, addresses):
    evil = ["<img/src=x/onerror=alert(1)>", "</script><b>x</b>", "&amp;", "\"'"]
    for name in ("labels", "tree"):
        ask(page, addresses[name], " ".join(evil))
        assert page.locator("[data-token] .word").all_text_contents() == evil
        page.locator("[data-token] .word").first.click()
        expect(page.locator("#explanation-title")).to_contain_text(evil[0])
        assert page.locator("main img, main b").count() == 0


def test_mistakes_are_told(page, addresses):
    open_page(page, addresses["columns"])
    expect(page.locator("#hint")).to_contain_text("word, pos")
    field = page.get_by_label("A sentence, one token per line")
    field.fill("Ada PROPN\nsings")
    page.get_by_role("button", name="Label").click()
    expect(page.get_by_role("alert")).to_have_text(
        "Token 2 has 1 of the 2 columns that the model looks at (word, pos): pos missing."
    )
    field.fill("Ada PROPN\nsings VERB")
    field.press("Control+Enter")
    expect(page.locator(".tokens .word")).to_have_text(["Ada", "sings"])
    expect(page.get_by_role("alert")).to_be_empty()


def test_every_line_is_a_sentence_and_a_mistake_clears_what_was_there(page, addresses, tmp_path):
    open_page(page, addresses["labels"])
    page.get_by_role("button", name="An example").click()
    expect(page.locator(".several li")).to_have_count(2)
    (tmp_path / "a.txt").write_text(f"{cases.SENTENCE}\n\nBo sings .\n{cases.SENTENCE}\n")
    page.locator("#upload").set_input_files(tmp_path / "a.txt")
    expect(page.locator(".several li")).to_have_count(3)
    page.locator(".several button").nth(1).click()
    expect(page.locator(".tokens .word")).to_have_text(["Bo", "sings", "."])
    with page.expect_download() as started:
        page.get_by_role("button", name="Download").click()
    rows = [s.split("\n") for s in started.value.path().read_text().strip().split("\n\n")]
    truth = cases.tagger().predict([WORDS])[0]
    assert rows[0] == [f"{w}\t{y}" for w, y in zip(WORDS, truth, strict=True)]
    assert [len(row) for row in rows] == [len(WORDS), 3, len(WORDS)]
    spans = page.locator(".several li").first.locator(".part")
    assert spans.count() == sum(label != "O" for label in truth)
    page.get_by_label("A sentence").fill("")
    page.get_by_role("button", name="Label", exact=True).click()
    expect(page.get_by_role("alert")).not_to_be_empty()
    expect(page.locator("#result")).to_be_hidden()
    expect(page.locator("#list")).to_be_hidden()


def test_a_second_order_parser_says_why_there_are_no_alternatives(page, addresses):
    open_page(page, addresses["second order"])
    columns = page.locator("#hint").inner_text().count(",") + 1
    cells = " ".join(["_"] * (columns - 3))
    page.get_by_label("A sentence").fill(f"Ada PROPN {cells}\nsings VERB {cells}")
    page.get_by_role("button", name="Parse").click()
    expect(page.locator("#alternatives")).to_contain_text("second order")


def test_the_tab_of_training_has_a_curve_and_tells_what_is_missing(page, addresses):
    open_page(page, addresses["tree"])
    page.get_by_role("tab", name="Sentence").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Training")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("tabpanel", name="Training")).to_be_visible()
    expect(page.get_by_role("tabpanel", name="Sentence")).to_be_hidden()
    curve = page.get_by_role("img", name=re.compile("^Distance of the dual"))
    expect(curve.first.locator("circle")).to_have_count(cases.pipeline().result_.passes)
    expect(page.locator("#suspects")).to_contain_text("--train FILE")


def test_suspects_are_listed_and_can_be_looked_at(page):
    suspect = {
        "where": "train.txt, line 7",
        "sentence": 2,
        "score": 1.25,
        "forms": WORDS,
        "doubts": [
            {
                "token": 6,
                "form": "Lisbon",
                "given": "O",
                "predicted": "B-LOC",
                "kind": "missed",
                "given_probability": 0.02,
                "predicted_probability": 0.97,
            }
        ],
        "dual_mass": None,
        "at_bound": None,
        "given_up": None,
    }
    begin = threading.Event()

    def search():
        begin.wait(HANGS)
        return [suspect]

    suspicion = Suspicion(search)
    suspicion.start()
    with cases.running(cases.app(cases.served(cases.tagger()), suspicion)) as address:
        open_page(page, address)
        page.get_by_role("tab", name="Training").click()
        expect(page.locator("#suspects")).to_have_text("Looking through the training file …")
        begin.set()
        expect(page.locator("#suspects mark")).to_have_text(["Lisbon"])
        expect(page.locator("#suspects")).to_contain_text(
            "Lisbon: O (0.020), the model says B-LOC (0.97): missed"
        )
        expect(page.locator("#suspects")).to_contain_text("train.txt, line 7")
        page.get_by_role("button", name="Look at it").click()
        expect(page.locator(".tokens .word")).to_have_text(WORDS)
        page.goto("about:blank")


def test_numbers_that_are_no_probabilities_are_called_so(page, addresses):
    ask(page, addresses["labels"], cases.SENTENCE)
    expect(page.get_by_text("not calibrated")).to_be_hidden()
    expect(page.locator("#alternatives button").first).to_have_text(re.compile(r"^\d+\.\d %$"))
    ask(page, addresses["tree"], cases.SENTENCE)
    expect(page.get_by_text("not calibrated")).to_be_visible()
    expect(page.locator("#alternatives button").first).to_have_text(re.compile("^score "))


@pytest.mark.parametrize("name", ["labels", "tree"])
def test_a_phone_is_wide_enough(page, addresses, name):
    page.set_viewport_size({"width": 360, "height": 640})
    ask(page, addresses[name], cases.SENTENCE)
    page.locator("[data-token='2']").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#explanation")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("tab", name="Training").click()
    expect(page.locator("#curves svg").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_light_and_dark_both_have_contrast(page, addresses):
    colours = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        ask(page, addresses["labels"], cases.SENTENCE)
        pairs = page.locator("body, #hint, .tokens .label, .tokens .sure, #go").evaluate_all(
            """all => all.map(each => {
                const rgb = text => {
                    const found = text.match(/[\\d.]+/g).map(Number);
                    return text.startsWith("color(") ? found.slice(-3).map(x => 255 * x) : found;
                };
                let behind = each;
                while (/rgba\\(0, 0, 0, 0\\)/.test(getComputedStyle(behind).backgroundColor))
                    behind = behind.parentElement;
                return [rgb(getComputedStyle(each).color),
                        rgb(getComputedStyle(behind).backgroundColor)];
            })"""
        )
        for ink, paper in pairs:
            assert contrast(ink, paper) >= 4.5, (scheme, ink, paper)
        colours[scheme] = pairs[0]
    assert colours["light"] != colours["dark"]


def contrast(one: list[float], other: list[float]) -> float:
    """The ratio of WCAG 2."""

    def luminance(colour: list[float]) -> float:
        parts = [c / 255 for c in colour[:3]]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_everything_that_can_be_used_has_a_name(page, addresses):
    ask(page, addresses["tree"], cases.SENTENCE)
    page.locator("[data-token='2']").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#explanation")).to_be_visible()
    for role in ("button", "textbox", "tab", "img", "link"):
        for each in page.get_by_role(role).all():
            name = each.evaluate(
                "e => e.getAttribute('aria-label') || e.textContent.trim()"
                " || (e.labels && e.labels[0] && e.labels[0].textContent)"
            )
            assert name, (role, each)


def test_two_models_are_shown_side_by_side_with_what_differs_marked(page: Page):
    train = load_english("train")[:4]
    few = SequenceTagger(features="ner", passes=1).fit(
        [s.forms for s in train], [s.entities for s in train]
    )
    served, other = cases.served(cases.tagger()), cases.served(few, "few.dstruct")
    one, two = cases.tagger().predict([WORDS])[0], few.predict([WORDS])[0]
    differ = [t for t in range(len(WORDS)) if one[t] != two[t]]
    assert differ
    with cases.running(cases.app(served, beside=other)) as address:
        page.goto(address)
        expect(page.locator("#model")).to_contain_text("beside few.dstruct")
        page.locator("#sentence").fill(f"{cases.SENTENCE}\nOslo")
        page.keyboard.press("Enter")
        expect(page.locator("#beside .label")).to_have_text(two)
        expect(page.locator("#output .label")).to_have_text(one)
        for place in ("#output", "#beside"):
            marked = page.locator(f"{place} .other")
            assert [int(each.get_attribute("data-token")) - 1 for each in marked.all()] == differ
        said = f"They differ in {len(differ)} of {len(WORDS)} words"
        expect(page.locator("#difference")).to_contain_text(said)
        expect(page.locator("#lines .differ").first).to_contain_text(str(len(differ)))
        page.locator(f"#beside [data-token='{differ[0] + 1}']").click()
        expect(page.locator("#explanation-title")).to_contain_text("by few.dstruct")
        page.keyboard.press("Escape")
        expect(page.locator(f"#beside [data-token='{differ[0] + 1}']")).to_be_focused()


def test_models_that_cannot_be_compared_are_refused():
    tagger, tree = cases.served(cases.tagger()), cases.served(cases.pipeline())
    with pytest.raises(InputError, match="side by side are models of one kind"):
        cases.app(tagger, beside=tree)
    columns = cases.served(cases.tagger_of_two_columns())
    with pytest.raises(InputError, match="look at the same columns"):
        cases.app(tagger, beside=columns)
