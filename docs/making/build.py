"""Builds the site into build/site, without a compiler: python docs/making/build.py

The pages of docs/ are copied to build/pages; pages that are made from the program join them; the
generator of mkdocs.yml makes HTML of both; formulas are then typeset and links checked. The
taggers of the page "In your browser" are trained if the core is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from command_reference import command_page
from formulas import install_packages, typeset
from gallery import gallery_page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = ROOT / "build" / "pages"
SITE = ROOT / "build" / "site"
#: A block of code, and how wide a column of its tabs is.
BLOCK = re.compile(r"^```.*?^```$", flags=re.MULTILINE | re.DOTALL)
TAB = 12


def main() -> None:
    stage()
    shutil.rmtree(SITE, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=ROOT, check=True)
    # The generator's page needs the site at the root of a server; this one needs nothing.
    shutil.copy(DOCS / "making" / "404.html", SITE / "404.html")
    typeset(SITE)
    bring_models()
    problems = broken_links(SITE)
    print("\n".join(problems) or f"The site is in {SITE.relative_to(ROOT)}.")
    sys.exit(1 if problems else 0)


def stage() -> None:
    """Write into build/pages what the generator reads."""
    shutil.rmtree(PAGES, ignore_errors=True)
    left_out = shutil.ignore_patterns("*.py", "making", "__pycache__")
    shutil.copytree(DOCS, PAGES, ignore=left_out)
    (PAGES / "reference" / "commands.md").write_text(command_page(), encoding="utf-8")
    (PAGES / "gallery.md").write_text(gallery_page(), encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")
    (PAGES / "changelog.md").write_text(changes, encoding="utf-8")
    for page in PAGES.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(BLOCK.sub(_without_tabs, text), encoding="utf-8")
    packages = install_packages(ROOT / "build" / "npm")
    shutil.copy(
        packages / "iframe-worker" / "shim" / "index.js", PAGES / "assets" / "iframe-worker.js"
    )


def _without_tabs(block: re.Match[str]) -> str:
    """Columns stay below each other; the generator makes four spaces of every tab."""
    return "\n".join(line.expandtabs(TAB) for line in block[0].split("\n"))


def bring_models() -> None:
    """Train and export the taggers of demo.md with the installed package, if there is one."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; "
        "from demo_models import write_models; write_models(Path(sys.argv[2]))"
    )
    command = [sys.executable, "-c", script, str(DOCS), str(SITE / "demo")]
    if subprocess.run(
        [sys.executable, "-c", "import dualstruct._core"], capture_output=True
    ).returncode:
        print("The page demo.html has no taggers: dualstruct is not installed here.")
    else:
        subprocess.run(command, check=True)


def broken_links(site: Path) -> list[str]:
    """Links to files or anchors that are not there, and what would need the network."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    anchors = {
        path: {unescape(each) for each in re.findall(r'\s(?:id|name)="([^"]+)"', text)}
        for path, text in pages.items()
    }
    problems = []
    for path, text in pages.items():
        name = path.relative_to(site)
        for link in re.findall(r'<(?:script|img|link)\s[^>]*?(?:src|href)="([^"]+)"', text):
            if urlsplit(link).netloc:
                problems.append(f"{name} loads {link}")
        for link in re.findall(r'<(?:a|img|script|link)\s[^>]*?(?:src|href)="([^"]+)"', text):
            parts = urlsplit(unescape(link))
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                problems.append(f"{name} links to {link}, which is not there")
            elif (
                parts.fragment
                and target in anchors
                and unquote(parts.fragment) not in anchors[target]
            ):
                problems.append(f"{name} links to {link}, but the page has no such place")
    return problems


if __name__ == "__main__":
    main()
