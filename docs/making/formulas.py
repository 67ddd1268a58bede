"""Formulas become HTML when the site is built: KaTeX of npm, run once by Node.

Nobody who reads the site needs JavaScript or the network for them, and a formula that KaTeX does
not understand ends the build.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

PACKAGES = ["katex@0.16", "iframe-worker@1"]
#: What pymdownx.arithmatex makes of $…$ and $$…$$.
FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\s*\\([(\[])(.*?)\\[)\]]\s*</\1>', flags=re.DOTALL
)
#: A formula's number and its anchor.
TAG = re.compile(r"\\tag\{(\d+)\}")
RENDER = """
const katex = require(process.argv[1]);
const formulas = JSON.parse(require("fs").readFileSync(0, "utf8"));
const options = { throwOnError: true, strict: "error" };
process.stdout.write(JSON.stringify(formulas.map(([display, tex]) => {
  try { return katex.renderToString(tex, { ...options, displayMode: display }); }
  catch (problem) { console.error(tex + "\\n" + problem.message); process.exit(1); }
})));
"""


def install_packages(folder: Path) -> Path:
    """npm's packages that the site holds a copy of; they are fetched once."""
    folder.mkdir(parents=True, exist_ok=True)
    modules = folder / "node_modules"
    wanted = folder / "installed.json"
    if not wanted.exists() or json.loads(wanted.read_text()) != PACKAGES:
        if shutil.which("npm") is None:
            raise SystemExit("make docs needs npm, for the packages " + ", ".join(PACKAGES))
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
        subprocess.run([*command, *PACKAGES], check=True)
        wanted.write_text(json.dumps(PACKAGES))
    return modules


def typeset(site: Path) -> None:
    """Replace the formulas of all pages, and bring the style sheet and the fonts."""
    katex = site.parent / "npm" / "node_modules" / "katex"
    pages = {
        path: text
        for path in sorted(site.rglob("*.html"))
        if FORMULA.search(text := path.read_text(encoding="utf-8"))
    }
    found = [
        (each[2] == "[", unescape(each[3]).strip())
        for text in pages.values()
        for each in FORMULA.finditer(text)
    ]
    made = iter(_rendered(katex, found))
    for path, text in pages.items():
        new = FORMULA.sub(lambda each: _placed(each, next(made)), text)
        style = f"{'../' * (len(path.relative_to(site).parts) - 1)}assets/katex/katex.min.css"
        path.write_text(
            new.replace("</head>", f'<link rel="stylesheet" href="{style}"></head>', 1),
            encoding="utf-8",
        )
    target = site / "assets" / "katex"
    (target / "fonts").mkdir(parents=True, exist_ok=True)
    shutil.copy(katex / "dist" / "katex.min.css", target)
    shutil.copy(katex / "LICENSE", target)
    for font in (katex / "dist" / "fonts").glob("*.woff2"):
        shutil.copy(font, target / "fonts")


def _rendered(katex: Path, formulas: list[tuple[bool, str]]) -> list[str]:
    done = subprocess.run(
        ["node", "-e", RENDER, str(katex)],
        input=json.dumps(formulas),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise SystemExit(f"KaTeX does not understand a formula:\n{done.stderr}")
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def _placed(found: re.Match[str], html: str) -> str:
    number = TAG.search(found[3])
    if found[1] == "span":
        return html
    place = f' id="eq-{number[1]}"' if number else ""
    return f'<div class="formula"{place}>{html}</div>'
