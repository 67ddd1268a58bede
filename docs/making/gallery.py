"""The page of examples: made from the scripts of examples/, their pictures and what they print."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples"))

from make_gallery import EXAMPLES

HEAD = """\
---
hide: [navigation]
---
# Gallery

Fifteen small, complete programs. Each takes a few seconds and draws its own picture; the tests run
them all: `python examples/NAME.py FOLDER` in a clone of the repository.

<div class="gallery" markdown="0">
"""


def gallery_page() -> str:
    cards, sections = [HEAD], []
    for name in EXAMPLES:
        source = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
        title, _, text = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")
        code = source.partition('"""\n\n')[2].rstrip()
        printed = (ROOT / "docs" / "gallery" / f"{name}.txt").read_text(encoding="utf-8").rstrip()
        picture = f"gallery/{name}.svg"
        cards.append(f'<a href="#{name}"><img src="{picture}" alt=""><strong>{title}</strong></a>')
        sections += [f"## {title} {{ #{name} }}", "", text, "", f"![{title}]({picture})", ""]
        sections += [f'```python title="examples/{name}.py"', code, "```", "It prints", ""]
        sections += ["```text", printed, "```", ""]
    return "\n".join([*cards, "</div>", "", *sections])
