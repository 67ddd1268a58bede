"""Looks at the built site from disk in a real Chromium: python docs/making/look.py [FOLDER]

Searches, takes pictures of some pages at two widths in two colour schemes, and fails if any page is
wider than its screen.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

SITE = Path(__file__).parents[2] / "build" / "site"
PAGES = [
    "index",
    "tutorial",
    "gallery",
    "experiments",
    "benchmarks",
    "mathematics",
    "reference/estimators",
    "reference/commands",
]
#: Milliseconds until the terminal of the start page shows its last line.
TYPED = 5500
WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}


def search(page: Page, words: str) -> list[str]:
    """The titles that the site's own search finds for some words."""
    page.goto((SITE / "index.html").as_uri())
    page.wait_for_timeout(500)
    page.keyboard.press("/")
    page.keyboard.type(words, delay=30)
    page.wait_for_timeout(1500)
    return page.locator("a:has(mark)").all_inner_texts()


def too_wide(page: Page, names: list[str]) -> list[str]:
    """Pages that scroll sideways as a whole."""
    wide = []
    for name in names:
        page.goto((SITE / f"{name}.html").as_uri())
        here = page.evaluate("document.documentElement.scrollWidth > innerWidth")
        wide += [name] if here else []
    return wide


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    every_page = [str(path.relative_to(SITE).with_suffix("")) for path in SITE.rglob("*.html")]
    wide: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for colours in ("light", "dark"):
            for width, (columns, rows) in WIDTHS.items():
                context = browser.new_context(
                    viewport={"width": columns, "height": rows},
                    color_scheme=colours,
                    offline=True,
                )
                page = context.new_page()
                for name in PAGES:
                    if not (SITE / f"{name}.html").exists():
                        continue
                    page.goto((SITE / f"{name}.html").as_uri())
                    page.wait_for_timeout(TYPED if name == "index" else 300)
                    page.screenshot(path=folder / f"{name.replace('/', '-')}-{width}-{colours}.png")
                if colours == "light":
                    wide += [f"{name} ({width})" for name in too_wide(page, sorted(every_page))]
        page = browser.new_page()
        found = search(page, "calibrate")
        page.screenshot(path=folder / "search.png")
        browser.close()
        print(f"Search from disk finds {len(found)} places.")
        print("Wider than the screen:", ", ".join(wide) or "no page")
        sys.exit(0 if found and not wide else 1)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/looks"))
