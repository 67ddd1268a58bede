"""Draws a terminal in which commands run: python docs/making/terminal.py

The commands are run for real, on the files of the tutorial; the picture, an SVG that plays without
JavaScript, shows what they print.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
from html import escape
from pathlib import Path

from dualstruct.widths import cell_len

DOCS = Path(__file__).parents[1]
PICTURE = DOCS / "images" / "terminal.svg"
COMMANDS = [
    "dualstruct train train.txt --model food.dstruct",
    "dualstruct evaluate food.dstruct test.txt | head -n 2",
    'echo "3 cups of oat flakes, toasted" |\n  dualstruct predict food.dstruct --text',
]
COLUMNS, LINE, LETTER = 66, 20, 8.4
STYLE = """
text { font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #d7dae0;
  white-space: pre; opacity: 0; animation: show 0.01s linear forwards; }
.typed { fill: #8fd0ff; }
@keyframes show { to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { text { animation-delay: 0s !important; } }
"""


def run(commands: list[str]) -> list[tuple[str, bool]]:
    """What the terminal shows: lines, and whether somebody typed them."""
    lines: list[tuple[str, bool]] = []
    with tempfile.TemporaryDirectory() as folder:
        for file in (DOCS / "tutorial").glob("*.txt"):
            shutil.copy(file, folder)
        path = f"{sysconfig.get_path('scripts')}:/usr/bin:/bin"
        for command in commands:
            done = subprocess.run(
                command,
                shell=True,
                cwd=folder,
                env={"PATH": path, "COLUMNS": str(COLUMNS), "LANG": "C.UTF-8"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=True,
            )
            first, *more = command.splitlines()
            lines += [(f"$ {first}", True), *((f">{line[1:]}", True) for line in more)]
            lines += [(line.rstrip(), False) for line in done.stdout.decode().splitlines()]
    return [(text.expandtabs(10), typed) for text, typed in lines if text]


def draw(lines: list[tuple[str, bool]]) -> str:
    """The picture: lines appear one after the other, commands after a pause."""
    wide = max(COLUMNS, *(cell_len(text) for text, _ in lines)) * LETTER + 32
    high = len(lines) * LINE + 52
    drawn, clock = [], 0.3
    for row, (text, typed) in enumerate(lines):
        clock += 1.2 if text.startswith("$") and row else 0.15
        kind = ' class="typed"' if typed else ""
        drawn.append(
            f'<text{kind} x="16" y="{50 + row * LINE}" style="animation-delay: {clock:.2f}s">'
            f"{escape(text)}</text>"
        )
    dots = "".join(
        f'<circle cx="{18 + 18 * k}" cy="16" r="5" fill="{colour}"/>'
        for k, colour in enumerate(("#e0655c", "#e0b84c", "#5cb86b"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" role="img" '
        'aria-label="A tagger is trained, evaluated and used in a terminal">'
        f"<style>{STYLE}</style>"
        f'<rect width="{wide:.0f}" height="{high}" rx="8" fill="#1b1e25"/>{dots}'
        f"{''.join(drawn)}</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(run(COMMANDS)), encoding="utf-8")
    print(PICTURE)
