"""Makes the picture of the labelling page, in a real Chromium: python docs/screenshot.py

Sentences of the corpus that comes with dualstruct are answered as they are annotated; then the
page is opened.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import serving_cases as cases
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.datasets import load_english
from dualstruct.labelling import Project
from dualstruct.labelling.app import create_label_app
from dualstruct.labelling.session import Session
from dualstruct.texts import Document

ANSWERS = 220
#: Name, width, height, colours.
PICTURES = [("labelling", 1120, 700, "light")]


def main(folder: Path, pictures: list[tuple[str, int, int, str]]) -> None:
    truth = {tuple(s.forms): s.entities for s in load_english("train")}
    with (
        tempfile.TemporaryDirectory() as place,
        Project(Path(place) / "names.db", "spans", Tokenizer("blanks", "lines")) as project,
    ):
        project.add(Document(" ".join(words)) for words in truth)
        project.add_types(["PER", "LOC", "ORG"])
        with Session(project) as session:
            for _ in range(ANSWERS):
                [question] = session.next("me", 1, [])
                labels = truth[tuple(question["words"])]
                session.answer(question["sentence"], labels, 0, "me", None)
                time.sleep(0.05)  # as a person would, only faster
            app = create_label_app(session, limits=cases.PATIENT)
            with cases.running(app) as address, sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                )
                for name, width, height, scheme in pictures:
                    size = {"width": width, "height": height}
                    page = browser.new_page(viewport=size, color_scheme=scheme)
                    page.goto(address)
                    page.wait_for_selector(".token")
                    page.wait_for_timeout(1500)
                    page.screenshot(path=str(folder / f"{name}.png"))
                browser.close()


if __name__ == "__main__":
    main(Path(__file__).with_name("images"), PICTURES)
