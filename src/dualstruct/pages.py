"""HTML pages without external files: no script, no network, light or dark as the reader likes."""

from __future__ import annotations

from html import escape

__all__ = ["document"]

STYLE = """\
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0;
  --for: #1a7f37; --against: #cf222e; --right: #0969da; --wrong: #bc4c00; --paper: #ffffff }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --line: #3d444d;
  --for: #3fb950; --against: #f85149; --right: #58a6ff; --wrong: #f0883e; --paper: #0d1117 } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 1.5rem auto; padding: 0 1rem }
h2 { font-size: 1.1rem; border-top: 1px solid var(--line); padding-top: 1rem }
details { margin: .4rem 0 }
summary { cursor: pointer }
.soft { color: var(--soft) }
table { border-collapse: collapse; margin: .3rem 0 1rem; font-size: .9rem }
caption { text-align: left; padding: .3rem 0 }
th { text-align: left; font-weight: 600 }
td, th { padding: .1rem .5rem .1rem 0; vertical-align: middle }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
td.bar span { display: block; height: .7rem; border-radius: .15rem }
"""


def document(title: str, body: str, style: str = "") -> str:
    """A whole page.

    >>> document("Hello", "<p>Hello</p>")[:15]
    '<!DOCTYPE html>'
    """
    return (
        "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}{style}\n</style>\n</head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )
